"""Which thresholds show that recall or precision is high enough."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv

from bayes_svm.metrics.threshold_curve import ThresholdCurve
from bayes_svm.utils.types import Array, Mask

__all__ = [
    "expected_recall",
    "fewest_rows",
    "largest_precision",
    "lower_bound",
    "precision_entry",
    "recall_entry",
]

# Without a confidence a precision is read as the median of its Beta distribution.
EVEN_ODDS = 0.5
# Growth of the number of rows called positive from one test of the sequence to the next. Left-out values
# are not quite exchangeable with new ones: with steps of one row the target is missed more often, and hardly
# more rows are found.
STEP = 1.2
# How many precisions are tried below one that cannot be shown.
TRIED = 300
# Rounding of a share, such as 1 - 0.9, times a count.
ROUNDING = 1e-9


def recall_entry(curve: ThresholdCurve, at_least: float, confidence: float | None) -> int | None:
    r"""The highest threshold whose recall on new points is high enough.

    .. math:: \frac{k}{n_+ + 1} \le 1 - r \qquad \text{or} \qquad
        \Pr(B \le 1 - r) \ge \text{confidence}, \; B \sim \mathrm{Beta}(k, n_+ + 1 - k)

    A threshold at the k-th smallest value of n positives misses a share of new positives that has this
    Beta distribution, if the values are exchangeable with those of new points. Its mean is
    ``k / (n + 1)``: the first rule, without a confidence, is conformal risk control.

    Parameters
    ----------
    curve : ThresholdCurve
        Counts at every threshold.
    at_least : float in (0, 1]
        The recall r.
    confidence : float or None
        Probability, over the draws of the data, that the recall is reached; None if its mean is to be.

    Returns
    -------
    int or None
        Number of the entry; None if there are too few positives to show so much.

    References
    ----------
    Angelopoulos et al., "Conformal risk control", ICLR 2024.
    """
    found, missed = curve.tp, curve.fn
    if confidence is None:
        shown = missed + 1 <= (1 - at_least) * (found[0] + 1) + ROUNDING
    else:
        shown = _shows(found, missed, at_least, confidence)
    # The share missed grows with the threshold: the entries that show the recall are the first ones.
    return int(np.count_nonzero(shown)) - 1 if shown[0] else None


def expected_recall(curve: ThresholdCurve, entry: int) -> float:
    r"""Recall to expect on new points of the threshold that :func:`recall_entry` finds.

    .. math:: 1 - \frac{k}{n_+ + 1}

    The mean of the Beta distribution there; k does not depend on the values, only on their number.

    Parameters
    ----------
    curve : ThresholdCurve
        Counts at every threshold.
    entry : int
        Number of the entry.

    Returns
    -------
    float
        The recall.
    """
    return float(1 - (curve.fn[entry] + 1) / (curve.tp[0] + 1))


def precision_entry(curve: ThresholdCurve, at_least: float, confidence: float | None) -> int | None:
    r"""The lowest threshold that shows the precision.

    .. math:: \Pr(B \le 1 - p) \ge \text{confidence}, \qquad B \sim \mathrm{Beta}(fp + 1, tp)

    With a confidence, thresholds are tested in a fixed order, from the strictest that can pass down to the
    first that fails. Each test then has the full level, and the last threshold that passes is taken. The
    order depends on the values and never on the labels: each test calls a fifth more rows positive.
    Without a confidence it is the lowest of all thresholds whose precision, smoothed to the median of the
    distribution, about ``(tp - 1/3) / (tp + fp + 1/3)``, is high enough.

    Parameters
    ----------
    curve : ThresholdCurve
        Counts at every threshold.
    at_least : float in (0, 1]
        The precision p.
    confidence : float or None
        Probability, over the draws of the data, that no lower precision is taken for p; or None.

    Returns
    -------
    int or None
        Number of the entry; None if no threshold shows the precision.

    References
    ----------
    Angelopoulos et al., "Learn then test: calibrating predictive algorithms to achieve risk
    control", 2021.
    """
    if confidence is None:
        shown = _shows(curve.tp, curve.fp, at_least, EVEN_ODDS)
        return int(np.argmax(shown)) if shown.any() else None
    shown = _shows(curve.tp, curve.fp, at_least, confidence)[::-1]
    called = (curve.tp + curve.fp)[::-1]
    found, place = None, int(np.searchsorted(called, fewest_rows(at_least, confidence)))
    while place < len(called) and shown[place]:
        found = len(called) - 1 - place
        place = max(place + 1, int(np.searchsorted(called, STEP * called[place])))
    return found


def fewest_rows(at_least: float, confidence: float | None) -> float:
    """Fewest rows that show a share, if not one of them is wrong.

    Parameters
    ----------
    at_least : float in (0, 1]
        The share.
    confidence : float or None
        As for :func:`recall_entry`.

    Returns
    -------
    float
        A whole number; infinite for a share of 1.
    """
    if at_least == 1:
        return np.inf
    if confidence is None:
        return float(np.ceil(at_least / (1 - at_least) - ROUNDING))
    return float(np.ceil(np.log(1 - confidence) / np.log(at_least) - ROUNDING))


def largest_precision(curve: ThresholdCurve, confidence: float | None) -> float:
    """The largest precision that any threshold shows.

    Parameters
    ----------
    curve : ThresholdCurve
        Counts at every threshold.
    confidence : float or None
        As for :func:`precision_entry`.

    Returns
    -------
    float
        The precision.
    """
    some = curve.tp > 0
    level = EVEN_ODDS if confidence is None else confidence
    most = float(lower_bound(curve.tp[some], curve.fp[some], level).max())
    if confidence is None or most == 0.0:
        return most
    # The sequence of tests may end before the threshold with the largest bound.
    tried = np.linspace(most, 0.0, TRIED, endpoint=False)
    return next((float(one) for one in tried if precision_entry(curve, one, confidence) is not None), 0.0)


def lower_bound(right: Array | float, wrong: Array | float, confidence: float) -> Array:
    """Lower confidence bound of the share ``right / (right + wrong)``, by Clopper and Pearson.

    Parameters
    ----------
    right : array or float
        Number of rows that count, above 0.
    wrong : array or float
        Number of the others.
    confidence : float
        Probability that the share is above the bound.

    Returns
    -------
    array
        The bounds.
    """
    return np.asarray(1 - betaincinv(np.asarray(wrong) + 1, right, confidence))


def _shows(right: Array, wrong: Array, at_least: float, confidence: float) -> Mask:
    """Whether the lower confidence bound of each share ``right / (right + wrong)`` reaches ``at_least``."""
    shown = right > 0
    shown[shown] = betainc(wrong[shown] + 1, right[shown], 1 - at_least) >= confidence
    return shown

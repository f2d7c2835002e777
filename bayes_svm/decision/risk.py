"""From which confidence on the share of errors among the accepted points is below a target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bayes_svm.decision.promises import fewest_rows, lower_bound
from bayes_svm.metrics.distinct import ROUNDING, distinct
from bayes_svm.metrics.risk_coverage import RiskCoverageCurve
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = [
    "as_many_as_left",
    "midway",
    "one_of_each",
    "out_of_reach",
    "plain_threshold",
    "rounded_up",
    "shown_threshold",
    "smallest_plain",
    "smallest_shown",
]

# Share of the probability of failure that the tests from the fewest points on have; the tests that start with
# more points, where a few errors do no harm, have the rest.
FIRST_SHARE = 0.2
# How many risks are tried between a target that cannot be shown and 1.
TRIED = 300


def as_many_as_left(share: Array, wrong: Mask, confidence: Array) -> Indices:
    """Rows to count where of some equal rows only a share left: as many of them as left.

    They are taken evenly from the rows in the order of their confidence, in which equal rows are together.

    Parameters
    ----------
    share : array of shape (n_points,)
        Share of each row's copies that left.
    wrong : array of bool of shape (n_points,)
        Whether each answer is wrong.
    confidence : array of shape (n_points,)
        Confidence of each answer.

    Returns
    -------
    array of int
        The rows, in their order.
    """
    order = np.lexsort((share, wrong, confidence))
    # Sums over equal rows are whole numbers, which rounding must not take below themselves.
    passed = np.floor(np.cumsum(share[order]) + 0.5)
    return np.sort(order[np.diff(passed, prepend=0.0) > 0.0])


def plain_threshold(curve: RiskCoverageCurve, target_risk: float) -> float | None:
    """The smallest confidence at which the measured risk is at most the target; it promises nothing.

    Parameters
    ----------
    curve : RiskCoverageCurve
        Coverage and risk at every threshold.
    target_risk : float in (0, 1)
        Largest share of errors wanted among the accepted points.

    Returns
    -------
    float or None
        The threshold; None if the risk is above the target at all of them.
    """
    # The tolerance is for rounding in the sums of the weights.
    low = np.flatnonzero(curve.risk <= target_risk * (1 + 1e-12))
    return midway(curve.thresholds, int(low[-1])) if len(low) else None


def midway(values: Array, last: int) -> float:
    """A threshold between the last confidence to accept and the next lower one; 0 if all are accepted.

    Confidences that differ by rounding errors, as those of one row alone and among others do, stay on its
    side.

    Parameters
    ----------
    values : array of shape (n_distinct,)
        The confidences, descending.
    last : int
        Number of the last one to accept.
    """
    if last + 1 == len(values):
        return 0.0
    high, low = float(values[last]), float(values[last + 1])
    # Each value stands for others up to the rounding above it.
    return (high + low) / 2.0 if high - low > 4.0 * ROUNDING else high


def one_of_each(groups: Any, random_state: Any = 0) -> Indices:
    """One row of each group, drawn at random: rows of one group are no independent evidence.

    What is found on them depends on the draw. Among several draws the best must not be chosen, for that would
    break the promise.

    Parameters
    ----------
    groups : array of shape (n_samples,)
        Group of each row.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws; None means 0.

    Returns
    -------
    array of int of shape (n_groups,)
        Numbers of the rows, ascending.
    """
    order = check_random_state(0 if random_state is None else random_state).permutation(len(groups))
    return np.sort(order[np.unique(np.asarray(groups)[order], return_index=True)[1]])


def smallest_plain(curve: RiskCoverageCurve) -> float:
    """The smallest risk at any threshold, rounded up to three digits.

    Parameters
    ----------
    curve : RiskCoverageCurve
        Coverage and risk at every threshold.

    Returns
    -------
    float
        A target that :func:`plain_threshold` reaches.
    """
    return rounded_up(float(curve.risk.min()))


def shown_threshold(wrong: Mask, confidence: Array, target_risk: float, sure: float) -> float | None:
    r"""A small confidence from which on the risk is shown to be at most the target.

    .. math:: \Pr(\mathrm{Bin}(m, r) \le e) \le \delta

    rejects that the risk is above r, after e errors among the m most confident points. Such tests are made
    in a fixed order, from few accepted points to many, up to the first that fails; the last that passes is
    taken. Each has the full level, since none is made after a failure. The order is that of the
    confidences: no label has a say in it. There are two starts, which share ``delta = 1 - sure``. One is at
    :math:`m_0`, the fewest points that pass a test if none is wrong, with a fifth of it; the other at
    :math:`\sqrt{m_0 n}`, with the rest. If all tests from the first start to the second pass, the tests from
    there on have all of it.

    The points tested are those above the next lower confidence; the threshold lies midway. On held-out
    points the level is exact, if the risk passes the target only once as more points are accepted.

    Parameters
    ----------
    wrong : array of bool of shape (n_samples,)
        Whether each prediction is wrong.
    confidence : array of shape (n_samples,)
        How sure each prediction is, at least 0.
    target_risk : float in (0, 1)
        Largest share r of errors wanted among the accepted points.
    sure : float in (0, 1)
        Probability, over the draws of the points, that no threshold with a larger risk is taken.

    Returns
    -------
    float or None
        The threshold; 0 if all are accepted, None if no test passes.

    References
    ----------
    Angelopoulos et al., "Learn then test: calibrating predictive algorithms to achieve risk control",
    2021. Wiens, "A fixed sequence Bonferroni procedure for testing multiple endpoints", Pharmaceutical
    Statistics 2, 2003.
    """
    return _tests(wrong, confidence, sure)(target_risk)


def smallest_shown(wrong: Mask, confidence: Array, target_risk: float, sure: float) -> float:
    """The smallest larger target that the same tests show, of a few hundred that are tried.

    Parameters
    ----------
    wrong : array of bool of shape (n_samples,)
        Whether each prediction is wrong.
    confidence : array of shape (n_samples,)
        How sure each prediction is.
    target_risk : float in (0, 1)
        A risk that cannot be shown.
    sure : float in (0, 1)
        As for :func:`shown_threshold`.

    Returns
    -------
    float
        A target with up to three digits for which :func:`shown_threshold` finds a threshold; 1 if there is
        none.
    """
    threshold_for = _tests(wrong, confidence, sure)
    tried = (rounded_up(risk) for risk in np.geomspace(target_risk, 1.0, TRIED))
    return next((risk for risk in tried if risk < 1 and threshold_for(risk) is not None), 1.0)


def _tests(wrong: Mask, confidence: Array, sure: float) -> Callable[[float], float | None]:
    """The threshold that the tests find, as a function of the target."""
    points, place = distinct(confidence)
    # The most confident come first.
    values, place = points[::-1], len(points) - 1 - place
    accepted = np.cumsum(np.bincount(place).astype(float))
    right = accepted - np.cumsum(np.bincount(place, weights=wrong))
    levels = [1 - share * (1 - sure) for share in (FIRST_SHARE, 1 - FIRST_SHARE, 1)]
    # Largest shares of right answers that each number of accepted points shows; 0 where all are wrong.
    by_first, by_second, by_both = (
        np.where(right > 0, lower_bound(np.maximum(right, 1), accepted - right, level), 0.0)
        for level in levels
    )

    def threshold_for(target: float) -> float | None:
        fewest = fewest_rows(1 - target, levels[0])
        first, second = np.searchsorted(accepted, [fewest, np.sqrt(fewest * len(wrong))])
        passed = int(first) + _leading(by_first[first:second] >= 1 - target)
        shown = by_both if passed == second else by_second
        more = _leading(shown[second:] >= 1 - target)
        end = int(second) + more if more else passed
        if end == first:
            return None
        return midway(values, end - 1)

    return threshold_for


def _leading(passed: Mask) -> int:
    """How many tests pass before the first that fails."""
    return int(np.argmin(np.append(passed, False)))


def out_of_reach(target_risk: float, smallest: float, sure: float | None, points: str) -> str:
    """What could be shown in place of a target that cannot.

    Parameters
    ----------
    target_risk : float in (0, 1)
        The target.
    smallest : float
        What :func:`smallest_plain` or :func:`smallest_shown` returns.
    sure : float or None
        The confidence of the tests; None if the plain threshold was asked for.
    points : str
        The points on which a threshold was looked for, with their number.

    Returns
    -------
    str
        Two sentences.
    """
    how = "" if sure is None else f" with confidence {sure:g}"
    if smallest >= 1:
        return f"No threshold shows any risk below 1{how} on {points}. Use more rows, or another classifier."
    return (
        f"No threshold shows a risk of at most {target_risk:g}{how} on {points}: the smallest risk that "
        f"can be shown is {smallest:g}. Ask for a larger risk, or use more rows."
    )


def rounded_up(risk: float) -> float:
    """The next larger number with three significant digits.

    Parameters
    ----------
    risk : float
        A number above 0.

    Returns
    -------
    float
        The number.
    """
    digits = 2 - int(np.floor(np.log10(risk)))
    return float(round(np.ceil(risk * 10.0**digits - 1e-9) / 10.0**digits, digits))

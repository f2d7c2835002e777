"""Whether left-out probabilities can be taken at their word: one test, told in words."""

from __future__ import annotations

from dataclasses import dataclass

from .measures import Reliability

__all__ = ["Trust", "trust_in"]

# A gap shown to be at least this large is more than slight.
SLIGHT = 0.05
# With a gap of this size, a test that finds nothing says little.
COARSE = 0.25


@dataclass(frozen=True)
class Trust:
    """A verdict on the probabilities.

    Every bin of the reliability diagram has an interval for its observed share, exact (Clopper-Pearson) if
    rows are independent, at 95 % for all k bins together: at 1 - 0.05 / k for each. The probabilities are
    called off if the mean prediction of a bin is outside of its interval.

    Parameters
    ----------
    verdict : {"good", "unclear", "slightly off", "off"}
        "good" if no bin is off and a gap of 25 points would have been seen in the fullest bin; "unclear"
        if no bin is off but it would not. "slightly off" if a bin is off, but its interval comes within five
        points of the prediction, as do those of all others; otherwise "off".
    n_bins : int
        Number of bins that were looked at.
    predicted : float
        Mean prediction of the bin with the largest proven gap; without one, of the fullest bin.
    observed : float
        Share that came true in this bin.
    low : float
        Lower end of its interval.
    high : float
        Upper end of its interval.
    n : int
        Number of its rows.
    visible : float
        The gap that would have been seen in the fullest bin: the larger distance of its observed share from
        an end of its interval.
    """

    verdict: str
    n_bins: int
    predicted: float
    observed: float
    low: float
    high: float
    n: int
    visible: float


def trust_in(result: Reliability) -> Trust:
    """Judge the bins of a reliability diagram.

    Parameters
    ----------
    result : Reliability
        The diagram.

    Returns
    -------
    Trust
        The verdict, and the bin that it is about.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_svm.report.measures import reliability
    >>> from bayes_svm.report.trust import trust_in
    >>> p = np.repeat([0.15, 0.85], 200)
    >>> trust_in(reliability(p, np.arange(400) % 100 < np.repeat([15, 85], 200))).verdict
    'good'
    >>> trust_in(reliability(p, np.arange(400) % 100 < 50)).verdict
    'off'
    """
    bins = result.bins
    proven = [max(one.joint_low - one.predicted, one.predicted - one.joint_high, 0.0) for one in bins]
    fullest = max(bins, key=lambda one: one.n)
    visible = max(fullest.joint_high - fullest.observed, fullest.observed - fullest.joint_low)
    largest = max(proven)
    if largest > 0:
        worst, verdict = bins[proven.index(largest)], "off" if largest >= SLIGHT else "slightly off"
    else:
        worst, verdict = fullest, "good" if visible < COARSE else "unclear"
    return Trust(
        verdict,
        len(bins),
        worst.predicted,
        worst.observed,
        worst.joint_low,
        worst.joint_high,
        worst.n,
        visible,
    )

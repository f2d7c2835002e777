"""How much rows show of a share: as much as so many independent rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, t

from bayes_svm.metrics.intervals import proportion_interval

__all__ = ["Evidence", "error_of_mean", "evidence_of"]


@dataclass(frozen=True)
class Evidence:
    """A share, and the number of independent rows that would show as much of it.

    Parameters
    ----------
    share : float
        The share.
    n : float
        Number of independent rows.
    degrees : float
        Degrees of freedom of the estimate that `n` is; infinite if the rows are independent.
    """

    share: float
    n: float
    degrees: float = math.inf

    def interval(self, alpha: float = 0.05, interval: str = "wilson") -> tuple[float, float]:
        """Interval of the share.

        Parameters
        ----------
        alpha : float
            Probability that the interval misses the true share.
        interval : {"wilson", "clopper-pearson"}
            Which one.

        Returns
        -------
        low, high : float
            The two ends; 0 and 1 if nothing is known.
        """
        # As for a mean of few groups, of which the variance too is estimated.
        n = self.n * (norm.ppf(alpha / 2) / t.ppf(alpha / 2, self.degrees)) ** 2 if self.degrees > 0 else 0.0
        if n == 0:
            return 0.0, 1.0
        low, high = map(float, proportion_interval(self.share * n, n, alpha, interval))
        # If the share is 0 or 1, rounding may put it just outside its own interval.
        return min(low, self.share), max(high, self.share)


def evidence_of(part: np.ndarray, whole: np.ndarray, groups: Any) -> Evidence:
    r"""What rows show of the share ``sum(part) / sum(whole)``.

    .. math::
        n = \frac{p (1 - p)}{v}, \qquad v = \frac{G}{G - 1} \, \frac{\sum_g (a_g - p \, b_g)^2}{b^2}

    with the share p, the sums :math:`a_g` and :math:`b_g` of both in each of the G groups, and the sum b.
    At most b rows are independent. If all groups have the same share, the spread between them shows nothing,
    and each group counts as one row: :math:`n = b^2 / \sum_g b_g^2`.

    Parameters
    ----------
    part : ndarray of shape (n_rows,)
        What each row adds to the count: its weight or 0.
    whole : ndarray of shape (n_rows,)
        What each row could add at most.
    groups : ndarray of shape (n_rows,) or None
        Group of each row; None if the rows are independent.

    Returns
    -------
    Evidence
        The share, and the number of independent rows.

    References
    ----------
    Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", Survey Methodology 24, 1998.
    """
    total = float(whole.sum())
    share = float(part.sum()) / total
    if groups is None:
        return Evidence(share, total)
    number = np.unique(groups[whole > 0], return_inverse=True)[1]
    own, all_of = (np.bincount(number, weights=one[whole > 0]) for one in (part, whole))
    each = total**2 / float((all_of**2).sum())
    n_groups = len(all_of)
    if n_groups == 1:
        return Evidence(share, each, 0.0)
    variance = n_groups / (n_groups - 1) * float(((own - share * all_of) ** 2).sum()) / total**2
    same = variance <= 1e-12 * share * (1 - share) or share in (0.0, 1.0)
    n = each if same else min(total, share * (1 - share) / variance)
    return Evidence(share, n, n_groups - 1.0)


def error_of_mean(of_row: np.ndarray, groups: Any) -> float:
    """Standard error of the mean of differences of shares, whose rows may belong to groups.

    Parameters
    ----------
    of_row : ndarray of shape (n_rows,)
        The values.
    groups : ndarray of shape (n_rows,) or None
        Group of each row; None if the rows are independent.

    Returns
    -------
    float
        The standard error; 1 if there is one group only, of which nothing follows.
    """
    number = np.arange(len(of_row)) if groups is None else np.unique(groups, return_inverse=True)[1]
    sums = np.bincount(number, weights=of_row - of_row.mean())
    if len(sums) == 1:
        return 1.0
    return math.sqrt(len(sums) / (len(sums) - 1) * float((sums**2).sum())) / len(of_row)

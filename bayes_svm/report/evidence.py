"""How much rows tell that may belong to groups: intervals of shares, and how many rows they count as."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from bayes_svm.metrics.intervals import proportion_interval
from bayes_svm.utils.types import Array

__all__ = ["WIDER", "error_of_mean", "independent_share", "share_interval"]

# Where the columns say nothing, left-out errors and losses have up to twice the variance of those of
# independent rows: of two rows that are alike, each is right about the other, or both are wrong.
WIDER = math.sqrt(2.0)
# Number of shares, and of correlations, at which the likelihood is computed.
SHARES, CORRELATIONS = 200, 40
# A correlation is possible if its largest likelihood is not this much, in logarithms, below the largest of
# all: in 95 of 100 data sets the true one is.
FAR = 1.92
# Larger counts of a group, and those of weights, are rounded to this part of themselves, so that few differ.
EXACT, PART = 40, 0.04
# Shares of a smaller likelihood, in logarithms, are left out of the second, finer grid.
LEAST = -20.0
# A group counts as one of several rows if its size is above 1 by more than this.
ROUNDING = 1e-9


def share_interval(
    part: np.ndarray, whole: np.ndarray, groups: Any, alpha: float = 0.05, interval: str = "wilson"
) -> tuple[float, float]:
    r"""Interval of the share ``sum(part) / sum(whole)``.

    .. math:: a_g \sim \mathrm{BetaBin}(b_g; p, \rho)

    The sums :math:`a_g` and :math:`b_g` of both in group g follow the beta-binomial distribution: rows of a
    group are right or wrong together with the correlation :math:`\rho`. For every :math:`\rho` that the data
    leave possible, p has a posterior with Jeffreys' prior; the interval holds the intervals of all of them.
    Where larger groups are wrong more often, or less, p is not the share of the rows. So the interval also
    holds the one of as many independent rows as the variance of the share stands for, with the share s:

    .. math:: n = \frac{s (1 - s) (\sum_g b_g)^2}{\sum_g (a_g - s b_g)^2}

    If every group is one row, its first part is that of :math:`(\sum b)^2 / \sum b^2` rows (Kish), and
    without groups it is the interval asked for.

    Parameters
    ----------
    part : ndarray of shape (n_rows,)
        What each row adds to the count: its weight or 0.
    whole : ndarray of shape (n_rows,)
        What each row could add at most; not all are 0.
    groups : ndarray of shape (n_rows,) or None
        Group of each row; None if the rows are independent.
    alpha : float
        Probability that the interval misses the true share.
    interval : {"wilson", "clopper-pearson"}
        Which one, for independent rows.

    Returns
    -------
    low, high : float
        The two ends.
    """
    share = float(part.sum() / whole.sum())
    if groups is None:
        low, high = map(float, proportion_interval(part.sum(), whole.sum(), alpha, interval))
    else:
        number = np.unique(groups, return_inverse=True)[1]
        own, all_ = (np.bincount(number, weights=one).astype(float) for one in (part, whole))
        if len(own) == len(part):
            rows = float(all_.sum() ** 2 / (all_**2).sum())
            low, high = map(float, proportion_interval(share * rows, rows, alpha, interval))
        else:
            some = all_ > 0
            low, high = _grouped_interval(_coarse(own[some]), _coarse((all_ - own)[some]), alpha)
        spread = float(((own - share * all_) ** 2).sum()) / float(all_.sum()) ** 2
        if spread > 0.0 and 0.0 < share < 1.0:
            rows = share * (1.0 - share) / spread
            ends = proportion_interval(share * rows, rows, alpha, interval)
            low, high = min(low, float(ends[0])), max(high, float(ends[1]))
    # If the share is 0 or 1, rounding may put it just outside its own interval.
    return min(low, share), max(high, share)


def _grouped_interval(own: Array, others: Array, alpha: float) -> tuple[float, float]:
    """The interval, on a grid of shares that is refined where the likelihood is."""
    first, last = 0.0, math.pi / 2
    for _ in range(2):
        # Jeffreys' prior is uniform in the angle whose squared sine is the share.
        edges = np.linspace(first, last, SHARES + 1)
        logs = _log_likelihood(np.sin((edges[1:] + edges[:-1]) / 2) ** 2, own, others)
        logs = logs[:, logs.max(axis=0) > logs.max() - FAR]
        there = np.flatnonzero((logs > logs.max(axis=0) + LEAST).any(axis=1))
        first, last = edges[there[0]], edges[there[-1] + 1]
    total = np.cumsum(np.exp(logs - logs.max(axis=0)), axis=0)
    ends = [np.interp([alpha / 2, 1 - alpha / 2], np.append(0.0, one / one[-1]), edges) for one in total.T]
    low, high = np.sin(min(one[0] for one in ends)) ** 2, np.sin(max(one[1] for one in ends)) ** 2
    # A share that is never seen, or always, has no limit on that side.
    return 0.0 if not own.any() else float(low), 1.0 if not others.any() else float(high)


def _log_likelihood(shares: Array, own: Array, others: Array) -> Array:
    """Of each share, a row each, and each correlation."""
    correlation = ((np.arange(CORRELATIONS) + 0.5) / CORRELATIONS) ** 2
    size = (1.0 - correlation) / correlation
    both = _rising(shares[:, None] * size, own) + _rising((1.0 - shares)[:, None] * size, others)
    return both - _rising(size, own + others)


def _rising(start: Array, counts: Array) -> Array:
    """Sum over the counts of the logarithms of ``start (start + 1) ... (start + count - 1)``."""
    different, n = np.unique(counts, return_counts=True)
    total = np.zeros_like(start)
    for count, times in zip(different, n, strict=True):
        if count > 0:
            total += times * (gammaln(start + count) - gammaln(start))
    return total


def _coarse(counts: Array) -> Array:
    """The counts, so rounded that there are few; a group's whole has to be the sum of its rounded parts."""
    whole = np.round(counts)
    logs = np.log(np.maximum(counts, np.finfo(float).tiny))
    few = (np.abs(counts - whole) < 1e-9) & (whole <= EXACT)
    return np.where(few, whole, np.exp(np.round(logs / PART) * PART))


def error_of_mean(of_row: np.ndarray, groups: Any, weight: Any = None, copies: Any = None) -> float:
    """Standard error of the mean of values whose rows may belong to groups.

    Parameters
    ----------
    of_row : ndarray of shape (n_rows,)
        The values.
    groups : ndarray of shape (n_rows,) or None
        Group of each row; None if the rows are independent.
    weight : ndarray of shape (n_rows,) or None
        How much each row counts in the mean.
    copies : ndarray of shape (n_rows,) or None
        How many independent rows each stands for, which share its weight; one if None. Of groups they do not
        matter.

    Returns
    -------
    float
        The standard error; 1 if there is one group only, of which nothing follows.
    """
    number = np.arange(len(of_row)) if groups is None else np.unique(groups, return_inverse=True)[1]
    weight = np.ones(len(of_row)) if weight is None else weight
    sums = np.bincount(number, weights=weight * (of_row - np.average(of_row, weights=weight)))
    if copies is None or groups is not None:
        copies = np.ones(len(sums))
    n = float(copies.sum())
    if n <= 1.0:
        return 1.0
    return math.sqrt(n / (n - 1.0) * float((sums**2 / copies).sum())) / float(weight.sum())


def independent_share(labels: np.ndarray, groups: Any, weight: Any = None) -> float:
    r"""Number of independent rows that tell as much as these rows of groups, as a share of their number.

    .. math:: \frac{1}{W} \sum_g \frac{W_g}{1 + (m_g - 1) \rho}, \qquad
              \rho = \frac{\sum_g \sum_{i \ne j} w_i w_j \, e_i \cdot e_j}
                         {\sum_g \sum_{i \ne j} w_i w_j \, e_i \cdot e_i}

    The rows i and j are those of group g, whose weights w sum to :math:`W_g`; e is the indicator of a row's
    class minus the shares of the classes, and :math:`m_g = W_g^2 / \sum_i w_i^2`, the number of the group's
    rows if they have one weight. With the correlation :math:`\rho = 1`, every group of one class, a group
    counts as one row; if it is not positive, every row counts.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Class of each row.
    groups : ndarray of shape (n_rows,)
        Group of each row.
    weight : ndarray of shape (n_rows,) or None
        Weight of each row.

    Returns
    -------
    float
        The share, above 0 and at most 1.
    """
    weight = np.ones(len(labels)) if weight is None else weight / np.max(weight)
    group, label = (np.unique(one, return_inverse=True)[1] for one in (groups, labels))
    indicator = np.eye(int(label.max()) + 1)[label]
    off = indicator - np.average(indicator, axis=0, weights=weight)
    length = (off**2).sum(axis=1)
    total, squares, own, alone = (
        np.bincount(group, weights=one) for one in (weight, weight**2, weight * length, weight**2 * length)
    )
    both = sum(np.bincount(group, weights=weight * one) ** 2 for one in off.T)
    # A group of one row has no pairs, and what is left of one by rounding says nothing.
    several = total**2 > (1.0 + ROUNDING) * squares
    pairs = float((total * own - alone)[several].sum())
    alike = float((both - alone)[several].sum()) / pairs if pairs > 0.0 else 0.0
    more = np.divide(total**2, squares, out=np.ones_like(total), where=several) - 1.0
    return float((total / (1.0 + more * min(max(alike, 0.0), 1.0))).sum() / total.sum())

"""Venn-Abers predictors: the interval between the probabilities that two trial labels give a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["VennAbers", "intervals", "left_out_intervals", "predictors", "reading"]

# Bags are read so many numbers at a time, to save memory.
AT_A_TIME = 2**20
# Values that differ by at most this multiple of the largest one are equal: exact values are known to it.
EQUAL = 1e-9


@dataclass(frozen=True)
class VennAbers:
    r"""Inductive Venn-Abers predictor: two isotonic regressions for each new point.

    .. math:: p_y(x) = g_y(f(x)), \qquad g_y = \arg\min_{g \text{ rising}} \;
              \sum_i w_i (y_i - g(f_i))^2 + (y - g(f(x)))^2, \qquad y = 0, 1

    The new point counts as one row. Where its label y is drawn as those of the others are,
    :math:`P(y = 1 | p_y) = p_y`: of :math:`p_0` and :math:`p_1` the one that belongs to the true label is
    perfectly calibrated. Which one that is remains unknown; hence, over all points,
    :math:`E\, p_0 \le P(y = 1) \le E\, p_1`.

    All :math:`p_0` and :math:`p_1` follow from the corners of one cumulative sum diagram, in
    :math:`O(n \log n)` for the n values, and in :math:`O(\log n)` for each new one. Values next to each other
    that differ by rounding errors are equal.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Decision values of points that the machine was not trained on.
    positive : array of bool of shape (n_samples,)
        Which points belong to the positive class.
    weight : array of shape (n_samples,)
        How often each point counts.
    rounding : float, default=0.0
        Values that differ by no more than this, or by 1e-9 of the largest one, are equal.

    References
    ----------
    Vovk, Petej and Fedorova, "Large-scale probabilistic predictors with and without guarantees of
    validity", NIPS 2015 (algorithms 1 to 6). Vovk and Petej, "Venn-Abers predictors", UAI 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_svm.conformal.venn_abers import VennAbers
    >>> known = VennAbers(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]), np.ones(4))
    >>> known.interval(np.array([-3.0, 0.0, 1.0])).round(2).tolist()
    [[0.0, 0.33], [0.0, 1.0], [0.5, 1.0]]
    """

    values: Array
    positive: Mask
    weight: Array
    rounding: float = 0.0

    __repr__ = short_repr

    @cached_property
    def _tables(self) -> tuple[Array, Array, Array, Array]:
        """Where each level of equal values begins and ends, and p_0 and p_1 at all places among these.

        With label 0 the regression at a new value is that at the largest value that is not above it, so
        p_0 depends on the number of levels that are not above. With label 1, and the number of levels that
        are below, it is the other way round.
        """
        used = np.flatnonzero(self.weight > 0)
        used = used[np.argsort(self.values[used], kind="stable")]
        values, positive = self.values[used], self.positive[used]
        near = _nearness(values, self.rounding)
        level = _levels(values, near)
        lowest = values[np.flatnonzero(np.diff(level, prepend=-1))]
        highest = values[np.flatnonzero(np.diff(level, append=len(level)))]
        # A new value that is nearer than rounding to a level is on it; between two it is on the nearer one.
        with np.errstate(over="ignore"):
            apart = np.minimum(near, (lowest[1:] - highest[:-1]) / 2.0)
        begins = lowest - np.append(near, apart)[: len(lowest)]
        ends = highest + np.append(apart, near)[: len(lowest)]
        weight = self.weight[used]
        one, zero = (np.bincount(level, weight * own).astype(float) for own in (positive, ~positive))
        # Values and labels reversed, p_0 is one minus p_1.
        return begins, ends, 1.0 - _with_a_one(one[::-1], zero[::-1])[::-1], _with_a_one(zero, one)

    def interval(self, at: Array) -> Array:
        """Smaller and larger one of p_0 and p_1.

        Parameters
        ----------
        at : array of shape (n_points,)
            Decision values of new points.

        Returns
        -------
        array of shape (n_points, 2)
            Lower and upper end of each interval of the positive class's probability.
        """
        begins, ends, zeros, ones = self._tables
        low = zeros[np.searchsorted(begins, at, side="right")]
        high = ones[np.searchsorted(ends, at, side="left")]
        return np.column_stack([np.minimum(low, high), np.maximum(low, high)])


def predictors(
    values: Array, y: Indices, weight: Array, roundings: Sequence[float] | None = None
) -> list[VennAbers]:
    """Predictors of left-out values: one for two classes, otherwise one per class against the rest.

    Parameters
    ----------
    values : array of shape (n_samples,) or (n_samples, n_classes)
        Left-out values, rising with the probability of class 1, or of the column's class.
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
        How often each value counts.
    roundings : sequence of float, optional
        Rounding of the values in each column: see :class:`VennAbers`. None: that of exact values.
    """
    columns = values.reshape(len(values), -1).T
    roundings = [0.0] * len(columns) if roundings is None else roundings
    return [
        VennAbers(column, y == (1 if len(columns) == 1 else k), weight, rounding)
        for k, (column, rounding) in enumerate(zip(columns, roundings, strict=True))
    ]


def intervals(found: Sequence[VennAbers], values: Array) -> Array:
    """Intervals of all predictors.

    Parameters
    ----------
    found : sequence of VennAbers
        One for two classes, otherwise one per class.
    values : array of shape (n_points,) or (n_points, n_classes)
        Values at new points.

    Returns
    -------
    array of shape (n_points, 2) or (n_points, n_classes, 2)
        Lower and upper ends.
    """
    if values.ndim == 1:
        return found[0].interval(values)
    return np.stack([one.interval(of_class) for one, of_class in zip(found, values.T, strict=True)], axis=1)


def reading(values: Array, positive: Mask, own: Array, rounding: float = 0.0) -> Array:
    r"""Isotonic regression of a bag of points, read at one of them.

    .. math:: g(v) = \max_{u \le v} \min_{w \ge v} \;
              \text{share of positive points with values in } [u, w]

    The transductive predictor: ``values`` and ``positive`` are those of all n + 1 points, the new one with
    its trial label among them, and ``own`` is the new point's value. Once for each trial label they give
    p_0 and p_1. With values of different bags, p_0 can be the larger one.

    Parameters
    ----------
    values : array of shape (n,) or (n_bags, n)
        Values of the points of each bag; shape (n,) if all bags have the same.
    positive : array of bool of shape (n,) or (n_bags, n)
        Which points belong to the positive class.
    own : array of shape (n_bags,)
        The value to read at, one of the bag's values.
    rounding : float, default=0.0
        Values next to each other that differ by no more than this, or by 1e-9 of the largest one, are equal.

    Returns
    -------
    array of shape (n_bags,)
        The regressions at ``own``.

    Raises
    ------
    ValueError
        If ``own`` is not among the values of its bag.
    """
    shape = (len(own), values.shape[-1])
    values, positive = np.broadcast_to(values, shape), np.broadcast_to(positive, shape)
    result = np.empty(len(own))
    step = max(1, AT_A_TIME // shape[1])
    for first in range(0, len(own), step):
        bags = slice(first, first + step)
        result[bags] = _read(values[bags], positive[bags], own[bags], rounding)
    return result


def left_out_intervals(
    values: Array, y: Indices, rows: Indices, weight: Array | None = None, groups: Any = None
) -> Array:
    """Intervals of the probability that training rows belong to their own class, by the values of all others.

    Parameters
    ----------
    values : array of shape (n_samples,) or (n_samples, n_classes)
        Left-out decision values: for two classes positive for class 1.
    y : array of shape (n_samples,)
        Class numbers.
    rows : array of shape (n_rows,)
        Numbers of the rows.
    weight : array of shape (n_samples,), optional
        How often each value counts. By default each counts once.
    groups : array of shape (n_samples,), optional
        Group of each row. The others are then those of other groups.

    Returns
    -------
    array of shape (n_rows, 2)
        Lower and upper end.
    """
    by_class = np.column_stack([-values, values]) if values.ndim == 1 else values
    weight = np.ones(len(y)) if weight is None else weight
    groups = np.arange(len(y)) if groups is None else groups
    found = []
    for row in rows:
        others, of_class = groups != groups[row], by_class[:, y[row]]
        known = VennAbers(of_class[others], y[others] == y[row], weight[others])
        found.append(known.interval(of_class[[row]])[0])
    return np.array(found)


def _with_a_one(negative: Array, positive: Array) -> Array:
    """p_1 of a new point, by the number of distinct values below its own.

    Parameters
    ----------
    negative, positive : array of shape (n_values,)
        Weight of each class at each distinct value, in ascending order.

    Returns
    -------
    array of shape (n_values + 1,)
        The probabilities, which never fall.
    """
    # The cumulative sum diagram. A new point with label 1 cuts it in two, and moves the left part, with its
    # end, by (-1, -1). What is sought is the slope of the line that touches both parts from below.
    across = [0.0, *np.cumsum(negative + positive).tolist()]
    up = [0.0, *np.cumsum(positive).tolist()]
    last = len(across) - 1
    after = [*range(1, last + 1), last]
    for k in range(last - 2, -1, -1):
        after[k] = _touched(across, up, after, (across[k], up[k]), k + 1)
    left = right = 0
    slope, found = 1.0, np.ones(last + 1)
    for k in range(last + 1):
        # From place to place the line gets steeper. It stays until the left part's new end is below it.
        if k == 0 or up[k] - up[left] < slope * (across[k] - across[left]):
            left, (x, y) = k, (across[k] - 1.0, up[k] - 1.0)
            right = _touched(across, up, after, (x, y), max(right, k))
            slope = (up[right] - y) / (across[right] - x)
        found[k] = slope
    return np.minimum(found, 1.0)


def _touched(
    across: list[float], up: list[float], after: list[int], start: tuple[float, float], corner: int
) -> int:
    """Corner of a lower hull where the line from a point to its left touches it, searched from a corner on.

    ``after`` has for each corner the next one.
    """
    (x, y), last = start, len(across) - 1
    while corner < last:
        far = after[corner]
        if (up[far] - y) * (across[corner] - x) > (up[corner] - y) * (across[far] - x):
            break
        corner = far
    return corner


def _nearness(values: Array, rounding: float) -> Array:
    """How much values along the last axis may differ and be equal, of shape (..., 1)."""
    return np.maximum(rounding, EQUAL * np.abs(values).max(axis=-1, keepdims=True, initial=0.0))


def _levels(ordered: Array, near: Array) -> Indices:
    """Numbers of the levels of ascending values: a new one starts where the gap is wider than rounding.

    Where so many values follow each other closely that a level would be wider than that itself, it is parted
    at its widest gaps.
    """
    level = np.zeros(ordered.shape, dtype=np.intp)
    with np.errstate(over="ignore"):  # a gap that overflows is wide
        gaps = np.diff(ordered, axis=-1)
        np.cumsum(gaps > near, axis=-1, out=level[..., 1:])
        wide = (ordered - _lowest(ordered, level) > near).any(axis=-1)
    for row in np.argwhere(wide):
        at = tuple(row)
        level[at] = _narrow_levels(ordered[at], gaps[at], float(near[at][0]))
    return level


def _narrow_levels(ordered: Array, gaps: Array, near: float) -> Indices:
    """Levels that are no wider than ``near``, in one row of values."""
    allowed, level = np.full(len(gaps), near), np.zeros(len(ordered), dtype=np.intp)
    while True:
        np.cumsum(gaps > allowed, out=level[1:])
        too_wide = np.zeros(level[-1] + 1, dtype=bool)
        too_wide[level[ordered - _lowest(ordered, level) > near]] = True
        if not too_wide.any():
            return level
        allowed[too_wide[level[1:]]] /= 2.0


def _lowest(ordered: Array, level: Indices) -> Array:
    """The lowest value of the level that each value is in."""
    starts = np.diff(level, axis=-1, prepend=-1) > 0
    return np.maximum.accumulate(np.where(starts, ordered, -np.inf), axis=-1)


def _read(values: Array, positive: Mask, own: Array, rounding: float) -> Array:
    """Slope of the cumulative sum diagram's lower hull at each bag's own value."""
    n_bags, n = values.shape
    rows, order = np.arange(n_bags), values.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    level = _levels(ordered, _nearness(values, rounding))
    place = np.maximum(0, (values <= own[:, None]).sum(axis=1) - 1)
    if np.any(ordered[rows, place] != own):
        raise ValueError("own must be one of the values of its bag: give the new point's value among them.")
    # Of equal values the positive come first: the diagram between them is not below the line across them.
    labels = np.take_along_axis(positive, order, axis=1)
    labels = np.take_along_axis(labels, np.lexsort((~labels, level)), axis=1)
    across = np.arange(n + 1.0)
    up = np.zeros((n_bags, n + 1))
    np.cumsum(labels, axis=1, out=up[:, 1:])
    own_level = level[rows, place][:, None]
    start, end = (level < own_level).sum(axis=1), (level <= own_level).sum(axis=1)
    before, beyond = across <= start[:, None], across >= end[:, None]
    slope = np.full(n_bags, -np.inf)
    left = start
    while True:
        # The flattest line from the left point to one beyond; then the left point that is lowest under it.
        run = np.where(beyond, across - left[:, None], 1.0)
        rise = np.where(beyond, up - up[rows, left][:, None], np.inf)
        flattest = (rise / run).min(axis=1)
        if not np.any(flattest > slope):
            return slope
        slope = np.maximum(slope, flattest)
        left = np.where(before, up - slope[:, None] * across, np.inf).argmin(axis=1)

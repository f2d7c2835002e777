"""Offsets of one-versus-rest decision values that make the classes' costs small."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayes_svm.utils.types import Array

__all__ = ["offsets_for"]

MAX_SWEEPS = 100  # each lowers the cost, of which there are finitely many values; a handful is usual


def offsets_for(y: NDArray[np.intp], values: Array, cost: Array, weight: Array) -> Array:
    """Offsets t with small cost of deciding for ``argmax_k values[:, k] - t_k``.

    One class at a time, to the exact minimum over its offset, until nothing improves: a local
    minimum. With equal offsets the decisions are the argmax of the values, where it starts.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Class numbers.
    values : array of shape (n_samples, n_classes)
    cost : array of shape (n_classes, n_classes)
        Rows are true, columns decided.
    weight : array of shape (n_samples,)

    Returns
    -------
    array of shape (n_classes,)
        The first is 0: only differences matter.
    """
    kept = weight > 0
    y, values, weight = y[kept], values[kept], weight[kept]
    n_classes = values.shape[1]
    offsets = np.zeros(n_classes)
    lowest = _cost_of(y, values - offsets, cost, weight)
    for _ in range(MAX_SWEEPS):
        before = lowest
        for k in range(n_classes):
            trial = offsets.copy()
            trial[k] = _best_offset(y, values - offsets, values[:, k], k, cost, weight)
            reached = _cost_of(y, values - trial, cost, weight)
            if reached < lowest:
                offsets, lowest = trial, reached
        if lowest == before:
            break
    return offsets - offsets[0]


def _cost_of(y: NDArray[np.intp], shifted: Array, cost: Array, weight: Array) -> float:
    return float(weight @ cost[y, shifted.argmax(axis=1)])


def _best_offset(
    y: NDArray[np.intp], shifted: Array, own: Array, k: int, cost: Array, weight: Array
) -> float:
    """Offset of class k with the least cost, the other classes' offsets as they are."""
    rivals = shifted.copy()
    rivals[:, k] = -np.inf
    rival = rivals.argmax(axis=1)
    ends = own - rivals[np.arange(len(y)), rival]  # the row is decided for k where the offset is below
    points, place = np.unique(ends, return_inverse=True)
    change = np.bincount(place, weights=weight * (cost[y, k] - cost[y, rival]), minlength=len(points))
    above = np.append(
        np.cumsum(change[::-1])[::-1], 0.0
    )  # cost with every row from this end on decided for k
    best = int(np.argmin(above))
    if best == 0:
        return float(points[0] - 1.0)
    if best == len(points):
        return float(points[-1] + 1.0)
    return float((points[best - 1] + points[best]) / 2)

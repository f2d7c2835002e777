"""Offsets of one-versus-rest decision values that lower the cost of the decisions."""

from __future__ import annotations

import numpy as np

from bayes_svm.metrics.distinct import distinct
from bayes_svm.utils.types import Array, Indices

__all__ = ["offsets_for"]

# A safeguard only. Every sweep but the last lowers the cost, and a handful of sweeps is usual.
MAX_SWEEPS = 100


def offsets_for(y: Indices, values: Array, cost: Array, weight: Array) -> Array:
    r"""Offsets at which the decisions cost little.

    .. math:: \hat y_i = \arg\max_k f_{ik} - t_k

    The search starts at equal offsets. It sets the offset of one class after the other to the exact
    minimum of the cost, until no offset improves it any more. The result is a local minimum.

    Parameters
    ----------
    y : array of int of shape (n_samples,)
        Class numbers.
    values : array of shape (n_samples, n_classes)
        Decision values f.
    cost : array of shape (n_classes, n_classes)
        Costs of the decisions: rows are true classes, columns are decided ones.
    weight : array of shape (n_samples,)
        Weights of the points.

    Returns
    -------
    array of shape (n_classes,)
        The offsets t. Only their differences matter, and the first is 0.
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
            trial -= trial[0]
            reached = _cost_of(y, values - trial, cost, weight)
            if reached < lowest:
                offsets, lowest = trial, reached
        if lowest == before:
            break
    return offsets


def _cost_of(y: Indices, shifted: Array, cost: Array, weight: Array) -> float:
    return float(weight @ cost[y, shifted.argmax(axis=1)])


def _best_offset(y: Indices, shifted: Array, own: Array, k: int, cost: Array, weight: Array) -> float:
    """Offset of class k that costs least while the offsets of the other classes stay as they are."""
    rivals = shifted.copy()
    rivals[:, k] = -np.inf
    rival = rivals.argmax(axis=1)
    # A row is decided for class k while the offset of class k is below the row's entry here.
    ends = own - rivals[np.arange(len(y)), rival]
    scale = float(np.abs(ends).max()) or 1.0
    points, place = distinct(ends / scale)
    points *= scale
    change = np.bincount(place, weights=weight * (cost[y, k] - cost[y, rival]), minlength=len(points))
    # Entry i is the change of the cost if the rows from the i-th end on are decided for class k.
    above = np.append(np.cumsum(change[::-1])[::-1], 0.0)
    best = int(np.argmin(above))
    if best == 0:
        return float(points[0] - scale)
    if best == len(points):
        return float(points[-1] + scale)
    return float((points[best - 1] + points[best]) / 2)

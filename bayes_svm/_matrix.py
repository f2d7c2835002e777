"""Compiled passes over a matrix, for which numpy would need a copy or more time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayes_svm._compiled import compiled

Array = NDArray[np.float64]


@compiled
def block(matrix, rows, columns):
    """``matrix[np.ix_(rows, columns)]``, several times as fast."""
    out = np.empty((rows.shape[0], columns.shape[0]))
    # Numbers without a sign need no test whether they count from the end.
    columns = columns.astype(np.uint64)
    for a in range(rows.shape[0]):
        row = matrix[rows[a]]
        for c in range(columns.shape[0]):
            out[a, c] = row[columns[c]]
    return out


@compiled
def largest_sum(matrix, weights):
    """``max(abs(matrix) @ abs(weights))`` of a symmetric matrix: what sums over it round at."""
    sums = np.zeros(matrix.shape[1])
    for j in range(weights.shape[0]):
        weight = abs(weights[j])
        if weight > 0.0:
            row = matrix[j]
            for i in range(sums.shape[0]):
                sums[i] += weight * abs(row[i])
    largest = 0.0
    for i in range(sums.shape[0]):
        if sums[i] > largest:
            largest = sums[i]
    return largest


@compiled
def mirror_lower(matrix, size):
    """Copy the lower triangle of the leading block of this size to the upper one."""
    for i in range(size):
        for j in range(i):
            matrix[j, i] = matrix[i, j]


@compiled
def smallest_of_rows(matrix, rows):
    """``matrix[rows].min(axis=1)``."""
    out = np.empty(rows.shape[0])
    for a in range(rows.shape[0]):
        row = matrix[rows[a]]
        smallest = row[0]
        for i in range(row.shape[0]):
            if row[i] < smallest:
                smallest = row[i]
        out[a] = smallest
    return out


def symmetric_product(matrix: Array, weights: Array) -> Array:
    """``matrix @ weights`` of a symmetric matrix, reading only the rows whose weight is not 0."""
    product: Array = _sum_of_rows(matrix, weights, np.flatnonzero(weights))
    return product


@compiled
def _sum_of_rows(matrix, weights, used):
    """``weights[used] @ matrix[used]``, four rows at a time."""
    out = np.zeros(matrix.shape[1])
    a = 0
    while a + 4 <= used.shape[0]:
        j_0, j_1, j_2, j_3 = used[a], used[a + 1], used[a + 2], used[a + 3]
        row_0, row_1, row_2, row_3 = matrix[j_0], matrix[j_1], matrix[j_2], matrix[j_3]
        w_0, w_1, w_2, w_3 = weights[j_0], weights[j_1], weights[j_2], weights[j_3]
        for i in range(out.shape[0]):
            out[i] += (w_0 * row_0[i] + w_1 * row_1[i]) + (w_2 * row_2[i] + w_3 * row_3[i])
        a += 4
    while a < used.shape[0]:
        row, weight = matrix[used[a]], weights[used[a]]
        for i in range(out.shape[0]):
            out[i] += weight * row[i]
        a += 1
    return out

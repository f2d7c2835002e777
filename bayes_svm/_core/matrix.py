"""Compiled passes over a matrix, for which numpy would need a copy or more time."""

from __future__ import annotations

import numpy as np

from bayes_svm._core.compiled import compiled, compiled_with_arrays

__all__ = [
    "add_sparse_product",
    "block",
    "largest_sum",
    "mirror_lower",
    "smallest_of_rows",
    "sum_of_rows",
]


@compiled_with_arrays
def block(matrix, rows, columns):
    """``matrix[np.ix_(rows, columns)]``, in a fraction of the time."""
    out = np.empty((rows.shape[0], columns.shape[0]))
    # Unsigned numbers cannot count from the end, so the loop does not test for that.
    columns = columns.astype(np.uint64)
    for a in range(rows.shape[0]):
        row = matrix[rows[a]]
        for c in range(columns.shape[0]):
            out[a, c] = row[columns[c]]
    return out


@compiled_with_arrays
def largest_sum(matrix, rows, weights):
    """``max(abs(weights) @ abs(matrix[rows]))``."""
    sums = np.zeros(matrix.shape[1])
    for a in range(rows.shape[0]):
        row, weight = matrix[rows[a]], abs(weights[a])
        for i in range(sums.shape[0]):
            sums[i] += weight * abs(row[i])
    largest = 0.0
    for i in range(sums.shape[0]):
        if sums[i] > largest:
            largest = sums[i]
    return largest


@compiled
def mirror_lower(matrix, size):
    """Copy the lower triangle of the leading block of this size to its upper triangle."""
    for i in range(size):
        for j in range(i):
            matrix[j, i] = matrix[i, j]


@compiled_with_arrays
def smallest_of_rows(matrix, rows):
    """``matrix[rows].min(axis=1)``. Four running minima, so that the CPU can overlap the comparisons."""
    out = np.empty(rows.shape[0])
    for p in range(rows.shape[0]):
        row = matrix[rows[p]]
        n = row.shape[0]
        a = b = c = d = row[0]
        for i in range(0, n - 3, 4):
            a, b = min(row[i], a), min(row[i + 1], b)
            c, d = min(row[i + 2], c), min(row[i + 3], d)
        for i in range(n - n % 4, n):
            a = min(row[i], a)
        out[p] = min(min(a, b), min(c, d))
    return out


@compiled_with_arrays
def sum_of_rows(matrix, rows, weights):
    """``weights @ matrix[rows]``."""
    out = np.zeros(matrix.shape[1])
    # Four rows at a time, so that ``out`` is read and written a quarter as often.
    a = 0
    while a + 4 <= rows.shape[0]:
        row_0, row_1, row_2, row_3 = (
            matrix[rows[a]],
            matrix[rows[a + 1]],
            matrix[rows[a + 2]],
            matrix[rows[a + 3]],
        )
        w_0, w_1, w_2, w_3 = weights[a], weights[a + 1], weights[a + 2], weights[a + 3]
        for i in range(out.shape[0]):
            out[i] += (w_0 * row_0[i] + w_1 * row_1[i]) + (w_2 * row_2[i] + w_3 * row_3[i])
        a += 4
    while a < rows.shape[0]:
        row, weight = matrix[rows[a]], weights[a]
        for i in range(out.shape[0]):
            out[i] += weight * row[i]
        a += 1
    return out


@compiled
def add_sparse_product(out, weights, matrix):
    """``out += weights @ matrix`` for weights most of which are 0."""
    for p in range(weights.shape[0]):
        target = out[p]
        for u in range(weights.shape[1]):
            weight = weights[p, u]
            if weight != 0.0:
                row = matrix[u]
                for i in range(target.shape[0]):
                    target[i] += weight * row[i]

"""Compiled copy of some rows and columns of a matrix."""

from __future__ import annotations

import numpy as np

from bayes_svm._compiled import compiled


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

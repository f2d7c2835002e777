"""Points so far from the training data that their kernel values overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bayes_svm.kernels.arrays import largest_entry
from bayes_svm.kernels.functions import Formula
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils.types import Array, Mask

__all__ = ["within_reach"]

# Kernel values up to this size have finite squares, and so have sums of many of them.
REACH = 1e120
# A row that is too far is multiplied by this factor until its kernel values are small enough.
STEP = 2.0**-16
# After this many steps even the largest feature is tiny.
MOST_STEPS = 70
# Number of kernel values that are computed at a time to see which rows are too far.
EVALUATED = 2**20


def within_reach(kernel: Kernel, X: Any, rows: Any) -> Any:
    """X with the rows moved towards the origin whose kernel values would overflow.

    Far from the data, what a kernel machine predicts depends on the direction only. A row that is
    too far is predicted as a point in the same direction whose kernel values are finite.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the machine.
    X : array or CSR matrix of shape (n_samples, n_features)
        Points to predict.
    rows : array or CSR matrix of shape (n_points, n_features)
        Training points.

    Returns
    -------
    array or CSR matrix of shape (n_samples, n_features)
        The moved points; X itself if no row is too far.
    """
    if kernel.precomputed or X.shape[0] == 0:
        return X
    formula, largest_row, n_features = kernel.formula, max(largest_entry(rows), 1.0), X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.array([largest_entry(X)])
        if (formula.largest_value(largest, largest_row, n_features) <= REACH).all():
            return X
        sizes = abs(X).max(axis=1)
        sizes = sizes.toarray().ravel() if sparse.issparse(sizes) else sizes
        far = np.flatnonzero(~(formula.largest_value(sizes, largest_row, n_features) <= REACH))
        scale = np.ones(X.shape[0])
        for _ in range(MOST_STEPS):
            far = far[~_near(formula, _scaled_rows(X[far], scale[far]), rows)]
            if len(far) == 0:
                return _scaled_rows(X, scale)
            scale[far] *= STEP
    return X  # no step made the kernel values finite: computing them raises the error that says so


def _near(formula: Formula, X: Any, rows: Any) -> Mask:
    """Whether the kernel values of each row, with itself and with the training points, are small enough."""
    near, step = np.empty(X.shape[0], dtype=bool), max(1, EVALUATED // max(1, rows.shape[0]))
    for start in range(0, X.shape[0], step):
        part = X[start : start + step]
        inside = np.abs(formula.diagonal(part)) <= REACH  # False for NaN
        if rows.shape[0]:
            inside &= (np.abs(formula.evaluate(part, rows)) <= REACH).all(axis=1)
        near[start : start + step] = inside
    return near


def _scaled_rows(X: Any, scale: Array) -> Any:
    return X.multiply(scale[:, None]).tocsr() if sparse.issparse(X) else X * scale[:, None]

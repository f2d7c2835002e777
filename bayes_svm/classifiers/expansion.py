"""The kernel expansion that predictions are made from."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np
from scipy import sparse

from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils.types import Array, Indices

__all__ = ["weights_of", "without_repeats"]


def weights_of(kernel: Kernel, coefficients: Array, rows: Any) -> Array | None:
    r"""Weights of the features, if they are fewer numbers than the support vectors.

    .. math:: w = \sum_i \beta_i (x_i - c) + c \sum_i \beta_i

    The second sum is 0 up to rounding. With c, the mean of dense rows, no offset of a feature adds to the
    rounding error of the first.

    Parameters
    ----------
    kernel : Kernel
        The kernel; only a linear machine has weights.
    coefficients : array of shape (n_machines, n_SV)
        Coefficients beta of the support vectors.
    rows : array or CSR matrix of shape (n_SV, n_features)
        The support vectors.

    Returns
    -------
    array of shape (n_machines, n_features), or None
        The weights; None also if they are not finite.
    """
    stored = rows.nnz if sparse.issparse(rows) else rows.size
    if not kernel.is_linear or len(coefficients) * rows.shape[1] > stored:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(np.abs(coefficients).sum()):
            return None
        if sparse.issparse(rows):
            weights = np.asarray(coefficients @ rows)
        else:
            centre = rows.mean(axis=0)
            sums = np.array([fsum(own) for own in coefficients])
            weights = coefficients @ (rows - centre) + sums[:, None] * centre
    return weights if np.isfinite(weights).all() else None


def without_repeats(point: Indices, coefficients: Array) -> tuple[Indices | slice, Array]:
    """One of the support vectors of each point, and the sums of their coefficients: equal rows are one point.

    Parameters
    ----------
    point : array of shape (n_SV,)
        Number of each support vector's point.
    coefficients : array of shape (n_machines, n_SV)
        Their coefficients.

    Returns
    -------
    chosen : array of shape (n_different,), or slice
        Places among the support vectors; all, if no two are equal.
    sums : array of shape (n_machines, n_different)
        The coefficients.
    """
    if np.bincount(point).max(initial=0) <= 1:
        return slice(None), coefficients
    _, first, number = np.unique(point, return_index=True, return_inverse=True)
    sums = np.zeros((len(coefficients), len(first)))
    for own, total in zip(coefficients, sums, strict=True):
        total += np.bincount(number.ravel(), weights=own, minlength=len(first))
    return first, sums

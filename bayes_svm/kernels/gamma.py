"""The value of the kernel coefficient gamma."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bayes_svm.kernels.arrays import largest_entry
from bayes_svm.utils.checks import summed_entries
from bayes_svm.utils.types import Array

__all__ = ["resolve_gamma"]

TINY = float(np.finfo(float).tiny)
# From a mean that is rounded, numbers that are all equal differ by less than this share of them.
ROUNDING = 1e-6


def resolve_gamma(gamma: str | float, X: Any, sample_weight: Array | None = None) -> float:
    """Value of the kernel coefficient ``gamma``.

    ``"scale"`` is ``1 / (n_features * Var(X))``. The variance is that of all entries of X. Each
    row counts with its weight, so that a row of weight 2 equals the same row given twice. If X
    does not vary, ``"scale"`` is 1, as in :class:`sklearn.svm.SVC`. ``"auto"`` is
    ``1 / n_features``. A number is returned as it is.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float
        The parameter as the user gave it.
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows; 1 by default.

    Returns
    -------
    float
        The coefficient.

    Raises
    ------
    ValueError
        If the variance overflows or underflows double precision.
    """
    n_features = X.shape[1]
    if gamma == "auto":
        return 1.0 / n_features
    if gamma != "scale":
        return float(gamma)
    X = summed_entries(X)
    largest = largest_entry(X)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.float64(largest) ** 2 * X.shape[0] * n_features
    if largest > 0.0 and not TINY < squares < np.inf:
        raise ValueError(
            f"The largest feature in X is {largest:.3g}. The variance of X, which gamma='scale' needs, is "
            "out of range in double precision. Scale the features, for example with "
            "sklearn.preprocessing.StandardScaler."
        )
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    total = float(weight.sum()) * n_features
    mean = float(weight @ np.asarray(X.sum(axis=1)).ravel()) / total
    if sparse.issparse(X):
        # The stored entries are centred one by one, and the zeros are counted separately: the mean
        # square minus the squared mean would cancel.
        counts = np.diff(X.indptr)
        centred = np.repeat(weight, counts) @ np.square(X.data - mean)
        variance = float(centred + weight @ (n_features - counts) * mean**2) / total
    else:
        variance = float(weight @ np.square(X - mean).sum(axis=1)) / total
    if variance <= (ROUNDING * largest) ** 2:
        used = X[weight > 0]
        variance = 0.0 if used.min() == used.max() else variance
    return 1.0 / (n_features * variance) if variance > 0 else 1.0

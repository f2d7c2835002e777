"""The kernel expansion that predictions are made from."""

from __future__ import annotations

import numpy as np

from bayes_svm.utils.types import Array, Indices

__all__ = ["without_repeats"]


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

"""Sizes of features, and checks of kernel values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bayes_svm.utils.types import Array

__all__ = ["TILE", "largest_entry", "make_symmetric", "require_finite", "squared_lengths"]

# A kernel matrix is computed in tiles of this many rows and columns, which fit in the cache. With a power of
# two, the values of a column would displace each other there, and transposing would take much longer.
TILE = 200
# Largest difference between k(x, z) and k(z, x) that passes for rounding, relative to the largest value.
ASYMMETRY = 1e-8


def squared_lengths(X: Any) -> Array:
    """Squared length ``x'x`` of every row of a dense or sparse X."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def largest_entry(X: Any) -> float:
    """Largest absolute entry of a dense or sparse X, 0 if it is empty."""
    values = X.data if sparse.issparse(X) else X
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def require_finite(values: Array, kernel: object) -> Array:
    """The kernel values themselves, or a ValueError naming ``kernel`` if one is infinite or NaN."""
    # All terms of a finite sum are finite. The terms themselves are only looked at if the sum is not.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(values.sum())
    if suspicious and not np.isfinite(values).all():
        # Of what comes here only a Kernel, whose module imports this one, has a function and a degree.
        if getattr(kernel, "function", "") == "poly" and kernel.degree % 1.0:  # type: ignore[attr-defined]
            advice = "A degree that is no whole number has no value where gamma x'z + coef0 is negative."
        else:
            advice = "Scale the features, or choose smaller values of its parameters."
        raise ValueError(f"The kernel {kernel} returned NaN or infinity. {advice}")
    return values


def make_symmetric(gram: Array, kernel: str) -> None:
    """Replace, in place, k(x, z) and k(z, x) by their mean where rounding makes them differ.

    Parameters
    ----------
    gram : array of shape (n_samples, n_samples)
        The kernel matrix.
    kernel : str
        Description of the kernel, for the error message.

    Raises
    ------
    ValueError
        If they differ by more than rounding.
    """
    size = len(gram)
    tolerance = ASYMMETRY * largest_entry(gram)
    for i in range(0, size, TILE):
        for j in range(i, size, TILE):
            upper, lower = gram[i : i + TILE, j : j + TILE], gram[j : j + TILE, i : i + TILE]
            mirrored = np.ascontiguousarray(lower.T)
            difference = float(np.abs(upper - mirrored).max())
            if difference > tolerance:
                raise ValueError(
                    f"The kernel {kernel} is not symmetric: k(x, z) and k(z, x) differ by up to "
                    f"{difference:.3g}."
                )
            if difference > 0:
                mirrored += upper
                mirrored /= 2
                upper[...] = mirrored
                lower[...] = mirrored.T

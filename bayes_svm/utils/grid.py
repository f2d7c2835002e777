"""A grid for decision values, on which those that are equal but for rounding errors are equal."""

from __future__ import annotations

import numpy as np

from bayes_svm.utils.types import Array

__all__ = ["grid_of", "on_grid"]

# Decision values are rounded to so many bits of the largest one.
GRID_BITS = 30
# Smallest positive normal number, in place of a largest value of 0.
SMALLEST_NORMAL = float(np.finfo(float).tiny)


def grid_of(values: Array) -> Array:
    """Spacing of the grid for the values along the last axis, a power of two.

    Parameters
    ----------
    values : array of shape (..., n_samples)
        Decision values.

    Returns
    -------
    array of shape (..., 1)
        The spacings.
    """
    largest = np.abs(values).max(axis=-1, keepdims=True, initial=SMALLEST_NORMAL)
    return np.asarray(2.0 ** np.round(np.log2(largest) - GRID_BITS))


def on_grid(values: Array, grid: Array | float) -> Array:
    """Values rounded to multiples of the grid's spacing.

    Parameters
    ----------
    values : array
        Decision values.
    grid : float or array
        Spacing, or spacings of a shape that broadcasts.

    Returns
    -------
    array
        The rounded values.
    """
    # Values that overflow here are so large that they are multiples of the grid already.
    with np.errstate(over="ignore"):
        multiples = np.round(values / grid)
        return np.where(np.abs(multiples) < 2.0**52, multiples * grid, values)

"""What the check of a path's end reads and writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_svm.utils.types import Array, Mask

__all__ = ["Checked", "Measured", "Points", "Tolerance"]


class Tolerance(NamedTuple):
    """Within which distance of a bound a coefficient counts as being at it.

    Attributes
    ----------
    share : float
        Distance relative to the bound, or to the largest coefficient if that is smaller.
    rounding : float
        Rounding error of a coefficient that the tableau gives.
    """

    share: float
    rounding: float


class Points(NamedTuple):
    """Some points of the problem before anything is left out, and sums over all points.

    Attributes
    ----------
    beta, residual, label, bound : arrays of shape (n_moved,)
        Coefficient, residual ``f - y``, label, and upper bound of alpha of each of these points.
    part : array of shape (n_moved,)
        The kernel part ``K beta`` of f at these points.
    largest : float
        Largest absolute beta of all other points.
    norm : float
        Squared norm ``beta' K beta`` of the kernel part of f.
    mass : float
        Sum of all alpha.
    """

    beta: Array
    residual: Array
    label: Array
    bound: Array
    part: Array
    largest: float
    norm: float
    mass: float

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.beta)


class Measured(NamedTuple):
    """How optimal the end of each path is.

    Attributes
    ----------
    kkt : array of shape (n_paths,)
        Largest violation of the optimality conditions.
    gap : array of shape (n_paths,)
        Duality gap.
    dual : array of shape (n_paths,)
        Absolute value of the dual objective.
    square : array of shape (n_paths,)
        Squared norm of the change of the kernel part of f.
    free : array of shape (n_paths,)
        Whether any point is strictly between its bounds.
    """

    kkt: Array
    gap: Array
    dual: Array
    square: Array
    free: Mask


class Checked(NamedTuple):
    """How optimal each of some rows of coefficients is.

    Attributes
    ----------
    kkt : array of shape (n_rows,)
        Largest violation of the optimality conditions.
    gap : array of shape (n_rows,)
        Duality gap, relative to the dual objective.
    scale : array of shape (n_rows,)
        Largest absolute decision value, and at least 1.
    free : array of shape (n_rows,)
        Whether any point is strictly between its bounds.
    low, high : arrays of shape (n_rows,)
        Ends of the interval of optimal intercepts, relative to the values as they were given.
    """

    kkt: Array
    gap: Array
    scale: Array
    free: Mask
    low: Array
    high: Array

    @classmethod
    def empty(cls, n_rows: int) -> Checked:
        """Memory for so many rows."""
        kkt, gap, scale, low, high = np.empty((5, n_rows))
        return cls(kkt, gap, scale, np.zeros(n_rows, dtype=np.bool_), low, high)

"""Cholesky factors and triangular systems, the large ones in parts, so that Ctrl-C is heard in between.

LAPACK works for seconds where there are thousands of points.
"""

from __future__ import annotations

import numpy as np

from bayes_svm.utils.interrupts import pause
from bayes_svm.utils.lapack import (
    inverse_from_factor,
    lower_factor,
    solution_from_factor,
    triangular_solution,
)
from bayes_svm.utils.types import Array

__all__ = ["cholesky", "half_solved", "inverse_of_factored", "solve_with_factor"]

# Up to this size LAPACK works in one call; beyond, in panels of so many columns.
WHOLE, PANEL = 2000, 256
# Right-hand sides are solved for together as long as that takes at most so many operations.
OPERATIONS = 2**31


def cholesky(matrix: Array) -> tuple[Array, int]:
    """Lower Cholesky factor of a symmetric matrix, with zeros above the diagonal, in LAPACK's order.

    Parameters
    ----------
    matrix : array of shape (n, n)
        The matrix, of which the lower triangle is read.

    Returns
    -------
    factor : array of shape (n, n)
        The factor.
    info : int
        0 if the matrix is positive definite; otherwise the number of the first column that shows it is not.
    """
    size = len(matrix)
    if size <= WHOLE:
        return lower_factor(matrix)
    factor = np.zeros((size, size), order="F")
    for first in range(0, size, PANEL):
        pause()
        strip = slice(first, min(first + PANEL, size))
        panel = matrix[first:, strip] - factor[first:, :first] @ factor[strip, :first].T
        width = panel.shape[1]
        corner, info = lower_factor(panel[:width])
        if info != 0:
            return factor, first + info
        factor[strip, strip] = corner
        factor[strip.stop :, strip] = triangular_solution(corner, panel[width:], side=1, transposed=True)
    return factor, 0


def inverse_of_factored(factor: Array, out: Array) -> None:
    """Write the lower triangle of the inverse of a matrix, given its lower Cholesky factor, to ``out``."""
    size = len(factor)
    if size <= WHOLE:
        out[...] = inverse_from_factor(factor)
        return
    half = np.zeros((size, size), order="F")
    for first in range(0, size, PANEL):
        pause()
        strip = slice(first, first + PANEL)
        half[strip, strip] = np.eye(len(half[strip]))
        half[first:, strip] = triangular_solution(factor[first:, first:], half[first:, strip])
    for first in range(0, size, PANEL):
        pause()
        strip, upto = slice(first, first + PANEL), min(first + PANEL, size)
        out[strip, :upto] = half[first:, strip].T @ half[first:, :upto]


def solve_with_factor(factor: Array, right: Array) -> Array:
    """Solution of a positive definite system, given its lower Cholesky factor."""
    step = _together(factor)
    if right.ndim == 1 or right.shape[1] <= step:
        return solution_from_factor(factor, right)
    solution = np.empty_like(right)
    for first in range(0, right.shape[1], step):
        pause()
        strip = slice(first, first + step)
        solution[:, strip] = solution_from_factor(factor, right[:, strip])
    return solution


def half_solved(factor: Array, right: Array, transposed: bool = False) -> Array:
    """Solution of a triangular system, or its transpose, given a lower factor; ``right`` is overwritten."""
    step = _together(factor)
    if right.shape[1] <= step:
        return _half_solved(factor, right, transposed)
    for first in range(0, right.shape[1], step):
        pause()
        strip = slice(first, first + step)
        right[:, strip] = _half_solved(factor, right[:, strip].copy(order="K"), transposed)
    return right


def _half_solved(factor: Array, right: Array, transposed: bool) -> Array:
    # BLAS works on columns; if the rows are contiguous, it gets the transposed system, not a copy.
    if right.flags.f_contiguous:
        return triangular_solution(factor, right, transposed=transposed, overwrite=True)
    return triangular_solution(factor, right.T, side=1, transposed=not transposed, overwrite=True).T


def _together(factor: Array) -> int:
    """Number of right-hand sides that are solved for together."""
    return max(1, OPERATIONS // max(1, len(factor)) ** 2)

"""Cholesky factors and triangular systems, the large ones in parts, for several threads.

The parts are the same at any number of threads, and so is every bit. Between them Ctrl-C is heard: LAPACK
works for seconds where there are thousands of points.
"""

from __future__ import annotations

import numpy as np

from bayes_svm.utils.lapack import (
    inverse_from_factor,
    lower_factor,
    solution_from_factor,
    triangular_solution,
)
from bayes_svm.utils.parallel import equal_parts, in_threads
from bayes_svm.utils.types import Array

__all__ = ["cholesky", "half_solved", "inverse_of_factored", "solve_with_factor"]

# Up to this size LAPACK factorises and inverts in one call; beyond, on parts of so many rows or columns.
WHOLE, PANEL = 1000, 256
# At most so many right-hand sides are solved for together; fewer, where that takes more operations.
TOGETHER, OPERATIONS = 256, 2**31
# Roughly how many seconds an operation takes.
SECONDS = 5e-11


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
        factor[first:, first : first + PANEL] = matrix[first:, first : first + PANEL]
    return factor, _factorise(factor)


def _factorise(matrix: Array) -> int:
    """Replace the lower triangle of a matrix by its factor: the first half of it, then what that leaves."""
    size = len(matrix)
    if size <= WHOLE:
        matrix[...], info = lower_factor(matrix)
        return info
    middle = PANEL * (size // (2 * PANEL))
    first, below, rest = matrix[:middle, :middle], matrix[middle:, :middle], matrix[middle:, middle:]
    info = _factorise(first)
    if info != 0:
        return info

    def solve(strip: slice) -> None:
        below[strip] = triangular_solution(first, below[strip], side=1, transposed=True)

    def subtract(strip: slice) -> None:
        rest[strip, : strip.stop] -= below[strip] @ below[: strip.stop].T

    strips, operations = _strips(size - middle, PANEL), middle * (size - middle)
    in_threads(solve, strips, SECONDS * operations * middle)
    # The longest first, so that no thread is left with one of them at the end.
    in_threads(subtract, strips[::-1], SECONDS * operations * (size - middle))
    info = _factorise(rest)
    return info and middle + info


def inverse_of_factored(factor: Array, out: Array) -> None:
    """Write the lower triangle of the inverse of a matrix, given its lower Cholesky factor, to ``out``."""
    size = len(factor)
    if size <= WHOLE:
        out[...] = inverse_from_factor(factor)
        return
    half = np.zeros((size, size), order="F")

    def invert(strip: slice) -> None:
        half[strip, strip] = np.eye(len(half[strip]))
        half[strip.start :, strip] = triangular_solution(
            factor[strip.start :, strip.start :], half[strip.start :, strip]
        )

    def multiply(strip: slice) -> None:
        out[strip, : strip.stop] = half[strip.start :, strip].T @ half[strip.start :, : strip.stop]

    strips = _strips(size, PANEL)
    for part in (invert, multiply):
        in_threads(part, strips, SECONDS * size**3 / 3)


def solve_with_factor(factor: Array, right: Array) -> Array:
    """Solution of a positive definite system, given its lower Cholesky factor."""
    strips = _together(factor, right)
    if len(strips) <= 1:
        return solution_from_factor(factor, right)
    solution = np.empty_like(right)

    def solve(strip: slice) -> None:
        solution[:, strip] = solution_from_factor(factor, right[:, strip])

    in_threads(solve, strips, 2 * SECONDS * len(factor) * right.size)
    return solution


def half_solved(factor: Array, right: Array, transposed: bool = False) -> Array:
    """Solution of a triangular system, or its transpose, given a lower factor; ``right`` is overwritten."""
    strips = _together(factor, right)
    if len(strips) <= 1:
        return _half_solved(factor, right, transposed)

    def solve(strip: slice) -> None:
        right[:, strip] = _half_solved(factor, right[:, strip].copy(order="K"), transposed)

    in_threads(solve, strips, SECONDS * len(factor) * right.size)
    return right


def _half_solved(factor: Array, right: Array, transposed: bool) -> Array:
    # BLAS works on columns; if the rows are contiguous, it gets the transposed system, not a copy.
    if right.flags.f_contiguous:
        return triangular_solution(factor, right, transposed=transposed, overwrite=True)
    return triangular_solution(factor, right.T, side=1, transposed=not transposed, overwrite=True).T


def _together(factor: Array, right: Array) -> list[slice]:
    """Right-hand sides that are solved for together."""
    most = max(1, min(TOGETHER, OPERATIONS // max(1, len(factor)) ** 2))
    return equal_parts(1 if right.ndim == 1 else right.shape[1], most, most // 2)


def _strips(size: int, width: int) -> list[slice]:
    """So many rows or columns, in parts of the same width; the last part may be narrower."""
    return [slice(first, min(first + width, size)) for first in range(0, size, width)]

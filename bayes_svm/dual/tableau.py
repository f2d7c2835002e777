"""The swept bordered kernel matrix that exact paths run on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from bayes_svm._core.follow import DEPENDENT
from bayes_svm._core.matrix import mirror_lower
from bayes_svm.kernels.gram import KernelMatrix
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = [
    "FreeSystem",
    "Tableau",
    "columns_outside",
    "flat_curvature",
    "independent_points",
    "kernel_shift",
]


STRIP = 256  # rows of the tableau made at a time


def kernel_shift(gram: KernelMatrix) -> float:
    """Constant to add to a kernel, which coefficients that sum to 0 do not see.

    It is of the size of ``k(x, x)``, or of the most negative value if that is larger: a kernel
    positive only for such coefficients (minus a distance, say) becomes so for all.
    """
    diagonal = np.abs(gram.diagonal)
    size = float(np.median(diagonal)) or float(diagonal.mean()) or 1.0
    # Kernels whose matrix is computed on demand are positive as they are.
    smallest = 0.0 if gram.on_demand else gram.extremes[0]
    return size + 2.0 * max(0.0, -smallest)


def flat_curvature(gram: KernelMatrix, points: Indices, shift: float) -> Array:
    """Curvature of each point at or below which it is dependent."""
    return np.asarray(DEPENDENT * (gram.diagonal[points] + shift))


def independent_points(gram: KernelMatrix, candidates: Indices, shift: float) -> Indices:
    """A largest numerically independent subset of ``candidates``, by pivoted Cholesky.

    Each point is measured against its own length: one outlier does not make all others small.
    """
    shifted = gram.block(candidates, candidates) + shift
    length = np.sqrt(np.maximum(np.diagonal(shifted), np.finfo(float).tiny))
    _, order, rank, _ = lapack.dpstrf(shifted / length / length[:, None], tol=DEPENDENT, lower=1)
    return np.sort(candidates[order[:rank] - 1])


def solve_with_factor(factor: Array, right: Array) -> Array:
    """Solution of a positive definite system, given its lower Cholesky factor."""
    solution, _ = lapack.dpotrs(factor, right, lower=1)
    return np.asarray(solution)


class FreeSystem:
    """Cholesky factor of the bordered system ``[[0, 1'], [1, K_SS]]`` of the free points S.

    The kernel is shifted by a constant, which moves only the intercept, so that one
    factorisation of a positive definite matrix serves the indefinite bordered one.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the free points are dependent, or the kernel is not positive definite on them.
    """

    def __init__(self, gram: KernelMatrix, free: Indices, shift: float) -> None:
        self.free = free
        self.shift = shift
        self.block = gram.block(free, free)
        self.factor, info = lapack.dpotrf(self.block + shift, lower=1, clean=1)
        if info != 0:
            raise np.linalg.LinAlgError("the kernel is not positive definite on the free points")
        self.ones = solve_with_factor(self.factor, np.ones(len(free)))
        self.total = float(self.ones.sum())

    def solve(self, targets: Array, sum_to: float, refinements: int = 2) -> tuple[Array, float]:
        """``beta_S`` and intercept with ``K_SS beta_S + b = targets``, ``sum(beta_S) = sum_to``.

        Two steps of iterative refinement make the residual as small as rounding allows; a part of
        what is wanted, far smaller than the rest, needs none.
        """
        beta, intercept = np.zeros(len(self.free)), 0.0
        for _ in range(1 + refinements):
            rest = targets - self.block @ beta - intercept
            rest_sum = sum_to - beta.sum()
            part = solve_with_factor(self.factor, rest)
            change = (part.sum() - rest_sum) / self.total
            beta = beta + part - change * self.ones
            intercept += change + self.shift * rest_sum
        return beta, intercept


@dataclass(frozen=True)
class Tableau:
    """Principal pivot of the bordered kernel matrix on the intercept and the free points.

    A free point's *input* is its residual and its *position* its beta; of the others the input
    is beta and the position the residual. ``positions = inputs @ W``; the last index is the
    intercept, which is a position, and whose input is the sum of all beta.

    Parameters
    ----------
    rows : array of shape (n_rows,)
        The points of the problem that the tableau covers, the free ones first.
    n_free : int
    W : array of shape (n_rows + 1, n_rows + 1)
        ``W[k, i]`` is the rate of position i per unit of input k.
    """

    rows: Indices
    n_free: int
    W: Array

    @classmethod
    def sweep(cls, gram: KernelMatrix, system: FreeSystem, others: Indices) -> Tableau:
        """Sweep on the free points of ``system``; ``others`` are the rows beside them."""
        n_free, n_other = len(system.free), len(others)
        size = n_free + n_other
        W = np.empty((size + 1, size + 1))
        free, rest = slice(0, n_free), slice(n_free, size)
        inverse, _ = lapack.dpotri(system.factor, lower=1)
        W[free, free] = inverse
        mirror_lower(W, n_free)
        W[free, free] -= system.ones[:, None] * (system.ones / system.total)
        W[size, free] = W[free, size] = system.ones / system.total
        W[size, size] = system.shift - 1.0 / system.total
        cross = gram.block(system.free, others) + system.shift
        lack = 1.0 - system.ones @ cross
        half = lapack.dtrtrs(system.factor, cross, lower=1)[0]
        # In strips of one half: no other array of this size is made, and no work is done twice.
        for first in range(0, n_other, STRIP):
            strip, beyond = slice(first, first + STRIP), slice(first, n_other)
            values = gram.block(others[strip], others[beyond])
            values += system.shift
            values -= half[:, strip].T @ half[:, beyond]
            values += lack[strip, None] * (lack[beyond] / system.total)
            W[n_free:size, n_free:size][strip, beyond] = values
            W[n_free:size, n_free:size][beyond, strip] = values.T
        gain = lapack.dtrtrs(system.factor, half, lower=1, trans=1)[0]
        gain += (system.ones / system.total)[:, None] * lack
        W[free, rest] = gain
        W[rest, free] = -gain.T
        W[size, rest] = -lack / system.total
        W[rest, size] = lack / system.total
        return cls(rows=np.concatenate([system.free, others]), n_free=n_free, W=W)

    def extended(self, gram: KernelMatrix, system: FreeSystem, points: Indices, between: Array) -> Tableau:
        """The same with some more bounded points, last among its rows.

        Parameters
        ----------
        gram : KernelMatrix
        system : FreeSystem
            What it was swept with.
        points : array of shape (n_points,)
        between : array of shape (n_free, n_other)
            Kernel values between the free points and the other rows.
        """
        n_free, old, n_new = self.n_free, len(self.rows), len(points)
        rows = np.concatenate([self.rows, points])
        new = columns_outside(
            gram, system, rows[n_free:], points, np.hstack([between, gram.block(system.free, points)])
        )
        W = np.empty((old + n_new + 1, old + n_new + 1))
        W[:old, :old], W[:old, -1] = self.W[:old, :old], self.W[:old, -1]
        W[-1, :old], W[-1, -1] = self.W[-1, :old], self.W[-1, -1]
        W[old:-1] = new
        W[:n_free, old:-1], W[-1, old:-1] = -new[:, :n_free].T, -new[:, -1]
        W[n_free:old, old:-1] = new[:, n_free:old].T
        return Tableau(rows, n_free, W)

    @property
    def base_in(self) -> Mask:
        """Which rows are free in the base."""
        mask = np.zeros(len(self.rows), dtype=bool)
        mask[: self.n_free] = True
        return mask


def columns_outside(
    gram: KernelMatrix, system: FreeSystem, others: Indices, points: Indices, between: Array
) -> Array:
    """Tableau rows of bounded points that the tableau does not cover.

    Parameters
    ----------
    gram : KernelMatrix
    system : FreeSystem
    others : array of shape (n_other,)
        The tableau's rows beside the free points.
    points : array of shape (n_points,)
    between : array of shape (n_free, n_other)
        Kernel values between the free points and the other rows.

    Returns
    -------
    array of shape (n_points, n_free + n_other + 1)
        In the order of :meth:`Tableau.sweep`.
    """
    n_free = len(system.free)
    cross = gram.block(system.free, points) + system.shift
    lack = 1.0 - system.ones @ cross
    gain = solve_with_factor(system.factor, cross)
    gain += (system.ones / system.total)[:, None] * lack
    columns = np.empty((len(points), n_free + len(others) + 1))
    columns[:, :n_free] = -gain.T
    columns[:, -1] = lack / system.total
    # A bounded point's own weight moves the others as if it came from the free points that
    # stand in for it, and by what they lack.
    columns[:, n_free:-1] = gram.block(points, others) + (lack / system.total)[:, None]
    columns[:, n_free:-1] -= gain.T @ between
    return columns

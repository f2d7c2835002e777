"""The swept bordered kernel matrix that exact paths run on: see ``docs/explanation/leave_one_out.md``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from bayes_svm._core.matrix import mirror_lower, transpose
from bayes_svm._core.records import DEPENDENT
from bayes_svm.kernels.gram import KernelMatrix
from bayes_svm.utils.parallel import in_threads
from bayes_svm.utils.triangular import cholesky, half_solved, inverse_of_factored, solve_with_factor
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = [
    "FreeSystem",
    "Tableau",
    "flat_curvature",
    "independent_points",
    "kernel_shift",
]


# Points none of whose pivots, relative to their own k(x, x), is below this, in whatever order, are
# independent.
CLEARLY_INDEPENDENT = 1e-5
# So many rows of the tableau are made at a time; fewer, where that takes more operations.
STRIP, LEAST_STRIP, OPERATIONS = 256, 32, 2**33
# So many points are added to a tableau at a time.
ADDED = 128
# Roughly how many seconds a multiplication takes, and a byte of new memory.
SECONDS, ROOM = 5e-11, 3e-10


def kernel_shift(gram: KernelMatrix) -> float:
    """Constant to add to a kernel, which changes nothing for coefficients that sum to 0.

    It has the size of ``k(x, x)``. A kernel that is not known to be positive semi-definite gets one as large
    as its most negative value: if it is positive definite only for such coefficients (minus a distance,
    say), it becomes so for all.
    """
    diagonal = np.abs(gram.diagonal)
    middle = len(diagonal) // 2
    size = float(np.partition(diagonal, middle)[middle]) or float(diagonal.mean()) or 1.0
    smallest = 0.0 if gram.positive_semidefinite else gram.smallest
    return size + 2.0 * max(0.0, -smallest)


def flat_curvature(gram: KernelMatrix, points: Indices, shift: float) -> Array:
    """Curvature of each point at or below which it depends on the free points."""
    return np.asarray(DEPENDENT * (gram.diagonal[points] + shift))


def independent_points(gram: KernelMatrix, candidates: Indices, shift: float) -> Indices:
    """A largest numerically independent subset of ``candidates``, by pivoted Cholesky.

    Each point is measured against its own length, so that one outlier does not make all others small.

    Parameters
    ----------
    gram : KernelMatrix
        Kernel values between the points.
    candidates : array of shape (n_candidates,)
        Numbers of points.
    shift : float
        Constant added to the kernel.

    Returns
    -------
    array of shape (rank,)
        Numbers of the independent points, ascending.
    """
    shifted = gram.block(candidates, candidates) + shift
    length = np.sqrt(np.maximum(np.diagonal(shifted), np.finfo(float).tiny))
    shifted /= length
    shifted /= length[:, None]
    _, order, rank, _ = lapack.dpstrf(shifted, tol=DEPENDENT, lower=1)
    return np.sort(candidates[order[:rank] - 1])


class FreeSystem:
    """Cholesky factor of the bordered system ``[[0, 1'], [1, K_SS]]`` of the free points S.

    The bordered matrix is indefinite. A constant is added to the kernel, which moves only the intercept; the
    shifted matrix is positive definite, and one factorisation of it solves the bordered system.

    Parameters
    ----------
    gram : KernelMatrix
        Kernel values between the points.
    free : array of shape (n_free,)
        Numbers of the free points.
    shift : float
        Constant added to the kernel.
    ridge : float, default=0.0
        Multiple of the shifted diagonal that is added to it. Of dependent points the system then has a
        solution, if it has one at all: the refinement takes out what the ridge changes.

    Attributes
    ----------
    block : array of shape (n_free, n_free)
        Kernel matrix of the free points, without shift and ridge.
    factor : array of shape (n_free, n_free)
        Lower Cholesky factor of the shifted matrix, with the ridge.
    ones : array of shape (n_free,)
        Solution of the shifted system for a right-hand side of ones.
    total : float
        Sum of ``ones``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the free points are dependent, or the kernel is not positive definite on them.
    """

    def __init__(self, gram: KernelMatrix, free: Indices, shift: float, ridge: float = 0.0) -> None:
        self.free = free
        self.shift = shift
        self.block = gram.block(free, free)
        shifted = self.block + shift
        if ridge:
            shifted.flat[:: len(free) + 1] *= 1.0 + ridge
        self.factor, info = cholesky(shifted)
        if info != 0:
            raise np.linalg.LinAlgError("the kernel is not positive definite on the free points")
        self.ones = solve_with_factor(self.factor, np.ones(len(free)))
        self.total = float(self.ones.sum())

    @property
    def well_conditioned(self) -> bool:
        """Whether no free point nearly depends on the others, as far as the factor tells."""
        length = self.block.diagonal() + self.shift
        return bool((np.square(self.factor.diagonal()) > CLEARLY_INDEPENDENT * length).all())

    def solve(self, targets: Array, sum_to: float, refinements: int = 2) -> tuple[Array, float]:
        """``beta_S`` and intercept with ``K_SS beta_S + b = targets``, ``sum(beta_S) = sum_to``.

        Parameters
        ----------
        targets : array of shape (n_free,)
            Right-hand side.
        sum_to : float
            Sum of the coefficients.
        refinements : int
            Steps of iterative refinement. Two make the residual as small as rounding allows; a correction far
            smaller than the coefficients themselves needs none.

        Returns
        -------
        beta : array of shape (n_free,)
            Coefficients of the free points.
        intercept : float
            Intercept b.
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

    The *input* of a free point is its residual and its *position* is its beta. The input of any other point
    is its beta and its position is its residual. Then ``positions = inputs @ W``. The last index is that of
    the intercept, which is a position; its input is the sum of all beta.

    Parameters
    ----------
    rows : array of shape (n_rows,)
        The points of the problem that the tableau covers, the free ones first.
    n_free : int
        Number of free points.
    W : array of shape (n_rows + 1, n_rows + 1)
        ``W[k, i]`` is the rate of position i per unit of input k.
    """

    rows: Indices
    n_free: int
    W: Array

    @classmethod
    def sweep(cls, gram: KernelMatrix, system: FreeSystem, others: Indices) -> Tableau:
        """Sweep on the free points.

        Parameters
        ----------
        gram : KernelMatrix
            Kernel values between the points.
        system : FreeSystem
            The factorised system of the free points.
        others : array of shape (n_other,)
            Numbers of the other points that the tableau shall cover.
        """
        n_free, n_other = len(system.free), len(others)
        size = n_free + n_other
        W = np.empty((size + 1, size + 1))
        free, rest = slice(0, n_free), slice(n_free, size)
        inverse_of_factored(system.factor, W[free, free])
        mirror_lower(W[free, free])
        W[free, free] -= system.ones[:, None] * (system.ones / system.total)
        W[size, free] = W[free, size] = system.ones / system.total
        W[size, size] = system.shift - 1.0 / system.total
        cross = gram.block(system.free, others) + system.shift
        lack = 1.0 - system.ones @ cross
        half = half_solved(system.factor, cross)
        within = W[n_free:size, n_free:size]
        width = max(LEAST_STRIP, min(STRIP, OPERATIONS // max(1, n_free * n_other)))

        def fill(first: int) -> None:
            strip, beyond = slice(first, first + width), slice(first, n_other)
            values = gram.block(others[strip], others[beyond])
            values += system.shift
            values -= half[:, strip].T @ half[:, beyond]
            values += lack[strip, None] * (lack[beyond] / system.total)
            within[strip, beyond] = values
            transpose(values, within[beyond, strip])

        # Strips of one triangle, mirrored to the other: no second array of this size is made.
        in_threads(fill, range(0, n_other, width), SECONDS * n_free * n_other**2)
        gain = half_solved(system.factor, half, transposed=True)
        gain += (system.ones / system.total)[:, None] * lack
        W[free, rest] = gain
        transpose(gain, W[rest, free])
        W[rest, free] *= -1.0
        W[size, rest] = -lack / system.total
        W[rest, size] = lack / system.total
        return cls(rows=np.concatenate([system.free, others]), n_free=n_free, W=W)

    def extended(self, gram: KernelMatrix, system: FreeSystem, points: Indices, between: Array) -> Tableau:
        """The same tableau with some more points at a bound, last among its rows.

        Parameters
        ----------
        gram : KernelMatrix
            Kernel values between the points.
        system : FreeSystem
            The system of the free points with which it was swept.
        points : array of shape (n_points,)
            Numbers of the additional points.
        between : array of shape (n_free, n_other)
            Kernel values between the free points and the other rows.
        """
        n_free, old, n_new = self.n_free, len(self.rows), len(points)
        rows = np.concatenate([self.rows, points])
        of_free = gram.block(system.free, points)
        to_others = gram.block(points, rows[n_free:])
        between = np.hstack([between, of_free])
        W = np.empty((old + n_new + 1, old + n_new + 1))

        def add(first: int) -> None:
            some = slice(first, first + ADDED)
            new = self.columns_of(system, of_free[:, some], to_others[some], between)
            last = old + first + len(new)
            W[old + first : last] = new
            transpose(new[:, :old], W[:old, old + first : last])
            W[:n_free, old + first : last] *= -1.0
            W[-1, old + first : last] = -new[:, -1]

        def keep(first: int) -> None:
            some = slice(first, min(first + STRIP, old))
            W[some, :old], W[some, -1] = self.W[some, :old], self.W[some, -1]

        in_threads(keep, range(0, old, STRIP), ROOM * W.nbytes)
        in_threads(add, range(0, n_new, ADDED), SECONDS * n_free * n_new * len(rows))
        W[-1, :old], W[-1, -1] = self.W[-1, :old], self.W[-1, -1]
        return Tableau(rows, n_free, W)

    def columns_outside(
        self, gram: KernelMatrix, system: FreeSystem, points: Indices, between: Array
    ) -> Array:
        """Tableau rows of points at a bound that the tableau does not cover.

        Parameters
        ----------
        gram : KernelMatrix
            Kernel values between the points.
        system : FreeSystem
            The system of the free points with which the tableau was swept.
        points : array of shape (n_points,)
            Numbers of the points that it does not cover.
        between : array of shape (n_free, n_other)
            Kernel values between the free points and the other rows.

        Returns
        -------
        array of shape (n_points, n_free + n_other + 1)
            One row for each point; the columns are in the order of :meth:`sweep`.
        """
        others = self.rows[self.n_free :]
        return self.columns_of(system, gram.block(system.free, points), gram.block(points, others), between)

    def columns_of(self, system: FreeSystem, of_free: Array, to_others: Array, between: Array) -> Array:
        """The same for points that the problem may not have, given their kernel values.

        Parameters
        ----------
        system : FreeSystem
            The system of the free points with which the tableau was swept.
        of_free : array of shape (n_free, n_points)
            Kernel values between the free points and these points.
        to_others : array of shape (n_points, n_other)
            Kernel values between these points and the tableau's other rows, or more points.
        between : array of shape (n_free, n_other)
            Kernel values between the free points and those of ``to_others``.

        Returns
        -------
        array of shape (n_points, n_free + n_other + 1)
            As above.
        """
        n_free = self.n_free
        cross = of_free + system.shift
        lack = 1.0 - system.ones @ cross
        # The inverse in W gives the same with less accuracy, and many ends of paths would not be exact.
        gain = solve_with_factor(system.factor, cross)
        gain += (system.ones / system.total)[:, None] * lack
        columns = np.empty((len(to_others), n_free + to_others.shape[1] + 1))
        columns[:, :n_free] = -gain.T
        columns[:, -1] = lack / system.total
        # A point at a bound moves the others by its kernel values, less what the free points give way, and
        # by the change of the intercept.
        columns[:, n_free:-1] = to_others + (lack / system.total)[:, None]
        columns[:, n_free:-1] -= gain.T @ between
        return columns

    @property
    def base_in(self) -> Mask:
        """Which rows are free points, on which the tableau was swept."""
        mask = np.zeros(len(self.rows), dtype=bool)
        mask[: self.n_free] = True
        return mask

"""An interior-point start for kernels of low rank, on which moves of pairs converge slowly.

With ``K = L L'`` of rank r each step takes ``O(n r^2)``, whatever C is (Fine and Scheinberg, "Efficient SVM
training using low-rank kernel representations", JMLR 2001).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from bayes_svm.dual.problem import DualProblem
from bayes_svm.kernels.gram import KernelMatrix
from bayes_svm.utils.types import Array

__all__ = ["low_rank_factor", "low_rank_start"]


# A kernel of a higher rank than this, or than this share of the points, is not of low rank. Nor is one of
# more than half as high a rank, unless what the columns leave falls fast.
MOST_RANK, MOST_SHARE = 300, 0.1
# What the factor leaves of the diagonal may be this share of it: the result is only a start. Half of
# the columns must leave no more than its square root.
NEGLIGIBLE = 1e-8
MAX_STEPS = 60
# The steps end when the mean product of a coefficient and its multiplier is this share of the mean bound.
CLOSED = 1e-11
# A step goes this share of the way to the nearest bound.
SHORT_OF_BOUND = 0.995


def low_rank_start(problem: DualProblem) -> Array | None:
    """Coefficients near the optimum, those at a bound exactly there.

    Parameters
    ----------
    problem : DualProblem
        A convex problem.

    Returns
    -------
    array of shape (n_points,), or None
        Signed coefficients, whose sum is 0 up to rounding; None if the kernel is not of low rank, or a null
        point takes up any sum.
    """
    most = min(MOST_RANK, int(MOST_SHARE * len(problem.label)))
    factor = low_rank_factor(problem.gram, most) if problem.label.all() else None
    # Minus a distance has the diagonal of a kernel that is 0 everywhere: no column is found.
    if factor is None or factor.shape[1] == 0:
        return None
    return _interior_point(factor, problem.label, problem.bound)


def low_rank_factor(gram: KernelMatrix, most: int) -> Array | None:
    """``L`` with ``K = L L'``, by pivoted Cholesky, or None if it needs more than so many columns.

    Parameters
    ----------
    gram : KernelMatrix
        Kernel values between the points.
    most : int
        Largest rank.

    Returns
    -------
    array of shape (n_points, rank), or None
        The factor.
    """
    left = gram.diagonal.copy()
    largest = float(left.max())
    if _too_high(gram, most, largest):
        return None
    columns = np.empty((most, len(gram)))
    for rank in range(most + 1):
        pivot = int(left.argmax())
        if left[pivot] <= NEGLIGIBLE * largest:
            return columns[:rank].T
        if rank == most // 2 and left[pivot] > np.sqrt(NEGLIGIBLE) * largest:
            return None
        if rank < most:
            known = columns[:rank]
            column = gram.rows(np.array([pivot]))[0] - known[:, pivot] @ known
            columns[rank] = column / np.sqrt(left[pivot])
            left -= columns[rank] ** 2
    return None


def _too_high(gram: KernelMatrix, most: int, largest: float) -> bool:
    """Whether a sample of the points shows already that the rank is too high."""
    sample = np.linspace(0, len(gram) - 1, min(len(gram), 2 * most)).astype(np.intp)
    factor, _, rank, _ = lapack.dpstrf(gram.block(sample, sample), tol=NEGLIGIBLE * largest, lower=1)
    left = np.square(np.diagonal(factor))
    half = most // 2
    return bool(rank > most or (rank > half and left[half] > np.sqrt(NEGLIGIBLE) * largest))


@np.errstate(all="ignore")  # of numbers that are not finite it returns None
def _interior_point(factor: Array, label: Array, bound: Array) -> Array | None:
    """Predictor-corrector steps (Mehrotra) on ``min 1/2 |V' a|^2 - sum a, y' a = 0, 0 <= a <= bound``."""
    V, size = label[:, None] * factor, float(bound.mean())
    alpha, room, intercept = 0.5 * bound, 0.5 * bound, 0.0
    # The multipliers of both bounds start as large as the residual, or the steps would stay short.
    low = np.full(len(label), 1.0 + float(np.abs(V @ (alpha @ V)).max()))
    high = low
    for _ in range(MAX_STEPS):
        residual = V @ (alpha @ V) - 1.0 + intercept * label - low + high
        lack, gap = float(label @ alpha), float(alpha @ low + room @ high) / (2 * len(label))
        if not np.isfinite(gap):
            return None
        if gap <= CLOSED * size and np.abs(residual).max() <= 1e-6 and abs(lack) <= 1e-6 * size:
            return label * np.where(alpha < low * size, 0.0, np.where(room < high * size, bound, alpha))
        solver = _Newton(V, label, low / alpha + high / room)
        if solver.failed:
            return None
        aim, corrections = 0.0, (np.zeros(len(label)), np.zeros(len(label)))
        for final in (False, True):
            to_low = (aim - corrections[0]) / alpha - low
            to_high = (aim + corrections[1]) / room - high
            move, shift = solver.solve(-residual + to_low - to_high, -lack)
            low_move, high_move = to_low - low / alpha * move, to_high + high / room * move
            if final:
                break
            step = min(_longest((alpha, room), (move, -move)), _longest((low, high), (low_move, high_move)))
            after = float((alpha + step * move) @ (low + step * low_move))
            after += float((room - step * move) @ (high + step * high_move))
            aim = gap * float(after / (2 * len(label) * gap)) ** 3
            corrections = move * low_move, move * high_move
        step = SHORT_OF_BOUND * _longest(
            (alpha, room, low, high), (move, -move, low_move, high_move), 1.0 / SHORT_OF_BOUND
        )
        alpha, room, intercept = alpha + step * move, room - step * move, intercept + step * shift
        low, high = low + step * low_move, high + step * high_move
    return None


def _longest(values: tuple[Array, ...], moves: tuple[Array, ...], most: float = 1.0) -> float:
    """The largest step up to ``most`` that leaves all values at least 0."""
    for value, move in zip(values, moves, strict=True):
        falls = move < 0
        most = min(most, float((-value[falls] / move[falls]).min(initial=most)))
    return most


class _Newton:
    """Solutions of ``(D + V V') a + y b = right, y' a = total`` for a diagonal D."""

    def __init__(self, V: Array, label: Array, diagonal: Array) -> None:
        self.V, self.label, self.diagonal = V, label, diagonal
        inner = V.T @ (V / diagonal[:, None])
        inner[np.diag_indices_from(inner)] += 1.0
        self.factor, info = lapack.dpotrf(inner, lower=1)
        self.failed = info != 0 or not np.isfinite(diagonal).all()
        if not self.failed:
            self.of_label = self._without_intercept(label)

    def _without_intercept(self, right: Array) -> Array:
        part = right / self.diagonal
        inner, _ = lapack.dpotrs(self.factor, part @ self.V, lower=1)
        return np.asarray(part - (self.V @ inner) / self.diagonal)

    def solve(self, right: Array, total: float) -> tuple[Array, float]:
        free = self._without_intercept(right)
        shift = float((self.label @ free - total) / (self.label @ self.of_label))
        return free - shift * self.of_label, shift

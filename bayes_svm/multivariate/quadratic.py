r"""The small quadratic program of a cutting-plane method, solved exactly by an active set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from bayes_svm.utils.types import Array

__all__ = ["solve_simplex_qp"]


SINGULAR = 1e-13  # squared pivot, of a matrix scaled to a diagonal of 1, that is rounding only
NOTHING = 1e-12  # share of the linear part that the quadratic one does not matter at
ROUNDING = 1e-15  # share of the size of the multipliers that they round at


def solve_simplex_qp(gram: Array, level: Array, C: float, start: Array | None = None) -> Array:
    r"""Maximise a concave quadratic over a simplex and what is below it.

    .. math:: \max_\alpha \; \Delta'\alpha - \tfrac12 \alpha' G \alpha, \qquad
              \alpha \ge 0, \quad \sum_k \alpha_k \le C

    Parameters
    ----------
    gram : array of shape (n, n)
        G, symmetric and positive semi-definite; it may be singular.
    level : array of shape (n,)
        The linear part.
    C : float
        Above 0.
    start : array of shape (n,), optional
        A feasible point to start from; by default 0.

    Returns
    -------
    array of shape (n,)

    Notes
    -----
    What is left of C is the coefficient of one more element, all zeros: the set is then a simplex,
    and adding a constant to all of G changes nothing on it. The free elements are kept such that
    G with that constant is non-singular on them, as in Wolfe's nearest-point algorithm
    (Mathematical Programming 11, 1976); where an element that enters makes it singular, the
    objective grows without bound along the null direction, up to where another leaves.
    """
    face = _Simplex.of(gram, level, C, start)
    free = np.flatnonzero(face.alpha)
    solved = False
    for _ in range(100 * (len(level) + 1)):
        reduced = face.rising()
        entering = int(np.argmax(reduced))
        multiplier = float(face.alpha @ reduced) / C
        scale = float(np.abs(face.linear).max() + np.abs(face.linear - reduced).max())
        enters = reduced[entering] - multiplier > ROUNDING * scale and entering not in free
        if solved and not enters:
            break
        free = np.append(free, entering) if enters else free
        free = face.move_to_best(free)
        solved = True
    return face.alpha[1:]


@dataclass
class _Simplex:
    """The problem with one more element, all zeros, and a point of its simplex.

    ``scaled`` is G plus a constant, scaled by ``root`` to a diagonal of 1.
    """

    full: Array
    linear: Array
    C: float
    alpha: Array
    root: Array
    scaled: Array

    @classmethod
    def of(cls, gram: Array, level: Array, C: float, start: Array | None) -> _Simplex:
        size = len(level) + 1
        full = np.zeros((size, size))
        full[1:, 1:] = gram
        alpha = np.zeros(size)
        if start is not None:
            alpha[1:] = np.maximum(start, 0.0)
        alpha[0] = max(0.0, C - alpha.sum())
        np.fill_diagonal(full, np.maximum(full.diagonal(), 0.0))  # rounding of what is 0
        # Where all of G is rounding, next to what the linear part weighs, it must not be the scale.
        least = NOTHING * float(np.abs(level).max(initial=0.0)) / C
        scaled = full + (max(float(full.diagonal().mean()), least) or 1.0)
        root = np.sqrt(scaled.diagonal())
        scaled /= root
        scaled /= root[:, None]
        return cls(full, np.concatenate([[0.0], level]), C, alpha, root, scaled)

    def rising(self) -> Array:
        """Gradient of the objective."""
        return np.asarray(self.linear - self.full @ self.alpha)

    def move_to_best(self, free: NDArray[np.intp]) -> NDArray[np.intp]:
        """Move to the best point with free elements among the given; those left free."""
        alpha = self.alpha
        while True:
            rising, root = self.rising()[free], self.root[free]
            part = self.scaled[np.ix_(free, free)]
            direction = _newton_direction(part, root, rising)
            bounded = direction is not None
            if direction is None:
                direction = _null_direction(part, root, rising)
            elif np.all(alpha[free] + direction > 0):
                alpha[free] += direction
                alpha[free] *= self.C / alpha[free].sum()
                return free
            falls = alpha[free] + direction <= 0 if bounded else direction < 0
            ratios = np.where(falls, 0.0, np.inf)
            np.divide(alpha[free], -direction, out=ratios, where=falls & (direction < 0))
            step = float(ratios.min())
            alpha[free] = np.maximum(0.0, alpha[free] + step * direction)
            leaving = ratios <= step
            alpha[free[leaving]] = 0.0
            free = free[~leaving]
            alpha[free] *= self.C / alpha[free].sum()  # long directions do not round to a sum of 0


def _newton_direction(part: Array, root: Array, rising: Array) -> Array | None:
    """Direction of sum 0 to the optimum with no signs asked for, or None where it is not unique."""
    factor, failed = dpotrf(part, lower=True, overwrite_a=False)
    if failed or factor.diagonal().min() ** 2 <= SINGULAR:
        return None
    solved, _ = dpotrs(factor, np.column_stack([rising / root, 1.0 / root]), lower=True)
    of_rising, of_ones = (solved / root[:, None]).T
    return np.asarray(of_rising - of_rising.sum() / of_ones.sum() * of_ones)


def _null_direction(part: Array, root: Array, rising: Array) -> Array:
    """Direction of no curvature along which the objective does not fall; its sum is 0."""
    _, vectors = np.linalg.eigh(part)
    direction = vectors[:, 0] / root
    direction -= direction.mean()
    return np.asarray(direction if rising @ direction >= 0 else -direction)

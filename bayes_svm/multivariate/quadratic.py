r"""The small quadratic program of a cutting-plane method, solved exactly by an active-set method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from bayes_svm.utils.types import Array, Indices

__all__ = ["solve_simplex_qp"]

# A squared Cholesky pivot up to this size, of a matrix with diagonal 1, is taken to be rounding.
SINGULAR = 1e-13
# The quadratic part does not matter if it is smaller than this share of the linear part.
NEGLIGIBLE = 1e-12
# Rounding errors of the multipliers, relative to the numbers that they are computed from.
ROUNDING = 1e-15
# After so many steps without a higher objective the elements that enter and leave do so by rounding.
STALLED = 3


def solve_simplex_qp(gram: Array, level: Array, C: float, start: Array | None = None) -> Array:
    r"""Maximise a concave quadratic function over nonnegative coefficients with a sum of at most C.

    .. math:: \max_\alpha \; \Delta'\alpha - \tfrac12 \alpha' G \alpha, \qquad
              \alpha \ge 0, \quad \sum_k \alpha_k \le C

    Parameters
    ----------
    gram : array of shape (n, n)
        G, symmetric and positive semi-definite; it may be singular.
    level : array of shape (n,)
        The linear part.
    C : float
        Largest sum of the coefficients, above 0.
    start : array of shape (n,), optional
        A feasible point to start from; by default 0.

    Returns
    -------
    array of shape (n,)
        The coefficients of the maximum.

    Notes
    -----
    What is left of C becomes the coefficient of one more element, for which G and the linear part
    are 0. The coefficients then sum to C, and a constant added to all of G only shifts the
    objective. Elements with a coefficient above 0 are free. As in Wolfe's nearest-point algorithm
    (Mathematical Programming 11, 1976), G with that constant is kept non-singular on the free
    elements. If an element that enters makes it singular, the objective grows without bound along
    the null direction. The step along it ends where the coefficient of another element becomes 0,
    and that element leaves.
    """
    face = _Simplex.of(gram, level, C, start)
    free = np.flatnonzero(face.alpha)
    solved, highest, stalled = False, -np.inf, 0
    for _ in range(100 * (len(level) + 1)):
        reduced = face.gradient()
        reached = float(face.alpha @ (face.linear + reduced)) / 2
        stalled = 0 if reached > highest else stalled + 1
        highest = max(highest, reached)
        if stalled > STALLED:
            break
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
    """The problem with one more element, so that the coefficients sum to C, and its current point.

    Parameters
    ----------
    full : array of shape (n + 1, n + 1)
        G, with zeros for the element added in front.
    linear : array of shape (n + 1,)
        The linear part.
    C : float
        Sum of the coefficients.
    alpha : array of shape (n + 1,)
        The current coefficients.
    root : array of shape (n + 1,)
        Square roots of the diagonal of G plus a constant.
    scaled : array of shape (n + 1, n + 1)
        G plus the constant, scaled by ``root`` to a diagonal of 1.
    """

    full: Array
    linear: Array
    C: float
    alpha: Array
    root: Array
    scaled: Array

    @classmethod
    def of(cls, gram: Array, level: Array, C: float, start: Array | None) -> _Simplex:
        """The problem of :func:`solve_simplex_qp` at its starting point."""
        size = len(level) + 1
        full = np.zeros((size, size))
        full[1:, 1:] = gram
        alpha = np.zeros(size)
        if start is not None:
            alpha[1:] = np.maximum(start, 0.0)
        alpha[0] = max(0.0, C - alpha.sum())
        np.fill_diagonal(full, np.maximum(full.diagonal(), 0.0))  # rounding can make a 0 negative
        # If G is negligible next to the linear part, it is rounding and must not set the scale.
        least = NEGLIGIBLE * float(np.abs(level).max(initial=0.0)) / C
        scaled = full + (max(float(full.diagonal().mean()), least) or 1.0)
        root = np.sqrt(scaled.diagonal())
        scaled /= root
        scaled /= root[:, None]
        return cls(full, np.concatenate([[0.0], level]), C, alpha, root, scaled)

    def gradient(self) -> Array:
        """Gradient of the objective, shape (n + 1,)."""
        return np.asarray(self.linear - self.full @ self.alpha)

    def move_to_best(self, free: Indices) -> Indices:
        """Move to the maximum over the given free elements, and return those that are still free there."""
        alpha = self.alpha
        while True:
            gradient, root = self.gradient()[free], self.root[free]
            part = self.scaled[np.ix_(free, free)]
            direction = _newton_direction(part, root, gradient)
            bounded = direction is not None
            if direction is None:
                direction = _null_direction(part, root, gradient)
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
            # A long direction does not sum to exactly 0, so the sum of C is restored.
            alpha[free] *= self.C / alpha[free].sum()


def _newton_direction(part: Array, root: Array, gradient: Array) -> Array | None:
    """Direction of sum 0 to the maximum without sign constraints, or None if that is not unique."""
    factor, failed = dpotrf(part, lower=True, overwrite_a=False)
    if failed or factor.diagonal().min() ** 2 <= SINGULAR:
        return None
    solved, _ = dpotrs(factor, np.column_stack([gradient / root, 1.0 / root]), lower=True)
    of_gradient, of_ones = (solved / root[:, None]).T
    return np.asarray(of_gradient - of_gradient.sum() / of_ones.sum() * of_ones)


def _null_direction(part: Array, root: Array, gradient: Array) -> Array:
    """Direction of sum 0 without curvature along which the objective does not fall."""
    _, vectors = np.linalg.eigh(part)
    direction = vectors[:, 0] / root
    direction -= direction.mean()
    return np.asarray(direction if gradient @ direction >= 0 else -direction)

"""Planes below a convex function, and the minimum and level sets of the bound they make."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bayes_svm.multivariate.products import Products
from bayes_svm.multivariate.quadratic import solve_simplex_qp
from bayes_svm.multivariate.rows import DenseRows, Rows, SparseRows
from bayes_svm.utils.types import Array

__all__ = ["Planes"]


IDLE = 50  # iterations after which a plane with coefficient 0 is dropped
MANY = 0.2  # share of the planes that is worth the copy of the others
TRIALS = 12  # values of rho tried for a projection
FARTHEST = 1e12  # largest rho, and the inverse of the least
LOW, HIGH = 0.5, 0.7  # shares of the gap that the bound at the next point leaves open


def _none() -> Array:
    return np.empty(0)


@dataclass
class Planes:
    r"""Planes ``level - v'w`` below R, with the inner products of the v.

    They bound :math:`F(w) = \tfrac12 |w|^2 + C \max(0, R(w))` from below for every C.
    """

    vectors: Rows
    level: Array = field(default_factory=_none)
    gram: Array = field(default_factory=lambda: np.empty((0, 0)))
    alpha: Array = field(default_factory=_none)
    near: Array = field(default_factory=_none)  # coefficients of the last projection
    rho: float = 1.0
    idle: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @classmethod
    def none(cls, products: Products) -> Planes:
        """An empty set."""
        return cls((SparseRows if products.sparse else DenseRows)(products.n_weights))

    def __len__(self) -> int:
        return len(self.level)

    def add(self, level: float, vector: Array, dual: Array) -> None:
        """Add a plane; ``dual @ u`` is the inner product of its vector with u."""
        size = len(self)
        self.vectors.append(vector)
        gram = np.empty((size + 1, size + 1))
        gram[:size, :size] = self.gram
        gram[size] = gram[:, size] = self.vectors.times(dual)
        self.gram = gram
        self.level, self.alpha = np.append(self.level, level), np.append(self.alpha, 0.0)
        self.near, self.idle = np.append(self.near, 0.0), np.append(self.idle, 0)

    def solve(self, C: float) -> Array:
        """Coefficients of the minimum of ``|w|^2 / 2 + C max(0, planes)``, at their combination."""
        self.alpha = solve_simplex_qp(self.gram, self.level, C, _within(self.alpha, C))
        self.idle = np.where((self.alpha > 0) | (self.near > 0), 0, self.idle + 1)
        return self.alpha

    def project(
        self, C: float, dual: Array, square: float, value: float, lower: float
    ) -> tuple[Array, Array]:
        r"""Coefficients of the point nearest to a centre where the bound of F closes a share of the gap.

        .. math:: \min_w \; \tfrac12 |w|^2 + C \max(0, \max_k \ell_k - v_k'w)
                  + \tfrac{\rho}{2} |w - w_0|^2, \qquad w = \frac{\sum_k \alpha_k v_k + \rho w_0}{1 + \rho}

        for the ``rho``, which is kept, that puts the bound between two levels. The alpha of each rho
        is feasible for the bound's own minimum too, and so bounds F from below.

        Parameters
        ----------
        C : float
        dual : array of shape (n_weights,)
            ``dual @ u`` is the inner product of the centre with u.
        square : float
            Squared length of the centre.
        value, lower : float
            F at the centre, and a lower bound of F.

        Returns
        -------
        near : array of shape (n_planes,)
            Coefficients of the point.
        highest : array of shape (n_planes,)
            Of all that were tried, the ones that bound F best.
        """
        inner = self.vectors.times(dual)
        highest, bound_of_highest = self.alpha, -np.inf
        too_far, too_near = 0.0, np.inf
        for _ in range(TRIALS):
            shrunk = 1.0 + self.rho
            linear = shrunk * self.level - self.rho * inner
            self.near = solve_simplex_qp(self.gram, linear, C, _within(self.near, C))
            products = self.gram @ self.near
            length = float(self.near @ products)
            below = float(self.near @ self.level) - length / 2
            if below > bound_of_highest:
                highest, bound_of_highest = self.near, below
            lower = max(lower, below)
            length += 2 * self.rho * float(self.near @ inner) + self.rho**2 * square
            height = float((self.level - (products + self.rho * inner) / shrunk).max())
            bound = length / shrunk**2 / 2 + C * max(0.0, height)
            if bound > lower + HIGH * (value - lower):
                too_near = self.rho
            elif bound < lower + LOW * (value - lower):
                too_far = self.rho
            else:
                break
            if np.isinf(too_near):
                self.rho = min(4.0 * self.rho, FARTHEST)
            else:
                self.rho = np.sqrt(too_far * too_near) if too_far > 0 else max(self.rho / 4.0, 1 / FARTHEST)
        self.idle = np.where((self.near > 0) | (highest > 0), 0, self.idle + 1)
        return self.near, highest

    def drop_idle(self) -> None:
        """Forget planes that have long been of no use: the bound stays as it is."""
        kept = np.flatnonzero(self.idle < IDLE)
        if len(kept) <= (1 - MANY) * len(self):
            self.vectors.keep(kept)
            self.gram = self.gram[np.ix_(kept, kept)]
            self.level, self.alpha = self.level[kept], self.alpha[kept]
            self.near, self.idle = self.near[kept], self.idle[kept]


def _within(alpha: Array, C: float) -> Array:
    """Coefficients made feasible for a C that may be smaller than the one they are of."""
    return np.asarray(alpha * min(1.0, C / max(alpha.sum(), C)))

"""Planes below a convex function: the minimum of the bound they give, and points where it has a level."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bayes_svm.multivariate.products import Products
from bayes_svm.multivariate.quadratic import solve_simplex_qp
from bayes_svm.multivariate.rows import DenseRows, Rows, SparseRows
from bayes_svm.utils.types import Array, Indices

__all__ = ["Planes"]

# A plane that has had the coefficient 0 for this many iterations is idle.
IDLE = 50
# Idle planes are dropped once they are this share of all planes, since the others have to be copied then.
MANY = 0.2
# Values of rho that are tried for a projection.
TRIALS = 12
# Largest rho; the smallest one is its inverse.
LARGEST_RHO = 1e12
# A projection is accepted if the bound there is between these shares of the gap above the lower bound.
LOW, HIGH = 0.5, 0.7


@dataclass
class Planes:
    r"""Planes :math:`\ell_k - v_k'w` below R.

    They bound :math:`F(w) = \tfrac12 |w|^2 + C \max(0, R(w))` from below for every C.

    Parameters
    ----------
    vectors : Rows
        The vectors :math:`v_k`.
    level : array of shape (n_planes,)
        The constants :math:`\ell_k`.
    gram : array of shape (n_planes, n_planes)
        Inner products of the vectors.
    alpha : array of shape (n_planes,)
        Coefficients of the last minimum of the bound, at which the next solution starts.
    near : array of shape (n_planes,)
        Coefficients of the last projection.
    rho : float
        Weight of the distance in the last projection.
    centre : array of shape (n_weights,)
        Of the last projection: ``centre @ u`` is the inner product of its centre with u.
    height : float
        Of the last projection: the highest plane at the point found.
    idle : array of shape (n_planes,)
        Iterations since the coefficient of each plane was last above 0.
    """

    vectors: Rows
    level: Array = field(default_factory=lambda: np.empty(0))
    gram: Array = field(default_factory=lambda: np.empty((0, 0)))
    alpha: Array = field(default_factory=lambda: np.empty(0))
    near: Array = field(default_factory=lambda: np.empty(0))
    rho: float = 1.0
    centre: Array = field(default_factory=lambda: np.empty(0))
    height: float = 0.0
    idle: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @classmethod
    def none(cls, products: Products) -> Planes:
        """No planes yet, for some data."""
        return cls((SparseRows if products.sparse else DenseRows)(products.n_weights))

    def __len__(self) -> int:
        return len(self.level)

    def add(self, level: float, vector: Array, dual: Array) -> None:
        """Add a plane ``level - vector'w``; ``dual @ u`` is the inner product of its vector with u."""
        size = len(self)
        self.vectors.append(vector)
        gram = np.empty((size + 1, size + 1))
        gram[:size, :size] = self.gram
        gram[size] = gram[:, size] = self.vectors.times(dual)
        self.gram = gram
        self.level, self.alpha = np.append(self.level, level), np.append(self.alpha, 0.0)
        self.near, self.idle = np.append(self.near, 0.0), np.append(self.idle, 0)

    def cuts_off(self, vector: Array) -> bool:
        """Whether the newest plane, which has this vector, is above all others at the last projection.

        If it is the one most violated there, only rounding can make it lower.
        """
        products = self.gram[-1] @ self.near + self.rho * float(self.centre @ vector)
        return bool(self.level[-1] - products / (1.0 + self.rho) > max(0.0, self.height))

    def solve(self, C: float) -> Array:
        """Coefficients of the vectors at the minimum of the bound ``|w|^2 / 2 + C max(0, planes)``."""
        self.alpha = solve_simplex_qp(self.gram, self.level, C, _within(self.alpha, C))
        self.idle = np.where((self.alpha > 0) | (self.near > 0), 0, self.idle + 1)
        return self.alpha

    def project(
        self, C: float, dual: Array, square: float, value: float, lower: float
    ) -> tuple[Array, Array]:
        r"""The point nearest to a centre where the bound of F closes part of the gap.

        .. math:: \min_w \; \tfrac12 |w|^2 + C \max(0, \max_k \ell_k - v_k'w)
                  + \tfrac{\rho}{2} |w - w_0|^2, \qquad w = \frac{\sum_k \alpha_k v_k + \rho w_0}{1 + \rho}

        Several rho are tried until the bound at w lies between two levels; the last one is kept for
        the next call. The alpha of every rho gives a lower bound of F.

        Parameters
        ----------
        C : float
            Penalty of the slack.
        dual : array of shape (n_weights,)
            ``dual @ u`` is the inner product of the centre :math:`w_0` with u.
        square : float
            Squared length of the centre.
        value : float
            F at the centre.
        lower : float
            A lower bound of F.

        Returns
        -------
        near : array of shape (n_planes,)
            Coefficients :math:`\alpha` of the point.
        highest : array of shape (n_planes,)
            The coefficients with the highest lower bound of F among all that were tried.
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
                self.rho = min(4.0 * self.rho, LARGEST_RHO)
            elif too_far > 0:
                self.rho = np.sqrt(too_far * too_near)
            else:
                self.rho = max(self.rho / 4.0, 1 / LARGEST_RHO)
        at_point = (self.gram @ self.near + self.rho * inner) / (1.0 + self.rho)
        self.centre, self.height = dual, float((self.level - at_point).max())
        self.idle = np.where((self.near > 0) | (highest > 0), 0, self.idle + 1)
        return self.near, highest

    def drop_idle(self) -> None:
        """Forget planes that have long had the coefficient 0; the minimum of the bound stays the same."""
        kept = np.flatnonzero(self.idle < IDLE)
        if len(kept) <= (1 - MANY) * len(self):
            self.vectors.keep(kept)
            self.gram = self.gram[np.ix_(kept, kept)]
            self.level, self.alpha = self.level[kept], self.alpha[kept]
            self.near, self.idle = self.near[kept], self.idle[kept]


def _within(alpha: Array, C: float) -> Array:
    """The coefficients, scaled down if their sum exceeds C."""
    return np.asarray(alpha * min(1.0, C / max(alpha.sum(), C)))

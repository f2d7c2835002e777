r"""A cutting-plane method for one slack variable, with a certified gap.

.. math:: \min_w \; F(w) = \tfrac12 |w|^2 + C \max(0, R(X w)), \qquad
          R(s) = \max_k \; \Delta_k - c_k's

This is Optimization Problem 2 of Joachims 2005 without xi, which is :math:`\max(0, R)` at the optimum.
Planes that touch R from below give a lower bound of F. The optimum lies between the minimum of the bound,
a small quadratic program, and the lowest value of F found so far.

Algorithm 1 of Joachims 2005 computes the next plane at the minimum of the bound, which can be far from the
optimum. Here it is computed at the point nearest to the best one at which the bound closes part of the gap
(the level method of Lemarechal, Nemirovskii and Nesterov 1995). If many planes leave a gap, and the loss
allows it, rounds of another method follow, each of which gives a plane too: see
:mod:`bayes_svm.multivariate.multipliers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from bayes_svm.multivariate.losses import Loss
from bayes_svm.multivariate.multipliers import Mixture, planes_before, rounds
from bayes_svm.multivariate.planes import Planes
from bayes_svm.multivariate.products import Products
from bayes_svm.utils.progress import step
from bayes_svm.utils.types import Array

__all__ = ["CuttingPlaneResult", "Point", "lowest_of_bound", "minimise"]

# Weights are made longer by at most this factor.
LONGER = 1.1
# Where so many planes are below the bound at the points that they should cut off, and leave the gap as it is,
# it is rounding that keeps it open.
MOST_IDLE = 200


@dataclass(frozen=True)
class CuttingPlaneResult:
    """The best point found, and a certificate of how good it is.

    Parameters
    ----------
    w : array of shape (n_weights,)
        Weights of the point.
    scores : array of shape (n_rows,)
        Scores of the training rows.
    primal : float
        F(w).
    dual : float
        A lower bound of F.
    history : array of shape (n_planes, 3)
        Lowest value of F, highest lower bound and number of planes kept, after each plane.
    converged : bool
        Whether the gap is small enough.
    """

    w: Array
    scores: Array
    primal: float
    dual: float
    history: Array
    converged: bool

    @property
    def n_planes(self) -> int:
        """Number of planes computed, including those that were dropped later."""
        return len(self.history)

    @property
    def gap(self) -> float:
        """``|primal - dual| / primal``; the dual can only be above the primal by rounding."""
        return abs(self.primal - self.dual) / self.primal if self.primal > 0 else 0.0


@dataclass(frozen=True)
class Point:
    """A point with the value of F and the plane that touches R there.

    Parameters
    ----------
    w : array of shape (n_weights,)
        Weights of the point.
    scores : array of shape (n_rows,)
        Scores of the training rows.
    square : float
        Squared length of w.
    value : float
        F(w).
    level : float
        Constant of the plane ``level - c's``.
    c : array of shape (n_rows,)
        Coefficients of the plane.
    """

    w: Array
    scores: Array
    square: float
    value: float
    level: float
    c: Array


def minimise(
    products: Products,
    loss: Loss,
    C: float,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    planes: Planes | None = None,
) -> CuttingPlaneResult:
    """Minimise F to a relative gap.

    Parameters
    ----------
    products : Products
        The data.
    loss : Loss
        The loss, bound to the labels of the rows.
    C : float
        Penalty of the slack, above 0.
    tol : float
        Relative gap at which to stop.
    max_iter : int
        Largest number of planes to compute.
    planes : Planes, optional
        Planes to begin with, to which new ones are added in place. They must be of the same data
        and loss, but may come from another C, on which they do not depend. By default none.

    Returns
    -------
    CuttingPlaneResult
        The best point and its gap.

    Raises
    ------
    ValueError
        If a score is not finite.
    """
    planes = Planes.none(products) if planes is None else planes
    search = _Search(products, loss, C, planes, *lowest_of_bound(planes, products, loss, C))
    patience = planes_before(products, loss)
    others: Iterator[Mixture] = iter(())
    with step("cutting planes") as at:
        while True:
            if len(search.history) == patience:
                others = rounds(products, loss, C)
            if not search.by_round(others):
                search.by_level()
            at.advance(len(search.history))
            converged = search.best.value - search.dual <= tol * search.best.value
            if converged or len(search.history) >= max_iter or search.idle >= MOST_IDLE:
                break
            planes.drop_idle()
    converged = abs(search.best.value - search.dual) <= tol * search.best.value
    best, history = search.best, np.array(search.history)
    return CuttingPlaneResult(best.w, best.scores, best.value, search.dual, history, converged)


@dataclass
class _Search:
    """The best point and lower bound so far, and the next step.

    Parameters
    ----------
    products : Products
        The data.
    loss : Loss
        The loss.
    C : float
        Penalty of the slack.
    planes : Planes
        The planes computed so far.
    best : Point
        The point with the lowest F.
    dual : float
        A lower bound of F.
    query : Point or None
        Where the next plane is computed; by default at the best point.
    history : list of tuples
        Lowest value of F, highest lower bound and number of planes kept, after each plane.
    idle : int
        Number of planes since the gap last became smaller that were below the bound at their own points.
    """

    products: Products
    loss: Loss
    C: float
    planes: Planes
    best: Point
    dual: float
    query: Point | None = None
    history: list[tuple[float, float, float]] = field(default_factory=list)
    idle: int = 0

    def by_level(self) -> None:
        """Add the plane of the last point, and move to where the bound then closes part of the gap."""
        last = self.query or self.best
        vector = self._add(last.level, last.c)
        if self.query is not None and not self.planes.cuts_off(vector):
            self.idle += 1
        self.query, lower = _projected(self.planes, self.products, self.loss, self.C, self.best, self.dual)
        self._record(self.query, lower)

    def by_round(self, others: Iterator[Mixture]) -> bool:
        """Add the plane of a round of the method of multipliers, if there is one."""
        found = next(others, None)
        if found is None:
            return False
        level, c, w = found
        vector = self._add(level, c)
        lower = self.C * level - self.C**2 * float(vector @ vector) / 2
        self.query = None
        point = _point_at(self.products, self.loss, self.C, w)
        self._record(min(point, self._longer(point), key=lambda point: point.value), lower)
        return True

    def _longer(self, point: Point) -> Point:
        """The point at which w is so long that its own plane is 0, which it should be if C is large."""
        reached = float(point.c @ point.scores)
        if not 0 < reached < point.level <= LONGER * reached:
            return point
        return _point_at(self.products, self.loss, self.C, point.level / reached * point.w)

    def _add(self, level: float, c: Array) -> Array:
        vector = self.products.combined(c)
        self.planes.add(level, vector, self.products.dual(vector))
        return vector

    def _record(self, point: Point, lower: float) -> None:
        if lower > self.dual or point.value < self.best.value:
            self.idle = 0
        self.dual = max(self.dual, lower)
        self.best = min(self.best, point, key=lambda point: point.value)
        self.history.append((self.best.value, self.dual, float(len(self.planes))))


def lowest_of_bound(planes: Planes, products: Products, loss: Loss, C: float) -> tuple[Point, float]:
    """The point where the bound of F is lowest, and the value of the bound there."""
    alpha = planes.solve(C)
    w = planes.vectors.combined(alpha) if len(planes) else np.zeros(products.n_weights)
    point = _point_at(products, loss, C, w)
    return point, float(alpha @ planes.level) - point.square / 2


def _projected(
    planes: Planes, products: Products, loss: Loss, C: float, best: Point, dual: float
) -> tuple[Point, float]:
    """The point nearest to the best one where the bound closes part of the gap, and a lower bound of F."""
    around = products.dual(best.w, best.scores)
    near, highest = planes.project(C, around, best.square, best.value, dual)
    w = (planes.vectors.combined(near) + planes.rho * best.w) / (1.0 + planes.rho)
    # The length is computed from the weights. If C is large, it would be lost to cancellation in the
    # inner products of the planes, and rounding errors would be certified.
    lowest = planes.vectors.combined(highest)
    lower = float(highest @ planes.level) - float(lowest @ products.dual(lowest)) / 2
    return _point_at(products, loss, C, w), lower


def _point_at(products: Products, loss: Loss, C: float, w: Array) -> Point:
    """The point of some weights, or a ValueError if its scores are not finite."""
    scores = products.scores(w)
    if not np.isfinite(scores).all():
        raise ValueError("The decision values are not finite: scale the features, or choose a smaller C.")
    square = float(w @ products.dual(w, scores))
    level, c = loss.most_violated(scores)
    return Point(w, scores, square, square / 2 + C * max(0.0, level - float(c @ scores)), level, c)

r"""Cutting planes for one slack, with a certified gap.

.. math:: \min_w \; F(w) = \tfrac12 |w|^2 + C \max(0, R(X w)), \qquad
          R(s) = \max_k \; \Delta_k - c_k's

(Optimization Problem 2 of Joachims 2005, xi eliminated). The planes found so far bound F from below;
the minimum of the bound, a small quadratic program, and the best point seen bracket the optimum. The next
plane is not taken at that minimum, which leaps about, but at the point nearest to the best one whose bound
closes part of the gap: the level method (Lemarechal, Nemirovskii and Nesterov 1995).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bayes_svm.multivariate.losses import Loss
from bayes_svm.multivariate.planes import Planes
from bayes_svm.multivariate.products import Products
from bayes_svm.utils.types import Array

__all__ = ["CuttingPlaneResult", "minimise"]


LEVEL = 0.5  # share of the gap that the bound at the next point leaves open
BEYOND = 0.15  # how far beyond the best point of a line the next plane is taken
SEARCHES = 8  # points a line search looks at
FINE = 0.05  # share of the gap to which a line search is exact


@dataclass(frozen=True)
class CuttingPlaneResult:
    """The best point, and how good it is.

    Parameters
    ----------
    w : array of shape (n_weights,)
    scores : array of shape (n_rows,)
        Of the training rows.
    primal, dual : float
        F(w), and a lower bound of F: the certificate.
    n_planes : int
        Planes computed, the ones dropped too.
    history : array of shape (n_planes, 3)
        Best primal value, best dual value and planes kept, after each plane.
    planes : Planes
    converged : bool
    """

    w: Array
    scores: Array
    primal: float
    dual: float
    n_planes: int
    history: Array
    planes: Planes
    converged: bool

    @property
    def gap(self) -> float:
        """``|primal - dual| / primal``: a bound above the value it bounds is rounding, and counts too."""
        return abs(self.primal - self.dual) / self.primal if self.primal > 0 else 0.0


@dataclass(frozen=True)
class _Point:
    """Weights with their scores, F, and the plane that is R there."""

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
    step: str = "level",
) -> CuttingPlaneResult:
    """Minimise F to a relative gap.

    Parameters
    ----------
    products : Products
    loss : Loss
    C : float
    tol : float
        Relative gap at which to stop.
    max_iter : int
        Planes to compute at most.
    planes : Planes, optional
        Planes of the same data and loss, from another C: they do not depend on it. They are
        added to in place.
    step : {"level", "line", "lowest"}
        Where the next plane is taken. "line": near the best point between the best so far and the
        bound's minimum (Franc and Sonnenburg 2008). "lowest": at the bound's minimum, Algorithm 1
        of Joachims 2005, the best point kept. The optimum is the same.

    Returns
    -------
    CuttingPlaneResult

    Raises
    ------
    ValueError
        If scores are not finite.
    """
    planes = Planes.none(products) if planes is None else planes
    best, dual = _lowest(planes, products, loss, C)
    query = best
    history: list[tuple[float, float, float]] = []
    while True:
        vector = products.combined(query.c)
        planes.add(query.level, vector, products.dual(vector))
        if step == "level":
            query, lower = _projected(planes, products, loss, C, best, dual)
        else:
            query, lower = _lowest(planes, products, loss, C)
        dual = max(dual, lower)
        if step == "line":
            best, query = _searched(products, loss, C, best, query, dual)
        else:
            best = min(best, query, key=lambda point: point.value)
        history.append((best.value, dual, float(len(planes))))
        if best.value - dual <= tol * best.value or len(history) >= max_iter:
            break
        planes.drop_idle()
    converged = abs(best.value - dual) <= tol * best.value
    return CuttingPlaneResult(
        best.w, best.scores, best.value, dual, len(history), np.array(history), planes, converged
    )


def _lowest(planes: Planes, products: Products, loss: Loss, C: float) -> tuple[_Point, float]:
    """The point where the bound is least, and that minimum."""
    alpha = planes.solve(C)
    w = planes.vectors.combined(alpha) if len(planes) else np.zeros(products.n_weights)
    point = _at(products, loss, C, w)
    return point, float(alpha @ planes.level) - point.square / 2


def _projected(
    planes: Planes, products: Products, loss: Loss, C: float, best: _Point, dual: float
) -> tuple[_Point, float]:
    """The point near the best one where the bound closes a share of the gap, and a lower bound.

    Lengths are those of the weights themselves, not of the planes' inner products: where C is large
    the planes cancel, and their rounding would pass for a certificate.
    """
    around = products.dual(best.w, best.scores)
    near, highest = planes.project(C, around, best.square, best.value, dual)
    w = (planes.vectors.combined(near) + planes.rho * best.w) / (1.0 + planes.rho)
    lowest = planes.vectors.combined(highest)
    lower = float(highest @ planes.level) - float(lowest @ products.dual(lowest)) / 2
    return _at(products, loss, C, w), lower


def _at(products: Products, loss: Loss, C: float, w: Array) -> _Point:
    scores = products.scores(w)
    if not np.isfinite(scores).all():
        raise ValueError("The decision values are not finite: scale the features, or choose a smaller C.")
    return _point(loss, C, w, scores, float(w @ products.dual(w, scores)))


def _point(loss: Loss, C: float, w: Array, scores: Array, square: float) -> _Point:
    level, c = loss.most_violated(scores)
    return _Point(w, scores, square, square / 2 + C * max(0.0, level - float(c @ scores)), level, c)


def _searched(
    products: Products, loss: Loss, C: float, best: _Point, lowest: _Point, dual: float
) -> tuple[_Point, _Point]:
    """The best point between the best so far and the bound's minimum, and the next one to query.

    Along the line scores are linear, and F is found without touching the data: one-dimensional
    cutting planes, of which each costs a search for the most violated labelling.
    """
    mixed = float(best.w @ products.dual(lowest.w, lowest.scores))

    def between(t: float) -> _Point:
        length = (1 - t) ** 2 * best.square + 2 * t * (1 - t) * mixed + t**2 * lowest.square
        point = (1 - t) * best.w + t * lowest.w
        return _point(loss, C, point, (1 - t) * best.scores + t * lowest.scores, length)

    def line(point: _Point) -> tuple[float, float]:
        at_start = point.level - float(point.c @ best.scores)
        return at_start, point.level - float(point.c @ lowest.scores) - at_start

    squares = (best.square, mixed, lowest.square)
    seen = [(0.0, best), (1.0, lowest)]
    lines = [(0.0, 0.0), *(line(point) for _, point in seen)]
    for _ in range(SEARCHES):
        t, lower = _lowest_on_line(squares, lines, C)
        least = min(point.value for _, point in seen)
        if least - lower <= FINE * (least - dual):
            break
        seen.append((t, between(t)))
        lines.append(line(seen[-1][1]))
    t, found = min(seen, key=lambda pair: pair[1].value)
    return found, between(t + BEYOND * (1 - t)) if t < 1 else found


def _lowest_on_line(
    squares: tuple[float, float, float], lines: list[tuple[float, float]], C: float
) -> tuple[float, float]:
    """Minimum over [0, 1] of the squared length on the line plus C times the highest of some lines."""
    start, mixed, end = squares
    level, slope = np.array(lines).T
    curvature, rise = max(0.0, start - 2 * mixed + end), mixed - start
    t = [0.0, 1.0]
    if curvature > 0:
        t.extend(-(rise + C * slope) / curvature)
    for i, j in combinations(range(len(lines)), 2):
        if slope[i] != slope[j]:
            t.append((level[j] - level[i]) / (slope[i] - slope[j]))
    candidates = np.clip(t, 0.0, 1.0)
    highest = (level[:, None] + slope[:, None] * candidates).max(axis=0)
    values = start / 2 + rise * candidates + curvature / 2 * candidates**2 + C * highest
    lowest = int(np.argmin(values))
    return float(candidates[lowest]), float(values[lowest])

"""Cutting planes at the points of Algorithm 1 of Joachims 2005, or of a line search, to compare with.

`bayes_svm` takes them at other points: see `bayes_svm.multivariate.cutting_plane`. The optimum is the same.
"""

from __future__ import annotations

from itertools import combinations, count

import numpy as np

from bayes_svm.multivariate.cutting_plane import Point, lowest_of_bound
from bayes_svm.multivariate.losses import Loss
from bayes_svm.multivariate.planes import Planes
from bayes_svm.multivariate.products import Products

# How far beyond the best point of a line the next plane is computed.
BEYOND = 0.15
# Largest number of points that a line search looks at.
SEARCHES = 8
# Share of the gap to which a line search is exact.
FINE = 0.05


def planes_needed(
    products: Products, loss: Loss, C: float, *, tol: float, max_iter: int, line_search: bool
) -> tuple[int, float]:
    """Number of planes, and the relative gap they leave.

    Without a line search, planes are computed at the minimum of the bound (Algorithm 1). With it, near the
    best point between that minimum and the best point so far (Franc and Sonnenburg 2008).
    """
    planes = Planes.none(products)
    best, dual = lowest_of_bound(planes, products, loss, C)
    query = best
    for number in count(1):
        vector = products.combined(query.c)
        planes.add(query.level, vector, products.dual(vector))
        query, lower = lowest_of_bound(planes, products, loss, C)
        dual = max(dual, lower)
        if line_search:
            best, query = _searched(products, loss, C, best, query, dual)
        else:
            best = min(best, query, key=lambda point: point.value)
        if best.value - dual <= tol * best.value or number == max_iter:
            return number, abs(best.value - dual) / best.value
        planes.drop_idle()
    raise AssertionError


def _searched(
    products: Products, loss: Loss, C: float, best: Point, lowest: Point, dual: float
) -> tuple[Point, Point]:
    """The best point between the best so far and the minimum of the bound, and the point to query next.

    Scores are linear along the line, so that F is found from them alone, by cutting planes in one
    dimension. Each costs one search for the most violated labelling.
    """
    mixed = float(best.w @ products.dual(lowest.w, lowest.scores))

    def between(t: float) -> Point:
        square = (1 - t) ** 2 * best.square + 2 * t * (1 - t) * mixed + t**2 * lowest.square
        w, scores = (1 - t) * best.w + t * lowest.w, (1 - t) * best.scores + t * lowest.scores
        level, c = loss.most_violated(scores)
        return Point(w, scores, square, square / 2 + C * max(0.0, level - float(c @ scores)), level, c)

    def line(point: Point) -> tuple[float, float]:
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

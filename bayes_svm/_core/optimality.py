"""Compiled conditions of optimality at the ends of leave-one-out paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.compiled import compiled, inlined
from bayes_svm._core.follow import NEVER

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Tolerance(NamedTuple):
    """When a coefficient counts as being at a bound: within ``share`` of it, or ``rounding``."""

    share: float
    rounding: float


@inlined
def slack_of(tolerance, bound, largest_beta):
    """Distance from a bound within which a coefficient is on it.

    ``rounding`` is the tableau's own error, which a tiny C does not make smaller.
    """
    return tolerance.share * min(bound, largest_beta) + min(tolerance.rounding, 1e-3 * bound)


class Points(NamedTuple):
    """Some points of the problem before anything is left out, and what all of it adds up to."""

    beta: Array
    residual: Array  # f - y
    label: Array
    bound: Array
    part: Array  # the kernel part of f
    largest: float  # of the absolute beta of all other points
    norm: float  # squared, of the kernel part of f
    mass: float  # sum of all alpha


class Measured(NamedTuple):
    """How optimal each path's end is."""

    kkt: Array  # largest violation
    gap: Array  # duality gap
    dual: Array  # absolute dual value
    square: Array  # squared norm of the change of the kernel part of f
    free: Mask  # whether a point is strictly between its bounds


@compiled
def check_ends(beta, values, label, bounds, tolerance, kkt, gap, scale, has_free, low, high):
    """Optimality of each row of ``beta`` for the problem with the upper bounds of alpha in ``bounds``.

    Where no coefficient is free, ``values`` are moved to the middle of the interval of optimal
    intercepts, whose ends go to ``low`` and ``high``.
    """
    n_paths, m = beta.shape
    for p in range(n_paths):
        lowest, highest, free = -np.inf, np.inf, False
        worst_bound, largest_beta = 0.0, 0.0
        for i in range(m):
            largest_beta = max(largest_beta, abs(beta[p, i]))
        for i in range(m):
            bound = bounds[p, i]
            least = -bound if label[i] < 0.0 else 0.0
            slack = slack_of(tolerance, bound, largest_beta)
            value = beta[p, i]
            if label[i] == 0.0:  # the null point, which has no bounds
                least, bound = value - 1.0, 2.0
            can_rise, can_fall = value < least + bound - slack, value > least + slack
            worst_bound = max(worst_bound, least - value - slack, value - least - bound - slack)
            own = label[i] - values[p, i]
            if can_rise and own > lowest:
                lowest = own
            if can_fall and own < highest:
                highest = own
            if can_rise and can_fall:
                free = True
        low[p], high[p], has_free[p] = lowest, highest, free
        if not free and lowest > -np.inf and highest < np.inf:
            shift = 0.5 * (lowest + highest)
            for i in range(m):
                values[p, i] += shift
            lowest, highest = lowest - shift, highest - shift
        total, norm, loss, largest = 0.0, 0.0, 0.0, 1.0
        mass = 0.0
        for i in range(m):
            total += beta[p, i]
            mass += label[i] * beta[p, i]
            norm += beta[p, i] * values[p, i]
            largest = max(largest, abs(values[p, i]))
            if label[i] == 0.0:
                continue
            loss += bounds[p, i] * max(0.0, 1.0 - label[i] * values[p, i])
        # The residual of a point that may rise must not be below 0, and the reverse.
        lost = max(abs(total), worst_bound)
        kkt[p] = max(lowest, -highest, lost, lost / max(largest_beta, 1e-300))
        gap[p] = (norm + loss - mass) / max(mass - 0.5 * norm, 1e-300)
        scale[p] = largest


@compiled
def check_moved(points, removals, delta, moved, shift, tolerance, measured):
    """Optimality of the points whose beta changes, from the changes ``delta`` and ``moved = delta @ K``.

    What keeps its beta adds nothing to the change of the duality gap.
    """
    bound = points.bound
    for p in range(delta.shape[0]):
        largest = points.largest
        for i in range(delta.shape[1]):
            if abs(points.beta[i] + delta[p, i]) > largest:
                largest = abs(points.beta[i] + delta[p, i])
        for j in range(removals.start[p], removals.start[p + 1]):
            removals.rest[j], bound[removals.points[j]] = bound[removals.points[j]], removals.rest[j]
        lowest, highest, lost, gap, free = -NEVER, NEVER, 0.0, 0.0, False
        total, mass, part, square = 0.0, 0.0, 0.0, 0.0
        for i in range(delta.shape[1]):
            change, label = delta[p, i], points.label[i]
            total += change
            mass += label * change
            part += change * points.part[i]
            square += change * moved[p, i]
            if bound[i] < 0.0:
                continue
            residual = points.residual[i] + moved[p, i] + shift[p]
            alpha, room = label * (points.beta[i] + change), bound[i]
            slack = slack_of(tolerance, room, largest)
            above, below = alpha, room - alpha
            if label == 0.0:  # the null point, which has no bounds
                above, below, room = 2.0 * slack, 2.0 * slack, 0.0
            if label < 0.0:
                above, below = below, above
            can_rise, can_fall = below > slack, above > slack
            if can_rise and -residual > lowest:
                lowest = -residual
            if can_fall and -residual < highest:
                highest = -residual
            if can_rise and can_fall:
                free = True
            elif -slack - min(above, below) > lost:
                lost = -slack - min(above, below)
            excess = label * residual
            gap += alpha * excess + room * max(0.0, -excess)
        for j in range(removals.start[p + 1] - 1, removals.start[p] - 1, -1):
            removals.rest[j], bound[removals.points[j]] = bound[removals.points[j]], removals.rest[j]
        kkt = max(max(lowest, -highest), max(lost, lost / max(largest, 1e-300)))
        measured.kkt[p] = max(kkt, abs(total) / max(min(largest, 1.0), 1e-300))
        measured.gap[p], measured.square[p], measured.free[p] = gap, square, free
        measured.dual[p] = abs(points.mass + mass - 0.5 * (points.norm + 2.0 * part + square))

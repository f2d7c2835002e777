"""Compiled conditions of optimality at the ends of leave-one-out paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_svm._core.compiled import compiled, inlined
from bayes_svm._core.records import NEVER
from bayes_svm.utils.types import Array, Mask

__all__ = ["Measured", "Points", "Tolerance", "check_ends", "check_moved", "slack_of"]


class Tolerance(NamedTuple):
    """Within which distance of a bound a coefficient counts as being at it.

    Attributes
    ----------
    share : float
        Distance relative to the bound, or to the largest coefficient if that is smaller.
    rounding : float
        Rounding error of a coefficient that the tableau gives.
    """

    share: float
    rounding: float


@inlined
def slack_of(tolerance, bound, largest_beta):
    """Distance from a bound within which a coefficient is on it.

    It is wider than :func:`bayes_svm.dual.problem.bound_slack`: the coefficients at the end of a path have
    the tableau's rounding error besides, which does not shrink with C.
    """
    return tolerance.share * min(bound, largest_beta) + min(tolerance.rounding, 1e-3 * bound)


class Points(NamedTuple):
    """Some points of the problem before anything is left out, and sums over all points.

    Attributes
    ----------
    beta, residual, label, bound : arrays of shape (n_moved,)
        Coefficient, residual ``f - y``, label, and upper bound of alpha of each of these points.
    part : array of shape (n_moved,)
        The kernel part ``K beta`` of f at these points.
    largest : float
        Largest absolute beta of all other points.
    norm : float
        Squared norm ``beta' K beta`` of the kernel part of f.
    mass : float
        Sum of all alpha.
    """

    beta: Array
    residual: Array
    label: Array
    bound: Array
    part: Array
    largest: float
    norm: float
    mass: float


class Measured(NamedTuple):
    """How optimal the end of each path is.

    Attributes
    ----------
    kkt : array of shape (n_paths,)
        Largest violation of the optimality conditions.
    gap : array of shape (n_paths,)
        Duality gap.
    dual : array of shape (n_paths,)
        Absolute value of the dual objective.
    square : array of shape (n_paths,)
        Squared norm of the change of the kernel part of f.
    free : array of shape (n_paths,)
        Whether any point is strictly between its bounds.
    """

    kkt: Array
    gap: Array
    dual: Array
    square: Array
    free: Mask


@compiled
def check_ends(beta, values, label, bounds, tolerance, kkt, gap, scale, has_free, low, high):
    """Optimality of each row of ``beta`` for the problem with the upper bounds of alpha in ``bounds``.

    Where no coefficient is free, ``values`` are moved to the middle of the interval of optimal intercepts,
    whose ends go to ``low`` and ``high``. The residual and the gap are computed here from nothing but beta
    and the values; :func:`check_moved` computes the same from the changes along a path.
    """
    n_paths, m = beta.shape
    for p in range(n_paths):
        lowest, highest, free = -np.inf, np.inf, False
        worst_bound, largest_beta = 0.0, 0.0
        # The size of the coefficients sets what counts as being at a bound.
        for i in range(m):
            largest_beta = max(largest_beta, abs(beta[p, i]))
        for i in range(m):
            bound = bounds[p, i]
            least = -bound if label[i] < 0.0 else 0.0
            slack = slack_of(tolerance, bound, largest_beta)
            value = beta[p, i]
            # The null point has no bounds.
            if label[i] == 0.0:
                least, bound = value - 1.0, 2.0
            can_rise, can_fall = value < least + bound - slack, value > least + slack
            worst_bound = max(worst_bound, least - value - slack, value - least - bound - slack)
            # A point that can rise wants an intercept of at least ``own``, one that can fall of at most that.
            own = label[i] - values[p, i]
            if can_rise and own > lowest:
                lowest = own
            if can_fall and own < highest:
                highest = own
            if can_rise and can_fall:
                free = True
        low[p], high[p], has_free[p] = lowest, highest, free
        # Without a free point any intercept of the interval is optimal: take the middle.
        if not free and lowest > -np.inf and highest < np.inf:
            shift = 0.5 * (lowest + highest)
            for i in range(m):
                values[p, i] += shift
            lowest, highest = lowest - shift, highest - shift
        # Sum up the constraint and both objectives.
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
        # At the optimum no point that can rise has a residual below 0, and none that can fall has one above
        # 0.
        lost = max(abs(total), worst_bound)
        kkt[p] = max(lowest, -highest, lost, lost / max(largest_beta, 1e-300))
        gap[p] = (norm + loss - mass) / max(mass - 0.5 * norm, 1e-300)
        scale[p] = largest


@compiled
def check_moved(points, removals, delta, moved, shift, tolerance, measured):
    """Optimality of the points whose beta changes, from the changes ``delta`` and ``moved = delta @ K``.

    A point that keeps its beta adds nothing to the change of the duality gap.
    """
    bound = points.bound
    for p in range(delta.shape[0]):
        # The size of the coefficients sets what counts as being at a bound.
        largest = points.largest
        for i in range(delta.shape[1]):
            if abs(points.beta[i] + delta[p, i]) > largest:
                largest = abs(points.beta[i] + delta[p, i])
        # Give the members of this path the bounds they keep.
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
            # A member that is gone altogether must satisfy no condition.
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
            # A point that can rise wants a residual of at least 0, one that can fall of at most 0.
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
        # Give them back.
        for j in range(removals.start[p + 1] - 1, removals.start[p] - 1, -1):
            removals.rest[j], bound[removals.points[j]] = bound[removals.points[j]], removals.rest[j]
        kkt = max(max(lowest, -highest), max(lost, lost / max(largest, 1e-300)))
        measured.kkt[p] = max(kkt, abs(total) / max(min(largest, 1.0), 1e-300))
        measured.gap[p], measured.square[p], measured.free[p] = gap, square, free
        measured.dual[p] = abs(points.mass + mass - 0.5 * (points.norm + 2.0 * part + square))

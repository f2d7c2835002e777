"""Compiled conditions of optimality at the ends of leave-one-out paths."""

import cython

if not cython.compiled:
    from math import inf

    from bayes_svm._core.arrays import READ, WRITE, doubles, flags, length, places, rows, starts
    from bayes_svm._core.check_records import Checked, Measured, Points, Tolerance
    from bayes_svm._core.records import NEVER
    from bayes_svm._core.removals import Removals

from bayes_svm._core.check_records import Checked as CheckedRecord


def slack_of(tolerance, bound, largest_beta):
    """Distance from a bound within which a coefficient is on it.

    It is wider than :func:`bayes_svm.dual.problem.bound_slack`: the coefficients at the end of a path have
    the tableau's rounding error besides, which does not shrink with C.
    """
    return tolerance.share * min(bound, largest_beta) + min(tolerance.rounding, 1e-3 * bound)


def _check_end(n, beta, values, label, bounds, tolerance, p, found):
    """Check row p, whose coefficients, values and bounds these are."""
    lowest, highest = -inf, inf
    free: cython.bint = False
    worst_bound: cython.double = 0.0
    largest_beta: cython.double = 0.0
    # The size of the coefficients sets what counts as being at a bound.
    for i in range(n):
        largest_beta = max(largest_beta, abs(beta[i]))
    for i in range(n):
        bound = bounds[i]
        least = -bound if label[i] < 0.0 else 0.0
        slack = slack_of(tolerance, bound, largest_beta)
        value = beta[i]
        # The null point has no bounds.
        if label[i] == 0.0:
            least, bound = value - 1.0, 2.0
        can_rise: cython.bint = value < least + bound - slack
        can_fall: cython.bint = value > least + slack
        worst_bound = max(worst_bound, least - value - slack, value - least - bound - slack)
        # A point that can rise wants an intercept of at least ``own``, one that can fall of at most that.
        own = label[i] - values[i]
        if can_rise and own > lowest:
            lowest = own
        if can_fall and own < highest:
            highest = own
        if can_rise and can_fall:
            free = True
    found.low[p], found.high[p], found.free[p] = lowest, highest, free
    # Without a free point any intercept of the interval is optimal: take the middle.
    if not free and lowest > -inf and highest < inf:
        shift = 0.5 * (lowest + highest)
        for i in range(n):
            values[i] += shift
        lowest, highest = lowest - shift, highest - shift
    # Sum up the constraint and both objectives.
    total, norm, loss, mass = 0.0, 0.0, 0.0, 0.0
    largest: cython.double = 1.0
    for i in range(n):
        total += beta[i]
        mass += label[i] * beta[i]
        norm += beta[i] * values[i]
        largest = max(largest, abs(values[i]))
        if label[i] == 0.0:
            continue
        loss += bounds[i] * max(0.0, 1.0 - label[i] * values[i])
    # At the optimum a point that can rise has a residual of at least 0, one that can fall of at most 0.
    lost = max(abs(total), worst_bound)
    found.kkt[p] = max(lowest, -highest, lost, lost / max(largest_beta, 1e-300))
    found.gap[p] = (norm + loss - mass) / max(mass - 0.5 * norm, 1e-300)
    found.scale[p] = largest


def check_ends(beta, values, label, bounds, tolerance):
    """Optimality of each row of ``beta`` for the problem with the upper bounds of alpha in ``bounds``.

    Where no coefficient is free, ``values`` are moved to the middle of the interval of optimal intercepts.
    The residual and the gap are computed here from nothing but beta and the values; :func:`check_moved`
    computes the same from the changes along a path.

    Parameters
    ----------
    beta, values, bounds : arrays of shape (n_paths, n)
        Coefficients, decision values, and upper bounds of alpha.
    label : array of shape (n,)
        The labels.
    tolerance : Tolerance
        Within which distance of a bound a coefficient counts as being at it.

    Returns
    -------
    Checked
        How optimal each row is.
    """
    keep = []
    n_paths, n = length(beta, "beta", 0), length(label, "label", 0)
    record = CheckedRecord.empty(n_paths)
    coefficients, limits = (
        rows(beta, "beta", n_paths, n, READ, keep),
        rows(bounds, "bounds", n_paths, n, READ, keep),
    )
    decisions, labels = (
        rows(values, "values", n_paths, n, WRITE, keep),
        doubles(label, "label", n, READ, keep),
    )
    found, within = checked_of(record, n_paths, keep), tolerance_of(tolerance)
    with cython.nogil:
        for p in range(n_paths):
            _check_end(n, coefficients[p], decisions[p], labels, limits[p], within, p, found)
    return record


def _check_moved(points, removals, p, delta, moved, shift, tolerance, measured):
    """Check path p, whose changes these are."""
    bound = points.bound
    # The size of the coefficients sets what counts as being at a bound.
    largest = points.largest
    for i in range(points.n):
        if abs(points.beta[i] + delta[i]) > largest:
            largest = abs(points.beta[i] + delta[i])
    # Give the members of this path the bounds they keep.
    for j in range(removals.start[p], removals.start[p + 1]):
        removals.rest[j], bound[removals.points[j]] = bound[removals.points[j]], removals.rest[j]
    lowest, highest, gap = -NEVER, NEVER, 0.0
    lost: cython.double = 0.0
    free: cython.bint = False
    total, mass, part, square = 0.0, 0.0, 0.0, 0.0
    for i in range(points.n):
        change, label = delta[i], points.label[i]
        total += change
        mass += label * change
        part += change * points.part[i]
        square += change * moved[i]
        # A member that is gone altogether must satisfy no condition.
        if bound[i] < 0.0:
            continue
        residual = points.residual[i] + moved[i] + shift
        alpha, room = label * (points.beta[i] + change), bound[i]
        slack = slack_of(tolerance, room, largest)
        above, below = alpha, room - alpha
        if label == 0.0:  # the null point, which has no bounds
            above, below, room = 2.0 * slack, 2.0 * slack, 0.0
        if label < 0.0:
            above, below = below, above
        # A point that can rise wants a residual of at least 0, one that can fall of at most 0.
        can_rise: cython.bint = below > slack
        can_fall: cython.bint = above > slack
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


def check_moved(points, removals, delta, moved, shift, tolerance, measured):
    """Optimality of the points whose beta changes, from the changes ``delta`` and ``moved = delta @ K``.

    A point that keeps its beta adds nothing to the change of the duality gap.

    Parameters
    ----------
    points : Points
        The points.
    removals : Removals
        The members of each path, as numbers of these points, and the bounds that they keep: -1 for a member
        that is gone altogether. The bounds are exchanged while a path is checked, and then given back.
    delta, moved : arrays of shape (n_paths, n_moved)
        Changes of beta, and of the kernel part of f.
    shift : array of shape (n_paths,)
        Changes of the intercept.
    tolerance : Tolerance
        Within which distance of a bound a coefficient counts as being at it.
    measured : Measured
        Where the findings are written.
    """
    keep = []
    n_paths, n = length(delta, "delta", 0), length(points.beta, "points.beta", 0)
    changes, values = (
        rows(delta, "delta", n_paths, n, READ, keep),
        rows(moved, "moved", n_paths, n, READ, keep),
    )
    shifts, within = doubles(shift, "shift", n_paths, READ, keep), tolerance_of(tolerance)
    at, left = points_of(points, n, keep), removals_of(removals, n_paths, n, keep)
    found = measured_of(measured, n_paths, keep)
    with cython.nogil:
        for p in range(n_paths):
            _check_moved(at, left, p, changes[p], values[p], shifts[p], within, found)


def tolerance_of(tolerance):
    """The tolerance as a struct; uncompiled, each record is its own struct."""
    if not cython.compiled:
        return tolerance
    return Tolerance(tolerance.share, tolerance.rounding)


def points_of(points, n, keep):
    """The points as a struct."""
    if not cython.compiled:
        return points
    return Points(
        doubles(points.beta, "points.beta", n, READ, keep),
        doubles(points.residual, "points.residual", n, READ, keep),
        doubles(points.label, "points.label", n, READ, keep),
        doubles(points.bound, "points.bound", n, WRITE, keep),
        doubles(points.part, "points.part", n, READ, keep),
        points.largest,
        points.norm,
        points.mass,
        n,
    )


def removals_of(removals, n_paths, n, keep):
    """The removals as a struct."""
    if not cython.compiled:
        return removals
    n_members = length(removals.points, "removals.points", 0)
    return Removals(
        starts(removals.start, "removals.start", n_paths, n_members, keep),
        places(removals.points, "removals.points", n_members, 0, n, keep),
        doubles(removals.rest, "removals.rest", n_members, WRITE, keep),
    )


def measured_of(measured, n_paths, keep):
    """The place for the findings of :func:`check_moved` as a struct."""
    if not cython.compiled:
        return measured
    return Measured(
        doubles(measured.kkt, "measured.kkt", n_paths, WRITE, keep),
        doubles(measured.gap, "measured.gap", n_paths, WRITE, keep),
        doubles(measured.dual, "measured.dual", n_paths, WRITE, keep),
        doubles(measured.square, "measured.square", n_paths, WRITE, keep),
        flags(measured.free, "measured.free", n_paths, WRITE, keep),
    )


def checked_of(checked, n_paths, keep):
    """The place for the findings of :func:`check_ends` as a struct."""
    if not cython.compiled:
        return checked
    return Checked(
        doubles(checked.kkt, "checked.kkt", n_paths, WRITE, keep),
        doubles(checked.gap, "checked.gap", n_paths, WRITE, keep),
        doubles(checked.scale, "checked.scale", n_paths, WRITE, keep),
        flags(checked.free, "checked.free", n_paths, WRITE, keep),
        doubles(checked.low, "checked.low", n_paths, WRITE, keep),
        doubles(checked.high, "checked.high", n_paths, WRITE, keep),
    )

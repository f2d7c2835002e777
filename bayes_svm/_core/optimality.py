"""Compiled conditions of optimality at the ends of leave-one-out paths."""

import cython

if not cython.compiled:
    from math import inf

    from bayes_svm._core.arrays import READ, WRITE, doubles, flags, length, places, rows, starts
    from bayes_svm._core.check_records import Checked, Measured, Points, Tolerance
    from bayes_svm._core.records import NEVER
    from bayes_svm._core.removals import Removals

    # So many sums and maxima are computed at a time.
    LANES = 32

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


def _clear(points, i, alpha, slack):
    """How far a coefficient is below its upper and above its lower bound, without the slack.

    Of a member that is gone altogether, which must satisfy no condition, both are 0.
    """
    label, room = points.label[i], points.bound[i]
    low, high = alpha - slack, room - alpha - slack
    up = low if label < 0.0 else high
    down = high if label < 0.0 else low
    # The null point has no bounds.
    up = 1.0 if label == 0.0 else up
    down = 1.0 if label == 0.0 else down
    up = 0.0 if room < 0.0 else up
    down = 0.0 if room < 0.0 else down
    return up, down


def _gap(points, i, alpha, residual):
    """What a point adds to the duality gap; a member that is gone altogether adds nothing."""
    excess, room = points.label[i] * residual, points.bound[i]
    gap = alpha * excess + room * max(-excess, 0.0)
    return 0.0 if room < 0.0 else gap


def _largest_after(points, delta):
    """Largest coefficient after the changes."""
    largest = points.largest
    for i in range(points.n):
        if abs(points.beta[i] + delta[i]) > largest:
            largest = abs(points.beta[i] + delta[i])
    return largest


def _exchange(points, removals, j):
    """Exchange a member's bound and the one that it keeps."""
    bound, i = points.bound, removals.points[j]
    removals.rest[j], bound[i] = bound[i], removals.rest[j]


def _conditions(points, delta, moved, shift, tolerance, largest):
    """Smallest and largest residual of the points that can fall and rise, and what else must be 0.

    Returns
    -------
    lowest, highest : float
        Ends of the interval of changes of the intercept at which the points are optimal; 0 must be in it.
    lost : float
        How far a coefficient is beyond its bounds.
    free : float
        1 if a coefficient is between its bounds, otherwise 0.
    gap : float
        Duality gap of the points.
    """
    # Many at a time, which the compiler computes with vector instructions.
    lowest = cython.declare(cython.double[LANES])
    highest = cython.declare(cython.double[LANES])
    lost = cython.declare(cython.double[LANES])
    free = cython.declare(cython.double[LANES])
    gap = cython.declare(cython.double[LANES])
    for c in range(LANES):
        lowest[c], highest[c], lost[c], free[c], gap[c] = -NEVER, NEVER, 0.0, 0.0, 0.0
    for block in range((points.n + LANES - 1) // LANES):
        head = block * LANES
        for c in range(min(LANES, points.n - head)):
            i = head + c
            residual = points.residual[i] + moved[i] + shift
            alpha = points.label[i] * (points.beta[i] + delta[i])
            slack = slack_of(tolerance, max(points.bound[i], 0.0), largest)
            up, down = _clear(points, i, alpha, slack)
            inside = min(up, down)
            # A point that can rise wants a residual of at least 0, one that can fall of at most 0.
            least = -residual if up > 0.0 else -NEVER
            most = -residual if down > 0.0 else NEVER
            lowest[c], highest[c] = max(lowest[c], least), min(highest[c], most)
            lost[c] = max(lost[c], -inside - 2.0 * slack)
            free[c] = 1.0 if inside > 0.0 else free[c]
            gap[c] += _gap(points, i, alpha, residual)
    for c in range(1, LANES):
        lowest[0], highest[0] = max(lowest[0], lowest[c]), min(highest[0], highest[c])
        lost[0], free[0], gap[0] = max(lost[0], lost[c]), max(free[0], free[c]), gap[0] + gap[c]
    return lowest[0], highest[0], lost[0], free[0], gap[0]


def _sums(points, delta, moved):
    """Sum of the changes, and what they add to the objectives."""
    total = cython.declare(cython.double[LANES])
    mass = cython.declare(cython.double[LANES])
    part = cython.declare(cython.double[LANES])
    square = cython.declare(cython.double[LANES])
    for c in range(LANES):
        total[c], mass[c], part[c], square[c] = 0.0, 0.0, 0.0, 0.0
    for block in range((points.n + LANES - 1) // LANES):
        head = block * LANES
        for c in range(min(LANES, points.n - head)):
            change = delta[head + c]
            total[c] += change
            mass[c] += points.label[head + c] * change
            part[c] += points.part[head + c] * change
            square[c] += moved[head + c] * change
    for c in range(1, LANES):
        total[0], mass[0] = total[0] + total[c], mass[0] + mass[c]
        part[0], square[0] = part[0] + part[c], square[0] + square[c]
    return total[0], mass[0], part[0], square[0]


def _check_moved(points, removals, p, delta, moved, shift, tolerance, measured):
    """Check path p, whose changes these are."""
    # The size of the coefficients sets what counts as being at a bound.
    largest = _largest_after(points, delta)
    for j in range(removals.start[p], removals.start[p + 1]):
        _exchange(points, removals, j)
    lowest, highest, lost, free, gap = _conditions(points, delta, moved, shift, tolerance, largest)
    for j in range(removals.start[p + 1] - 1, removals.start[p] - 1, -1):
        _exchange(points, removals, j)
    total, mass, part, square = _sums(points, delta, moved)
    kkt = max(max(lowest, -highest), max(lost, lost / max(largest, 1e-300)))
    measured.kkt[p] = max(kkt, abs(total) / max(min(largest, 1.0), 1e-300))
    measured.gap[p], measured.square[p], measured.free[p] = gap, square, free > 0.0
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

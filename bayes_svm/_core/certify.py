"""Compiled proofs of leave-one-out signs: a primal value F below a dual bound H.

Under the further condition ``f(x_r) = 0`` the remaining problem has a dual without an equality
constraint, with the kernel

    kbar(x_i, x_j) = k(x_i, x_j) - k(x_r, x_i) - k(x_r, x_j) + k(x_r, x_r)

Its value H is raised along one coordinate at a time. If a primal value F of the remaining problem is below
any such H, every optimum has the sign at x_r that goes with F (Franc, Laskov and Mueller, ICML 2008). F, G
and H are relative to the dual value of the whole problem. For the point itself, and for a point with the
same x, kbar is 0: its coefficient in H is its bound.
"""

import cython

from bayes_svm.utils.interrupts import slices

if not cython.compiled:
    from math import inf

    from bayes_svm._core.arrays import READ, WRITE, doubles, flags, length, numbers, places, rows
    from bayes_svm._core.descend import descend, start_descent, start_from_whole
    from bayes_svm._core.pair_records import (
        CHECKED,
        FLAT,
        PROVEN,
        UNPROVEN,
        Bounds,
        Pairs,
        Rules,
        SignsFound,
        Whole,
        Work,
    )
    from bayes_svm._core.primal import LANES, gap_of, good_intercept, sensitivity_of

# Operations that a case takes for each point, about.
OPERATIONS = 1000
_EPSILON = cython.declare(cython.double, 2.0**-52)

# The distance of H from its own optimum is computed every so many steps of H.
_GAP_EVERY = cython.declare(cython.int, 8)
# Work of a look at F and of a step of H, in moves of a pair; a look waits until it can have so many steps.
_LOOK = cython.declare(cython.double, 2.0)
_ASCENT = cython.declare(cython.double, 1.1)
_FEW_ASCENTS = cython.declare(cython.double, 3.0)


def largest_at(n, score):
    """Index of the first of the largest scores."""
    # Many running maxima, which the compiler computes with vector instructions. NaN is never the maximum.
    most = cython.declare(cython.double[LANES])
    for c in range(LANES):
        most[c] = -inf
    for block in range(n // LANES):
        head = block * LANES
        for c in range(LANES):
            most[c] = max(most[c], score[head + c])
    for k in range(n - n % LANES, n):
        most[k % LANES] = max(most[k % LANES], score[k])
    for c in range(1, LANES):
        most[0] = max(most[0], most[c])
    at = 0
    while at < n - 1 and score[at] != most[0]:
        at += 1
    return at


def error_of(whole, steps, length):
    """Bound of the rounding error of a gradient's components after ``steps`` updates of this total length."""
    size = whole.size + 4.0 * whole.largest * length
    return whole.rounding + _EPSILON * (steps * size + 8.0 * whole.largest * length)


def start_ascent(whole, point, rest, work):
    """The whole solution without what the point loses as the first iterate of H.

    The point itself adds nothing to H but its ``rest``. Returns the value of H.
    """
    row, own, base = whole.K[point], whole.diagonal[point], whole.gradient[point] + whole.label[point]
    for k in range(whole.n):
        work.gamma[k] = whole.beta[k]
        work.slope[k] = whole.gradient[k] - base
        work.curvature[k] = max(own + whole.diagonal[k] - 2.0 * row[k], 0.0)
        work.inverse[k] = 1.0 / max(work.curvature[k], FLAT)
    work.gamma[point] = whole.label[point] * rest
    return rest - abs(whole.beta[point])


def ascend(whole, point, work):
    """Raise H along the coordinate that raises it most.

    Returns
    -------
    (gain, length, k)
        Gain of H, the length of the step, and the coordinate.
    """
    # Find the coordinate whose best step within its bounds gains most.
    gamma, slope, inverse, score = work.gamma, work.slope, work.inverse, work.score
    lower, upper, curvature = work.lower, work.upper, work.curvature
    for k in range(whole.n):
        step = min(max(-slope[k] * inverse[k], lower[k] - gamma[k]), upper[k] - gamma[k])
        score[k] = -step * (slope[k] + 0.5 * step * curvature[k])
    at = largest_at(whole.n, score)
    assert 0 <= at < whole.n
    # Take that step.
    end = min(max(gamma[at] - slope[at] * inverse[at], lower[at]), upper[at])
    step = end - gamma[at]
    gamma[at] = end
    # All slopes follow the coordinate.
    row, own = whole.K[at], whole.K[point]
    offset = own[point] - own[at]
    for k in range(whole.n):
        slope[k] += step * (row[k] - own[k] + offset)
    return score[at], abs(step), at


def restart_ascent(whole, point, work):
    """Start H at the iterate of G. Both have the same value there, since its coefficients sum to 0."""
    base = work.gradient[point] + whole.label[point]
    for k in range(whole.n):
        work.gamma[k] = work.beta[k]
        work.slope[k] = work.gradient[k] - base


def is_proven(whole, bounds):
    """Whether H is above F by more than rounding, so that the optimum has the sign of ``bounds.value``."""
    error = 4.0 * error_of(whole, bounds.ascents, bounds.length) * bounds.length
    error += _EPSILON * (8 + bounds.ascents) * (abs(bounds.F) + abs(bounds.H))
    return bounds.allowance + error < bounds.H - bounds.F


def raise_bound(whole, point, bounds, enough, max_ascents, work):
    """Raise H until it proves the sign, cannot prove it, or is within ``enough`` of its own optimum."""
    last, done = -1, 0
    while bounds.ascents < max_ascents and not is_proven(whole, bounds):
        # Now and then look how far H can rise at all.
        if done % _GAP_EVERY == 0:
            gap = gap_of(whole.n, whole.label, work.bound, work.gamma, work.slope, 0.0)
            if gap <= enough or bounds.H + gap <= bounds.F:
                break
        gain, amount, at = ascend(whole, point, work)
        if gain <= 0.0:
            break
        bounds = Bounds(
            bounds.F,
            bounds.value,
            bounds.allowance,
            bounds.H + gain,
            bounds.ascents + 1,
            bounds.length + amount,
            bounds.columns + (at != last),
        )
        done, last = done + 1, at
    return bounds


def check_whole(whole, point, rest, work):
    """Compare the whole problem's machine, as F, with one step of H: a sufficiency check in closed form."""
    start_from_whole(whole, point, rest, work)
    label, leaving = whole.label[point], whole.bound[point] - rest
    value = whole.gradient[point] + label + whole.intercept
    F = whole.gap - leaving * max(0.0, 1.0 - label * value)
    H = start_ascent(whole, point, rest, work)
    allowance = whole.gap_rounding + (2.0 * whole.rounding + 8.0 * _EPSILON) * leaving
    bounds = Bounds(F, value, allowance, H, 0, 0.0, 1)
    return raise_bound(whole, point, bounds, 0.0, 1, work)


def look(whole, point, state, bounds, max_ascents, work):
    """Update F by the iterate with a good intercept, and raise H by at most so many steps.

    Returns the duality gap of the iterate and the bounds.
    """
    # F may fall to the primal value of the iterate.
    label, F, value, allowance, H = whole.label, bounds.F, bounds.value, bounds.allowance, bounds.H
    low, high = min(state.low, state.high), max(state.low, state.high)
    shift = good_intercept(whole.n, label, work.bound, work.gradient, low, high)
    gap = gap_of(whole.n, label, work.bound, work.beta, work.gradient, shift)
    if state.G + gap < F:
        F, value = state.G + gap, work.gradient[point] + label[point] + shift
    # H may rise to the dual value of the iterate.
    if state.G > H:
        H = state.G
        restart_ascent(whole, point, work)
    # A proof must be clear of the rounding errors of all steps so far.
    length = state.length + bounds.length
    error = error_of(whole, state.moves + bounds.ascents, length)
    change = sensitivity_of(whole.n, label, work.bound, work.beta, work.gradient, shift, error)
    rounding = error * (change + 4.0 * length) + _EPSILON * (gap * whole.n + abs(state.G) * state.moves)
    allowance = max(allowance, whole.gap_rounding + rounding)
    bounds = Bounds(F, value, allowance, H, bounds.ascents, bounds.length, bounds.columns)
    # H is raised until it is as close to its optimum as G.
    return gap, raise_bound(whole, point, bounds, gap, bounds.ascents + max_ascents, work)


def solve_left_out(whole, point, rest, rules, work):
    """Solve the remaining problem, or stop at a proof of its sign at the point.

    Returns
    -------
    outcome : int
        ``UNPROVEN``, ``CHECKED`` or ``PROVEN``.
    bounds : Bounds
        F and H at the end.
    state : Pairs
        The descent at the end.
    gap : float
        Duality gap of its iterate.
    """
    bounds = check_whole(whole, point, rest, work)
    if is_proven(whole, bounds):
        return CHECKED, bounds, Pairs(-1, -1, 0.0, 0.0, 0.0, 0, 0.0, 0), 0.0
    state = start_descent(whole, point, rest, work)
    spent: cython.double = 0.0
    while True:
        # Move pairs until another look is no more than its share of the work.
        target: cython.longlong = rules.max_steps
        if rules.share > 0.0:
            due: cython.double = (spent + _LOOK + _FEW_ASCENTS * _ASCENT) / rules.share
            if due < target:
                target = max(cython.cast(cython.longlong, due), state.moves) + 1
        state = descend(whole, state, rules.tolerance, target, work)
        over: cython.bint = state.moves < target or target >= rules.max_steps
        # Look for a proof with what that leaves for steps of H.
        left: cython.double = rules.share * state.moves - spent - _LOOK
        if left < 0.0:
            shift = 0.5 * (state.low + state.high)
            gap = gap_of(whole.n, whole.label, work.bound, work.beta, work.gradient, shift)
        else:
            ascents = bounds.ascents
            gap, bounds = look(
                whole, point, state, bounds, cython.cast(cython.longlong, left / _ASCENT), work
            )
            spent += _LOOK + _ASCENT * (bounds.ascents - ascents)
            if is_proven(whole, bounds):
                return PROVEN, bounds, state, gap
        if over:
            return UNPROVEN, bounds, state, gap


def _solve_case(whole, p, point, rest, rules, work, found):
    """Solve case p, and write what is found to ``found``."""
    outcome, bounds, state, gap = solve_left_out(whole, point, rest, rules, work)
    found.outcomes[p] = outcome
    found.gap[p] = gap / max(abs(whole.dual + state.G), 1e-300)
    found.violation[p] = max(state.high - state.low, 0.0)
    found.values[p] = bounds.value
    # Without a proof the value is that of the last iterate.
    if outcome == UNPROVEN:
        found.values[p] = work.gradient[point] + whole.label[point] + 0.5 * (state.low + state.high)
    found.columns[p] = bounds.columns + state.columns
    found.steps[p] = bounds.ascents + state.moves


@cython.locals(head=cython.Py_ssize_t, tail=cython.Py_ssize_t)
def solve_each(whole, points, rest, rules, work, found):
    """Solve one case after the other, and write what is found to ``found``.

    Parameters
    ----------
    whole : Whole
        The whole problem.
    points : array of int of shape (n_cases,)
        The point of each case.
    rest : array of shape (n_cases,)
        Upper bound that it keeps.
    rules : Rules
        When to stop.
    work : Work
        Memory.
    found : SignsFound
        Where the findings are written.
    """
    keep = []
    problem = whole_of(whole, keep)
    n_cases = length(points, "points", 0)
    point = places(points, "points", n_cases, 0, problem.n, keep)
    left = doubles(rest, "rest", n_cases, READ, keep)
    stop = Rules(rules.share, rules.tolerance, rules.max_steps)
    memory, signs = work_of(work, problem.n, keep), found_of(found, n_cases, keep)
    for head, tail in slices(n_cases, OPERATIONS * problem.n):
        with cython.nogil:
            for p in range(head, tail):
                _solve_case(problem, p, point[p], left[p], stop, memory, signs)


@cython.locals(head=cython.Py_ssize_t, tail=cython.Py_ssize_t)
def check_each(whole, points, rest, work, proven):
    """Run the sufficiency check of each case, and write whether it proves the sign to ``proven``.

    Parameters
    ----------
    whole : Whole
        The whole problem.
    points : array of int of shape (n_cases,)
        The point of each case.
    rest : array of shape (n_cases,)
        Upper bound that it keeps.
    work : Work
        Memory.
    proven : array of bool of shape (n_cases,)
        Where the findings are written.
    """
    keep = []
    problem = whole_of(whole, keep)
    n_cases = length(points, "points", 0)
    point = places(points, "points", n_cases, 0, problem.n, keep)
    left = doubles(rest, "rest", n_cases, READ, keep)
    memory, proves = work_of(work, problem.n, keep), flags(proven, "proven", n_cases, WRITE, keep)
    for head, tail in slices(n_cases, OPERATIONS * problem.n):
        with cython.nogil:
            for p in range(head, tail):
                proves[p] = is_proven(problem, check_whole(problem, point[p], left[p], memory))


def whole_of(whole, keep):
    """The solved problem as a struct; uncompiled, the record is its own struct."""
    if not cython.compiled:
        return whole
    n = length(whole.label, "whole.label", 0)
    return Whole(
        rows(whole.K, "whole.K", n, n, READ, keep),
        doubles(whole.diagonal, "whole.diagonal", n, READ, keep),
        doubles(whole.label, "whole.label", n, READ, keep),
        doubles(whole.bound, "whole.bound", n, READ, keep),
        doubles(whole.beta, "whole.beta", n, READ, keep),
        doubles(whole.gradient, "whole.gradient", n, READ, keep),
        whole.intercept,
        whole.dual,
        whole.gap,
        whole.largest,
        whole.size,
        whole.rounding,
        whole.gap_rounding,
        n,
    )


def work_of(work, n, keep):
    """The memory for n points as a struct."""
    if not cython.compiled:
        return work
    return Work(
        doubles(work.beta, "work.beta", n, WRITE, keep),
        doubles(work.gradient, "work.gradient", n, WRITE, keep),
        doubles(work.lower, "work.lower", n, WRITE, keep),
        doubles(work.upper, "work.upper", n, WRITE, keep),
        doubles(work.can_rise, "work.can_rise", n, WRITE, keep),
        doubles(work.can_fall, "work.can_fall", n, WRITE, keep),
        doubles(work.bound, "work.bound", n, WRITE, keep),
        doubles(work.gamma, "work.gamma", n, WRITE, keep),
        doubles(work.slope, "work.slope", n, WRITE, keep),
        doubles(work.curvature, "work.curvature", n, WRITE, keep),
        doubles(work.inverse, "work.inverse", n, WRITE, keep),
        doubles(work.score, "work.score", n, WRITE, keep),
    )


def found_of(found, n_cases, keep):
    """The place for the findings as a struct."""
    if not cython.compiled:
        return found
    return SignsFound(
        doubles(found.values, "found.values", n_cases, WRITE, keep),
        numbers(found.outcomes, "found.outcomes", n_cases, WRITE, keep),
        doubles(found.violation, "found.violation", n_cases, WRITE, keep),
        doubles(found.gap, "found.gap", n_cases, WRITE, keep),
        numbers(found.columns, "found.columns", n_cases, WRITE, keep),
        numbers(found.steps, "found.steps", n_cases, WRITE, keep),
    )

"""Compiled proofs of leave-one-out signs: a primal value F below a dual bound H.

The remaining problem under the further condition ``f(x_r) = 0`` has a dual without an equality
constraint, with

    kbar(x_i, x_j) = k(x_i, x_j) - k(x_r, x_i) - k(x_r, x_j) + k(x_r, x_r)

in place of the kernel. Its value H is raised by single coordinates. A primal value F of the
remaining problem below any H proves that the sign at x_r that goes with F is that of every
optimum (Franc, Laskov and Mueller, ICML 2008). F, G and H are relative to the dual value of the
whole problem. The point's own term, and that of a point with the same x, is constant under the
condition: kbar is 0 there, and the best coefficient is the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.compiled import compiled
from bayes_svm._core.descend import Pairs, descend, start_descent, start_from_whole

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

_FLAT = 1e-12  # curvature below which a direction counts as flat
_EPSILON = 2.0**-52

UNPROVEN, CHECKED, PROVEN = 0, 1, 2

_FIRST_ASCENTS = 32  # steps of H against the whole solution
_GAP_EVERY = 8  # steps of H between two looks at how far it still is from its optimum
_PAUSE = 40  # pairs between two looks at F, and
_PAUSE_SHARE = 2  # one more for as many as have been moved
_ASCENTS, _ASCENT_SHARE = 20, 4  # steps of H allowed at the start, and one more for as many pairs
_ASCENT, _LOOK = 0.9, 2.5  # work of a step of H, and of a look at F, in moves of a pair
_TRIAL = 2.0  # the pairs alone are tried up to this multiple of the work a proof took
_OPEN = 2  # a case that is still open then counts this much: such cases are long


class Rules(NamedTuple):
    """When to stop."""

    proof: bool  # whether a proof of the sign may end a case
    trial: bool  # whether to find out if the pairs alone would have been faster
    tolerance: float
    max_steps: int


class Bounds(NamedTuple):
    """F and H so far, relative to the dual value of the whole problem."""

    F: float
    value: float  # at the point, of the machine that has F
    allowance: float  # rounding error of H - F, but for that of the steps of H
    H: float
    ascents: int  # steps of H
    length: float  # of these steps, added up
    columns: int  # used by them


class Found(NamedTuple):
    """Signs of decision values at points left out, one entry for each case.

    The sign of a value is the answer. The value itself is that of the machine at which the solver stopped,
    and exact only where the coefficients do not change. Nothing is kept from one case to the next.
    """

    values: Array
    outcomes: Numbers  # UNPROVEN, PROVEN by the solver, or CHECKED: the sufficiency checks alone decided
    violation: Array  # of optimality where the solver stopped; 0 where nothing was solved
    gap: Array  # duality gap there, relative to the dual value; 0 where nothing was solved
    # Columns of the kernel matrix: that of the point for the check, one for each step of the bound, two for
    # each pair; those of the step just before are not counted again.
    columns: Numbers
    steps: Numbers  # moves of pairs, and steps of the bound
    effort: Array  # in moves of a pair
    rival: Array  # the same without a proof, as far as that was tried


@compiled
def largest_at(score):
    """Index of the largest score, in four lanes: a comparison need not wait for the one before."""
    n = score.shape[0]
    a, b, c, d = -np.inf, -np.inf, -np.inf, -np.inf
    at_a, at_b, at_c, at_d = 0, 0, 0, 0
    for k in range(0, n - 3, 4):
        if score[k] > a:
            a, at_a = score[k], k
        if score[k + 1] > b:
            b, at_b = score[k + 1], k + 1
        if score[k + 2] > c:
            c, at_c = score[k + 2], k + 2
        if score[k + 3] > d:
            d, at_d = score[k + 3], k + 3
    for k in range(n - n % 4, n):
        if score[k] > a:
            a, at_a = score[k], k
    if b > a:
        a, at_a = b, at_b
    if d > c:
        c, at_c = d, at_d
    return at_c if c > a else at_a


@compiled
def quantile(position, weight, n, level):
    """Smallest of the first ``n`` positions up to which the weights add up to ``level``; reorders both."""
    start, stop = 0, n
    while stop - start > 1:
        pivot = position[(start + stop) // 2]
        below, above, k = start, stop, start
        lighter, equal = 0.0, 0.0
        while k < above:
            place, mass = position[k], weight[k]
            if place < pivot:
                position[k], weight[k] = position[below], weight[below]
                position[below], weight[below] = place, mass
                lighter += mass
                below += 1
                k += 1
            elif place > pivot:
                above -= 1
                position[k], weight[k] = position[above], weight[above]
                position[above], weight[above] = place, mass
            else:
                equal += mass
                k += 1
        if below > start and level <= lighter:
            stop = below
        elif above == stop or level <= lighter + equal:
            return pivot
        else:
            level -= lighter + equal
            start = above
    return position[start]


@compiled
def best_intercept(label, bound, gradient, low, high, position, weight):
    """The intercept that minimises F, a piecewise linear function with a kink at each ``-gradient``.

    Its slope rises by ``bound`` at each, from minus the bounds of the positive points. Below
    ``low`` nothing may fall and above ``high`` nothing may rise: the slope changes sign between.
    """
    level, inside = 0.0, 0
    for k in range(label.shape[0]):
        if label[k] > 0.0:
            level += bound[k]
        kink = -gradient[k]
        if kink < low:
            level -= bound[k]
        elif kink <= high:
            position[inside], weight[inside] = kink, bound[k]
            inside += 1
    return quantile(position, weight, inside, level)


@compiled
def duality_gap(label, bound, coefficients, residual, shift):
    """Primal minus dual value where ``residual + shift`` is ``f - label``; each term is at least 0."""
    even, odd = 0.0, 0.0
    for k in range(label.shape[0]):
        own = residual[k] + shift
        end = 0.0 if label[k] * own > 0.0 else label[k] * bound[k]
        term = own * (coefficients[k] - end)
        # Two sums side by side: one alone waits for itself.
        if k % 2 == 0:
            even += term
        else:
            odd += term
    return even + odd


@compiled
def sensitivity(label, bound, coefficients, residual, shift, error):
    """How much the gap may change where each residual changes by up to 1, ``error`` across a kink."""
    total = 0.0
    for k in range(label.shape[0]):
        margin, alpha = label[k] * (residual[k] + shift), label[k] * coefficients[k]
        if abs(margin) <= error:
            total += bound[k]
        else:
            total += alpha if margin > 0.0 else bound[k] - alpha
    return total


@compiled
def error_of(whole, steps, length):
    """Error of each component of a gradient after ``steps`` updates of this total length."""
    size = whole.size + 4.0 * whole.largest * length
    return whole.rounding + _EPSILON * (steps * size + 8.0 * whole.largest * length)


@compiled
def start_ascent(whole, point, rest, work):
    """The whole solution without the point's excess as the first iterate of H.

    The point itself does not count in H but for its own ``rest``. Returns the value of H.
    """
    row, own, base = whole.K[point], whole.diagonal[point], whole.gradient[point] + whole.label[point]
    for k in range(whole.label.shape[0]):
        work.gamma[k] = whole.beta[k]
        work.slope[k] = whole.gradient[k] - base
        work.curvature[k] = max(own + whole.diagonal[k] - 2.0 * row[k], 0.0)
        work.inverse[k] = 1.0 / max(work.curvature[k], _FLAT)
    work.gamma[point] = whole.label[point] * rest
    return rest - abs(whole.beta[point])


@compiled
def ascend(whole, point, work):
    """Raise H along the coordinate that raises it most.

    Returns
    -------
    (gain, length, k)
        Gain of H, the length of the step, and the coordinate.
    """
    gamma, slope, inverse, score = work.gamma, work.slope, work.inverse, work.score
    lower, upper, curvature = work.lower, work.upper, work.curvature
    for k in range(gamma.shape[0]):
        step = min(max(-slope[k] * inverse[k], lower[k] - gamma[k]), upper[k] - gamma[k])
        score[k] = -step * (slope[k] + 0.5 * step * curvature[k])
    at = largest_at(score)
    end = min(max(gamma[at] - slope[at] * inverse[at], lower[at]), upper[at])
    step = end - gamma[at]
    gamma[at] = end
    row, own = whole.K[at], whole.K[point]
    offset = own[point] - own[at]
    for k in range(gamma.shape[0]):
        slope[k] += step * (row[k] - own[k] + offset)
    return score[at], abs(step), at


@compiled
def restart_ascent(whole, point, work):
    """Start H at the iterate of G, where both have the same value: its coefficients sum to 0."""
    base = work.gradient[point] + whole.label[point]
    for k in range(work.beta.shape[0]):
        work.gamma[k] = work.beta[k]
        work.slope[k] = work.gradient[k] - base


@compiled
def is_proven(whole, bounds):
    """Whether H is above F by more than rounding: the sign of ``bounds.value`` is the optimum's."""
    error = 4.0 * error_of(whole, bounds.ascents, bounds.length) * bounds.length
    error += _EPSILON * (8 + bounds.ascents) * (abs(bounds.F) + abs(bounds.H))
    return bounds.allowance + error < bounds.H - bounds.F


@compiled
def raise_bound(whole, point, bounds, enough, max_ascents, work):
    """Raise H until it proves the sign, or cannot, or is within ``enough`` of its own optimum."""
    last, done = -1, 0
    while bounds.ascents < max_ascents and not is_proven(whole, bounds):
        if done % _GAP_EVERY == 0:
            gap = duality_gap(whole.label, work.bound, work.gamma, work.slope, 0.0)
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


@compiled
def check_whole(whole, point, rest, max_ascents, work):
    """The machine of the whole problem against H: its sign may be proven to stay.

    With one step of H at most this is a sufficiency check in closed form.
    """
    start_from_whole(whole, point, rest, work)
    label, leaving = whole.label[point], whole.bound[point] - rest
    value = whole.gradient[point] + label + whole.intercept
    F = whole.gap - leaving * max(0.0, 1.0 - label * value)
    H = start_ascent(whole, point, rest, work)
    allowance = whole.gap_rounding + (2.0 * whole.rounding + 8.0 * _EPSILON) * leaving
    bounds = Bounds(F, value, allowance, H, 0, 0.0, 1)
    return raise_bound(whole, point, bounds, 0.0, max_ascents, work)


@compiled
def look(whole, point, state, bounds, work):
    """F of the iterate with the best intercept, and H raised as far as that is worth it."""
    label, F, value, allowance, H = whole.label, bounds.F, bounds.value, bounds.allowance, bounds.H
    low, high = min(state.low, state.high), max(state.low, state.high)
    shift = best_intercept(label, work.bound, work.gradient, low, high, work.position, work.weight)
    gap = duality_gap(label, work.bound, work.beta, work.gradient, shift)
    if state.G + gap < F:
        F, value = state.G + gap, work.gradient[point] + label[point] + shift
    if state.G > H:
        H = state.G
        restart_ascent(whole, point, work)
    length = state.length + bounds.length
    error = error_of(whole, state.moves + bounds.ascents, length)
    change = sensitivity(label, work.bound, work.beta, work.gradient, shift, error)
    rounding = error * (change + 4.0 * length) + _EPSILON * (gap * len(label) + abs(state.G) * state.moves)
    allowance = max(allowance, whole.gap_rounding + rounding)
    bounds = Bounds(F, value, allowance, H, bounds.ascents, bounds.length, bounds.columns)
    # H is to be as close to its optimum as G to its own, for a share of the work of the pairs.
    return gap, raise_bound(whole, point, bounds, gap, state.moves // _ASCENT_SHARE + _ASCENTS, work)


@compiled
def solve_left_out(whole, point, rest, rules, work):
    """Solve the remaining problem from the check on, or stop at a proof of its sign at the point.

    Returns
    -------
    (outcome, bounds, state, gap, effort)
    """
    bounds = check_whole(whole, point, rest, _FIRST_ASCENTS if rules.proof else 1, work)
    if is_proven(whole, bounds):
        outcome = CHECKED if bounds.ascents <= 1 else PROVEN
        return outcome, bounds, Pairs(-1, -1, 0.0, 0.0, 0.0, 0, 0.0, 0), 0.0, _ASCENT * bounds.ascents
    state = start_descent(whole, point, rest, work)
    looks, gap = 0, 0.0
    while rules.proof:
        gap, bounds = look(whole, point, state, bounds, work)
        looks += 1
        over = state.second < 0 or state.high - state.low <= rules.tolerance
        if is_proven(whole, bounds) or over or state.moves >= rules.max_steps:
            break
        pause = _PAUSE + state.moves // _PAUSE_SHARE
        state = descend(whole, state, rules.tolerance, min(state.moves + pause, rules.max_steps), work)
    if not rules.proof:
        state = descend(whole, state, rules.tolerance, rules.max_steps, work)
        shift = 0.5 * (state.low + state.high)
        gap = duality_gap(whole.label, work.bound, work.beta, work.gradient, shift)
    outcome = PROVEN if rules.proof and is_proven(whole, bounds) else UNPROVEN
    return outcome, bounds, state, gap, state.moves + _ASCENT * bounds.ascents + _LOOK * looks


@compiled
def solve_each(whole, points, rest, rules, work, found):
    """One case after the other."""
    for p in range(points.shape[0]):
        point = points[p]
        outcome, bounds, state, gap, effort = solve_left_out(whole, point, rest[p], rules, work)
        found.outcomes[p], found.effort[p] = outcome, effort
        found.gap[p] = gap / max(abs(whole.dual + state.G), 1e-300)
        found.violation[p] = max(state.high - state.low, 0.0)
        found.values[p] = bounds.value
        if outcome == UNPROVEN:
            found.values[p] = work.gradient[point] + whole.label[point] + 0.5 * (state.low + state.high)
        still_open = False
        if rules.trial and outcome == PROVEN:
            if state.columns == 0:
                state = start_descent(whole, point, rest[p], work)
            state = descend(whole, state, rules.tolerance, min(int(_TRIAL * effort), rules.max_steps), work)
            still_open = state.second >= 0 and state.high - state.low > rules.tolerance
        found.rival[p] = state.moves * (_OPEN if still_open else 1)
        found.columns[p] = bounds.columns + state.columns
        found.steps[p] = bounds.ascents + state.moves


@compiled
def check_each(whole, points, rest, work, proven):
    """The sufficiency check of each case."""
    for p in range(points.shape[0]):
        proven[p] = is_proven(whole, check_whole(whole, points[p], rest[p], 1, work))

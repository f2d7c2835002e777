"""Compiled proofs of leave-one-out signs: a primal value F below a dual bound H.

Under the further condition ``f(x_r) = 0`` the remaining problem has a dual without an equality
constraint, with the kernel

    kbar(x_i, x_j) = k(x_i, x_j) - k(x_r, x_i) - k(x_r, x_j) + k(x_r, x_r)

Its value H is raised along one coordinate at a time. If a primal value F of the remaining problem is below
any such H, every optimum has the sign at x_r that goes with F (Franc, Laskov and Mueller, ICML 2008). F, G
and H are relative to the dual value of the whole problem. For the point itself, and for a point with the
same x, kbar is 0: its coefficient in H is its bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_svm._core.compiled import compiled
from bayes_svm._core.descend import Pairs, descend, start_descent, start_from_whole
from bayes_svm._core.primal import best_intercept, duality_gap, sensitivity
from bayes_svm._core.records import Numbers
from bayes_svm._core.smo import FLAT
from bayes_svm.utils.types import Array

__all__ = [
    "CHECKED",
    "PROVEN",
    "UNPROVEN",
    "Bounds",
    "Rules",
    "SignsFound",
    "check_each",
    "check_whole",
    "is_proven",
    "solve_each",
    "solve_left_out",
]

_EPSILON = 2.0**-52

# How a case ended: with no proof, with a proof by the sufficiency check alone, or with a proof by the solver.
UNPROVEN, CHECKED, PROVEN = 0, 1, 2

# The whole solution's F is compared with H for at most this many steps of H.
_FIRST_ASCENTS = 32
# The distance of H from its own optimum is computed every so many steps of H.
_GAP_EVERY = 8
# Between two looks at F this many pairs are moved, and one more for every ``_PAUSE_SHARE`` moved before.
_PAUSE = 40
_PAUSE_SHARE = 2
# H may make this many steps, and one more for every ``_ASCENT_SHARE`` moves of pairs.
_ASCENTS, _ASCENT_SHARE = 20, 4
# Work of a step of H and of a look at F, in moves of a pair.
_ASCENT, _LOOK = 0.9, 2.5
# In a trial the pairs alone may take up to this multiple of the work that the proof took.
_TRIAL_WORK = 2.0
# A case still open at the end of its trial would take long: its work is multiplied by this.
_OPEN = 2


class Rules(NamedTuple):
    """When to stop.

    Attributes
    ----------
    proof : bool
        Whether a proof of the sign may end a case.
    trial : bool
        Whether to find out if the moves of pairs alone would have been faster.
    tolerance : float
        Violation of optimality at which the moves of pairs stop.
    max_steps : int
        Limit on the moves of pairs.
    """

    proof: bool
    trial: bool
    tolerance: float
    max_steps: int


class Bounds(NamedTuple):
    """F and H so far, relative to the dual value of the whole problem.

    Attributes
    ----------
    F : float
        Least primal value.
    value : float
        Decision value at the point, of the machine that has F.
    allowance : float
        Rounding error of ``H - F`` without that of the steps of H.
    H : float
        Dual value under the condition that the decision value is 0.
    ascents : int
        Number of steps of H.
    length : float
        Sum of the lengths of these steps.
    columns : int
        Number of kernel columns that they used.
    """

    F: float
    value: float
    allowance: float
    H: float
    ascents: int
    length: float
    columns: int


class SignsFound(NamedTuple):
    """Signs of decision values at points left out, one entry for each case.

    The sign of a value is the answer. The value itself is that of the machine at which the solver stopped,
    and exact only where the coefficients do not change. Nothing is kept from one case to the next.

    Attributes
    ----------
    values : array of shape (n_cases,)
        Decision values.
    outcomes : array of shape (n_cases,)
        ``UNPROVEN``, ``CHECKED`` or ``PROVEN``.
    violation : array of shape (n_cases,)
        Violation of optimality where the solver stopped; 0 where nothing was solved.
    gap : array of shape (n_cases,)
        Relative duality gap there; 0 where nothing was solved.
    columns : array of shape (n_cases,)
        Number of kernel columns used: one for the check, one for each step of the bound, two for each pair.
        Those of the step before are not counted again.
    steps : array of shape (n_cases,)
        Moves of pairs and steps of the bound.
    effort : array of shape (n_cases,)
        Work, in moves of a pair.
    rival : array of shape (n_cases,)
        Work of the moves of pairs alone, where that was tried.
    """

    values: Array
    outcomes: Numbers
    violation: Array
    gap: Array
    columns: Numbers
    steps: Numbers
    effort: Array
    rival: Array


@compiled
def largest_at(score):
    """Index of the largest score. Four running maxima, so that the CPU can overlap the comparisons."""
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
def error_of(whole, steps, length):
    """Bound of the rounding error of a gradient's components after ``steps`` updates of this total length."""
    size = whole.size + 4.0 * whole.largest * length
    return whole.rounding + _EPSILON * (steps * size + 8.0 * whole.largest * length)


@compiled
def start_ascent(whole, point, rest, work):
    """The whole solution without what the point loses as the first iterate of H.

    The point itself adds nothing to H but its ``rest``. Returns the value of H.
    """
    row, own, base = whole.K[point], whole.diagonal[point], whole.gradient[point] + whole.label[point]
    for k in range(whole.label.shape[0]):
        work.gamma[k] = whole.beta[k]
        work.slope[k] = whole.gradient[k] - base
        work.curvature[k] = max(own + whole.diagonal[k] - 2.0 * row[k], 0.0)
        work.inverse[k] = 1.0 / max(work.curvature[k], FLAT)
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
    # Find the coordinate whose best step within its bounds gains most.
    gamma, slope, inverse, score = work.gamma, work.slope, work.inverse, work.score
    lower, upper, curvature = work.lower, work.upper, work.curvature
    for k in range(gamma.shape[0]):
        step = min(max(-slope[k] * inverse[k], lower[k] - gamma[k]), upper[k] - gamma[k])
        score[k] = -step * (slope[k] + 0.5 * step * curvature[k])
    at = largest_at(score)
    # Take that step.
    end = min(max(gamma[at] - slope[at] * inverse[at], lower[at]), upper[at])
    step = end - gamma[at]
    gamma[at] = end
    # All slopes follow the coordinate.
    row, own = whole.K[at], whole.K[point]
    offset = own[point] - own[at]
    for k in range(gamma.shape[0]):
        slope[k] += step * (row[k] - own[k] + offset)
    return score[at], abs(step), at


@compiled
def restart_ascent(whole, point, work):
    """Start H at the iterate of G. Both have the same value there, since its coefficients sum to 0."""
    base = work.gradient[point] + whole.label[point]
    for k in range(work.beta.shape[0]):
        work.gamma[k] = work.beta[k]
        work.slope[k] = work.gradient[k] - base


@compiled
def is_proven(whole, bounds):
    """Whether H is above F by more than rounding, so that the optimum has the sign of ``bounds.value``."""
    error = 4.0 * error_of(whole, bounds.ascents, bounds.length) * bounds.length
    error += _EPSILON * (8 + bounds.ascents) * (abs(bounds.F) + abs(bounds.H))
    return bounds.allowance + error < bounds.H - bounds.F


@compiled
def raise_bound(whole, point, bounds, enough, max_ascents, work):
    """Raise H until it proves the sign, cannot prove it, or is within ``enough`` of its own optimum."""
    last, done = -1, 0
    while bounds.ascents < max_ascents and not is_proven(whole, bounds):
        # Now and then look how far H can rise at all.
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
    """Compare the whole problem's machine, as F, with H: the proof may be had without solving anything.

    With at most one step of H this is a sufficiency check in closed form.
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
    """Update F by the iterate with the best intercept, and raise H as far as that is worth its work.

    Returns the duality gap of the iterate and the bounds.
    """
    # F may fall to the primal value of the iterate.
    label, F, value, allowance, H = whole.label, bounds.F, bounds.value, bounds.allowance, bounds.H
    low, high = min(state.low, state.high), max(state.low, state.high)
    shift = best_intercept(label, work.bound, work.gradient, low, high, work.position, work.weight)
    gap = duality_gap(label, work.bound, work.beta, work.gradient, shift)
    if state.G + gap < F:
        F, value = state.G + gap, work.gradient[point] + label[point] + shift
    # H may rise to the dual value of the iterate.
    if state.G > H:
        H = state.G
        restart_ascent(whole, point, work)
    # A proof must be clear of the rounding errors of all steps so far.
    length = state.length + bounds.length
    error = error_of(whole, state.moves + bounds.ascents, length)
    change = sensitivity(label, work.bound, work.beta, work.gradient, shift, error)
    rounding = error * (change + 4.0 * length) + _EPSILON * (gap * len(label) + abs(state.G) * state.moves)
    allowance = max(allowance, whole.gap_rounding + rounding)
    bounds = Bounds(F, value, allowance, H, bounds.ascents, bounds.length, bounds.columns)
    # H is raised until it is as close to its optimum as G, for a limited share of the pairs' work.
    return gap, raise_bound(whole, point, bounds, gap, state.moves // _ASCENT_SHARE + _ASCENTS, work)


@compiled
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
    effort : float
        Work, in moves of a pair.
    """
    # The whole machine may do for a proof.
    bounds = check_whole(whole, point, rest, _FIRST_ASCENTS if rules.proof else 1, work)
    if is_proven(whole, bounds):
        outcome = CHECKED if bounds.ascents <= 1 else PROVEN
        return outcome, bounds, Pairs(-1, -1, 0.0, 0.0, 0.0, 0, 0.0, 0), 0.0, _ASCENT * bounds.ascents
    # If not, move pairs, and look at F and H in between.
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
    # Without proofs, move pairs to the end.
    if not rules.proof:
        state = descend(whole, state, rules.tolerance, rules.max_steps, work)
        shift = 0.5 * (state.low + state.high)
        gap = duality_gap(whole.label, work.bound, work.beta, work.gradient, shift)
    outcome = PROVEN if rules.proof and is_proven(whole, bounds) else UNPROVEN
    return outcome, bounds, state, gap, state.moves + _ASCENT * bounds.ascents + _LOOK * looks


@compiled
def solve_each(whole, points, rest, rules, work, found):
    """Solve one case after the other, and write what is found to ``found``."""
    for p in range(points.shape[0]):
        point = points[p]
        outcome, bounds, state, gap, effort = solve_left_out(whole, point, rest[p], rules, work)
        found.outcomes[p], found.effort[p] = outcome, effort
        found.gap[p] = gap / max(abs(whole.dual + state.G), 1e-300)
        found.violation[p] = max(state.high - state.low, 0.0)
        found.values[p] = bounds.value
        # Without a proof the value is that of the last iterate.
        if outcome == UNPROVEN:
            found.values[p] = work.gradient[point] + whole.label[point] + 0.5 * (state.low + state.high)
        # In a trial go on with the pairs alone, to compare their work with that of the proof.
        still_open = False
        if rules.trial and outcome == PROVEN:
            if state.columns == 0:
                state = start_descent(whole, point, rest[p], work)
            max_moves = min(int(_TRIAL_WORK * effort), rules.max_steps)
            state = descend(whole, state, rules.tolerance, max_moves, work)
            still_open = state.second >= 0 and state.high - state.low > rules.tolerance
        found.rival[p] = state.moves * (_OPEN if still_open else 1)
        found.columns[p] = bounds.columns + state.columns
        found.steps[p] = bounds.ascents + state.moves


@compiled
def check_each(whole, points, rest, work, proven):
    """Run the sufficiency check of each case, and write whether it proves the sign to ``proven``."""
    for p in range(points.shape[0]):
        proven[p] = is_proven(whole, check_whole(whole, points[p], rest[p], 1, work))

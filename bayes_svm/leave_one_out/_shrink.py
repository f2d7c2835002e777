"""Compiled leave-one-out paths: some coefficients shrink, the others stay optimal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayes_svm._compiled import compiled
from bayes_svm._follow import (
    NEVER,
    SETTLED,
    Motion,
    combine,
    factorise_changed,
    follow,
    solve_factorised,
    toggle,
)

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Cases(NamedTuple):
    """The paths of one batch; path p moves the members ``start[p]`` to ``start[p + 1] - 1``."""

    start: Numbers
    rows: Numbers  # tableau row of each member, -1 for one that the tableau does not cover
    moves: Array  # change of its beta over the whole path, from the perturbed base
    exact_moves: Array  # the same at the exact targets
    keeps: Mask  # whether it keeps a part of its bound
    directions: Array  # (n_paths, m + 1) rates of the positions due to the members at a bound
    watched: Numbers  # row whose sign alone is wanted, -1 where the value is
    signs: Array  # its label
    steepest: Array  # as in Motion


class Start(NamedTuple):
    """The base that all paths start from: at the perturbed targets, and at the exact ones."""

    position: Array
    low: Array
    high: Array
    at_upper: Mask
    exact_beta: Array
    exact_residual: Array


class Ends(NamedTuple):
    """Where the paths of one batch ended, at the exact targets."""

    changes: Array  # (n_paths, m) change of beta
    intercepts: Array  # change of the intercept
    times: Array  # 1 for a whole path
    events: Numbers
    outcomes: Numbers
    kkt: Array  # largest violation of optimality among the rows
    free: Mask  # whether a coefficient is strictly between its bounds


class Tolerance(NamedTuple):
    """When a coefficient counts as being at a bound: within ``share`` of it, or ``rounding``."""

    share: float
    rounding: float


@compiled
def slack_of(tolerance, bound, largest_beta):
    """Distance from a bound within which a coefficient is on it.

    ``rounding`` is the tableau's own error, which a tiny C does not make smaller.
    """
    return tolerance.share * min(bound, largest_beta) + min(tolerance.rounding, 1e-3 * bound)


@compiled
def _begin(base, cases, p, start, state, goal):
    """Put the state to the base and take the members out of play; returns the length of ``changed``."""
    for k in range(state.position.shape[0]):
        # Element by element: slices and array expressions compile to far more code.
        state.position[k], state.is_in[k] = start.position[k], base.is_in[k]
        state.low[k], state.high[k] = start.low[k], start.high[k]
        state.at_upper[k] = start.at_upper[k]
    n_changed = 0
    for j in range(cases.start[p], cases.start[p + 1]):
        k = cases.rows[j]
        if k >= 0:
            if base.is_in[k]:
                n_changed = toggle(k, state.is_in, state.changed, n_changed)
                state.position[k], goal[k] = 0.0, cases.moves[j]
            state.low[k], state.high[k] = -NEVER, NEVER
    return n_changed


@compiled
def _flips(base, start, state, direction):
    """Add to ``direction`` what points do that went from one bound to the other."""
    for k in range(state.position.shape[0]):
        is_moved = state.low[k] == -NEVER and state.high[k] == NEVER
        if is_moved or base.is_in[k] or state.is_in[k] or state.at_upper[k] == start.at_upper[k]:
            continue
        change = (base.upper[k] if state.at_upper[k] else base.lower[k]) - start.exact_beta[k]
        for i in range(direction.shape[0]):
            direction[i] += change * base.W[k, i]


@compiled
def _exact_change(base, cases, p, time, start, state, n_changed, direction, scratch, change):
    """Change of beta and intercept from the exact base to the partition the path ended in.

    The path itself ran on perturbed targets; its last partition is solved once more at the
    exact ones. Writes the change of every row's beta, and its residual into ``scratch.wait``;
    returns the change of the intercept.
    """
    rate, residual, A, pivots, weights = scratch
    changed = state.changed
    for i in range(direction.shape[0]):
        direction[i] = time * cases.directions[p, i]
    _flips(base, start, state, direction)
    for a in range(n_changed):
        k = changed[a]
        if not base.is_in[k]:
            goal = -start.exact_residual[k]
        elif state.at_upper[k]:
            goal = base.upper[k] - start.exact_beta[k]
        else:
            goal = base.lower[k] - start.exact_beta[k]
        weights[a] = goal - direction[k]
    for j in range(cases.start[p], cases.start[p + 1]):
        for a in range(n_changed):
            if changed[a] == cases.rows[j] and base.is_in[changed[a]]:
                weights[a] = time * cases.exact_moves[j] - direction[changed[a]]
    if not factorise_changed(base.W, changed, n_changed, A, pivots):
        return np.nan
    solve_factorised(A, pivots, weights, n_changed)
    combine(base.W, direction, changed, weights, n_changed, rate)
    for k in range(residual.shape[0]):
        if base.is_in[k]:
            change[k], residual[k] = rate[k], 0.0
        else:
            bound = base.upper[k] if state.at_upper[k] else base.lower[k]
            change[k], residual[k] = bound - start.exact_beta[k], start.exact_residual[k] + rate[k]
    for a in range(n_changed):
        k = changed[a]
        if base.is_in[k]:
            residual[k] = weights[a]
        else:
            change[k], residual[k] = weights[a], 0.0
    for j in range(cases.start[p], cases.start[p + 1]):
        if cases.rows[j] >= 0:
            change[cases.rows[j]] = time * cases.exact_moves[j]
    return rate[rate.shape[0] - 1]


@compiled
def _optimality(base, start, state, tolerance, residual, change):
    """Largest violation of optimality among the rows that are not moved, and if one is free."""
    # No calls that take these tuples in the loop: every array in one is counted at each call.
    largest, lowest, highest, lost, free = 0.0, -NEVER, NEVER, 0.0, False
    for k in range(residual.shape[0]):
        largest = max(largest, abs(start.exact_beta[k] + change[k]))
    for k in range(residual.shape[0]):
        if state.low[k] == -NEVER and state.high[k] == NEVER:
            continue
        slack = slack_of(tolerance, base.upper[k] - base.lower[k], largest)
        above = start.exact_beta[k] + change[k] - base.lower[k]
        below = base.upper[k] - start.exact_beta[k] - change[k]
        can_rise, can_fall = below > slack, above > slack
        if can_rise and -residual[k] > lowest:
            lowest = -residual[k]
        if can_fall and -residual[k] < highest:
            highest = -residual[k]
        if can_rise and can_fall:
            free = True
        elif -slack - min(above, below) > lost:
            lost = -slack - min(above, below)
    return max(max(lowest, -highest), max(lost, lost / max(largest, 1e-300))), free


@compiled
def _kept_parts(cases, p, residual):
    """Violation of the members that keep a part of their bound: they are to be at it."""
    worst = 0.0
    for j in range(cases.start[p], cases.start[p + 1]):
        if cases.keeps[j] and cases.rows[j] >= 0:
            # Its beta went inwards, against its label; it must not want to go on.
            inwards = residual[cases.rows[j]] if cases.moves[j] < 0.0 else -residual[cases.rows[j]]
            worst = max(worst, inwards)
    return worst


@compiled
def shrink_each(base, cases, start, tolerance, max_events, margin, state, scratch, ends):
    """Run each path from the perturbed base, and write where it ends."""
    m = start.position.shape[0]
    goal, drift, direction = np.zeros(m + 1), np.zeros(m), np.empty(m + 1)
    for p in range(cases.watched.shape[0]):
        n_changed = _begin(base, cases, p, start, state, goal)
        needed = 0.0
        for j in range(cases.start[p], cases.start[p + 1]):
            needed -= cases.moves[j]
        motion = Motion(
            cases.directions[p], goal, drift, needed, cases.watched[p], cases.signs[p], cases.steepest[p],
            margin,
        )  # fmt: skip
        n_changed, ends.events[p], ends.outcomes[p], time = follow(
            base, motion, state, n_changed, 1.0, max_events, scratch
        )
        for j in range(cases.start[p], cases.start[p + 1]):
            if cases.rows[j] >= 0:
                goal[cases.rows[j]] = 0.0
        ends.times[p] = time
        change = ends.changes[p]
        ends.intercepts[p] = _exact_change(
            base, cases, p, time, start, state, n_changed, direction, scratch, change
        )
        ends.kkt[p], ends.free[p] = _optimality(base, start, state, tolerance, scratch.wait, change)
        if ends.outcomes[p] != SETTLED:
            ends.kkt[p] = max(ends.kkt[p], _kept_parts(cases, p, scratch.wait))


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
def check_touched(beta, residual, label, bounds, tolerance, largest, kkt, gap, free):
    """Optimality of some points, from their residuals ``f - y``; a bound below 0 takes a point out.

    Writes the largest violation, what the points add to the duality gap, and whether one of
    them is strictly between its bounds.
    """
    for p in range(beta.shape[0]):
        lowest, highest, lost, added, between = -NEVER, NEVER, 0.0, 0.0, False
        for i in range(beta.shape[1]):
            bound, alpha = bounds[p, i], label[i] * beta[p, i]
            if bound < 0.0:
                continue
            slack = slack_of(tolerance, bound, largest)
            above, below = alpha, bound - alpha
            if label[i] == 0.0:  # the null point, which has no bounds
                above, below, bound = 2.0 * slack, 2.0 * slack, 0.0
            if label[i] < 0.0:
                above, below = below, above
            can_rise, can_fall, own = below > slack, above > slack, -residual[p, i]
            if can_rise and own > lowest:
                lowest = own
            if can_fall and own < highest:
                highest = own
            if can_rise and can_fall:
                between = True
            elif -slack - min(above, below) > lost:
                lost = -slack - min(above, below)
            excess = label[i] * residual[p, i]
            added += alpha * excess + bound * max(0.0, -excess)
        kkt[p], gap[p], free[p] = max(max(lowest, -highest), max(lost, lost / largest)), added, between

"""Compiled leave-one-out paths: some coefficients shrink, the others stay optimal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.compiled import compiled, inlined
from bayes_svm._core.follow import (
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


class Moves(NamedTuple):
    """The paths of one batch; path p moves the members ``start[p]`` to ``start[p + 1] - 1``."""

    start: Numbers
    rows: Numbers  # tableau row of each member, -1 for one that the tableau does not cover
    change: Array  # change of its beta over the whole path, from the perturbed base
    exact_change: Array  # the same at the exact targets
    keeps: Mask  # whether it keeps a part of its bound
    stays: Mask  # whether that part is all it uses: it is not moved, but its bound is
    bound: Array  # signed bound of beta that it keeps
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
    kkt: Array  # largest residual on the wrong side among the rows


class Room(NamedTuple):
    """Memory for what one path after the other needs, beside that of :class:`Scratch`."""

    goal: Array  # (m + 1,) as in Motion; zeros before and after
    drift: Array  # (m,) zeros
    direction: Array  # (m + 1,)


@inlined
def _exchange_bounds(base, moves, p):
    """Give the members of path p that stay the bounds they keep; a second call gives them back."""
    for j in range(moves.start[p], moves.start[p + 1]):
        k = moves.rows[j]
        if moves.stays[j] and k >= 0:
            bounds = base.upper if moves.bound[j] > 0.0 else base.lower
            bounds[k], moves.bound[j] = moves.bound[j], bounds[k]


@inlined
def _begin(base, moves, p, start, state, goal):
    """Put the state to the base and take the members that move out of play.

    Returns the length of ``changed``.
    """
    for k in range(state.position.shape[0]):
        # Element by element: slices and array expressions compile to far more code.
        state.position[k], state.is_in[k] = start.position[k], base.is_in[k]
        state.low[k], state.high[k] = start.low[k], start.high[k]
        state.at_upper[k] = start.at_upper[k]
    n_changed = np.int64(0)
    for j in range(moves.start[p], moves.start[p + 1]):
        k = moves.rows[j]
        if k >= 0 and moves.stays[j]:
            if base.is_in[k]:
                state.low[k], state.high[k] = base.lower[k], base.upper[k]
        elif k >= 0:
            if base.is_in[k]:
                n_changed = toggle(k, state.is_in, state.changed, n_changed)
                state.position[k], goal[k] = 0.0, moves.change[j]
            state.low[k], state.high[k] = -NEVER, NEVER
    return n_changed


@inlined
def _flips(base, start, state, direction):
    """Add to ``direction`` what points do that went from one bound to the other."""
    for k in range(state.position.shape[0]):
        if state.at_upper[k] == start.at_upper[k] or base.is_in[k] or state.is_in[k]:
            continue
        if state.low[k] == -NEVER and state.high[k] == NEVER:  # it is moved
            continue
        change = (base.upper[k] if state.at_upper[k] else base.lower[k]) - start.exact_beta[k]
        for i in range(direction.shape[0]):
            direction[i] += change * base.W[k, i]


@inlined
def _exact_change(base, moves, p, time, start, state, n_changed, n_events, direction, scratch, change):
    """Change of beta and intercept from the exact base to the partition the path ended in.

    The path itself ran on perturbed targets; its last partition is solved once more at the
    exact ones. Writes the change of every row's beta, and its residual into ``scratch.wait``;
    returns the change of the intercept.
    """
    rate, residual, A, pivots, weights, _ = scratch
    changed = state.changed
    for i in range(direction.shape[0]):
        direction[i] = time * moves.directions[p, i]
    if n_events > 0:
        _flips(base, start, state, direction)
    if not factorise_changed(base, changed, n_changed, scratch):
        return np.nan
    for a in range(n_changed):
        k = changed[a]
        if not base.is_in[k]:
            goal = -start.exact_residual[k]
        elif state.at_upper[k]:
            goal = base.upper[k] - start.exact_beta[k]
        else:
            goal = base.lower[k] - start.exact_beta[k]
        weights[a] = goal - direction[k]
    for j in range(moves.start[p], moves.start[p + 1]):
        for a in range(n_changed):
            if changed[a] == moves.rows[j] and base.is_in[changed[a]] and not moves.stays[j]:
                weights[a] = time * moves.exact_change[j] - direction[changed[a]]
    solve_factorised(A, pivots, weights, n_changed)
    combine(base.W, direction, changed, weights, n_changed, rate)
    for k in range(residual.shape[0]):
        # All is read, whichever is wanted: the loop then has no branch.
        upper, lower, beta = base.upper[k], base.lower[k], start.exact_beta[k]
        left = start.exact_residual[k] + rate[k]
        bound = upper if state.at_upper[k] else lower
        change[k] = rate[k] if base.is_in[k] else bound - beta
        residual[k] = 0.0 if base.is_in[k] else left
    for a in range(n_changed):
        k = changed[a]
        if base.is_in[k]:
            residual[k] = weights[a]
        else:
            change[k], residual[k] = weights[a], 0.0
    for j in range(moves.start[p], moves.start[p + 1]):
        if moves.rows[j] >= 0 and not moves.stays[j]:
            change[moves.rows[j]] = time * moves.exact_change[j]
    return rate[rate.shape[0] - 1]


@inlined
def _wrong_side(state, residual):
    """Largest residual on the wrong side among the rows that are not moved."""
    worst = 0.0
    for k in range(residual.shape[0]):
        wrong = residual[k] if state.at_upper[k] else -residual[k]
        if wrong > worst and not (state.low[k] == -NEVER and state.high[k] == NEVER):
            worst = wrong
    return worst


@inlined
def _kept_parts(moves, p, residual):
    """Violation of the members that moved to a part of their bound: they are to be at it."""
    worst = 0.0
    for j in range(moves.start[p], moves.start[p + 1]):
        if moves.keeps[j] and not moves.stays[j] and moves.rows[j] >= 0:
            # Its beta went inwards, against its label; it must not want to go on.
            inwards = residual[moves.rows[j]] if moves.change[j] < 0.0 else -residual[moves.rows[j]]
            worst = max(worst, inwards)
    return worst


@compiled
def shrink_each(base, moves, start, max_events, margin, state, scratch, room, ends):
    """Run each path from the perturbed base, and write where it ends.

    ``base`` has bounds of its own, which change while a path is followed.
    """
    goal, drift, direction = room
    for p in range(moves.watched.shape[0]):
        _exchange_bounds(base, moves, p)
        n_changed = _begin(base, moves, p, start, state, goal)
        needed = 0.0
        for j in range(moves.start[p], moves.start[p + 1]):
            needed -= moves.change[j]
        motion = Motion(
            moves.directions[p], goal, drift, needed, moves.watched[p], moves.signs[p], moves.steepest[p],
            margin,
        )  # fmt: skip
        n_changed, ends.events[p], ends.outcomes[p], time = follow(
            base, motion, state, n_changed, 1.0, max_events, scratch
        )
        for j in range(moves.start[p], moves.start[p + 1]):
            if moves.rows[j] >= 0:
                goal[moves.rows[j]] = 0.0
        ends.times[p] = time
        change = ends.changes[p]
        ends.intercepts[p] = _exact_change(
            base, moves, p, time, start, state, n_changed, ends.events[p], direction, scratch, change
        )
        ends.kkt[p] = _wrong_side(state, scratch.wait)
        if ends.outcomes[p] != SETTLED:
            ends.kkt[p] = max(ends.kkt[p], _kept_parts(moves, p, scratch.wait))
        _exchange_bounds(base, moves, p)

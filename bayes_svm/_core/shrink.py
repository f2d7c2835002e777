"""Compiled leave-one-out paths: some coefficients shrink, the others stay optimal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_svm._core.changed_points import combine, factorise_changed, solve_factorised, toggle
from bayes_svm._core.compiled import compiled, inlined
from bayes_svm._core.follow import follow
from bayes_svm._core.records import NEVER, SETTLED, Motion, Numbers
from bayes_svm.utils.types import Array, Mask

__all__ = ["BaseState", "Ends", "Moves", "Room", "shrink_each"]


class Moves(NamedTuple):
    """The paths of one batch, each of which removes the members of one case.

    Attributes
    ----------
    start : array of shape (n_paths + 1,)
        Path p removes the members ``start[p]`` to ``start[p + 1] - 1``.
    rows : array of shape (n_members,)
        Tableau row of each member, -1 for one that the tableau does not cover.
    change : array of shape (n_members,)
        Change of the member's beta over the whole path, at the perturbed targets.
    exact_change : array of shape (n_members,)
        The same at the exact targets.
    keeps : array of shape (n_members,)
        Whether the member keeps a part of its bound.
    stays : array of shape (n_members,)
        Whether its beta is within that part already. Then beta is not moved, but its bound is.
    bound : array of shape (n_members,)
        The bound of beta that the member keeps, with the sign of its label.
    directions : array of shape (n_paths, m + 1)
        Rates of the positions due to the members that are at a bound.
    watched : array of shape (n_paths,)
        Tableau row of the point of which only the sign is wanted, -1 where the value is wanted.
    signs : array of shape (n_paths,)
        Label of each path's first member.
    steepest : array of shape (n_paths,)
        As in :class:`~bayes_svm._core.records.Motion`.
    """

    start: Numbers
    rows: Numbers
    change: Array
    exact_change: Array
    keeps: Mask
    stays: Mask
    bound: Array
    directions: Array
    watched: Numbers
    signs: Array
    steepest: Array


class BaseState(NamedTuple):
    """The state that all paths start from.

    Attributes
    ----------
    position, low, high : arrays of shape (m,)
        Positions at the perturbed targets, and the ends of their intervals.
    at_upper : array of shape (m,)
        Whether a point that is out is at its upper bound.
    exact_beta, exact_residual : arrays of shape (m,)
        Coefficients and residuals at the exact targets.
    """

    position: Array
    low: Array
    high: Array
    at_upper: Mask
    exact_beta: Array
    exact_residual: Array


class Ends(NamedTuple):
    """Where the paths of one batch ended, at the exact targets.

    Attributes
    ----------
    changes : array of shape (n_paths, m)
        Changes of beta.
    intercepts : array of shape (n_paths,)
        Changes of the intercept.
    times : array of shape (n_paths,)
        The time reached: 1 for a whole path.
    events : array of shape (n_paths,)
        Numbers of events.
    outcomes : array of shape (n_paths,)
        How each path ended: ``DONE``, ``SETTLED``, or why it could not go on.
    kkt : array of shape (n_paths,)
        Largest residual on the wrong side among the tableau's rows.
    """

    changes: Array
    intercepts: Array
    times: Array
    events: Numbers
    outcomes: Numbers
    kkt: Array


class Room(NamedTuple):
    """Memory that the paths use one after the other, beside their ``Scratch``.

    Attributes
    ----------
    goal : array of shape (m + 1,)
        As in :class:`~bayes_svm._core.records.Motion`; zeros before and after each path.
    drift : array of shape (m,)
        Zeros: the targets do not move.
    direction : array of shape (m + 1,)
        Change of the positions of the base over a path.
    """

    goal: Array
    drift: Array
    direction: Array


@inlined
def _exchange_bounds(base, moves, p):
    """Exchange the bounds of the members of path p that stay for those they keep; a second call undoes it."""
    for j in range(moves.start[p], moves.start[p + 1]):
        k = moves.rows[j]
        if moves.stays[j] and k >= 0:
            bounds = base.upper if moves.bound[j] > 0.0 else base.lower
            bounds[k], moves.bound[j] = moves.bound[j], bounds[k]


@inlined
def _begin(base, moves, p, start, state, goal):
    """Set the state to the base, and free the members that move from their intervals.

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
            # The beta of a member that is in becomes an input, so that the path can move it.
            if base.is_in[k]:
                n_changed = toggle(k, state.is_in, state.changed, n_changed)
                state.position[k], goal[k] = 0.0, moves.change[j]
            state.low[k], state.high[k] = -NEVER, NEVER
    return n_changed


@inlined
def _flips(base, start, state, direction):
    """Add to ``direction`` the effect of the points that went from one bound to the other."""
    for k in range(state.position.shape[0]):
        if state.at_upper[k] == start.at_upper[k] or base.is_in[k] or state.is_in[k]:
            continue
        # The members that the path moves are not among them.
        if state.low[k] == -NEVER and state.high[k] == NEVER:
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
    # Start with the effect of the members and of the points that have changed bounds.
    for i in range(direction.shape[0]):
        direction[i] = time * moves.directions[p, i]
    if n_events > 0:
        _flips(base, start, state, direction)
    if not factorise_changed(base, changed, n_changed, scratch):
        return np.nan
    # At the exact targets a changed point ends with residual zero if it is in, and at its bound if not.
    for a in range(n_changed):
        k = changed[a]
        if not base.is_in[k]:
            goal = -start.exact_residual[k]
        elif state.at_upper[k]:
            goal = base.upper[k] - start.exact_beta[k]
        else:
            goal = base.lower[k] - start.exact_beta[k]
        weights[a] = goal - direction[k]
    # A member that was in ends at what it keeps.
    for j in range(moves.start[p], moves.start[p + 1]):
        for a in range(n_changed):
            if changed[a] == moves.rows[j] and base.is_in[changed[a]] and not moves.stays[j]:
                weights[a] = time * moves.exact_change[j] - direction[changed[a]]
    # Solve for the inputs of the changed points; all other positions follow.
    solve_factorised(A, pivots, weights, n_changed)
    combine(base.W, direction, changed, weights, n_changed, rate)
    for k in range(residual.shape[0]):
        # Everything is read, whether it is wanted or not, so that the loop has no branch.
        upper, lower, beta = base.upper[k], base.lower[k], start.exact_beta[k]
        left = start.exact_residual[k] + rate[k]
        bound = upper if state.at_upper[k] else lower
        change[k] = rate[k] if base.is_in[k] else bound - beta
        residual[k] = 0.0 if base.is_in[k] else left
    # For the changed points beta and residual have changed roles.
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
    """Largest violation of the members that moved to the part of their bound that they keep."""
    worst = 0.0
    for j in range(moves.start[p], moves.start[p + 1]):
        if moves.keeps[j] and not moves.stays[j] and moves.rows[j] >= 0:
            # Beta moved towards zero. At the optimum its residual does not push it any further.
            inwards = residual[moves.rows[j]] if moves.change[j] < 0.0 else -residual[moves.rows[j]]
            worst = max(worst, inwards)
    return worst


@compiled
def shrink_each(base, moves, start, max_events, margin, state, scratch, room, ends):
    """Follow each path from the base at the perturbed targets, and write where it ends to ``ends``.

    The bounds in ``base`` change while a path is followed: no other thread may read them.
    """
    goal, drift, direction = room
    for p in range(moves.watched.shape[0]):
        # Put the state to the base, with the bounds that this path's members keep.
        _exchange_bounds(base, moves, p)
        n_changed = _begin(base, moves, p, start, state, goal)
        # The other points take up what the members lose.
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
        # Leave the goals at zero for the next path.
        for j in range(moves.start[p], moves.start[p + 1]):
            if moves.rows[j] >= 0:
                goal[moves.rows[j]] = 0.0
        # Solve the last partition at the exact targets.
        ends.times[p] = time
        change = ends.changes[p]
        ends.intercepts[p] = _exact_change(
            base, moves, p, time, start, state, n_changed, ends.events[p], direction, scratch, change
        )
        # Measure how far that is from optimal on the tableau's rows.
        ends.kkt[p] = _wrong_side(state, scratch.wait)
        if ends.outcomes[p] != SETTLED:
            ends.kkt[p] = max(ends.kkt[p], _kept_parts(moves, p, scratch.wait))
        _exchange_bounds(base, moves, p)

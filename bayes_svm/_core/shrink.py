"""Compiled leave-one-out paths: some coefficients shrink, the others stay optimal."""

import cython

from bayes_svm.utils.interrupts import slices

if not cython.compiled:
    from math import nan

    from bayes_svm._core.arrays import READ, WRITE
    from bayes_svm._core.changed_points import factorise_changed, solve_changed, toggle
    from bayes_svm._core.follow import put_in, put_out
    from bayes_svm._core.matrix import combine
    from bayes_svm._core.records import DEPENDENT, DONE, LOST, NEVER, SETTLED, Motion
    from bayes_svm._core.screen import follow_screened
    from bayes_svm._core.structs import (
        base_of,
        base_state_of,
        ends_of,
        moves_of,
        room_of,
        scratch_of,
        screen_of,
        state_of,
    )

    # At most so many times, points are exchanged for the exact targets.
    EXCHANGES = 5
    # On its way to these, a path has at most so many events. Mostly they are few, but each tie may be one.
    EVENTS_TO_EXACT = 100
    # Where the tableau amplifies rounding, up to so many times the rounding of the solution is left alone:
    # exchanged for that, many points that tie on the margin would come in, which depend on each other.
    AMPLIFIED = 100.0

# Operations that a path takes for each row of its tableau, about.
OPERATIONS = 500


def _exchange_bounds(base, moves, p):
    """Exchange the bounds of the members of path p that stay for those they keep; a second call undoes it."""
    for j in range(moves.start[p], moves.start[p + 1]):
        k = moves.rows[j]
        if moves.stays[j] and k >= 0:
            bounds = base.upper if moves.bound[j] > 0.0 else base.lower
            bounds[k], moves.bound[j] = moves.bound[j], bounds[k]


def begin(base, moves, p, start, state, goal):
    """Set the state to the base, and free the members that move from their intervals.

    Returns the length of ``changed``.
    """
    for k in range(base.m):
        state.position[k], state.low[k], state.high[k] = start.position[k], start.low[k], start.high[k]
    for k in range(base.m):
        state.is_in[k], state.at_upper[k] = base.is_in[k], start.at_upper[k]
    n_changed = 0
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


def _flips(base, start, state, direction):
    """Add to ``direction`` the effect of the points that went from one bound to the other."""
    for k in range(base.m):
        if state.at_upper[k] == start.at_upper[k] or base.is_in[k] or state.is_in[k]:
            continue
        # The members that the path moves are not among them.
        if state.low[k] == -NEVER and state.high[k] == NEVER:
            continue
        change = (base.upper[k] if state.at_upper[k] else base.lower[k]) - start.exact_beta[k]
        for i in range(base.m + 1):
            direction[i] += change * base.W[k][i]


def exact_change(base, moves, p, time, start, state, n_changed, n_events, direction, scratch, change):
    """Change of beta and intercept from the exact base to the partition the path ended in.

    The path itself ran on perturbed targets; its last partition is solved once more at the
    exact ones. Writes the change of every row's beta, and its residual into ``scratch.wait``;
    returns the change of the intercept.
    """
    rate, residual, weights, changed = scratch.rate, scratch.wait, scratch.weights, state.changed
    # Start with the effect of the members and of the points that have changed bounds.
    for i in range(base.m + 1):
        direction[i] = time * moves.directions[p][i]
    if n_events > 0:
        _flips(base, start, state, direction)
    # Smaller pivots may do on the way.
    scratch.factored[0] = -1
    if not factorise_changed(base, changed, n_changed, LOST, scratch):
        return nan
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
    solve_changed(base, changed, n_changed, scratch)
    combine(base.W, direction, changed, weights, n_changed, base.m + 1, rate)
    for k in range(base.m):
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
    return rate[base.m]


def _excess(base, start, state, k, change, residual):
    """How far row k is beyond what is optimal where the path ended, in units of the decision value."""
    if state.low[k] == -NEVER and state.high[k] == NEVER:
        return 0.0
    if not state.is_in[k]:
        return residual[k] if state.at_upper[k] else -residual[k]
    beta = start.exact_beta[k] + change[k]
    # The curvature of a point is at most its shifted k(x, x).
    return max(beta - base.upper[k], base.lower[k] - beta) * base.flat[k] / DEPENDENT


def _largest_excess(base, start, state, change, residual):
    """How far the row is that is furthest beyond what is optimal."""
    largest = 0.0
    for k in range(base.m):
        largest = max(largest, _excess(base, start, state, k, change, residual))
    return largest


def _to_exact_targets(base, moves, p, time, start, state, n_changed, scratch, room, screen):
    """Follow the optimum from where path p ended, at the perturbed targets, to that at the exact ones.

    Returns the length of ``changed``, and the number of events.
    """
    # Positions of the base move by the difference of the targets. The rate of the intercept is not used.
    for k in range(base.m):
        exact = start.exact_beta[k] if base.is_in[k] else start.exact_residual[k]
        room.direction[k] = exact - start.position[k]
    room.direction[base.m] = 0.0
    for j in range(moves.start[p], moves.start[p + 1]):
        k = moves.rows[j]
        if k >= 0 and base.is_in[k] and not moves.stays[j]:
            room.goal[k] = room.direction[k] + time * (moves.exact_change[j] - moves.change[j])
    motion = Motion(room.direction, room.goal, room.drift, 0.0, -1, 0.0, 0.0, 0.0)
    n_changed, events, _, _ = follow_screened(
        base, motion, state, n_changed, 1.0, EVENTS_TO_EXACT, scratch, screen
    )
    _clear_goals(moves, p, room.goal)
    return n_changed, events


def _clear_goals(moves, p, goal):
    """Leave the goals at zero for the next path."""
    for j in range(moves.start[p], moves.start[p + 1]):
        if moves.rows[j] >= 0:
            goal[moves.rows[j]] = 0.0


def _exchange_exceeding(base, start, state, n_changed, change, residual, beyond, capacity):
    """Put out the points whose beta exceeds a bound, and let in those at a bound that are on the wrong side.

    What is less than ``beyond``, in units of the decision value, is rounding.

    Returns the length of ``changed``, and how many points it has exchanged.
    """
    exchanged = 0
    for k in range(base.m):
        if n_changed == capacity or not _excess(base, start, state, k, change, residual) > beyond:
            continue
        beta = start.exact_beta[k] + change[k]
        if state.is_in[k]:
            n_changed = put_out(k, beta > base.upper[k], state, n_changed)
        else:
            n_changed = put_in(base, k, beta, state, n_changed)
        exchanged += 1
    return n_changed, exchanged


def wrong_side(m, state, residual):
    """Largest residual on the wrong side among the rows that are not moved."""
    worst = 0.0
    for k in range(m):
        wrong = residual[k] if state.at_upper[k] else -residual[k]
        if wrong > worst and not (state.low[k] == -NEVER and state.high[k] == NEVER):
            worst = wrong
    return worst


def _kept_parts(moves, p, residual):
    """Largest violation of the members that moved to the part of their bound that they keep."""
    worst = 0.0
    for j in range(moves.start[p], moves.start[p + 1]):
        if moves.keeps[j] and not moves.stays[j] and moves.rows[j] >= 0:
            # Beta moved towards zero. At the optimum its residual does not push it any further.
            inwards = residual[moves.rows[j]] if moves.change[j] < 0.0 else -residual[moves.rows[j]]
            worst = max(worst, inwards)
    return worst


def _follow(base, moves, p, start, max_events, margin, state, n_changed, scratch, room, screen):
    """Follow path p from its start at the perturbed targets. Returns what ``follow_screened`` does."""
    # The other points take up what the members lose.
    needed = 0.0
    for j in range(moves.start[p], moves.start[p + 1]):
        needed -= moves.change[j]
    motion = Motion(
        moves.directions[p],
        room.goal,
        room.drift,
        needed,
        moves.watched[p],
        moves.signs[p],
        moves.steepest[p],
        margin,
    )
    # The factors that another path has left may be of the same points, but rounded otherwise.
    scratch.factored[0] = -1
    found = follow_screened(base, motion, state, n_changed, 1.0, max_events, scratch, screen)
    _clear_goals(moves, p, room.goal)
    return found


def _settle(base, moves, p, time, start, state, n_changed, events, beyond, scratch, room, ends):
    """Solve the partition where the path ended at the exact targets. Few exchanges make it optimal there.

    Returns the length of ``changed``, the number of events, and by how much the row that is furthest beyond
    what is optimal is beyond it: ``NEVER`` where the partition has no solution.
    """
    largest: cython.double = NEVER
    for _round in range(EXCHANGES + 1):
        ends.intercepts[p] = exact_change(
            base, moves, p, time, start, state, n_changed, events, room.direction, scratch, ends.changes[p]
        )
        if ends.intercepts[p] != ends.intercepts[p]:
            return n_changed, events, NEVER
        largest = _largest_excess(base, start, state, ends.changes[p], scratch.wait)
        if largest <= beyond or _round == EXCHANGES:
            break
        n_changed, exchanged = _exchange_exceeding(
            base, start, state, n_changed, ends.changes[p], scratch.wait, beyond, scratch.capacity
        )
        events += exchanged
    return n_changed, events, largest


def _shrink(base, moves, p, start, max_events, margin, excess, state, scratch, room, ends, screen):
    """Follow path p, and write where it ends."""
    # Put the state to the base, with the bounds that this path's members keep.
    _exchange_bounds(base, moves, p)
    beyond = AMPLIFIED * excess
    n_changed = begin(base, moves, p, start, state, room.goal)
    n_changed, events, outcome, time = _follow(
        base, moves, p, start, max_events, margin, state, n_changed, scratch, room, screen
    )
    n_changed, events, largest = _settle(
        base, moves, p, time, start, state, n_changed, events, beyond, scratch, room, ends
    )
    if largest > beyond and outcome in (DONE, SETTLED):
        # Of points that nearly depend on each other, exchanging many at once leads away, and the state at the
        # end of the path is lost.
        n_changed = begin(base, moves, p, start, state, room.goal)
        n_changed, events, outcome, time = _follow(
            base, moves, p, start, max_events, margin, state, n_changed, scratch, room, screen
        )
        n_changed, more = _to_exact_targets(
            base, moves, p, time, start, state, n_changed, scratch, room, screen
        )
        n_changed, events, _ = _settle(
            base, moves, p, time, start, state, n_changed, events + more, beyond, scratch, room, ends
        )
    ends.events[p], ends.outcomes[p], ends.times[p] = events, outcome, time
    # Measure how far that is from optimal on the tableau's rows.
    worst = wrong_side(base.m, state, scratch.wait)
    if outcome != SETTLED:
        worst = max(worst, _kept_parts(moves, p, scratch.wait))
    ends.kkt[p] = worst
    _exchange_bounds(base, moves, p)


@cython.locals(head=cython.Py_ssize_t, tail=cython.Py_ssize_t)
def shrink_each(base, moves, start, max_events, margin, excess, state, scratch, room, ends, screen):
    """Follow each path from the base at the perturbed targets, and write where it ends to ``ends``.

    The bounds in ``base`` change while a path is followed: no other thread may read them.

    Parameters
    ----------
    base : Base
        The tableau and its bounds.
    moves : Moves
        The paths.
    start : BaseState
        The state that they start from.
    max_events : int
        Limit on the number of events of each path.
    margin : float
        Distance from 0 at which the watched point's decision value has a sign beyond doubt.
    excess : float
        Violation of optimality at the exact targets that is rounding. Where it is ``AMPLIFIED`` times as
        much, points are exchanged, and if that does not help, the path goes on to these targets.
    state : State
        Memory for the state of a path.
    scratch : Scratch
        Memory for one step.
    room : Room
        Memory for one path; its goals are 0.
    ends : Ends
        Where the ends are written.
    screen : Screen
        Memory for a path on few rows.
    """
    keep = []
    shared, memory = base_of(base, WRITE, READ, keep), scratch_of(scratch, len(base.is_in), keep)
    m = shared.m
    paths = moves_of(moves, m, memory.capacity, keep)
    at = state_of(state, m, memory.capacity, 0, keep)
    first, place = base_state_of(start, m, READ, keep), room_of(room, m, READ, keep)
    found, few = ends_of(ends, paths.n_paths, m, keep), screen_of(screen, m, memory.capacity, keep)
    limit: cython.Py_ssize_t = max_events
    clear: cython.double = margin
    least: cython.double = excess
    for head, tail in slices(paths.n_paths, OPERATIONS * m):
        with cython.nogil:
            for p in range(head, tail):
                _shrink(shared, paths, p, first, limit, clear, least, at, memory, place, found, few)

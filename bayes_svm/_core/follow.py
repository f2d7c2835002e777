"""Compiled path following: the exact optimum of a box QP while its data move on a line.

The problem is the signed dual of :mod:`bayes_svm.dual.problem`. Each point has one *position* and an
interval that the position must stay in. An *event* is a position that reaches an end of its interval: the
point changes sides. ``docs/explanation/leave_one_out.md`` defines these words and follows one path.

The tableau (:class:`bayes_svm.dual.tableau.Tableau`) is shared and read-only. The points that have changed
sides since it was made are a short list, ``changed``: :mod:`bayes_svm._core.changed_points` solves their
system.
"""

import cython

if not cython.compiled:
    from bayes_svm._core.arrays import READ, doubles, length, places
    from bayes_svm._core.changed_points import factorise_changed, solve_changed, toggle
    from bayes_svm._core.matrix import combine
    from bayes_svm._core.records import (
        DONE,
        LOST_ON_THE_WAY,
        NEVER,
        NO_RATE,
        NO_WAY_ON,
        SETTLED,
        TOO_MANY_CHANGES,
        TOO_MANY_EVENTS,
    )
    from bayes_svm._core.structs import base_of, motion_of, scratch_of, state_of


def rates(base, motion, state, n_changed, scratch):
    """Rates of all positions, into ``scratch``; False if they are not determined."""
    changed, rate, weights = state.changed, scratch.rate, scratch.weights
    if not factorise_changed(base, changed, n_changed, LOST_ON_THE_WAY, scratch):
        return False
    # The inputs of the changed points make their positions of the base move as ``goal`` says.
    for a in range(n_changed):
        weights[a] = motion.goal[changed[a]] - motion.direction[changed[a]]
    solve_changed(base, changed, n_changed, scratch)
    combine(base.W, motion.direction, changed, weights, n_changed, base.m + 1, rate)
    for a in range(n_changed):
        # For a point that has changed sides, the base's input is the position now.
        rate[changed[a]] = weights[a]
    return True


def _first_event(m, state, scratch, just_left):
    """Next point to change sides, and the time until then."""
    position, low, high, rate, wait = state.position, state.low, state.high, scratch.rate, scratch.wait
    for i in range(m):
        # Both ends are read, so that the loop has no branch. A point at rest waits for ever, also at an end.
        speed, above, below = rate[i], high[i] - position[i], position[i] - low[i]
        until = (above if speed > 0.0 else below) / abs(speed)
        wait[i] = until if until < NEVER else NEVER
    # A point that has just gone out has residual zero: a wait of zero for its next event is rounding.
    if just_left >= 0 and wait[just_left] <= 0.0:
        wait[just_left] = NEVER
    event = _smallest_at(m, wait)
    return event, max(wait[event], 0.0) if m > 0 else NEVER


def _smallest_at(n, values):
    """Index of the smallest of n values, the first of several, or 0."""
    at = 0
    # Most groups of eight have no smaller value than was found before, which is seen from their smallest.
    for start in range(0, n - 7, 8):
        one = min(values[start], values[start + 1])
        two = min(values[start + 2], values[start + 3])
        three = min(values[start + 4], values[start + 5])
        four = min(values[start + 6], values[start + 7])
        if min(min(one, two), min(three, four)) < values[at]:
            for k in range(start, start + 8):
                if values[k] < values[at]:
                    at = k
    for k in range(n - n % 8, n):
        if values[k] < values[at]:
            at = k
    return at


def _move_intercept(m, motion, state):
    """With no point in, move the intercept alone until a point can take up what the sum of beta needs.

    Returns that point, or -1 if there is none.
    """
    position = state.position
    rises: cython.bint = motion.needed > 0.0
    # The candidates can move beta the way that is needed; the nearest to the margin reaches it first.
    point, distance = -1, NEVER
    for i in range(m):
        moved: cython.bint = state.low[i] == -NEVER and state.high[i] == NEVER
        if state.at_upper[i] != rises and not moved and abs(position[i]) < distance:
            point, distance = i, abs(position[i])
    if point >= 0:
        # A change of the intercept moves every residual by the same amount.
        move = -distance if rises else distance
        for i in range(m):
            position[i] += move
    return point


def _still(m, motion, scratch):
    """Rates with no point in, where the sum of beta needs no change: only the targets move."""
    for i in range(m):
        scratch.rate[i] = -motion.drift[i]


def put_in(base, i, beta, state, n_changed):
    """Point i comes in with this beta. Returns the length of ``changed``."""
    state.position[i] = beta
    state.low[i], state.high[i] = base.lower[i], base.upper[i]
    return toggle(i, state.is_in, state.changed, n_changed)


def _set_out(i, at_upper, state):
    """Put point i at a bound, with residual zero."""
    state.position[i], state.at_upper[i] = 0.0, at_upper
    state.low[i], state.high[i] = -NEVER if at_upper else 0.0, 0.0 if at_upper else NEVER


def put_out(i, at_upper, state, n_changed):
    """Point i has reached a bound and goes out. Returns the length of ``changed``."""
    _set_out(i, at_upper, state)
    return toggle(i, state.is_in, state.changed, n_changed)


def _settled(motion, state, remaining):
    """Whether the sign of the watched point's decision value at the end is known by now."""
    if motion.watched < 0:
        return False
    # The residual is sign * (y f - 1), so this is y f, which never rises along the path.
    value = 1.0 + motion.sign * state.position[motion.watched]
    return value < -motion.margin or value - remaining * motion.steepest > motion.margin


def number_in(m, state):
    """Number of points that are in."""
    n_in = 0
    for i in range(m):
        n_in += state.is_in[i]
    return n_in


def _is_finite(m, state):
    """Whether every position is a number: the data may not have been."""
    sum = 0.0
    for i in range(m):
        sum += 0.0 * state.position[i]
    return sum == 0.0


def follow_path(base, motion, state, n_in, n_changed, end, max_events, scratch):
    """The loop of :func:`follow`, with so many points in, be they rows of the base or not."""
    m = base.m
    time, events, just_left = 0.0, 0, -1
    while True:
        # Stop if a limit is reached: one event adds at most two points to the list.
        if events >= max_events:
            return n_changed, events, TOO_MANY_EVENTS, time
        if n_changed + 2 > scratch.capacity:
            return n_changed, events, TOO_MANY_CHANGES, time
        remaining = end - time
        if remaining <= 0.0:
            return n_changed, events, DONE, time
        if n_in == 0 and motion.needed != 0.0:
            # No beta can move. The intercept jumps to where a point reaches the margin; no time passes.
            point = _move_intercept(m, motion, state)
            if point < 0:
                return n_changed, events, NO_WAY_ON, time
        else:
            # Find the rates of all positions as long as no point changes sides.
            if n_in == 0:
                _still(m, motion, scratch)
            elif not rates(base, motion, state, n_changed, scratch):
                return n_changed, events, NO_WAY_ON, time
            point, wait = _first_event(m, state, scratch, just_left)
            settled = _settled(motion, state, remaining)
            # A settled path ends half-way to the next event: there the partition is optimal beyond rounding.
            step = 0.5 * min(wait, remaining) if settled else min(wait, remaining)
            time += step
            for i in range(m):
                state.position[i] += step * scratch.rate[i]
            if settled:
                return n_changed, events, SETTLED, time
            if wait >= remaining:
                return n_changed, events, DONE if _is_finite(m, state) else NO_WAY_ON, end
        # The point of the event changes sides.
        assert 0 <= point < m
        events += 1
        if state.is_in[point]:
            n_changed = put_out(point, scratch.rate[point] > 0.0, state, n_changed)
            n_in -= 1
            just_left = point
        else:
            beta, sense = base.lower[point], 1.0
            if state.at_upper[point]:
                beta, sense = base.upper[point], -1.0
            n_in, n_changed, just_left = _enter(base, point, beta, sense, state, n_in, n_changed, scratch)


def _response(base, i, sense, changed, n_changed, scratch):
    """Inputs of the changed points per unit that beta of point i, now out, moves by ``sense``.

    They go to ``scratch.weights``. The factors of the changed points must be in ``scratch``. Returns the
    place of i among the changed points, or -1, and the curvature along the move.
    """
    W, weights, own = base.W, scratch.weights, -1
    for a in range(n_changed):
        if changed[a] == i:
            own = a
    for a in range(n_changed):
        # If i was in at the base, its beta is a position of the base, and is given the rate ``sense``.
        # If not, its beta is an input, and moves the positions of the changed points along row i.
        weights[a] = 0.0 if own >= 0 else -sense * W[i][changed[a]]
    if own >= 0:
        weights[own] = sense
    solve_changed(base, changed, n_changed, scratch)
    if own >= 0:
        return own, sense * weights[own]
    # The curvature without the changed points, corrected for what these give way.
    curvature = W[i][i]
    for a in range(n_changed):
        curvature += sense * weights[a] * W[changed[a]][i]
    return own, curvature


def _response_rates(base, i, sense, own, changed, n_changed, scratch):
    """Rates of beta of i and of the points that are in, from the inputs that :func:`_response` found."""
    rate, weights = scratch.rate, scratch.weights
    for k in range(base.m + 1):
        rate[k] = sense * base.W[i][k] if own < 0 else 0.0
    combine(base.W, rate, changed, weights, n_changed, base.m + 1, rate)
    for a in range(n_changed):
        rate[changed[a]] = weights[a]
    rate[i] = sense


def _exchange(base, i, beta, sense, own, state, n_changed, scratch):
    """Move beta of a dependent point i until i, or a point that is in, reaches a bound.

    Returns
    -------
    n_changed : int
        Number of points in ``state.changed``.
    leaving : int
        The point that reached its bound.
    """
    position, rate = state.position, scratch.rate
    _response_rates(base, i, sense, own, state.changed, n_changed, scratch)
    # Point i itself can move up to its other bound.
    leaving: cython.Py_ssize_t = i
    room = base.upper[i] - beta if sense > 0.0 else beta - base.lower[i]
    # Any point that is in and moves with it may reach a bound before.
    fastest: cython.double = 1.0
    for k in range(base.m):
        if state.is_in[k]:
            fastest = max(fastest, abs(rate[k]))
    for k in range(base.m):
        # A point whose rate is rounding has no part in the dependence: the others stay dependent without it.
        if state.is_in[k] and abs(rate[k]) > NO_RATE * fastest:
            bound = base.upper[k] if rate[k] > 0.0 else base.lower[k]
            distance = max(0.0, (bound - position[k]) / rate[k])
            if distance < room:
                leaving, room = k, distance
    # Move all of them that far; no decision value changes.
    for k in range(base.m):
        if state.is_in[k]:
            position[k] += room * rate[k]
    if leaving == i:
        _set_out(i, sense > 0.0, state)
        return n_changed, i
    n_changed = put_in(base, i, beta + room * sense, state, n_changed)
    return put_out(leaving, rate[leaving] > 0.0, state, n_changed), leaving


def _enter(base, i, beta, sense, state, n_in, n_changed, scratch):
    """Bring point i in; if it depends on those in, exchange it for one of them.

    The beta of a dependent point can move inwards while those of the points that are in make room, without
    changing any decision value. The factors of the changed points must be in ``scratch``.

    Returns
    -------
    n_in : int
        Number of points that are in.
    n_changed : int
        Number of points in ``state.changed``.
    leaving : int
        The point that has gone out in exchange, or -1.
    """
    if n_in == 0:
        return 1, put_in(base, i, beta, state, n_changed), -1
    own, curvature = _response(base, i, sense, state.changed, n_changed, scratch)
    if curvature > base.flat[i]:
        return n_in + 1, put_in(base, i, beta, state, n_changed), -1
    n_changed, leaving = _exchange(base, i, beta, sense, own, state, n_changed, scratch)
    return n_in, n_changed, leaving


def enter_each(base, candidates, beta, state, scratch):
    """Bring points in one after the other, dependent ones by exchange; no time passes.

    Parameters
    ----------
    base : Base
        The tableau and its bounds.
    candidates : array of int of shape (n_candidates,)
        The points, as rows of the tableau.
    beta : array of shape (m,)
        Coefficients, which may be anywhere between their bounds for the candidates.
    state : State
        The state, which is updated in place.
    scratch : Scratch
        Memory.

    Returns
    -------
    bool
        Whether all candidates are in. If not, there was no room for more points that changed sides, or
        rounding has made their system singular.
    """
    keep = []
    path = base_of(base, READ, READ, keep)
    memory = scratch_of(scratch, path.m, keep)
    at = state_of(state, path.m, memory.capacity, 0, keep)
    n = length(candidates, "candidates", 0)
    points = places(candidates, "candidates", n, 0, path.m, keep)
    start = doubles(beta, "beta", path.m, READ, keep)
    entered: cython.Py_ssize_t = 0
    with cython.nogil:
        n_in, n_changed = number_in(path.m, at), 0
        # One point adds at most two to the list.
        while entered < n and n_changed + 2 <= memory.capacity:
            i = points[entered]
            if not factorise_changed(path, at.changed, n_changed, LOST_ON_THE_WAY, memory):
                break
            sense = 1.0 if start[i] == path.lower[i] else -1.0
            n_in, n_changed, _ = _enter(path, i, start[i], sense, at, n_in, n_changed, memory)
            entered += 1
    return entered == n


def follow(base, motion, state, n_changed, end, max_events, scratch):
    """Follow the optimum from time 0 to ``end``.

    Parameters
    ----------
    base : Base
        The tableau and its bounds.
    motion : Motion
        How the data move.
    state : State
        The state, which is updated in place.
    n_changed : int
        Number of points in ``state.changed``.
    end : float
        The time at which to stop.
    max_events : int
        Limit on the number of events.
    scratch : Scratch
        Memory.

    Returns
    -------
    n_changed : int
        Number of points in ``state.changed``.
    events : int
        Number of events on the way.
    outcome : int
        ``DONE``, ``SETTLED``, or why the path could not go on.
    time : float
        The time that the path has reached.
    """
    keep = []
    path = base_of(base, READ, READ, keep)
    memory = scratch_of(scratch, path.m, keep)
    moves = motion_of(motion, path.m, keep)
    at = state_of(state, path.m, memory.capacity, n_changed, keep)
    number: cython.Py_ssize_t = n_changed
    until: cython.double = end
    limit: cython.Py_ssize_t = max_events
    if not abs(until) < NEVER:
        raise ValueError(f"end must be a finite time, not {end}")
    with cython.nogil:
        found = follow_path(path, moves, at, number_in(path.m, at), number, until, limit, memory)
    return found

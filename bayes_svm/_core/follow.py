"""Compiled path following: the exact optimum of a box QP while its data move on a line.

The problem is the signed dual of :mod:`bayes_svm.dual.problem`. Points are *in* (strictly
between their bounds, residual zero) or *out* (at a bound). Each has one number that moves,
its *position*, and the interval it must stay in: beta between its bounds for a point that is
in; for one that is out, the residual, at least 0 at the lower bound and at most 0 at the
upper one. An event is a position that reaches an end of its interval: the point changes
sides.

One tableau (:class:`bayes_svm.dual.tableau.Tableau`), swept on the points that are in at the
start, is shared and read-only: row k is the rate of all positions per unit of input k. Points
that have changed sides since are a short list, ``changed``; they cost one linear system of
that size at each event, and one combination of as many rows of ``W``.

Index m (the last) of ``W`` is the intercept, which is always in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.compiled import compiled, inlined

# Curvature, relative to the point's own shifted k(x, x), at or below which a point counts as
# dependent on the free points: their decision values then determine its own.
DEPENDENT = 1e-10
LOST = 1e-4  # share of its usual size below which a pivot is not divided by
NO_RATE = 1e-9  # share of the fastest rate below which a rate is rounding
NEVER = 1e300  # an end no position reaches, and a time nothing waits for
DONE, TOO_MANY_CHANGES, TOO_MANY_EVENTS, NO_WAY_ON, SETTLED = 0, 1, 2, 3, 4

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Base(NamedTuple):
    """What does not change on a path: the tableau, the points it is swept on, the bounds."""

    W: Array
    is_in: Mask
    lower: Array
    upper: Array
    flat: Array  # curvature at or below which an entering point depends on those in


class Motion(NamedTuple):
    """How the data move, per unit of time."""

    direction: Array  # (m + 1,) rates of the positions while nothing has changed sides
    goal: Array  # (m + 1,) what the base position of a point that has changed sides does instead
    drift: Array  # (m,) rates of the targets, contained in the direction
    needed: float  # rate of the sum of beta over the points that are not moved
    watched: int  # a point whose residual's sign settles the path early, or -1
    sign: float  # its label
    steepest: float  # fastest that its sign * residual can fall
    margin: float  # what the sign must be clear of


class State(NamedTuple):
    """Where the path stands: updated in place."""

    position: Array  # (m,) beta of a point that is in, residual of one that is out
    low: Array  # (m,) ends of the position's interval; NEVER both ways for a point that is moved
    high: Array
    is_in: Mask
    at_upper: Mask  # the bound that a point is at, where it is out
    changed: Numbers  # points on another side than in the base; the first n_changed count


class Scratch(NamedTuple):
    """Memory for one step, so that none is taken in the loop; it belongs to one ``Base``."""

    rate: Array  # (m + 1,)
    wait: Array  # (m,)
    A: Array  # (capacity, capacity)
    pivots: Numbers  # (capacity,)
    weights: Array  # (capacity,)
    factored: Numbers  # (capacity + 1,) points that A has the factors of, in order, then -1


@compiled
def factorise(A, pivots, size):
    """LU factors of ``A[:size, :size]`` in place, with partial pivoting; False if singular."""
    for k in range(size):
        best, chosen = 0.0, k
        for i in range(k, size):
            if abs(A[i, k]) > best:
                best, chosen = abs(A[i, k]), i
        if best == 0.0:
            return False
        pivots[k] = chosen
        if chosen != k:
            for j in range(size):
                A[k, j], A[chosen, j] = A[chosen, j], A[k, j]
        for i in range(k + 1, size):
            A[i, k] /= A[k, k]
            factor = A[i, k]
            if factor != 0.0:
                for j in range(k + 1, size):
                    A[i, j] -= factor * A[k, j]
    return True


@inlined
def solve_factorised(A, pivots, x, size):
    """Overwrite ``x[:size]`` with the solution of the factorised system."""
    for k in range(size):
        x[k], x[pivots[k]] = x[pivots[k]], x[k]
    for k in range(size):
        for i in range(k + 1, size):
            x[i] -= A[i, k] * x[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            x[k] -= A[k, j] * x[j]
        x[k] /= A[k, k]


@inlined
def _append_factor(base, changed, n, A, pivots):
    """Extend the factors of the first ``n`` changed points by the next one; False if its pivot is lost.

    But for the signs of the points that are in the base the map is symmetric: a row of factors
    gives the column.
    """
    own, was_in = changed[n], base.is_in[changed[n]]
    for c in range(n):
        A[n, c] = base.W[own, changed[c]] if base.is_in[changed[c]] == was_in else -base.W[own, changed[c]]
    pivot = base.W[own, own]
    for k in range(n):
        rest = A[n, k]
        factor = rest / A[k, k]
        for c in range(k + 1, n):
            A[n, c] -= factor * A[k, c]
        A[n, k], A[k, n] = factor, rest if base.is_in[changed[k]] == was_in else -rest
        pivot -= factor * A[k, n]
    A[n, n], pivots[n] = pivot, n
    size = base.flat[own] / DEPENDENT  # of k(x, x); the pivot of a point that was in is of its inverse
    return abs(pivot) > LOST * (1.0 / size if was_in else size)


@inlined
def _next_factor(base, changed, n, n_changed, A, pivots):
    """Extend the factors of the first ``n`` changed points by one of the others; False if none will do."""
    for k in range(n, n_changed):
        changed[n], changed[k] = changed[k], changed[n]
        if _append_factor(base, changed, n, A, pivots):
            return True
    return False


@inlined
def factorise_changed(base, changed, n_changed, scratch):
    """LU factors of the map from inputs to positions of the changed points; False if singular.

    From one event to the next the list of points grows or shrinks by one: what is the same at
    its head is not factorised again. The points may be put in another order.
    """
    _, _, A, pivots, _, factored = scratch
    n = 0
    while n < n_changed and factored[n] == changed[n]:
        n += 1
    while n < n_changed and _next_factor(base, changed, n, n_changed, A, pivots):
        factored[n] = changed[n]
        n += 1
    factored[n] = -1  # ends the list
    if n == n_changed:
        return True
    # No order will do, but rows can be exchanged, too.
    factored[0] = -1
    for c in range(n_changed):
        for a in range(n_changed):
            A[a, c] = base.W[changed[c], changed[a]]
    return factorise(A, pivots, n_changed)


@inlined
def combine(W, start, changed, weights, n_changed, out):
    """``out = start + sum_a weights[a] * W[changed[a]]``, four rows at a time."""
    size = out.shape[0]
    for i in range(size):
        out[i] = start[i]
    a = 0
    while a + 4 <= n_changed:
        j_0, j_1, j_2, j_3 = changed[a], changed[a + 1], changed[a + 2], changed[a + 3]
        w_0, w_1, w_2, w_3 = weights[a], weights[a + 1], weights[a + 2], weights[a + 3]
        for i in range(size):
            out[i] += (w_0 * W[j_0, i] + w_1 * W[j_1, i]) + (w_2 * W[j_2, i] + w_3 * W[j_3, i])
        a += 4
    while a < n_changed:
        j, weight = changed[a], weights[a]
        for i in range(size):
            out[i] += weight * W[j, i]
        a += 1


@inlined
def _rates(base, motion, state, n_changed, scratch):
    """Rates of all positions, into ``scratch``; False if they are not determined."""
    rate, _, A, pivots, weights, _ = scratch
    changed = state.changed
    if not factorise_changed(base, changed, n_changed, scratch):
        return False
    for a in range(n_changed):
        weights[a] = motion.goal[changed[a]] - motion.direction[changed[a]]
    solve_factorised(A, pivots, weights, n_changed)
    combine(base.W, motion.direction, changed, weights, n_changed, rate)
    for a in range(n_changed):
        rate[changed[a]] = weights[a]  # the input has become the position
    return True


@inlined
def _first_event(state, scratch, just_left):
    """Next point to change sides, and the time until then."""
    position, low, high, rate, wait = state.position, state.low, state.high, scratch.rate, scratch.wait
    for i in range(position.shape[0]):
        # Both ends are read, whichever is due: the loop then has no branch. At rest it waits for ever.
        speed, above, below = rate[i], high[i] - position[i], position[i] - low[i]
        wait[i] = (above if speed > 0.0 else below) / abs(speed)
    event, first = np.int64(-1), NEVER
    for i in range(position.shape[0]):
        # A point that has just left is on its bound with residual zero: that wait is rounding.
        if wait[i] < first and not (i == just_left and wait[i] <= 0.0):
            event, first = np.int64(i), wait[i]
    return event, max(first, 0.0)


@compiled
def _move_intercept(motion, state):
    """With no point in, move the intercept alone until a point can take up what is needed.

    Returns that point, or -1 if there is none.
    """
    position, rises = state.position, motion.needed > 0.0
    point, distance = -1, NEVER
    for i in range(position.shape[0]):
        moved = state.low[i] == -NEVER and state.high[i] == NEVER
        if state.at_upper[i] != rises and not moved and abs(position[i]) < distance:
            point, distance = i, abs(position[i])
    if point >= 0:
        move = -distance if rises else distance
        for i in range(position.shape[0]):
            position[i] += move
    return point


@compiled
def _still(motion, scratch):
    """Rates with no point in and nothing to take up: only the targets move."""
    for i in range(scratch.wait.shape[0]):
        scratch.rate[i] = -motion.drift[i]


@inlined
def _put_in(base, i, beta, state, n_changed):
    """Point i comes in; returns the length of ``changed``."""
    state.position[i] = beta
    state.low[i], state.high[i] = base.lower[i], base.upper[i]
    return toggle(i, state.is_in, state.changed, n_changed)


@inlined
def _set_out(i, at_upper, state):
    """Point i is at a bound, its residual zero."""
    state.position[i], state.at_upper[i] = 0.0, at_upper
    state.low[i], state.high[i] = (-NEVER, 0.0) if at_upper else (0.0, NEVER)


@inlined
def _put_out(i, at_upper, state, n_changed):
    """Point i has reached a bound; returns the length of ``changed``."""
    _set_out(i, at_upper, state)
    return toggle(i, state.is_in, state.changed, n_changed)


@inlined
def _settled(motion, state, remaining):
    """Whether the sign of the watched point's decision value at the end is known by now."""
    if motion.watched < 0:
        return False
    # Its residual is sign * (y f - 1), and y f never rises along the path.
    value = 1.0 + motion.sign * state.position[motion.watched]
    return value < -motion.margin or value - remaining * motion.steepest > motion.margin


@compiled
def follow(base, motion, state, n_changed, end, max_events, scratch):
    """Follow the optimum from time 0 to ``end``; ``state`` is updated in place.

    Returns
    -------
    (n_changed, events, outcome, time)
    """
    m, capacity = state.position.shape[0], state.changed.shape[0]
    n_in = np.int64(0)  # a literal would have all that takes it compiled twice
    for i in range(m):
        n_in += state.is_in[i]
    time, events, just_left = 0.0, 0, np.int64(-1)
    while True:
        if events >= max_events:
            return n_changed, events, TOO_MANY_EVENTS, time
        if n_changed + 2 > capacity:
            return n_changed, events, TOO_MANY_CHANGES, time
        remaining = end - time
        if remaining <= 0.0:
            return n_changed, events, DONE, time
        if n_in == 0 and motion.needed != 0.0:
            point = _move_intercept(motion, state)
            if point < 0:
                return n_changed, events, NO_WAY_ON, time
        else:
            if n_in == 0:
                _still(motion, scratch)
            elif not _rates(base, motion, state, n_changed, scratch):
                return n_changed, events, NO_WAY_ON, time
            point, wait = _first_event(state, scratch, just_left)
            settled = _settled(motion, state, remaining)
            # Between two events the partition is optimal beyond doubt, at an event by a hair.
            step = 0.5 * min(wait, remaining) if settled else min(wait, remaining)
            time += step
            for i in range(m):
                state.position[i] += step * scratch.rate[i]
            if settled:
                return n_changed, events, SETTLED, time
            if wait >= remaining:
                return n_changed, events, DONE, end
        events += 1
        if state.is_in[point]:
            n_changed = _put_out(point, scratch.rate[point] > 0.0, state, n_changed)
            n_in -= 1
            just_left = np.int64(point)
        else:
            beta, sense = base.lower[point], 1.0
            if state.at_upper[point]:
                beta, sense = base.upper[point], -1.0
            n_in, n_changed, just_left = _enter(base, point, beta, sense, state, n_in, n_changed, scratch)


@inlined
def toggle(i, is_in, changed, n_changed):
    """Point i changes sides; the list keeps who differs from the base. Returns its new length."""
    is_in[i] = not is_in[i]
    for a in range(n_changed):
        if changed[a] == i:
            for c in range(a, n_changed - 1):
                changed[c] = changed[c + 1]
            return n_changed - 1
    changed[n_changed] = i
    return n_changed + 1


@inlined
def _response(base, i, sense, changed, n_changed, scratch):
    """Inputs of the changed points when beta of point i, now out, moves by ``sense``.

    They go to ``scratch.weights``; needs the factors of the changed points. Returns where i is
    among these, or -1, and the curvature that the move meets.
    """
    _, _, A, pivots, weights, _ = scratch
    W, own = base.W, -1
    for a in range(n_changed):
        if changed[a] == i:
            own = a
    for a in range(n_changed):
        # In the base, then out: its own beta is a position, which is made to move by ``sense``.
        weights[a] = 0.0 if own >= 0 else -sense * W[i, changed[a]]
    if own >= 0:
        weights[own] = sense
    solve_factorised(A, pivots, weights, n_changed)
    if own >= 0:
        return own, sense * weights[own]
    curvature = W[i, i]
    for a in range(n_changed):
        curvature += sense * weights[a] * W[changed[a], i]
    return own, curvature


@compiled
def _response_rates(base, i, sense, own, changed, n_changed, scratch):
    """Rates of beta of the points in, and of i, for the inputs that :func:`_response` found."""
    rate, weights = scratch.rate, scratch.weights
    for k in range(rate.shape[0]):
        rate[k] = sense * base.W[i, k] if own < 0 else 0.0
    combine(base.W, rate, changed, weights, n_changed, rate)
    for a in range(n_changed):
        rate[changed[a]] = weights[a]
    rate[i] = sense


@compiled
def _exchange(base, i, beta, sense, own, state, n_changed, scratch):
    """Move beta of a dependent point i until a point in, or i itself, reaches a bound.

    Returns
    -------
    (n_changed, point that left)
    """
    position, rate = state.position, scratch.rate
    _response_rates(base, i, sense, own, state.changed, n_changed, scratch)
    leaving, room = i, base.upper[i] - beta if sense > 0.0 else beta - base.lower[i]
    fastest = 1.0
    for k in range(position.shape[0]):
        if state.is_in[k]:
            fastest = max(fastest, abs(rate[k]))
    for k in range(position.shape[0]):
        # One whose rate is rounding is no part of the dependence: without it the rest would stay dependent.
        if state.is_in[k] and abs(rate[k]) > NO_RATE * fastest:
            bound = base.upper[k] if rate[k] > 0.0 else base.lower[k]
            distance = max(0.0, (bound - position[k]) / rate[k])
            if distance < room:
                leaving, room = k, distance
    for k in range(position.shape[0]):
        if state.is_in[k]:
            position[k] += room * rate[k]
    if leaving == i:
        _set_out(i, sense > 0.0, state)
        return n_changed, i
    n_changed = _put_in(base, i, beta + room * sense, state, n_changed)
    return _put_out(leaving, rate[leaving] > 0.0, state, n_changed), leaving


@inlined
def _enter(base, i, beta, sense, state, n_in, n_changed, scratch):
    """Bring point i in; if it depends on those in, exchange it for one of them.

    A dependent point can take up weight without changing any decision value: it moves
    inwards, the others make room. Needs the factors of the changed points in ``scratch``.

    Returns
    -------
    (n_in, n_changed, point that has just left or -1)
    """
    if n_in == 0:
        return 1, _put_in(base, i, beta, state, n_changed), -1
    own, curvature = _response(base, i, sense, state.changed, n_changed, scratch)
    if curvature > base.flat[i]:
        return n_in + 1, _put_in(base, i, beta, state, n_changed), -1
    n_changed, leaving = _exchange(base, i, beta, sense, own, state, n_changed, scratch)
    return n_in, n_changed, leaving


@compiled
def enter_each(base, candidates, beta, state, scratch):
    """Bring points in one after the other, dependent ones by exchange; time stands still.

    ``beta`` of the candidates may be anywhere between their bounds.
    """
    n_in, n_changed = np.int64(0), np.int64(0)
    for i in range(state.position.shape[0]):
        n_in += state.is_in[i]
    for i in candidates:
        factorise_changed(base, state.changed, n_changed, scratch)
        sense = 1.0 if beta[i] == base.lower[i] else -1.0
        n_in, n_changed, _ = _enter(base, i, beta[i], sense, state, n_in, n_changed, scratch)

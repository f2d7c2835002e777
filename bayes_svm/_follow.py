"""Compiled path following: the exact optimum of a box QP while its data move on a line.

The problem is the signed dual of :mod:`bayes_svm.problem`. Points are *in* (strictly
between their bounds, residual zero) or *out* (at a bound). One tableau ``W``, swept on the
points that are in at the start, is shared and read-only: with ``v`` = (residual of in-points,
beta of out-points) and ``o`` = (-beta of in-points, residual of out-points), ``o = W v``.
Points that have changed sides since are a short list, ``changed``; they cost one linear
system of that size at each event, and one combination of as many rows of ``W``.

Index m (the last) of ``W`` is the intercept, which is always in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayes_svm._compiled import compiled

NO_RATE = 1e-9  # share of the fastest rate below which a rate is rounding
DONE, TOO_MANY_CHANGES, TOO_MANY_EVENTS, NO_WAY_ON = 0, 1, 2, 3

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

    direction: Array  # (m + 1,) rates of the outputs while nothing has changed sides
    goal: Array  # (m + 1,) rate of a point's output once it has changed sides
    drift: Array  # (m,) rates of the targets
    needed: float  # rate of the sum of beta over all points but the frozen one
    frozen: int  # the point whose beta is the parameter of the path, or -1


class State(NamedTuple):
    """Where the path stands: updated in place."""

    beta: Array
    residual: Array
    is_in: Mask
    changed: Numbers  # points on another side than in the base; the first n_changed count


class Scratch(NamedTuple):
    """Memory for one step, so that none is taken in the loop."""

    output: Array  # (m + 1,)
    beta_rate: Array  # (m,)
    residual_rate: Array  # (m,)
    A: Array  # (capacity, capacity)
    pivots: Numbers  # (capacity,)
    weights: Array  # (capacity,)


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


@compiled
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


@compiled
def factorise_changed(W, changed, n_changed, A, pivots):
    """LU factors of ``W`` restricted to the changed points; False if singular."""
    for a in range(n_changed):
        row = W[changed[a]]
        for c in range(n_changed):
            A[a, c] = row[changed[c]]
    return factorise(A, pivots, n_changed)


@compiled
def combine(W, start, changed, weights, n_changed, out):
    """``out = start + sum_a weights[a] * W[changed[a]]``."""
    size = out.shape[0]
    for i in range(size):
        out[i] = start[i]
    for a in range(n_changed):
        row, weight = W[changed[a]], weights[a]
        for i in range(size):
            out[i] += weight * row[i]


@compiled
def _rates(base, motion, state, n_changed, scratch):
    """Rates of beta and of the residuals, into ``scratch``; False if they are not determined."""
    output, beta_rate, residual_rate, A, pivots, weights = scratch
    changed = state.changed
    if not factorise_changed(base.W, changed, n_changed, A, pivots):
        return False
    for a in range(n_changed):
        weights[a] = motion.goal[changed[a]] - motion.direction[changed[a]]
    solve_factorised(A, pivots, weights, n_changed)
    combine(base.W, motion.direction, changed, weights, n_changed, output)
    for i in range(beta_rate.shape[0]):
        if base.is_in[i]:
            beta_rate[i], residual_rate[i] = -output[i], 0.0
        else:
            beta_rate[i], residual_rate[i] = 0.0, output[i] - motion.drift[i]
    for a in range(n_changed):
        i = changed[a]
        if base.is_in[i]:  # its residual is free now, its beta stays (the frozen one's is not followed)
            beta_rate[i], residual_rate[i] = 0.0, weights[a]
        else:
            beta_rate[i], residual_rate[i] = weights[a], 0.0
    return True


@compiled
def _first_event(base, motion, state, scratch, just_left):
    """Next point to change sides, and the time until then.

    Residuals are at least 0 at the lower bound, at most 0 at the upper one.
    """
    beta, residual = state.beta, state.residual
    event, first = -1, np.inf
    for i in range(beta.shape[0]):
        wait = np.inf
        if state.is_in[i]:
            rate = scratch.beta_rate[i]
            if rate > 0.0:
                wait = (base.upper[i] - beta[i]) / rate
            elif rate < 0.0:
                wait = (base.lower[i] - beta[i]) / rate
        else:
            rate = scratch.residual_rate[i]
            if (beta[i] == base.lower[i] and rate < 0.0) or (beta[i] != base.lower[i] and rate > 0.0):
                wait = -residual[i] / rate
        # What has just left is on its bound with residual zero: its wait of zero is rounding.
        if wait < first and i != motion.frozen and not (wait <= 0.0 and i == just_left):
            event, first = i, max(wait, 0.0)
    return event, first


@compiled
def _move_intercept(base, motion, state):
    """With no point in, move the intercept alone until a point can take up what is needed.

    Returns that point, or -1 if there is none.
    """
    beta, residual = state.beta, state.residual
    point, distance = -1, np.inf
    for i in range(beta.shape[0]):
        has_room = (beta[i] == base.lower[i]) == (motion.needed > 0.0) and base.lower[i] < base.upper[i]
        if has_room and i != motion.frozen and abs(residual[i]) < distance:
            point, distance = i, abs(residual[i])
    if point >= 0:
        move = -distance if motion.needed > 0.0 else distance
        for i in range(beta.shape[0]):
            residual[i] += move
    return point


@compiled
def _still(motion, scratch):
    """Rates with no point in and nothing to take up: only the targets move."""
    for i in range(scratch.beta_rate.shape[0]):
        scratch.beta_rate[i], scratch.residual_rate[i] = 0.0, -motion.drift[i]


@compiled
def _leave(base, i, state, n_changed, scratch):
    """Put point i on the bound it has reached; returns the length of ``changed``."""
    state.beta[i] = base.upper[i] if scratch.beta_rate[i] > 0.0 else base.lower[i]
    state.residual[i] = 0.0
    return toggle(i, state.is_in, state.changed, n_changed)


@compiled
def follow(base, motion, state, n_changed, end, max_events, scratch):
    """Follow the optimum from time 0 to ``end``; ``state`` is updated in place.

    Returns
    -------
    (n_changed, events, outcome)
    """
    m, capacity = state.beta.shape[0], state.changed.shape[0]
    n_in = 0
    for i in range(m):
        n_in += state.is_in[i]
    time, events, just_left = 0.0, 0, np.int64(-1)
    while True:
        if events >= max_events:
            return n_changed, events, TOO_MANY_EVENTS
        if n_changed + 2 > capacity:
            return n_changed, events, TOO_MANY_CHANGES
        remaining = end - time
        if remaining <= 0.0:
            return n_changed, events, DONE
        if n_in == 0 and motion.needed != 0.0:
            point, wait = _move_intercept(base, motion, state), 0.0
            if point < 0:
                return n_changed, events, NO_WAY_ON
        else:
            if n_in == 0:
                _still(motion, scratch)
            elif not _rates(base, motion, state, n_changed, scratch):
                return n_changed, events, NO_WAY_ON
            point, wait = _first_event(base, motion, state, scratch, just_left)
            step = max(0.0, min(wait, remaining))
            time += step
            for i in range(m):
                state.beta[i] += step * scratch.beta_rate[i]
                state.residual[i] += step * scratch.residual_rate[i]
            if wait >= remaining:
                return n_changed, events, DONE
        events += 1
        if state.is_in[point]:
            n_changed = _leave(base, point, state, n_changed, scratch)
            n_in -= 1
            just_left = np.int64(point)
        else:
            state.residual[point] = 0.0
            n_in, n_changed, just_left = enter(base, motion.frozen, point, state, n_in, n_changed, scratch)


@compiled
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


@compiled
def _response(base, i, sense, state, n_changed, scratch):
    """Rates of beta when point i moves by ``sense``; returns the curvature it meets."""
    output, beta_rate, _, A, pivots, weights = scratch
    W, changed = base.W, state.changed
    factorise_changed(W, changed, n_changed, A, pivots)
    own = -1
    for a in range(n_changed):
        weights[a] = -sense * W[changed[a], i]
        if changed[a] == i:
            own = a
    if own >= 0:
        # In the base, then out: its own beta is an output, which is made to move by ``sense``.
        for a in range(n_changed):
            weights[a] = 0.0
        weights[own] = -sense
    solve_factorised(A, pivots, weights, n_changed)
    for k in range(output.shape[0]):
        output[k] = sense * W[i, k] if own < 0 else 0.0
    for a in range(n_changed):
        row, weight = W[changed[a]], weights[a]
        for k in range(output.shape[0]):
            output[k] += weight * row[k]
    for k in range(beta_rate.shape[0]):
        beta_rate[k] = -output[k] if base.is_in[k] else 0.0
    for a in range(n_changed):
        beta_rate[changed[a]] = 0.0 if base.is_in[changed[a]] else weights[a]
    beta_rate[i] = sense
    return sense * (weights[own] if own >= 0 else output[i])


@compiled
def enter(base, frozen, i, state, n_in, n_changed, scratch):
    """Bring point i in; if it depends on those in, exchange it for one of them.

    A dependent point can take up weight without changing any decision value: it moves
    inwards, the others make room, until one of them (or i itself) reaches a bound.

    Returns
    -------
    (n_in, n_changed, point that has just left or -1)
    """
    beta, beta_rate = state.beta, scratch.beta_rate
    if n_in == 0:
        return 1, toggle(i, state.is_in, state.changed, n_changed), -1
    sense = 1.0 if beta[i] == base.lower[i] else -1.0
    if _response(base, i, sense, state, n_changed, scratch) > base.flat[i]:
        return n_in + 1, toggle(i, state.is_in, state.changed, n_changed), -1
    leaving, room = i, base.upper[i] - beta[i] if sense > 0.0 else beta[i] - base.lower[i]
    fastest = 1.0
    for k in range(beta.shape[0]):
        if state.is_in[k]:
            fastest = max(fastest, abs(beta_rate[k]))
    for k in range(beta.shape[0]):
        # One whose rate is rounding is no part of the dependence: without it the rest would stay dependent.
        if state.is_in[k] and k != frozen and abs(beta_rate[k]) > NO_RATE * fastest:
            bound = base.upper[k] if beta_rate[k] > 0.0 else base.lower[k]
            distance = max(0.0, (bound - beta[k]) / beta_rate[k])
            if distance < room:
                leaving, room = k, distance
    for k in range(beta.shape[0]):
        if state.is_in[k] or k == i:
            beta[k] += room * beta_rate[k]
    if leaving == i:
        beta[i] = base.upper[i] if sense > 0.0 else base.lower[i]
        return n_in, n_changed, i
    n_changed = toggle(i, state.is_in, state.changed, n_changed)
    return n_in, _leave(base, leaving, state, n_changed, scratch), leaving


@compiled
def enter_each(base, candidates, state, scratch):
    """Bring points in one after the other, dependent ones by exchange; time stands still."""
    n_in, n_changed = 0, 0
    for i in range(state.beta.shape[0]):
        n_in += state.is_in[i]
    for i in candidates:
        n_in, n_changed, _ = enter(base, -1, i, state, n_in, n_changed, scratch)

"""Compiled path following: the exact optimum of a box QP while its data move on a line.

The problem is the signed dual of :mod:`bayes_svm.problem`. Points are *in* (strictly
between their bounds, residual zero) or *out* (at a bound). One tableau ``W``, swept on the
points that are in at the start, is shared and read-only: with ``v`` = (residual of in-points,
beta of out-points) and ``o`` = (-beta of in-points, residual of out-points), ``o = W v``.
Points that have changed sides since are a short list, ``changed``; they cost one linear
system of that size at each event, and one combination of as many rows of ``W``.

Index ``m`` (the last) of ``W`` is the intercept, which is always in.
"""

from __future__ import annotations

import numpy as np

from bayes_svm._compiled import compiled

DONE, TOO_MANY_CHANGES, TOO_MANY_EVENTS, NO_WAY_ON = 0, 1, 2, 3


@compiled
def factorise(A, pivots, size):  # type: ignore[no-untyped-def]
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
def solve_factorised(A, pivots, x, size):  # type: ignore[no-untyped-def]
    """Overwrite ``x[:size]`` with the solution of the factorised system."""
    for k in range(size):
        x[k], x[pivots[k]] = x[pivots[k]], x[k]
        # Row exchanges were applied to whole rows, so all of them come before elimination.
    for k in range(size):
        for i in range(k + 1, size):
            x[i] -= A[i, k] * x[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            x[k] -= A[k, j] * x[j]
        x[k] /= A[k, k]


@compiled
def factorise_changed(W, changed, n_changed, A, pivots):  # type: ignore[no-untyped-def]
    """LU factors of ``W`` restricted to the changed points."""
    for a in range(n_changed):
        row = W[changed[a]]
        for c in range(n_changed):
            A[a, c] = row[changed[c]]
    return factorise(A, pivots, n_changed)


@compiled
def combine(W, base, changed, weights, n_changed, out):  # type: ignore[no-untyped-def]
    """``out = base + sum_k weights[k] * W[changed[k]]``."""
    size = out.shape[0]
    for i in range(size):
        out[i] = base[i]
    for a in range(n_changed):
        row, weight = W[changed[a]], weights[a]
        for i in range(size):
            out[i] += weight * row[i]


@compiled
def _first_event(beta, residual, beta_rate, residual_rate, lower, upper, is_in, frozen, just_left):  # type: ignore[no-untyped-def]
    """Index and time of the next event; residuals rise from 0 at ``lower``, fall at ``upper``."""
    event, first = -1, np.inf
    for i in range(beta.shape[0]):
        if i == frozen:
            continue
        wait = np.inf
        if is_in[i]:
            if beta_rate[i] > 0.0:
                wait = (upper[i] - beta[i]) / beta_rate[i]
            elif beta_rate[i] < 0.0:
                wait = (lower[i] - beta[i]) / beta_rate[i]
        elif beta[i] == lower[i]:
            if residual_rate[i] < 0.0:
                wait = -residual[i] / residual_rate[i]
        elif residual_rate[i] > 0.0:
            wait = -residual[i] / residual_rate[i]
        if wait < first:
            if wait <= 0.0:
                if i == just_left:
                    continue
                wait = 0.0
            if wait < first:
                event, first = i, wait
    return event, first


@compiled
def _entering_when_none_is_in(beta, residual, lower, upper, needed, frozen):  # type: ignore[no-untyped-def]
    """With no point in, the intercept alone moves until a point can take up ``needed``."""
    event, shortest = -1, np.inf
    for i in range(beta.shape[0]):
        if i == frozen or lower[i] == upper[i]:
            continue
        at_lower = beta[i] == lower[i]
        if (needed > 0.0) == at_lower:
            distance = abs(residual[i])
            if distance < shortest:
                event, shortest = i, distance
    return event, shortest


@compiled
def follow(  # type: ignore[no-untyped-def]
    W,
    base_in,
    direction,
    goal,
    drift,
    needed,
    frozen,
    end,
    lower,
    upper,
    beta,
    residual,
    is_in,
    changed,
    n_changed,
    flat,
    max_events,
    work,
    A,
    pivots,
    weights,
):
    """Follow the optimum from time 0 to ``end``.

    Parameters
    ----------
    W : (m + 1, m + 1) tableau; base_in : (m,) the points it is swept on
    direction : (m + 1,) rates of the outputs ``o`` while nothing has changed sides
    goal : (m,) rate of a point's output once it has changed sides
    drift : (m,) rate of the targets q
    needed : rate of the sum of beta over the points that are not frozen
    frozen : index of the point whose beta is the parameter, or -1
    lower, upper, beta, residual, is_in : (m,) bounds and state; the state is updated in place
    changed : (capacity,) list of the points on the other side than in the base
    n_changed : its length at the start
    flat : curvature at or below which an entering point counts as dependent on those in
    work : (3, m + 1); A : (capacity, capacity); pivots, weights : (capacity,) scratch

    Returns
    -------
    (time, intercept change, n_changed, events, outcome)
    """
    m = beta.shape[0]
    capacity = changed.shape[0]
    output, beta_rate, residual_rate = work[0], work[1], work[2]
    n_in = 0
    for i in range(m):
        if is_in[i]:
            n_in += 1
    time, shift, events, just_left = 0.0, 0.0, 0, -1
    while True:
        if events >= max_events:
            return time, shift, n_changed, events, TOO_MANY_EVENTS
        if n_changed + 2 > capacity:
            return time, shift, n_changed, events, TOO_MANY_CHANGES
        entering = -1
        if n_in > 0:
            if not factorise_changed(W, changed, n_changed, A, pivots):
                return time, shift, n_changed, events, NO_WAY_ON
            for a in range(n_changed):
                weights[a] = goal[changed[a]] - direction[changed[a]]
            solve_factorised(A, pivots, weights, n_changed)
            combine(W, direction, changed, weights, n_changed, output)
            for i in range(m):
                if base_in[i]:
                    beta_rate[i], residual_rate[i] = -output[i], 0.0
                else:
                    beta_rate[i], residual_rate[i] = 0.0, output[i] - drift[i]
            for a in range(n_changed):
                i = changed[a]
                if i == frozen:
                    continue
                if base_in[i]:
                    beta_rate[i], residual_rate[i] = 0.0, weights[a]
                else:
                    beta_rate[i], residual_rate[i] = weights[a], 0.0
            if frozen >= 0:
                beta_rate[frozen] = 0.0
                # The frozen point's residual is an output where it was out, an input where it was in.
                if base_in[frozen]:
                    residual_rate[frozen] = weights[0]
            shift_rate = -output[m]
        else:
            for i in range(m):
                beta_rate[i], residual_rate[i] = 0.0, -drift[i]
            shift_rate = 0.0
            if abs(needed) > 0.0:
                entering, distance = _entering_when_none_is_in(
                    beta, residual, lower, upper, needed, frozen
                )
                if entering < 0:
                    return time, shift, n_changed, events, NO_WAY_ON
                move = -distance if needed > 0.0 else distance
                shift += move
                for i in range(m):
                    residual[i] += move
        if entering < 0:
            event, wait = _first_event(
                beta, residual, beta_rate, residual_rate, lower, upper, is_in, frozen, just_left
            )
            done = time + wait >= end
            step = end - time if done else wait
            time = end if done else time + step
            shift += step * shift_rate
            for i in range(m):
                beta[i] += step * beta_rate[i]
                residual[i] += step * residual_rate[i]
            if done:
                return time, shift, n_changed, events, DONE
            if step > 0.0:
                just_left = -1
            if is_in[event]:
                beta[event] = upper[event] if beta_rate[event] > 0.0 else lower[event]
                n_changed = toggle(event, is_in, changed, n_changed)
                residual[event] = 0.0
                n_in -= 1
                just_left = event
                events += 1
                continue
            entering = event
        residual[entering] = 0.0
        events += 1
        n_in, n_changed, just_left = enter(
            entering, W, base_in, lower, upper, beta, residual, is_in, n_in,
            changed, n_changed, flat, frozen, output, beta_rate, A, pivots, weights,
        )  # fmt: skip


@compiled
def toggle(i, is_in, changed, n_changed):  # type: ignore[no-untyped-def]
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
def enter(  # type: ignore[no-untyped-def]
    i,
    W,
    base_in,
    lower,
    upper,
    beta,
    residual,
    is_in,
    n_in,
    changed,
    n_changed,
    flat,
    frozen,
    output,
    beta_rate,
    A,
    pivots,
    weights,
):
    """Bring point i in; if it depends on those in, exchange it for one of them first.

    A dependent point can take up weight without changing any decision value: it moves
    inwards, the others make room, until one of them (or i itself) reaches a bound.

    Returns
    -------
    (n_in, n_changed, just_left)
    """
    if n_in == 0:
        return 1, toggle(i, is_in, changed, n_changed), -1
    sense = 1.0 if beta[i] == lower[i] else -1.0
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
    if own >= 0:
        curvature = weights[own] * sense
    else:
        curvature = sense * W[i, i]
        for a in range(n_changed):
            curvature += weights[a] * W[changed[a], i]
        curvature *= sense
    if curvature > flat:
        return n_in + 1, toggle(i, is_in, changed, n_changed), -1

    m = beta.shape[0]
    for k in range(m + 1):
        output[k] = sense * W[i, k] if own < 0 else 0.0
    for a in range(n_changed):
        row, weight = W[changed[a]], weights[a]
        for k in range(m + 1):
            output[k] += weight * row[k]
    leaving, room = i, upper[i] - beta[i] if sense > 0.0 else beta[i] - lower[i]
    for k in range(m):
        beta_rate[k] = -output[k] if base_in[k] else 0.0
    for a in range(n_changed):
        beta_rate[changed[a]] = 0.0 if base_in[changed[a]] else weights[a]
    for k in range(m):
        if is_in[k] and k != frozen:
            rate = beta_rate[k]
            if rate > 0.0 and (upper[k] - beta[k]) / rate < room:
                leaving, room = k, max(0.0, (upper[k] - beta[k]) / rate)
            elif rate < 0.0 and (lower[k] - beta[k]) / rate < room:
                leaving, room = k, max(0.0, (lower[k] - beta[k]) / rate)
    for k in range(m):
        if is_in[k]:
            beta[k] += room * beta_rate[k]
    if leaving == i:
        beta[i] = upper[i] if sense > 0.0 else lower[i]
        return n_in, n_changed, i
    beta[i] += sense * room
    beta[leaving] = upper[leaving] if beta_rate[leaving] > 0.0 else lower[leaving]
    residual[leaving] = 0.0
    n_changed = toggle(i, is_in, changed, n_changed)
    n_changed = toggle(leaving, is_in, changed, n_changed)
    return n_in, n_changed, leaving


@compiled
def enter_each(  # type: ignore[no-untyped-def]
    candidates,
    W,
    base_in,
    lower,
    upper,
    beta,
    residual,
    is_in,
    changed,
    flat,
    work,
    A,
    pivots,
    weights,
):
    """Bring points in one after the other, dependent ones by exchange; time stands still."""
    n_changed = 0
    n_in = 0
    for i in range(beta.shape[0]):
        if is_in[i]:
            n_in += 1
    for i in candidates:
        n_in, n_changed, _ = enter(
            i, W, base_in, lower, upper, beta, residual, is_in, n_in, changed, n_changed,
            flat, -1, work[0], work[1], A, pivots, weights,
        )  # fmt: skip

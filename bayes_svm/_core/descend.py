"""Compiled warm start of a leave-one-out problem: seeding, then moves of pairs.

The problem is that of :mod:`bayes_svm.dual.problem` with one point's bound lowered to ``rest``, started
from the solution of the whole problem. The working set is that of :mod:`bayes_svm._core.smo`. The dual value
G is kept relative to that of the whole problem, so that a huge C does not drown its changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.compiled import compiled, inlined

Array = NDArray[np.float64]

_FLAT = 1e-12  # curvature below which a direction counts as flat, as LIBSVM's TAU


class Whole(NamedTuple):
    """The solved whole problem, read-only; its coefficients are within their bounds."""

    K: Array
    diagonal: Array
    label: Array
    bound: Array
    beta: Array
    gradient: Array  # K beta - label
    intercept: float
    dual: float
    gap: float  # primal minus dual value
    largest: float  # of the absolute kernel values
    size: float  # of the absolute residuals
    rounding: float  # error of each component of the gradient
    gap_rounding: float  # and of the gap


class Pairs(NamedTuple):
    """The descent so far."""

    first: int  # the next pair to move along (+1, -1)
    second: int
    low: float  # ends of the interval in which the best intercept lies
    high: float
    G: float
    moves: int
    length: float
    columns: int


class Work(NamedTuple):
    """Arrays that one case after the other uses."""

    beta: Array
    gradient: Array
    lower: Array
    upper: Array
    bound: Array
    gamma: Array  # coefficients of H
    slope: Array  # kbar gamma - label
    curvature: Array  # kbar(x, x)
    inverse: Array  # one over it
    score: Array
    position: Array
    weight: Array


@compiled
def start_from_whole(whole, point, rest, work):
    """The whole solution as the first iterate, the point's bound lowered; its coefficient stays."""
    for k in range(whole.label.shape[0]):
        work.beta[k], work.gradient[k] = whole.beta[k], whole.gradient[k]
        work.bound[k] = whole.bound[k]
    work.bound[point] = rest
    for k in range(whole.label.shape[0]):
        work.lower[k] = 0.0 if whole.label[k] > 0.0 else -work.bound[k]
        work.upper[k] = work.bound[k] if whole.label[k] > 0.0 else 0.0


@compiled
def seed(whole, point, rest, work):
    """Hand the point's excess to those that lose least by taking it, which keeps the sum at 0.

    Returns
    -------
    (G, moved, columns)
        Dual value, the amount moved, and the columns used.
    """
    K, beta, gradient = whole.K, work.beta, work.gradient
    row, own, sign = K[point], whole.diagonal[point], whole.label[point]
    left = abs(beta[point]) - rest
    G, moved, columns = 0.0, 0.0, 1
    while left > 0.0:
        taker, most, amount = -1, -np.inf, 0.0
        for k in range(beta.shape[0]):
            room = work.upper[k] - beta[k] if sign > 0.0 else beta[k] - work.lower[k]
            if room > 0.0 and k != point:
                size = min(room, left)
                rate = own + whole.diagonal[k] - 2.0 * row[k]
                gain = sign * (gradient[point] - gradient[k]) - 0.5 * size * rate
                if gain > most:
                    taker, most, amount = k, gain, size
        if taker < 0:
            break
        full = work.upper[taker] if sign > 0.0 else work.lower[taker]
        beta[taker] = beta[taker] + sign * amount if amount < abs(full - beta[taker]) else full
        left = left - amount if amount < left else 0.0
        taken = K[taker]
        for k in range(beta.shape[0]):
            gradient[k] += sign * amount * (taken[k] - row[k])
        G += amount * most
        moved += amount
        columns += 1
    if abs(beta[point]) > rest:
        beta[point] = sign * rest
    return G, moved, columns


@inlined
def working_pair(whole, work):
    """Pair to move along (+1, -1), and the ends of the interval the best intercept lies in."""
    beta, gradient, lower, upper = work.beta, work.gradient, work.lower, work.upper
    n = beta.shape[0]
    first, high, low = -1, -np.inf, np.inf
    for k in range(n):
        if beta[k] < upper[k] and -gradient[k] > high:
            first, high = k, -gradient[k]
    second, best_gain = -1, 0.0
    row, diagonal, own = whole.K[first], whole.diagonal, whole.diagonal[first]
    for k in range(n):
        if beta[k] > lower[k]:
            slope = high + gradient[k]
            if -gradient[k] < low:
                low = -gradient[k]
            if slope > 0.0:
                gain = slope * slope / max(own + diagonal[k] - 2.0 * row[k], _FLAT)
                if gain > best_gain:
                    second, best_gain = k, gain
    return first, second, low, high


@inlined
def move_pair(whole, i, j, work):
    """Raise beta[i] and lower beta[j] by the best amount; returns the gain of G and the amount."""
    beta, gradient, lower, upper = work.beta, work.gradient, work.lower, work.upper
    row_i, row_j = whole.K[i], whole.K[j]
    curvature = max(whole.diagonal[i] + whole.diagonal[j] - 2.0 * row_i[j], _FLAT)
    slope = gradient[j] - gradient[i]
    amount = slope / curvature
    # Bounds are assigned, not added up to: a point at its bound is there exactly.
    if amount >= upper[i] - beta[i] or amount >= beta[j] - lower[j]:
        if upper[i] - beta[i] <= beta[j] - lower[j]:
            amount = upper[i] - beta[i]
            beta[j] -= amount
            beta[i] = upper[i]
        else:
            amount = beta[j] - lower[j]
            beta[i] += amount
            beta[j] = lower[j]
    else:
        beta[i] += amount
        beta[j] -= amount
    for k in range(beta.shape[0]):
        gradient[k] += amount * (row_i[k] - row_j[k])
    return amount * (slope - 0.5 * amount * curvature), amount


@compiled
def start_descent(whole, point, rest, work):
    """The whole solution, seeded, as the first iterate of G."""
    start_from_whole(whole, point, rest, work)
    G, moved, columns = seed(whole, point, rest, work)
    first, second, low, high = working_pair(whole, work)
    return Pairs(first, second, low, high, G, 0, moved, columns)


@compiled
def descend(whole, state, tolerance, max_moves, work):
    """Move pairs until the violation is at most ``tolerance`` or there were ``max_moves`` in all."""
    first, second, low, high = state.first, state.second, state.low, state.high
    G, moves, length, columns = state.G, state.moves, state.length, state.columns
    before, other = -1, -1
    while moves < max_moves and second >= 0 and high - low > tolerance:
        gain, amount = move_pair(whole, first, second, work)
        G, length, moves = G + gain, length + amount, moves + 1
        columns += (first != before and first != other) + (second != before and second != other)
        before, other = first, second
        first, second, low, high = working_pair(whole, work)
    return Pairs(first, second, low, high, G, moves, length, columns)

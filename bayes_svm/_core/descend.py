"""Compiled warm start of a leave-one-out problem: seeding, then moves of pairs.

The problem is that of :mod:`bayes_svm.dual.problem` with one point's bound lowered to ``rest``. It is
solved from the solution of the whole problem, by the moves of :mod:`bayes_svm._core.smo`. The dual value G
is relative to that of the whole problem, so that a huge C does not drown its changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_svm._core.compiled import compiled, inlined
from bayes_svm._core.smo import FLAT
from bayes_svm.utils.types import Array

__all__ = ["Pairs", "Whole", "Work", "descend", "start_descent", "start_from_whole"]


class Whole(NamedTuple):
    """The solved whole problem, read-only. Its coefficients are within their bounds.

    Attributes
    ----------
    K : array of shape (n, n)
        Kernel matrix.
    diagonal, label, bound, beta : arrays of shape (n,)
        Diagonal of K, label, upper bound of alpha, and signed coefficient of each point.
    gradient : array of shape (n,)
        ``K beta - label``.
    intercept : float
        Intercept of the decision function.
    dual : float
        Value of the dual objective.
    gap : float
        Primal minus dual value.
    largest : float
        Largest absolute kernel value.
    size : float
        Bound of the absolute residuals.
    rounding : float
        Bound of the rounding error of each component of the gradient.
    gap_rounding : float
        Bound of the rounding error of the gap.
    """

    K: Array
    diagonal: Array
    label: Array
    bound: Array
    beta: Array
    gradient: Array
    intercept: float
    dual: float
    gap: float
    largest: float
    size: float
    rounding: float
    gap_rounding: float


class Pairs(NamedTuple):
    """The descent so far.

    Attributes
    ----------
    first, second : int
        The next pair to move along (+1, -1).
    low, high : float
        Ends of the interval in which the best intercept lies.
    G : float
        Dual value of the iterate, relative to that of the whole problem.
    moves : int
        Number of moves of pairs.
    length : float
        Sum of the lengths of the moves.
    columns : int
        Number of kernel columns used.
    """

    first: int
    second: int
    low: float
    high: float
    G: float
    moves: int
    length: float
    columns: int


class Work(NamedTuple):
    """Arrays of shape (n,) that the cases use one after the other.

    Attributes
    ----------
    beta, gradient : array
        The iterate, and ``K beta - label``.
    lower, upper, bound : array
        Bounds of beta, and upper bounds of alpha.
    gamma : array
        Coefficients of the bound H.
    slope : array
        ``kbar gamma - label``.
    curvature, inverse : array
        ``kbar(x, x)``, and one over it.
    score : array
        What a step along each coordinate gains.
    position, weight : array
        Kinks of the primal value as a function of the intercept, and the rises of its slope there.
    """

    beta: Array
    gradient: Array
    lower: Array
    upper: Array
    bound: Array
    gamma: Array
    slope: Array
    curvature: Array
    inverse: Array
    score: Array
    position: Array
    weight: Array


@compiled
def start_from_whole(whole, point, rest, work):
    """Take the whole solution as the first iterate. The point's bound is lowered, its coefficient is not."""
    for k in range(whole.label.shape[0]):
        work.beta[k], work.gradient[k] = whole.beta[k], whole.gradient[k]
        work.bound[k] = whole.bound[k]
    work.bound[point] = rest
    for k in range(whole.label.shape[0]):
        work.lower[k] = 0.0 if whole.label[k] > 0.0 else -work.bound[k]
        work.upper[k] = work.bound[k] if whole.label[k] > 0.0 else 0.0


@compiled
def seed(whole, point, rest, work):
    """Hand what the point has above its bound to the points that lose least by it, so that the sum stays 0.

    Returns
    -------
    G : float
        Dual value, relative to that of the whole problem.
    moved : float
        The amount moved.
    columns : int
        Number of kernel columns used.
    """
    K, beta, gradient = whole.K, work.beta, work.gradient
    row, own, sign = K[point], whole.diagonal[point], whole.label[point]
    left = abs(beta[point]) - rest
    G, moved, columns = 0.0, 0.0, 1
    while left > 0.0:
        # Find the point that gains most per unit.
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
        # Move the amount, up to the taker's bound.
        full = work.upper[taker] if sign > 0.0 else work.lower[taker]
        beta[taker] = beta[taker] + sign * amount if amount < abs(full - beta[taker]) else full
        left = left - amount if amount < left else 0.0
        # All gradients follow the two coefficients.
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
    # The first point is the one that can rise and has the steepest gradient.
    first, high, low = -1, -np.inf, np.inf
    for k in range(n):
        if beta[k] < upper[k] and -gradient[k] > high:
            first, high = k, -gradient[k]
    # The second point can fall, and gains most together with the first.
    second, best_gain = -1, 0.0
    row, diagonal, own = whole.K[first], whole.diagonal, whole.diagonal[first]
    for k in range(n):
        if beta[k] > lower[k]:
            slope = high + gradient[k]
            if -gradient[k] < low:
                low = -gradient[k]
            if slope > 0.0:
                gain = slope * slope / max(own + diagonal[k] - 2.0 * row[k], FLAT)
                if gain > best_gain:
                    second, best_gain = k, gain
    return first, second, low, high


@inlined
def move_pair(whole, i, j, work):
    """Raise beta[i] and lower beta[j] by the best amount; returns the gain of G and the amount."""
    beta, gradient, lower, upper = work.beta, work.gradient, work.lower, work.upper
    # The best amount without bounds is the slope over the curvature.
    row_i, row_j = whole.K[i], whole.K[j]
    curvature = max(whole.diagonal[i] + whole.diagonal[j] - 2.0 * row_i[j], FLAT)
    slope = gradient[j] - gradient[i]
    amount = slope / curvature
    # A move that ends at a bound assigns the bound, so that the point is there exactly.
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
    # All gradients follow the two coefficients.
    for k in range(beta.shape[0]):
        gradient[k] += amount * (row_i[k] - row_j[k])
    return amount * (slope - 0.5 * amount * curvature), amount


@compiled
def start_descent(whole, point, rest, work):
    """Seed the whole solution, and take it as the first iterate of G."""
    start_from_whole(whole, point, rest, work)
    G, moved, columns = seed(whole, point, rest, work)
    first, second, low, high = working_pair(whole, work)
    return Pairs(first, second, low, high, G, 0, moved, columns)


@compiled
def descend(whole, state, tolerance, max_moves, work):
    """Move pairs until the violation is at most ``tolerance``, up to ``max_moves`` in all."""
    first, second, low, high = state.first, state.second, state.low, state.high
    G, moves, length, columns = state.G, state.moves, state.length, state.columns
    before, other = -1, -1
    while moves < max_moves and second >= 0 and high - low > tolerance:
        gain, amount = move_pair(whole, first, second, work)
        G, length, moves = G + gain, length + amount, moves + 1
        # The columns of the move before are at hand, and are not counted again.
        columns += (first != before and first != other) + (second != before and second != other)
        before, other = first, second
        first, second, low, high = working_pair(whole, work)
    return Pairs(first, second, low, high, G, moves, length, columns)

"""Compiled warm start of a leave-one-out problem: seeding, then moves of pairs.

The problem is that of :mod:`bayes_svm.dual.problem` with one point's bound lowered to ``rest``. It is
solved from the solution of the whole problem, by the moves of :mod:`bayes_svm._core.smo`. The dual value G
is relative to that of the whole problem, so that a huge C does not drown its changes.
"""

import cython

if not cython.compiled:
    from math import inf

    from bayes_svm._core.pair_records import Iterate, Pairs
    from bayes_svm._core.smo import mark, move_pair, working_pair


def start_from_whole(whole, point, rest, work):
    """Take the whole solution as the first iterate. The point's bound is lowered, its coefficient is not."""
    for k in range(whole.n):
        work.beta[k], work.gradient[k] = whole.beta[k], whole.gradient[k]
        work.bound[k] = whole.bound[k]
    work.bound[point] = rest
    for k in range(whole.n):
        work.lower[k] = 0.0 if whole.label[k] > 0.0 else -work.bound[k]
        work.upper[k] = work.bound[k] if whole.label[k] > 0.0 else 0.0


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
    left: cython.double = abs(beta[point]) - rest
    G: cython.double = 0.0
    moved: cython.double = 0.0
    columns = 1
    while left > 0.0:
        # Find the point that gains most per unit.
        taker, most, amount = -1, -inf, 0.0
        for k in range(whole.n):
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
        for k in range(whole.n):
            gradient[k] += sign * amount * (taken[k] - row[k])
        G += amount * most
        moved += amount
        columns += 1
    if abs(beta[point]) > rest:
        beta[point] = sign * rest
    return G, moved, columns


def iterate_of(whole, work):
    """The iterate of G, as the moves of pairs take it."""
    return Iterate(
        whole.K,
        whole.diagonal,
        work.beta,
        work.gradient,
        work.lower,
        work.upper,
        work.can_rise,
        work.can_fall,
        whole.n,
    )


def start_descent(whole, point, rest, work):
    """Seed the whole solution, and take it as the first iterate of G."""
    start_from_whole(whole, point, rest, work)
    G, moved, columns = seed(whole, point, rest, work)
    at = iterate_of(whole, work)
    for k in range(at.n):
        mark(at, k)
    first, second, low, high = working_pair(at)
    return Pairs(first, second, low, high, G, 0, moved, columns)


def descend(whole, state, tolerance, max_moves, work):
    """Move pairs until the violation is at most ``tolerance``, up to ``max_moves`` in all."""
    first, second, low, high = state.first, state.second, state.low, state.high
    G, moves, length = state.G, state.moves, state.length
    columns: cython.Py_ssize_t = state.columns
    before: cython.Py_ssize_t = -1
    other: cython.Py_ssize_t = -1
    at = iterate_of(whole, work)
    while moves < max_moves and second >= 0 and high - low > tolerance:
        gain, amount = move_pair(at, first, second)
        G, length, moves = G + gain, length + amount, moves + 1
        # The columns of the move before are at hand, and are not counted again.
        columns += (first != before and first != other) + (second != before and second != other)
        before, other = first, second
        first, second, low, high = working_pair(at)
    return Pairs(first, second, low, high, G, moves, length, columns)

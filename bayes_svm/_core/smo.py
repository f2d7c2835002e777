"""Compiled sequential minimal optimisation, with second-order choice of the working pair.

The problem is the signed dual of :mod:`bayes_svm.dual.problem`: minimise
``1/2 beta' K beta - q' beta`` subject to ``sum(beta) = 0`` and ``lower <= beta <= upper``.
The working set is that of Fan, Chen and Lin (JMLR 2005), as in LIBSVM.
"""

import cython
import numpy as np

from bayes_svm.utils.interrupts import slices

if not cython.compiled:
    from math import inf

    from bayes_svm._core.arrays import READ, WRITE, doubles, length, numbers, placed_rows
    from bayes_svm._core.pair_records import FLAT, Iterate

    # So many maxima are computed at a time.
    LANES = 32

# Operations that a move takes for each point, about.
OPERATIONS = 4


def mark(at, k):
    """Note whether beta[k] can rise, and whether it can fall."""
    at.can_rise[k] = 0.0 if at.beta[k] < at.upper[k] else -inf
    at.can_fall[k] = 0.0 if at.beta[k] > at.lower[k] else inf


def _slope(at, k):
    """The gradient times -1 of a point that can rise; of others -inf."""
    return at.can_rise[k] - at.gradient[k]


def steepest(at):
    """The first of the points that can rise most steeply, and its slope; -1 and -inf without such a point."""
    # Many running maxima, which the compiler computes with vector instructions. NaN is never the maximum.
    most = cython.declare(cython.double[LANES])
    for c in range(LANES):
        most[c] = -inf
    for block in range(at.n // LANES):
        head = block * LANES
        for c in range(LANES):
            most[c] = max(most[c], _slope(at, head + c))
    for k in range(at.n - at.n % LANES, at.n):
        most[k % LANES] = max(most[k % LANES], _slope(at, k))
    high = -inf
    for c in range(LANES):
        high = max(high, most[c])
    first: cython.Py_ssize_t = -1
    for c in range(LANES):
        if most[c] == high > -inf:
            k = c
            while k + LANES < at.n and _slope(at, k) != high:
                k += LANES
            if first < 0 or k < first:
                first = k
    return first, high


def _intercept(at, k):
    """The gradient times -1 of a point that can fall; of others inf."""
    return at.can_fall[k] - at.gradient[k]


def _gain(at, row, own, high, k):
    """Twice what a point gains by falling while another one rises; 0 where it cannot, or would lose."""
    slope = max(high - _intercept(at, k), 0.0)
    return slope * slope / max(own + at.diagonal[k] - 2.0 * row[k], FLAT)


def best_partner(at, first, high):
    """The point that gains most by falling while the first one rises, or -1, and the lowest slope of any."""
    row, own = at.rows[first], at.diagonal[first]
    most = cython.declare(cython.double[LANES])
    least = cython.declare(cython.double[LANES])
    for c in range(LANES):
        most[c], least[c] = 0.0, inf
    for block in range(at.n // LANES):
        head = block * LANES
        for c in range(LANES):
            least[c] = min(least[c], _intercept(at, head + c))
            most[c] = max(most[c], _gain(at, row, own, high, head + c))
    for k in range(at.n - at.n % LANES, at.n):
        c = k % LANES
        least[c] = min(least[c], _intercept(at, k))
        most[c] = max(most[c], _gain(at, row, own, high, k))
    low, best = inf, 0.0
    for c in range(LANES):
        low, best = min(low, least[c]), max(best, most[c])
    second: cython.Py_ssize_t = -1
    for c in range(LANES):
        if most[c] == best > 0.0:
            k = c
            while k + LANES < at.n and _gain(at, row, own, high, k) != best:
                k += LANES
            if second < 0 or k < second:
                second = k
    return second, low


def working_pair(at):
    """Pair to move along (+1, -1), and the ends of the interval that the best intercept lies in.

    If no pair can move to an advantage, the second point is -1. The largest violation of optimality by any
    pair is the second end minus the first.
    """
    second: cython.Py_ssize_t = -1
    low = inf
    first, high = steepest(at)
    if first >= 0:
        second, low = best_partner(at, first, high)
    return first, second, low, high


def move_pair(at, i, j):
    """Raise beta[i] and lower beta[j] by the best amount; returns the gain of G and the amount."""
    beta, gradient, lower, upper = at.beta, at.gradient, at.lower, at.upper
    assert 0 <= i < at.n
    assert 0 <= j < at.n
    # The best amount without bounds is the slope over the curvature.
    row_i, row_j = at.rows[i], at.rows[j]
    curvature = max(at.diagonal[i] + at.diagonal[j] - 2.0 * row_i[j], FLAT)
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
    mark(at, i)
    mark(at, j)
    # All gradients follow the two coefficients.
    for k in range(at.n):
        gradient[k] += amount * (row_i[k] - row_j[k])
    return amount * (slope - 0.5 * amount * curvature), amount


def move_pairs(rows, place, diagonal, beta, gradient, lower, upper, tolerance, max_steps):
    """Move pairs until no pair violates optimality by more than ``tolerance``.

    ``beta`` and ``gradient = K beta - q`` are updated in place.

    Parameters
    ----------
    rows : array of shape (n_rows, n)
        Rows of K.
    place : array of int of shape (n,)
        ``rows[place[i]]`` is row i of K. Only the rows of points whose bounds differ are read.
    diagonal, beta, gradient, lower, upper : arrays of shape (n,)
        Diagonal of K, coefficients, their gradient and their bounds.
    tolerance : float
        Violation at which to stop.
    max_steps : int
        Limit on the number of moves.

    Returns
    -------
    violation : float
        The violation that is left.
    steps : int
        The moves that were made.
    """
    keep = []
    n = length(beta, "beta", 0)
    can_rise, can_fall = np.empty(n), np.empty(n)
    at = Iterate(
        placed_rows(rows, place, n, keep),
        doubles(diagonal, "diagonal", n, READ, keep),
        doubles(beta, "beta", n, WRITE, keep),
        doubles(gradient, "gradient", n, WRITE, keep),
        doubles(lower, "lower", n, READ, keep),
        doubles(upper, "upper", n, READ, keep),
        doubles(can_rise, "can_rise", n, WRITE, keep),
        doubles(can_fall, "can_fall", n, WRITE, keep),
        n,
    )
    for i in range(n):
        mark(at, i)
    where = numbers(place, "place", n, READ, keep)
    for i in range(n):
        if where[i] < 0 and not (at.beta[i] == at.lower[i] and at.beta[i] == at.upper[i]):
            raise ValueError(f"point {i} can move, and place has no row for it")
    enough: cython.double = tolerance
    limit: cython.Py_ssize_t = max_steps
    steps: cython.Py_ssize_t = 0
    upto: cython.Py_ssize_t
    i, j, low, high = working_pair(at)
    for _, upto in slices(limit, OPERATIONS * n):
        with cython.nogil:
            while j >= 0 and high - low > enough and steps < upto:
                move_pair(at, i, j)
                steps += 1
                i, j, low, high = working_pair(at)
        if steps < upto:
            break
    violation = high - low if j >= 0 else 0.0
    return violation, steps

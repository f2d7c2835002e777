"""Compiled sequential minimal optimisation, with second-order choice of the working pair.

The problem is the signed dual of :mod:`bayes_svm.dual.problem`: minimise
``1/2 beta' K beta - q' beta`` subject to ``sum(beta) = 0`` and ``lower <= beta <= upper``.
The working set is that of Fan, Chen and Lin (JMLR 2005), as in LIBSVM.
"""

import cython

from bayes_svm.utils.interrupts import slices

if not cython.compiled:
    from math import inf

    from bayes_svm._core.arrays import READ, WRITE, doubles, length, numbers, placed_rows
    from bayes_svm._core.pair_records import FLAT, Iterate

# Operations that a move takes for each point, about.
OPERATIONS = 4


def working_pair(at):
    """Pair to move along (+1, -1), and the ends of the interval that the best intercept lies in.

    If no pair can move to an advantage, the second point is -1. The largest violation of optimality by any
    pair is the second end minus the first.
    """
    beta, gradient, diagonal = at.beta, at.gradient, at.diagonal
    # The first point is the one that can rise and has the steepest gradient.
    first: cython.Py_ssize_t = -1
    second: cython.Py_ssize_t = -1
    high, low, best_gain = -inf, inf, 0.0
    for k in range(at.n):
        if beta[k] < at.upper[k] and -gradient[k] > high:
            first, high = k, -gradient[k]
    if first < 0:
        return first, second, low, high
    # The second point can fall, and gains most together with the first.
    row, own = at.rows[first], diagonal[first]
    for k in range(at.n):
        if beta[k] > at.lower[k]:
            slope = high + gradient[k]
            if -gradient[k] < low:
                low = -gradient[k]
            if slope > 0.0:
                gain = slope * slope / max(own + diagonal[k] - 2.0 * row[k], FLAT)
                if gain > best_gain:
                    second, best_gain = k, gain
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
    at = Iterate(
        placed_rows(rows, place, n, keep),
        doubles(diagonal, "diagonal", n, READ, keep),
        doubles(beta, "beta", n, WRITE, keep),
        doubles(gradient, "gradient", n, WRITE, keep),
        doubles(lower, "lower", n, READ, keep),
        doubles(upper, "upper", n, READ, keep),
        n,
    )
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

"""Compiled sequential minimal optimisation, with second-order choice of the working pair.

The problem is the signed dual of :mod:`bayes_svm.dual.problem`: minimise
``1/2 beta' K beta - q' beta`` subject to ``sum(beta) = 0`` and ``lower <= beta <= upper``.
The working set is that of Fan, Chen and Lin (JMLR 2005), as in LIBSVM.
"""

from __future__ import annotations

import numpy as np

from bayes_svm._core.compiled import compiled, inlined

__all__ = ["FLAT", "move_pairs"]

# A direction with a curvature below this counts as flat, and is given this one: LIBSVM's TAU.
FLAT = 1e-12


@inlined
def _working_pair(rows, place, diagonal, gradient, beta, lower, upper):
    """Pair (i, j) to move along (+1, -1), and the largest violation of optimality of any pair."""
    # The first point is the one that can rise and has the steepest gradient.
    n = beta.shape[0]
    first, steepest = -1, -np.inf
    for k in range(n):
        if beta[k] < upper[k] and -gradient[k] > steepest:
            first, steepest = k, -gradient[k]
    second, best_gain, flattest = -1, 0.0, np.inf
    if first < 0:
        return -1, -1, 0.0
    # The second point can fall, and gains most together with the first.
    row = rows[place[first]]
    own = diagonal[first]
    for k in range(n):
        if beta[k] > lower[k]:
            slope = steepest + gradient[k]
            if -gradient[k] < flattest:
                flattest = -gradient[k]
            if slope > 0:
                curvature = own + diagonal[k] - 2.0 * row[k]
                gain = slope * slope / max(curvature, FLAT)
                if gain > best_gain:
                    second, best_gain = k, gain
    if second < 0:
        return -1, -1, 0.0
    return first, second, steepest - flattest


@compiled
def move_pairs(rows, place, diagonal, beta, gradient, lower, upper, tolerance, max_steps):
    """Move pairs until no pair violates optimality by more than ``tolerance``.

    ``beta`` and ``gradient = K beta - q`` are updated in place. ``rows[place[i]]`` is row i of K; only the
    rows of points whose bounds differ are read.

    Returns
    -------
    violation : float
        The violation that is left.
    steps : int
        The moves that were made.
    """
    n = beta.shape[0]
    for step in range(max_steps):
        i, j, violation = _working_pair(rows, place, diagonal, gradient, beta, lower, upper)
        if i < 0 or violation <= tolerance:
            return violation, step
        # The best amount without bounds is the slope over the curvature.
        row_i, row_j = rows[place[i]], rows[place[j]]
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * row_i[j], FLAT)
        amount = (gradient[j] - gradient[i]) / curvature
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
        for k in range(n):
            gradient[k] += amount * (row_i[k] - row_j[k])
    i, j, violation = _working_pair(rows, place, diagonal, gradient, beta, lower, upper)
    return violation, max_steps

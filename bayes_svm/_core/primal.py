"""The primal value as a function of the intercept: its minimum, and its distance from the dual value."""

import cython

if not cython.compiled:
    from bayes_svm._core.arrays import READ, doubles, length

    # So many sums are computed at a time.
    LANES = 16


def weighted_quantile(position, weight, n, level):
    """Smallest of the first ``n`` positions up to which the weights add up to ``level``; reorders both."""
    # Quickselect: split at a pivot, go on with the side that holds the level.
    start, stop = 0, n
    while stop - start > 1:
        pivot = position[(start + stop) // 2]
        below, above, k = start, stop, start
        lighter, equal = 0.0, 0.0
        while k < above:
            place, mass = position[k], weight[k]
            if place < pivot:
                position[k], weight[k] = position[below], weight[below]
                position[below], weight[below] = place, mass
                lighter += mass
                below += 1
                k += 1
            elif place > pivot:
                above -= 1
                position[k], weight[k] = position[above], weight[above]
                position[above], weight[above] = place, mass
            else:
                equal += mass
                k += 1
        if below > start and level <= lighter:
            stop = below
        elif above == stop or level <= lighter + equal:
            return pivot
        else:
            level -= lighter + equal
            start = above
    return position[start]


def best_intercept(n, label, bound, gradient, low, high, position, weight):
    """The intercept that minimises F, a piecewise linear function with a kink at each ``-gradient``.

    The slope starts at minus the sum of the positive points' bounds, and rises by a point's bound at its
    kink. The minimum, where the slope changes sign, is between ``low`` and ``high``.
    """
    # Only the kinks between these are searched; the bounds of those below are taken off the level first.
    level, inside = 0.0, 0
    for k in range(n):
        if label[k] > 0.0:
            level += bound[k]
        kink = -gradient[k]
        if kink < low:
            level -= bound[k]
        elif kink <= high:
            position[inside], weight[inside] = kink, bound[k]
            inside += 1
    return weighted_quantile(position, weight, inside, level)


def _gap_at(label, bound, coefficients, residual, shift, k):
    """What a point adds to the gap."""
    own = residual[k] + shift
    end = 0.0 if label[k] * own > 0.0 else label[k] * bound[k]
    return own * (coefficients[k] - end)


def gap_of(n, label, bound, coefficients, residual, shift):
    """Primal minus dual value where ``residual + shift`` is ``f - label``; each point's term is at least 0.

    The other functions of a gap work on the whole objectives, or on changes along a path. Here, term by
    term, a gap far smaller than the objectives keeps its digits.
    """
    # Many sums, which the compiler computes with vector instructions.
    total = cython.declare(cython.double[LANES])
    for c in range(LANES):
        total[c] = 0.0
    for block in range(n // LANES):
        head = block * LANES
        for c in range(LANES):
            total[c] += _gap_at(label, bound, coefficients, residual, shift, head + c)
    for k in range(n - n % LANES, n):
        total[k % LANES] += _gap_at(label, bound, coefficients, residual, shift, k)
    for c in range(1, LANES):
        total[0] += total[c]
    return total[0]


def _sensitivity_at(label, bound, coefficients, residual, shift, error, k):
    """What a point adds to the bound of :func:`sensitivity_of`."""
    margin, alpha = label[k] * (residual[k] + shift), label[k] * coefficients[k]
    beyond = alpha if margin > 0.0 else bound[k] - alpha
    return bound[k] if abs(margin) <= error else beyond


def sensitivity_of(n, label, bound, coefficients, residual, shift, error):
    """Bound of the change of the gap per unit of error in each residual.

    A point within ``error`` of its kink may be on either side of it, and counts with its whole bound.
    """
    total = cython.declare(cython.double[LANES])
    for c in range(LANES):
        total[c] = 0.0
    for block in range(n // LANES):
        head = block * LANES
        for c in range(LANES):
            total[c] += _sensitivity_at(label, bound, coefficients, residual, shift, error, head + c)
    for k in range(n - n % LANES, n):
        total[k % LANES] += _sensitivity_at(label, bound, coefficients, residual, shift, error, k)
    for c in range(1, LANES):
        total[0] += total[c]
    return total[0]


def duality_gap(label, bound, coefficients, residual, shift):
    """Primal minus dual value of coefficients whose decision values are ``label + residual + shift``."""
    keep = []
    n = length(label, "label", 0)
    labels, bounds = doubles(label, "label", n, READ, keep), doubles(bound, "bound", n, READ, keep)
    beta, left = (
        doubles(coefficients, "coefficients", n, READ, keep),
        doubles(residual, "residual", n, READ, keep),
    )
    return gap_of(n, labels, bounds, beta, left, shift)


def sensitivity(label, bound, coefficients, residual, shift, error):
    """Bound of the change of :func:`duality_gap` per unit of error in each residual."""
    keep = []
    n = length(label, "label", 0)
    labels, bounds = doubles(label, "label", n, READ, keep), doubles(bound, "bound", n, READ, keep)
    beta, left = (
        doubles(coefficients, "coefficients", n, READ, keep),
        doubles(residual, "residual", n, READ, keep),
    )
    return sensitivity_of(n, labels, bounds, beta, left, shift, error)

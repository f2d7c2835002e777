"""The primal value as a function of the intercept: its minimum, and its distance from the dual value."""

import cython

if not cython.compiled:
    from bayes_svm._core.arrays import READ, doubles, length

    # So many sums are computed at a time. In such a loop all is read on no condition: GCC 12 with AVX2 reads
    # the wrong lanes otherwise.
    LANES = 16

# So often the interval of the intercept is halved.
_HALVINGS = cython.declare(cython.int, 8)


def _end_at(label, bound, own, k):
    """The end of its bounds at which a point's coefficient is best, given what its decision value exceeds."""
    sign = 0.0 if label[k] * own > 0.0 else label[k]
    return sign * bound[k]


def sum_of_ends(n, label, bound, residual, shift):
    """Minus the slope of F as a function of the intercept ``shift``."""
    total = cython.declare(cython.double[LANES])
    for c in range(LANES):
        total[c] = 0.0
    for block in range(n // LANES):
        head = block * LANES
        for c in range(LANES):
            total[c] += _end_at(label, bound, residual[head + c] + shift, head + c)
    for k in range(n - n % LANES, n):
        total[k % LANES] += _end_at(label, bound, residual[k] + shift, k)
    for c in range(1, LANES):
        total[0] += total[c]
    return total[0]


def good_intercept(n, label, bound, residual, low, high):
    """An intercept between ``low`` and ``high`` near the minimum of F, which is piecewise linear in it."""
    for _ in range(_HALVINGS):
        middle: cython.double = 0.5 * (low + high)
        if sum_of_ends(n, label, bound, residual, middle) > 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _gap_at(label, bound, coefficients, residual, shift, k):
    """What a point adds to the gap."""
    own = residual[k] + shift
    return own * (coefficients[k] - _end_at(label, bound, own, k))


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
    of_bound = 0.0 if margin > error else 1.0
    of_alpha = 1.0 if margin > error else -1.0 if margin < -error else 0.0
    return of_bound * bound[k] + of_alpha * alpha


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

"""Compiled cross-entropy of a sigmoid, with its derivatives."""

import cython

if not cython.compiled:
    from math import exp, fabs, log1p

    from bayes_svm._core.arrays import READ, doubles, length


def _summed(n, values, target, other, weight, slope, offset):
    """The loop of :func:`cross_entropy`."""
    entropy, by_slope, by_offset = 0.0, 0.0, 0.0
    slope_slope, slope_offset, offset_offset = 0.0, 0.0, 0.0
    for i in range(n):
        inner = slope * values[i]
        score = inner + offset
        # Of the larger side, so that nothing overflows.
        small = exp(-fabs(score))
        tail = log1p(small)
        likely, unlikely = 1.0 / (1.0 + small), small / (1.0 + small)
        above = likely if score > 0.0 else unlikely
        below = unlikely if score > 0.0 else likely
        entropy += weight[i] * (target[i] * (tail - min(score, 0.0)) + other[i] * (tail + max(score, 0.0)))
        pull = weight[i] * (other[i] * above - target[i] * below)
        curvature = weight[i] * above * below
        by_slope += inner * pull
        by_offset += pull
        slope_slope += inner * inner * curvature
        slope_offset += inner * curvature
        offset_offset += curvature
    return entropy, by_slope, by_offset, slope_slope, slope_offset, offset_offset


def cross_entropy(values, target, other, weight, slope, offset):
    r"""Cross-entropy of a sigmoid of some values, with its derivatives by log slope and offset.

    .. math:: - \sum_i w_i \left( t_i \log \sigma_i + t'_i \log (1 - \sigma_i) \right), \qquad
              \sigma_i = \frac{1}{1 + e^{- (a v_i + b)}}

    Parameters
    ----------
    values, target, other, weight : arrays of shape (n_samples,)
        The values v, the targets t, ``1 - target``, and the weights w.
    slope, offset : float
        The parameters a and b.

    Returns
    -------
    entropy : float
        The cross-entropy.
    by_slope, by_offset : float
        Its derivatives by log a and by b.
    slope_slope, slope_offset, offset_offset : float
        Its expected second derivatives; the second derivative by log a is ``slope_slope + by_slope``.
    """
    keep = []
    n = length(values, "values", 0)
    at = doubles(values, "values", n, READ, keep)
    positive, negative = doubles(target, "target", n, READ, keep), doubles(other, "other", n, READ, keep)
    mass = doubles(weight, "weight", n, READ, keep)
    a: cython.double = slope
    b: cython.double = offset
    with cython.nogil:
        found = _summed(n, at, positive, negative, mass, a, b)
    return found

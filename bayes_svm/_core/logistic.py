"""The most probable parameters of a sigmoid, by compiled Newton's method."""

import cython

if not cython.compiled:
    from math import exp, fabs, inf, log, log1p

    from bayes_svm._core.arrays import READ, doubles, length

    # Prior standard deviation of the logarithm of the slope.
    LOG_SLOPE_DEVIATION = log(2.0)
    # A slope whose logarithm exceeds this counts as infinite.
    LARGEST_LOG_SLOPE = 300.0
    # The line search gives up at this share of a Newton step.
    SHORTEST = 1e-10
    # A fit whose line search gives up has converged if the step promised no more than this of the loss.
    NEGLIGIBLE_GAIN = 1e-6
    # A Hessian whose determinant, relative to the product of its diagonal, is below this is not inverted.
    SINGULAR_HESSIAN = 1e-8
    EPSILON = 2.220446049250313e-16
    MOST_STEPS = 100


def _local(n, values, target, other, weight, prior, log_slope, offset):
    """Minus the log posterior, its two derivatives, its Hessian (three entries), and the expected Hessian.

    The Hessian is that of the second derivatives where these are safely positive definite, otherwise the
    expected one: that of the likelihood, with an upper bound of the prior's. The loss is infinite where
    the slope would overflow.
    """
    if log_slope > LARGEST_LOG_SLOPE:
        return inf, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0
    centre, boundary, scale = prior
    slope = exp(log_slope)
    entropy, by_slope, by_offset, mass = 0.0, 0.0, 0.0, 0.0
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
        mass += weight[i]
    # Deviation of the log-odds at the decision value 0 from the boundary, in units of the scale; the
    # prior's derivative and curvature by it, and its own derivatives by the parameters.
    deviation = (offset - slope * centre - boundary) / scale
    bend = 2.0 / (1.0 + deviation * deviation)
    fall = bend * deviation
    turn_slope, turn_offset = -slope * centre / scale, 1.0 / scale
    precision = 1.0 / (LOG_SLOPE_DEVIATION * LOG_SLOPE_DEVIATION)
    expected_first = slope_slope + precision + bend * turn_slope * turn_slope
    expected_mixed = slope_offset + bend * turn_slope * turn_offset
    expected_second = offset_offset + 1e-14 * mass + bend * turn_offset * turn_offset
    first = expected_first - fall * fall * turn_slope * turn_slope + by_slope + fall * turn_slope
    mixed = expected_mixed - fall * fall * turn_slope * turn_offset
    second = expected_second - fall * fall * turn_offset * turn_offset
    loss = entropy + 0.5 * log_slope * log_slope * precision + log1p(deviation * deviation)
    by_slope += log_slope * precision + fall * turn_slope
    by_offset += fall * turn_offset
    least = SINGULAR_HESSIAN * expected_first * expected_second
    if not (first > 0.0 and first * second - mixed * mixed > least):
        first, mixed, second = expected_first, expected_mixed, expected_second
    return loss, by_slope, by_offset, first, mixed, second, expected_first, expected_mixed, expected_second


def _newton(n, values, target, other, weight, prior, offset):
    """Slope's logarithm, offset, whether they converged, and the loss there: see :func:`most_probable`."""
    log_slope, here = 0.0, _local(n, values, target, other, weight, prior, 0.0, offset)
    for _ in range(MOST_STEPS):
        loss, by_slope, by_offset, first, mixed, second = here[0], here[1], here[2], here[3], here[4], here[5]
        # The inverse of the Hessian, finite even if rounding makes it singular.
        shear = mixed / first
        rest = max(second - mixed * shear, EPSILON * second)
        step_slope = (1.0 / first + shear * shear / rest) * by_slope - shear / rest * by_offset
        step_offset = (by_offset - shear * by_slope) / rest
        gain = by_slope * step_slope + by_offset * step_offset
        # Convergence is quadratic: one full step from here leaves nothing but rounding.
        last: cython.bint = gain <= 1e-12 * loss
        size = 1.0
        while size > SHORTEST:
            trial_slope, trial_offset = log_slope - size * step_slope, offset - size * step_offset
            trial = _local(n, values, target, other, weight, prior, trial_slope, trial_offset)
            if last or trial[0] <= loss:
                break
            size /= 2.0
        if size <= SHORTEST:
            # With large weights, rounding of the loss hides smaller gains.
            return log_slope, offset, gain <= NEGLIGIBLE_GAIN, loss
        log_slope, offset, here = trial_slope, trial_offset, trial
        if last:
            return log_slope, offset, True, here[0]
    return log_slope, offset, False, here[0]


def most_probable(values, target, other, weight, centre, boundary, scale, offset):
    r"""The parameters a and b of a sigmoid at which the posterior is largest.

    .. math:: - \sum_i w_i \left( t_i \log \sigma_i + t'_i \log (1 - \sigma_i) \right)
              + \frac{(\log a)^2}{2 (\log 2)^2} + \log \left( 1 + \frac{(b - a c - B_0)^2}{s^2} \right),

    .. math:: \sigma_i = \frac{1}{1 + e^{- (a v_i + b)}}

    is minimised from a = 1 and a given b.

    Parameters
    ----------
    values, target, other, weight : arrays of shape (n_samples,)
        The values v, the targets t, ``1 - target`` without its cancellation, and the weights w.
    centre, boundary, scale : float
        The numbers c, B_0 and s of the prior of the offset; there is none if s is infinite.
    offset : float
        The b to start from.

    Returns
    -------
    log_slope, offset : float
        The parameters.
    converged : bool
        Whether they are a minimum.
    loss : float
        The expression above at the parameters.
    """
    keep = []
    n = length(values, "values", 0)
    at = doubles(values, "values", n, READ, keep)
    positive, negative = doubles(target, "target", n, READ, keep), doubles(other, "other", n, READ, keep)
    mass = doubles(weight, "weight", n, READ, keep)
    prior = (float(centre), float(boundary), float(scale))
    start: cython.double = offset
    with cython.nogil:
        found = _newton(n, at, positive, negative, mass, prior, start)
    return found


def posterior_at(values, target, other, weight, centre, boundary, scale, log_slope, offset):
    """What :func:`most_probable` minimises at some parameters, and its expected second derivatives.

    Returns
    -------
    loss : float
        The expression.
    slope_slope, slope_offset, offset_offset : float
        Expected second derivatives of the likelihood by the slope's logarithm and the offset, with an upper
        bound of the prior's: positive definite.
    """
    keep = []
    n = length(values, "values", 0)
    at = doubles(values, "values", n, READ, keep)
    positive, negative = doubles(target, "target", n, READ, keep), doubles(other, "other", n, READ, keep)
    mass = doubles(weight, "weight", n, READ, keep)
    prior = (float(centre), float(boundary), float(scale))
    a: cython.double = log_slope
    b: cython.double = offset
    with cython.nogil:
        found = _local(n, at, positive, negative, mass, prior, a, b)
    return found[0], found[6], found[7], found[8]

"""Fit Platt's sigmoid to decision values of points that the machine was not trained on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayes_svm._core.logistic import cross_entropy
from bayes_svm.probability.link import OFFSET_SCALE
from bayes_svm.probability.sigmoid import INSEPARABLE, SigmoidLink, constant_sigmoid
from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.types import Array, Mask
from bayes_svm.utils.warn import warn

__all__ = [
    "LEAST_MEMBERS",
    "centre_and_spread",
    "fit_sigmoid",
    "offset_scale",
]

# The entries (0, 0), (0, 1) and (1, 1) of a symmetric matrix.
Symmetric = tuple[float, float, float]

# A sigmoid needs so many members of each class: with two, leaving one out leaves only one to train on.
LEAST_MEMBERS = 3
TOO_FEW = (
    "A class has two members, too few to calibrate on: the class prior is returned as its probability. Add "
    "members, merge the class, or use decision_function."
)
# Log-odds per standard deviation of the decision values, where these are only to order the points.
ORDERING = 1e-6
# Prior standard deviation of the logarithm of the slope.
LOG_SLOPE_DEVIATION = float(np.log(2.0))
# Smallest scale of the offset's prior, as a share of OFFSET_SCALE.
LEAST_SCALE = 1e-3
# Weight of class imbalance in the scale of the offset's prior: see offset_scale.
IMBALANCE = 2.0
# Share of the weight on either side whose values are clipped before the spread is computed.
TAIL = 0.05
# Values up to this size are never clipped: where most values are equal, the others are the spread.
NEVER_CLIPPED = 2.0
# A slope whose logarithm exceeds this counts as infinite.
LARGEST_LOG_SLOPE = 300.0
# Standard deviations from the mean beyond which values count alike.
FARTHEST = 30.0
# The line search gives up at this share of a Newton step.
SHORTEST = 1e-10
# A fit whose line search gives up has converged if the step promised no more than this of the log posterior.
NEGLIGIBLE_GAIN = 1e-6
EPSILON = float(np.finfo(float).eps)
# A Hessian whose determinant, relative to the product of its diagonal, is below this is not inverted.
SINGULAR_HESSIAN = 1e-8


def offset_scale(label: Array, alpha: Array, bound: Array, rows_per_column: float) -> float:
    r"""Scale of the prior of the sigmoid's offset: how far the log-odds at f = 0 may be from the boundary's.

    .. math:: s = 2 \min \left( 1, \max \left( \left( \frac{n}{d} \right)^2, \;
              2 u \left| \log \frac{C_+}{C_-} \right| \right) \right), \qquad
              u = \frac{\sum_i \alpha_i}{2 \min(C_+, C_-)}

    :math:`C_+` and :math:`C_-` are the sums of the upper bounds of each class.

    With at least as many rows as columns the scale is 2: the prior is loose and the values decide.

    With more columns than rows the values are less reliable. Preprocessing such as standardising has seen
    the rows that are left out, which shifts their values a little. The prior is therefore tight, and
    the offset stays near the machine's own boundary, midway between the classes. The exception is a rarer
    class whose coefficients are nearly all at their bounds (u near 1). The boundary is then displaced
    towards that class, the more the rarer it is, and the prior is loose again.

    Parameters
    ----------
    label : array of shape (n_points,)
        Label of each point, -1 or 1.
    alpha, bound : arrays of shape (n_points,)
        Coefficients of the machine that was trained on all points, and their upper bounds.
    rows_per_column : float
        Number of rows n divided by the number of columns d.

    Returns
    -------
    float
        The scale s, between 0.002 and 2.
    """
    sums = float(bound[label > 0].sum()), float(bound[label < 0].sum())
    used = float(alpha.sum()) / 2.0 / min(sums)
    displaced = IMBALANCE * used * abs(float(np.log(sums[0] / sums[1])))
    return OFFSET_SCALE * min(1.0, max(min(1.0, rows_per_column) ** 2, displaced, LEAST_SCALE))


def fit_sigmoid(
    values: Array,
    positive: Mask,
    weight: Array,
    smoothing: float,
    boundary: float | None = 0.0,
    scale: float = OFFSET_SCALE,
) -> SigmoidLink:
    r"""Fit Platt's sigmoid to smoothed targets, with priors for slope and offset, by Newton's method.

    .. math:: \min_{A > 0, B} \; - \sum_i w_i \left( t_i \log p_i + (1 - t_i) \log (1 - p_i) \right)
              + \frac{(\log A \sigma)^2}{2 (\log 2)^2}
              + \log \left( 1 + \frac{(B - B_0)^2}{s^2} \right), \qquad p_i = \frac{1}{1 + e^{-(A f_i + B)}}

    .. math:: t_+ = \frac{N_+ + h}{N_+ + 2h}, \qquad t_- = \frac{h}{N_- + 2h}

    A few values can separate the classes by chance. The priors keep the sigmoid moderate then; with many
    values they have no influence.

    * Slope: one standard deviation :math:`\sigma` of the values is worth log-odds of 1, up or down by a
      factor of two. The outermost 5 % on either side are clipped before :math:`\sigma` is computed, but
      never to less than 2 in absolute value.
    * Offset: at f = 0, where the machine itself is undecided, the log-odds are :math:`B_0`. The deviation
      has a Cauchy distribution of scale s, whose heavy tails give way to clear evidence.

    Both were chosen by log loss on test data: ``docs/results/probabilities.md``,
    ``docs/results/wide.md``.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Decision values of points that the machine was not trained on.
    positive : array of bool of shape (n_samples,)
        Which points belong to the positive class.
    weight : array of shape (n_samples,)
        How often each point counts; at least 0.
    smoothing : float
        Smoothing h of the targets. Platt, who has no priors, uses 1.
    boundary : float or None, default=0.0
        Expected log-odds :math:`B_0` at f = 0; None for a machine whose boundary is not at f = 0.
    scale : float, default=2.0
        Scale s of the offset's prior: see :func:`offset_scale`.

    Returns
    -------
    SigmoidLink
        The fitted sigmoid. If all values are equal, its slope is 0 and its probability the share of the
        positive class. If a class has two members, its slope is so small that it only orders the points.

    Warns
    -----
    UserWarning
        If the values rank the classes no better than chance, or if a class has two members.
    ConvergenceWarning
        If Newton's method does not converge.

    References
    ----------
    Platt, "Probabilistic outputs for support vector machines", 1999. Lin, Lin and Weng, "A note on Platt's
    probabilistic outputs for support vector machines", Machine Learning 68, 2007 (the stable evaluation).
    """
    n_positive, n_negative = float(weight[positive].sum()), float(weight[~positive].sum())
    total = np.where(positive, n_positive, n_negative) + 2 * smoothing
    target = np.where(positive, n_positive + smoothing, smoothing) / total
    other = np.where(positive, smoothing, n_negative + smoothing) / total
    mean, spread = centre_and_spread(values, weight)
    prior = float(np.log(n_positive / n_negative))
    copies = np.where(weight > 0, copies_of_weight(weight), 0.0)
    if spread > 0.0 and min(copies[positive].sum(), copies[~positive].sum()) < LEAST_MEMBERS:
        warn(TOO_FEW)
        return SigmoidLink(ORDERING / spread, prior - ORDERING / spread * mean)
    if spread == 0.0:
        return constant_sigmoid(prior)
    # With smoothed targets the loss grows with the log-odds: one far value must not decide the slope.
    scaled = np.clip((values - mean) / spread, -FARTHEST, FARTHEST)
    if (weight * scaled) @ (target - np.average(target, weights=weight)) <= 0.0:
        warn(INSEPARABLE)
    centre = mean / spread
    posterior = _Posterior(scaled, target, other, weight, centre, boundary, scale, float(weight.sum()))
    fits = [_newton(posterior, prior)]
    if boundary is not None:
        # The loss can have two minima. A tight prior has one near its centre: start from there as well,
        # with the offset at f = 0 as the parameter in place of the offset at the mean.
        at_zero = replace(posterior, values=scaled + centre, centre=0.0)
        log_slope, at_boundary, ended, _ = _newton(at_zero, boundary)
        offset = at_boundary + math.exp(log_slope) * centre
        fits.append((log_slope, offset, ended, posterior.at(log_slope, offset)))
    least = min(here.loss for *_, here in fits)
    # Rounding must not decide between two that found the same minimum.
    lowest = [fit for fit in fits if fit[3].loss <= least + NEGLIGIBLE_GAIN]
    log_slope, offset, ended, here = max(lowest, key=lambda fit: fit[2])
    if not ended:
        warn("The sigmoid's fit did not converge: raise smoothing.", ConvergenceWarning)
    slope = math.exp(log_slope) / spread
    low, high = float(values[weight > 0].min()), float(values[weight > 0].max())
    known = 1.0 if boundary is None else min(1.0, scale / OFFSET_SCALE)
    # From the slope's logarithm, and the offset at the mean, to the scale of the values.
    back = np.array([[slope, 0.0], [-mean * slope, 1.0]])
    first, between, second = _inverse(here.expected)
    covariance = back @ np.array([[first, between], [between, second]]) @ back.T
    return SigmoidLink(
        slope=slope,
        offset=offset - slope * mean,
        covariance=(float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])),
        # The tighter the prior holds the boundary to f = 0, the nearer to it the line goes on.
        low=min(low, known * low),
        high=max(high, known * high),
    )


def centre_and_spread(values: Array, weight: Array) -> tuple[float, float]:
    """Mean and standard deviation of the values, the outermost ones clipped.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Decision values.
    weight : array of shape (n_samples,)
        How often each value counts.

    Returns
    -------
    mean, spread : float
        The spread is exactly 0 if the values are equal but for rounding.
    """
    order = np.argsort(values, kind="stable")
    low = min(_quantile(values[order], weight[order], TAIL), -NEVER_CLIPPED)
    high = max(_quantile(values[order[::-1]], weight[order[::-1]], TAIL), NEVER_CLIPPED)
    total = weight.sum()
    for bulk in (np.clip(values, low, high), values):
        mean = float(weight @ bulk / total)
        spread = float(np.sqrt(weight @ (bulk - mean) ** 2 / total))
        if spread > 1e-12 * max(1.0, float(np.abs(bulk).max())):
            return mean, spread
    return mean, 0.0


def _quantile(values: Array, weight: Array, share: float) -> float:
    """The first of some values up to which there is more than the given share of the weight."""
    mass = np.cumsum(weight)
    place = np.searchsorted(mass, share * mass[-1] * (1 + 1e-12), side="right")
    return float(values[min(int(place), len(values) - 1)])


class _Local(NamedTuple):
    """Minus the log posterior at one pair of parameters.

    Attributes
    ----------
    loss : float
        Cross-entropy plus the terms of the priors.
    gradient : tuple of float
        Its derivatives by the logarithm of the slope and by the offset.
    hessian : tuple of float
        Second derivatives where these are safely positive definite, otherwise the expected ones.
    expected : tuple of float
        Expected second derivatives of the likelihood, with an upper bound of the prior's: positive definite.
    """

    loss: float
    gradient: tuple[float, float]
    hessian: Symmetric
    expected: Symmetric


@dataclass(frozen=True)
class _Posterior:
    """Minus the log posterior of slope and offset, for standardised values.

    Its parameters are the logarithm of the slope, and the offset.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Standardised decision values.
    target : array of shape (n_samples,)
        Smoothed target of each value.
    other : array of shape (n_samples,)
        ``1 - target``, computed without cancellation.
    weight : array of shape (n_samples,)
        How often each value counts.
    centre : float
        The decision value 0 is ``-centre`` after standardising.
    boundary : float or None
        Expected log-odds at the decision value 0; None for no prior.
    scale : float
        Scale of the prior of these log-odds.
    mass : float
        Sum of the weights.
    """

    values: Array
    target: Array
    other: Array
    weight: Array
    centre: float
    boundary: float | None
    scale: float
    mass: float

    def at(self, log_slope: float, offset: float) -> _Local:
        """The loss and its derivatives at these parameters; an infinite loss if the slope would overflow."""
        if log_slope > LARGEST_LOG_SLOPE:
            return _Local(math.inf, (0.0, 0.0), (1.0, 0.0, 1.0), (1.0, 0.0, 1.0))
        slope = math.exp(log_slope)
        entropy, by_slope, by_offset, slope_slope, mixed, offset_offset = cross_entropy(
            self.values, self.target, self.other, self.weight, slope, offset
        )
        # Deviation of the log-odds at the decision value 0 from the boundary, in units of the scale; the
        # prior's derivative and curvature by it, and its own derivatives by the parameters.
        deviation = fall = bend = 0.0
        if self.boundary is not None:
            deviation = (offset - slope * self.centre - self.boundary) / self.scale
            bend = 2.0 / (1.0 + deviation * deviation)
            fall = bend * deviation
        turn = -slope * self.centre / self.scale, 1.0 / self.scale
        expected = (
            slope_slope + 1.0 / LOG_SLOPE_DEVIATION**2 + bend * turn[0] * turn[0],
            mixed + bend * turn[0] * turn[1],
            offset_offset + 1e-14 * self.mass + bend * turn[1] * turn[1],
        )
        first = expected[0] - fall * fall * turn[0] * turn[0] + by_slope + fall * turn[0]
        between = expected[1] - fall * fall * turn[0] * turn[1]
        second = expected[2] - fall * fall * turn[1] * turn[1]
        safe = first * second - between * between > SINGULAR_HESSIAN * expected[0] * expected[2]
        prior = 0.5 * (log_slope / LOG_SLOPE_DEVIATION) ** 2 + math.log1p(deviation * deviation)
        return _Local(
            entropy + prior,
            (by_slope + log_slope / LOG_SLOPE_DEVIATION**2 + fall * turn[0], by_offset + fall * turn[1]),
            (first, between, second) if first > 0.0 and safe else expected,
            expected,
        )


def _newton(posterior: _Posterior, offset: float) -> tuple[float, float, bool, _Local]:
    """Minimum by Newton's method from a slope of 1 and the given offset.

    Returns the slope's logarithm, the offset, whether they converged, and what the posterior is there.
    """
    log_slope, here = 0.0, posterior.at(0.0, offset)
    for _ in range(100):
        by_slope, by_offset = here.gradient
        first, between, second = _inverse(here.hessian)
        step = first * by_slope + between * by_offset, between * by_slope + second * by_offset
        gain = by_slope * step[0] + by_offset * step[1]
        # Convergence is quadratic: one full step from here leaves nothing but rounding.
        last, length = gain <= 1e-12 * here.loss, 1.0
        while length > SHORTEST:
            there = log_slope - length * step[0], offset - length * step[1]
            trial = posterior.at(*there)
            if last or trial.loss <= here.loss:
                break
            length /= 2
        if length <= SHORTEST:
            # With large weights, rounding of the loss hides smaller gains.
            return log_slope, offset, gain <= NEGLIGIBLE_GAIN, here
        (log_slope, offset), here = there, trial
        if last:
            return log_slope, offset, True, here
    return log_slope, offset, False, here


def _inverse(hessian: Symmetric) -> Symmetric:
    """Inverse of a positive definite matrix, finite even if rounding makes it singular."""
    first, mixed, second = hessian
    shear = mixed / first
    rest = max(second - mixed * shear, EPSILON * second)
    return 1.0 / first + shear * shear / rest, -shear / rest, 1.0 / rest

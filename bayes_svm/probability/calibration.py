"""Fit Platt's sigmoid to decision values of points that the machine was not trained on."""

from __future__ import annotations

import math

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayes_svm._core.logistic import most_probable, posterior_at
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

# A sigmoid needs so many members of each class: with two, leaving one out leaves only one to train on.
LEAST_MEMBERS = 3
TOO_FEW = (
    "A class has two members, too few to calibrate on: the class prior is returned as its probability. Add "
    "members, merge the class, or use decision_function."
)
# Log-odds per standard deviation of the decision values, where these are only to order the points.
ORDERING = 1e-6
# Smallest scale of the offset's prior, as a share of OFFSET_SCALE.
LEAST_SCALE = 1e-3
# Weight of class imbalance in the scale of the offset's prior: see offset_scale.
IMBALANCE = 2.0
# Share of the weight on either side whose values are clipped before the spread is computed.
TAIL = 0.05
# Values up to this size are never clipped: where most values are equal, the others are the spread.
NEVER_CLIPPED = 2.0
# Standard deviations from the mean beyond which values count alike.
FARTHEST = 30.0
# Two fits whose log posteriors differ by no more than this found the same minimum.
NEGLIGIBLE_GAIN = 1e-6
EPSILON = float(np.finfo(float).eps)


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
    of_positive, of_negative = n_positive + 2 * smoothing, n_negative + 2 * smoothing
    target = np.where(positive, (n_positive + smoothing) / of_positive, smoothing / of_negative)
    other = np.where(positive, smoothing / of_positive, (n_negative + smoothing) / of_negative)
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
    if (weight * scaled) @ (target - weight @ target / weight.sum()) <= 0.0:
        warn(INSEPARABLE)
    data, centre = (target, other, weight), mean / spread
    offset_prior = (centre, 0.0, math.inf) if boundary is None else (centre, boundary, scale)
    fits = [most_probable(scaled, *data, *offset_prior, prior)]
    if boundary is not None:
        # The loss can have two minima. A tight prior has one near its centre: start from there as well,
        # with the offset at f = 0 as the parameter in place of the offset at the mean.
        log_slope, at_boundary, ended, loss = most_probable(
            scaled + centre, *data, 0.0, boundary, scale, boundary
        )
        fits.append((log_slope, at_boundary + math.exp(log_slope) * centre, ended, loss))
    # Rounding must not decide between two that found the same minimum.
    least = min(loss for *_, loss in fits)
    lowest = [fit for fit in fits if fit[3] <= least + NEGLIGIBLE_GAIN]
    log_slope, offset, ended, _ = max(lowest, key=lambda fit: fit[2])
    if not ended:
        warn("The sigmoid's fit did not converge: raise smoothing.", ConvergenceWarning)
    slope = math.exp(log_slope) / spread
    low, high = float(values[weight > 0].min()), float(values[weight > 0].max())
    known = 1.0 if boundary is None else min(1.0, scale / OFFSET_SCALE)
    _, *hessian = posterior_at(scaled, *data, *offset_prior, log_slope, offset)
    first, mixed, second = _inverse(*hessian)
    # From the slope's logarithm, and the offset at the mean, to the scale of the values.
    covariance = (
        slope * slope * first,
        slope * (mixed - mean * slope * first),
        second - 2.0 * mean * slope * mixed + (mean * slope) ** 2 * first,
    )
    return SigmoidLink(
        slope=slope,
        offset=offset - slope * mean,
        covariance=covariance,
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
    ascending, of_these = values[order], weight[order]
    low = min(_quantile(ascending, of_these, TAIL), -NEVER_CLIPPED)
    high = max(_quantile(ascending[::-1], of_these[::-1], TAIL), NEVER_CLIPPED)
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


def _inverse(first: float, mixed: float, second: float) -> tuple[float, float, float]:
    """Inverse of a positive definite matrix, finite even if rounding makes it singular."""
    shear = mixed / first
    rest = max(second - mixed * shear, EPSILON * second)
    return 1.0 / first + shear * shear / rest, -shear / rest, 1.0 / rest

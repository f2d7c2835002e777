"""Sigmoids fitted to decision values that the machine has not been trained on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_expit, ndtri
from sklearn.exceptions import ConvergenceWarning

from bayes_svm.probability.link import OFFSET, Link
from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.types import Array, Mask
from bayes_svm.utils.warn import warn

__all__ = [
    "INSEPARABLE",
    "LEAST_MEMBERS",
    "SigmoidLink",
    "centre_and_spread",
    "constant_sigmoid",
    "fit_sigmoid",
    "offset_scale",
]


# Members of a class that a sigmoid needs: of two, leaving one out leaves one to learn from.
LEAST_MEMBERS = 3
INSEPARABLE = (
    "The decision values do not separate the classes: the probabilities hardly differ from the class prior. "
    "Check the features' scale, C and the kernel's parameters."
)
TOO_FEW = (
    "A class has two members, too few to calibrate on: the class prior is returned as its probability. Add "
    "members, merge the class, or use decision_function."
)
# Log-odds per standard deviation of the decision values, where these only order.
ORDERING = 1e-6
# Prior standard deviation of the logarithm of the slope.
FACTOR = float(np.log(2.0))
# Smallest scale of the offset's prior, as a share of OFFSET.
LEAST_SCALE = 1e-3
# Weight of class imbalance in the scale of the offset's prior: see offset_scale.
IMBALANCE = 2.0
# Share of the weight on either side that is drawn in before the spread is taken. Values up to
# BEYOND_MARGIN stay: where most values are equal, the others must count.
TAIL = 0.05
BEYOND_MARGIN = 2.0
# Logarithms of slopes beyond this are infinite slopes.
LARGEST_LOG = 300.0
# Distance from the mean, in standard deviations, beyond which values count alike.
FAR = 30.0
# The smallest share of a Newton step that is tried. A fit that ends there has converged if no more than
# ROUNDING of the log posterior was to be gained.
SHORTEST = 1e-10
ROUNDING = 1e-6
# Determinant of a Hessian, relative to its diagonal, below which the Hessian is not inverted.
SINGULAR = 1e-8


@dataclass(frozen=True)
class SigmoidLink(Link):
    r"""Platt's sigmoid: ``p(+ | f) = 1 / (1 + exp(-(slope f + offset)))``, slope at least 0.

    Beyond ``low`` and ``high``, the range of what it was fitted to, it does not go on
    rising: the log-odds there, t of which a straight line would add, rise by ``t / (1 + t)``, less
    than 1. Of such values nothing is known but that they are beyond.

    Parameters
    ----------
    slope, offset : float
    covariance : tuple of float
        Variance of the slope, covariance of both, variance of the offset: the inverse of the expected
        Hessian of the likelihood, the priors included. NaN where nothing was fitted by likelihood.
    low, high : float
        Range of the values that it was fitted to, with f = 0 if the offset is held to the boundary there;
        infinite where it goes on straight.
    """

    slope: float
    offset: float
    covariance: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    low: float = -np.inf
    high: float = np.inf

    def log_odds(self, values: Array, reading: object = None) -> Array:
        """Log-odds of decision values; nothing is read of the posterior."""
        return np.asarray(self.slope * self._within(values) + self.offset)

    def _within(self, values: Array) -> Array:
        """Values drawn in where they are beyond the range, in the order that they had."""
        if self.slope == 0.0 or not np.isfinite(self.high - self.low):
            return values
        inside = np.clip(values, self.low, self.high)
        beyond = self.slope * np.abs(values - inside)
        return np.asarray(inside + np.sign(values - inside) * (1.0 - 1.0 / (1.0 + beyond)) / self.slope)

    @property
    def standard_errors(self) -> tuple[float, float]:
        """Standard errors of slope and offset."""
        return float(np.sqrt(self.covariance[0])), float(np.sqrt(self.covariance[2]))

    def band(self, values: Array, level: float = 0.95) -> tuple[Array, Array]:
        """Pointwise confidence band of the probability, from the errors of slope and offset.

        Parameters
        ----------
        values : array
            Decision values.
        level : float

        Returns
        -------
        low, high : arrays of the shape of ``values``
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level={level} is not between 0 and 1.")
        slope_variance, both, offset_variance = self.covariance
        inside = self._within(np.asarray(values, dtype=np.float64))
        spread = np.sqrt(slope_variance * inside**2 + 2.0 * both * inside + offset_variance)
        reach = ndtri(0.5 + level / 2.0) * spread
        centre = self.log_odds(values)
        return np.asarray(expit(centre - reach)), np.asarray(expit(centre + reach))


def offset_scale(label: Array, alpha: Array, bound: Array, rows_per_column: float) -> float:
    r"""Scale of the prior of the sigmoid's offset: how far from f = 0 the classes may be as probable.

    .. math:: s = 2 \min \left( 1, \max \left( \left( \frac{n}{d} \right)^2, \;
              2 u \left| \log \frac{C_+}{C_-} \right| \right) \right), \qquad
              u = \frac{\sum_i \alpha_i}{2 \min(C_+, C_-)}

    With :math:`C_+` and :math:`C_-` the sums of the bounds of each class. With more rows than columns
    that is 2, and the values decide. With more columns whatever was done to the columns before, from
    standardising on, has seen the rows that were left out, and moves their values a little: the
    offset is better left at the machine's own boundary, in the middle between the classes. But where
    the rarer class uses up its bounds, u near 1, the boundary is displaced towards that class, the
    more the rarer it is.

    Parameters
    ----------
    label : array of shape (n_points,)
        -1 or 1.
    alpha, bound : arrays of shape (n_points,)
        Coefficients of the machine that was trained on all points, and their upper bounds.
    rows_per_column : float
        n / d.
    """
    sums = float(bound[label > 0].sum()), float(bound[label < 0].sum())
    used = float(alpha.sum()) / 2.0 / min(sums)
    displaced = IMBALANCE * used * abs(float(np.log(sums[0] / sums[1])))
    return OFFSET * min(1.0, max(min(1.0, rows_per_column) ** 2, displaced, LEAST_SCALE))


def fit_sigmoid(
    values: Array,
    positive: Mask,
    weight: Array,
    smoothing: float,
    boundary: float | None = 0.0,
    scale: float = OFFSET,
) -> SigmoidLink:
    r"""Fit Platt's sigmoid by Newton's method, on smoothed targets and with priors.

    .. math:: \min_{A > 0, B} \; - \sum_i w_i \left( t_i \log p_i + (1 - t_i) \log (1 - p_i) \right)
              + \frac{(\log A \sigma)^2}{2 (\log 2)^2}
              + \log \left( 1 + \frac{(B - B_0)^2}{s^2} \right), \qquad p_i = \frac{1}{1 + e^{-(A f_i + B)}}

    .. math:: t_+ = \frac{N_+ + h}{N_+ + 2h}, \qquad t_- = \frac{h}{N_- + 2h}

    Among few values, which can separate by chance, the priors keep the sigmoid within reason; among
    many they do not count. The slope: a standard deviation :math:`\sigma` of the values is worth a
    log-odds of 1, up or down by a factor of two; before it is taken, the outermost 5 % on either side
    that are beyond twice the margin are drawn in. The offset: at f = 0, where the machine itself is
    undecided, the log-odds are :math:`B_0`, with a deviation of Cauchy's distribution of scale s, which
    keeps what is clearly elsewhere where it is. Both were chosen by log loss on test data:
    ``docs/results/probabilities.md``, ``docs/results/wide.md``.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Decision values of points that the machine has not seen.
    positive : array of bool of shape (n_samples,)
    weight : array of shape (n_samples,)
    smoothing : float
        h. Platt's choice, without priors, is 1.
    boundary : float or None, default=0.0
        :math:`B_0`; None for a machine that is not undecided at 0.
    scale : float, default=2.0
        s, of a machine that :func:`offset_scale` says.

    Returns
    -------
    SigmoidLink
        With slope 0, the share of the positives, if all values are equal; with next to none, so that
        they only order, if a class has two members.

    Warns
    -----
    UserWarning
        If the values rank the classes no better than chance, or a class has two members.
    ConvergenceWarning
        If Newton's method does not end.

    References
    ----------
    Platt 1999; Lin, Lin and Weng, Machine Learning 68, 2007, for the stable evaluation.
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
    # Smoothed targets cost in proportion to the log-odds: one value far out must not decide the slope.
    scaled = np.clip((values - mean) / spread, -FAR, FAR)
    if (weight * scaled) @ (target - np.average(target, weights=weight)) <= 0.0:
        warn(INSEPARABLE)
    centre = mean / spread
    posterior = _Posterior(scaled, target, other, weight, centre, boundary, scale)
    fits = [_newton(posterior, prior)]
    if boundary is not None:
        # Where the prior is tight, the offset at f = 0 goes its own way, and not the one at the mean.
        at_zero = replace(posterior, values=scaled + centre, centre=0.0)
        found, ended = _newton(at_zero, boundary)
        fits.append((found + np.array([0.0, np.exp(found[0]) * centre]), ended))
    parameters, ended = min(fits, key=lambda fit: posterior.loss(fit[0]))
    if not ended:
        warn("The sigmoid's fit did not converge: raise smoothing.", ConvergenceWarning)
    slope = float(np.exp(parameters[0])) / spread
    low, high = float(values[weight > 0].min()), float(values[weight > 0].max())
    known = 1.0 if boundary is None else min(1.0, scale / OFFSET)
    # From the slope's logarithm, and the offset at the mean, to the scale of the values.
    back = np.array([[slope, 0.0], [-mean * slope, 1.0]])
    covariance = back @ np.linalg.pinv(posterior.expected_hessian(parameters), hermitian=True) @ back.T
    return SigmoidLink(
        slope=slope,
        offset=float(parameters[1] - slope * mean),
        covariance=(float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])),
        low=min(low, known * low),  # As far as the boundary is held to f = 0, the line goes on to there.
        high=max(high, known * high),
    )


def centre_and_spread(values: Array, weight: Array) -> tuple[float, float]:
    """Mean and standard deviation, the outermost values drawn in; the latter 0 where it is rounding."""
    low = min(_quantile(values, weight, TAIL), -BEYOND_MARGIN)
    high = max(-_quantile(-values, weight, TAIL), BEYOND_MARGIN)
    for bulk in (np.clip(values, low, high), values):
        mean = float(np.average(bulk, weights=weight))
        spread = float(np.sqrt(np.average((bulk - mean) ** 2, weights=weight)))
        if spread > 1e-12 * max(1.0, float(np.abs(bulk).max())):
            return mean, spread
    return mean, 0.0


def _quantile(values: Array, weight: Array, share: float) -> float:
    """The smallest value that more than a share of the weight does not exceed."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weight[order])
    place = np.searchsorted(mass, share * mass[-1] * (1 + 1e-12), side="right")
    return float(values[order[min(int(place), len(order) - 1)]])


def constant_sigmoid(log_odds: float) -> SigmoidLink:
    """The same probability everywhere, with a warning."""
    warn(INSEPARABLE)
    return SigmoidLink(slope=0.0, offset=log_odds)


@dataclass(frozen=True)
class _Posterior:
    """Minus the log posterior of the logarithm of the slope, and of the offset, on standardised values.

    Parameters
    ----------
    values, target, other, weight : arrays of shape (n_samples,)
        ``other`` is ``1 - target``, of which rounding takes nothing away.
    centre : float
        Where the value 0 was before it was standardised, with the other sign.
    boundary : float or None
        The log-odds expected there.
    scale : float
        Of what they may be beside that.
    """

    values: Array
    target: Array
    other: Array
    weight: Array
    centre: float
    boundary: float | None
    scale: float

    def _beside(self, parameters: Array) -> float:
        """How far the log-odds at the boundary are from what is expected, in units of the prior's scale."""
        if self.boundary is None:
            return 0.0
        return float(parameters[1] - np.exp(parameters[0]) * self.centre - self.boundary) / self.scale

    def loss(self, parameters: Array) -> float:
        """Cross-entropy and the terms of the priors; infinite where a step went too far for numbers."""
        if parameters[0] > LARGEST_LOG:
            return np.inf
        score = np.exp(parameters[0]) * self.values + parameters[1]
        entropy = float(self.weight @ -(self.target * log_expit(score) + self.other * log_expit(-score)))
        return float(entropy + 0.5 * (parameters[0] / FACTOR) ** 2 + np.log1p(self._beside(parameters) ** 2))

    def _parts(self, parameters: Array) -> tuple[Array, Array, Array, float]:
        """Derivative of the score, pull of each value, derivative of what is beside, and that itself."""
        slope = np.exp(parameters[0])
        inner = slope * self.values
        score = inner + parameters[1]
        pull = self.weight * (self.other * expit(score) - self.target * expit(-score))
        return inner, pull, np.array([-slope * self.centre, 1.0]) / self.scale, self._beside(parameters)

    def gradient(self, parameters: Array) -> Array:
        inner, pull, turn, beside = self._parts(parameters)
        own = np.array([inner @ pull + parameters[0] / FACTOR**2, pull.sum()])
        return np.asarray(own + 2.0 * beside / (1.0 + beside**2) * turn)

    def expected_hessian(self, parameters: Array) -> Array:
        """A Hessian that is positive definite: its expectation, with a bound for the prior's part."""
        inner, _, turn, beside = self._parts(parameters)
        score = inner + parameters[1]
        curvature = self.weight * expit(score) * expit(-score)
        design = np.column_stack([inner, np.ones_like(inner)])
        hessian = design.T @ (curvature[:, None] * design)
        hessian[np.diag_indices(2)] += (1.0 / FACTOR**2, 1e-14 * self.weight.sum())
        bend = 0.0 if self.boundary is None else 2.0 / (1.0 + beside**2)
        return np.asarray(hessian + bend * np.outer(turn, turn))

    def hessian(self, parameters: Array) -> Array:
        """The Hessian where it is positive definite, else the expected one."""
        inner, pull, turn, beside = self._parts(parameters)
        expected = self.expected_hessian(parameters)
        exact = expected - 4.0 * beside**2 / (1.0 + beside**2) ** 2 * np.outer(turn, turn)
        exact[0, 0] += inner @ pull + 2.0 * beside / (1.0 + beside**2) * turn[0]
        singular = SINGULAR * expected[0, 0] * expected[1, 1]
        return exact if np.linalg.det(exact) > singular and exact[0, 0] > 0.0 else expected


def _newton(posterior: _Posterior, offset: float) -> tuple[Array, bool]:
    """Logarithm of the slope, and offset, by Newton's method from a slope of 1; and whether it ended."""
    parameters = np.array([0.0, offset])
    loss = posterior.loss(parameters)
    for _ in range(100):
        gradient = posterior.gradient(parameters)
        step = np.linalg.solve(posterior.hessian(parameters), gradient)
        gain = gradient @ step
        # Convergence is quadratic: after a full step from here what is left is rounding.
        last, length = gain <= 1e-12 * loss, 1.0
        while length > SHORTEST:
            trial = parameters - length * step
            trial_loss = posterior.loss(trial)
            if last or trial_loss <= loss:
                break
            length /= 2
        if length <= SHORTEST:
            return parameters, bool(gain <= ROUNDING)  # of large weights the loss is known no better
        parameters, loss = trial, trial_loss
        if last:
            return parameters, True
    return parameters, False

"""Sigmoids fitted to decision values that the machine has not been trained on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, ndtri
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from bayes_svm.problem import copies_of_weight

__all__ = ["SigmoidLink", "fit_dumais", "fit_sigmoid"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

LEAST_MEMBERS = 3  # of a class: with two, leaving one out leaves one to learn from
INSEPARABLE = (
    "The decision values do not separate the classes: the class prior is returned as the probability. Check "
    "the features' scale, C and the kernel's parameters."
)
TOO_FEW = (
    "A class has two members, too few to calibrate on: the class prior is returned as its probability. Add "
    "members, merge the class, or use decision_function."
)
ORDERING = 1e-6  # change of its log-odds per standard deviation of the decision values, which then only order
FOLDS = 5  # of Dumais' validation
PENALTIES = tuple(10.0**k for k in range(-6, 4))


@dataclass(frozen=True)
class SigmoidLink:
    r"""Platt's sigmoid: ``p(+ | f) = 1 / (1 + exp(-(slope f + offset)))``, slope at least 0.

    Parameters
    ----------
    slope, offset : float
    covariance : tuple of float
        Variance of the slope, covariance of both, variance of the offset: the inverse Hessian
        of the likelihood. NaN where nothing was fitted by likelihood.
    """

    slope: float
    offset: float
    covariance: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    needs_variance = False

    def log_odds(self, values: Array, uncertainty: object = None) -> Array:
        """``slope * values + offset``; the uncertainty is not used."""
        return np.asarray(self.slope * values + self.offset)

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
        spread = np.sqrt(slope_variance * values**2 + 2.0 * both * values + offset_variance)
        reach = ndtri(0.5 + level / 2.0) * spread
        centre = self.log_odds(values)
        return np.asarray(expit(centre - reach)), np.asarray(expit(centre + reach))


def fit_sigmoid(values: Array, positive: Mask, weight: Array, smoothing: float) -> SigmoidLink:
    r"""Fit Platt's sigmoid by Newton's method, on smoothed targets.

    .. math:: t_+ = \frac{N_+ + h}{N_+ + 2h}, \qquad t_- = \frac{h}{N_- + 2h}

    Parameters
    ----------
    values : array of shape (n_samples,)
        Decision values of points that the machine has not seen.
    positive : array of bool of shape (n_samples,)
    weight : array of shape (n_samples,)
    smoothing : float
        h. Platt's choice is 1; less is better for leave-one-out values, which are many: 0.25
        was best on average over 13 data sets.

    Returns
    -------
    SigmoidLink
        With slope 0, the share of the positives, if the values rank the classes no better than
        chance; with next to none, so that they only order, if a class has two members.

    Warns
    -----
    UserWarning
        If the prior is returned.
    ConvergenceWarning
        If Newton's method does not end.

    References
    ----------
    Platt 1999; Lin, Lin and Weng, Machine Learning 68, 2007, for the stable evaluation.
    """
    n_positive, n_negative = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(
        positive,
        (n_positive + smoothing) / (n_positive + 2 * smoothing),
        smoothing / (n_negative + 2 * smoothing),
    )
    mean, spread = _centre_and_spread(values, weight)
    prior = float(np.log(n_positive / n_negative))
    copies = np.where(weight > 0, copies_of_weight(weight), 0.0)
    if spread > 0.0 and min(copies[positive].sum(), copies[~positive].sum()) < LEAST_MEMBERS:
        warnings.warn(TOO_FEW, UserWarning, stacklevel=5)
        return SigmoidLink(ORDERING / spread, prior - ORDERING / spread * mean)
    if spread == 0.0:
        return _prior(prior)
    (slope, offset), covariance = _newton((values - mean) / spread, target, weight, prior)
    if slope <= 0.0:
        return _prior(prior)
    back = np.array([[1.0 / spread, 0.0], [-mean / spread, 1.0]])  # to the scale of the values
    covariance = back @ covariance @ back.T
    slope /= spread
    return SigmoidLink(
        slope=slope,
        offset=float(offset - slope * mean),
        covariance=(float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])),
    )


def _centre_and_spread(values: Array, weight: Array) -> tuple[float, float]:
    """Mean and standard deviation, the latter 0 where it is rounding."""
    mean = float(np.average(values, weights=weight))
    spread = float(np.sqrt(np.average((values - mean) ** 2, weights=weight)))
    return mean, spread if spread > 1e-12 * max(1.0, float(np.abs(values).max())) else 0.0


def _prior(log_odds: float) -> SigmoidLink:
    warnings.warn(INSEPARABLE, UserWarning, stacklevel=5)
    return SigmoidLink(slope=0.0, offset=log_odds)


def _cross_entropy(score: Array, target: Array, weight: Array) -> float:
    return float(weight @ (np.logaddexp(0.0, score) - target * score))


def _newton(
    values: Array, target: Array, weight: Array, offset: float
) -> tuple[tuple[float, float], NDArray[np.float64]]:
    """Slope and offset of least cross-entropy by Newton's method with step halving; their covariance."""
    design = np.column_stack([values, np.ones_like(values)])
    parameters = np.array([0.0, offset])
    loss = _cross_entropy(design @ parameters, target, weight)
    for _ in range(100):
        probability = expit(design @ parameters)
        gradient = design.T @ (weight * (probability - target))
        curvature = weight * probability * (1 - probability)
        hessian = design.T @ (curvature[:, None] * design)
        hessian[np.diag_indices(2)] += 1e-14 * weight.sum()
        step = np.linalg.solve(hessian, gradient)
        # Convergence is quadratic: after a full step from here what is left is rounding.
        last = gradient @ step <= 1e-12 * loss
        length = 1.0
        while length > 1e-10:
            trial = parameters - length * step
            trial_loss = _cross_entropy(design @ trial, target, weight)
            if last or trial_loss <= loss:
                break
            length /= 2
        parameters, loss = trial, trial_loss
        if last:
            break
    else:
        warnings.warn(
            "The sigmoid's fit did not converge: raise smoothing.", ConvergenceWarning, stacklevel=6
        )
    return (float(parameters[0]), float(parameters[1])), np.linalg.inv(hessian)


def fit_dumais(values: Array, positive: Mask, weight: Array) -> SigmoidLink:
    r"""Sigmoid of least regularised squares (Kwok 1999, footnote 5, after Dumais et al. 1998).

    .. math:: \min_{\omega, c} \; \tfrac{1}{2} \sum_i (o_i - t_i)^2 + \kappa \omega^2, \qquad
              o(f) = \frac{1}{1 + e^{-\omega (f + c)}}

    The penalty kappa is the one of least squared error over 5 folds of the values.

    Parameters
    ----------
    values : array of shape (n_samples,)
    positive : array of bool of shape (n_samples,)
    weight : array of shape (n_samples,)

    Warns
    -----
    UserWarning
        If the values rank the classes no better than chance: the prior is returned.
    """
    target = positive.astype(float)
    prior = float(np.log(weight[positive].sum() / weight[~positive].sum()))
    if _centre_and_spread(values, weight)[1] == 0.0:
        return _prior(prior)
    n_folds = int(min(FOLDS, positive.sum(), (~positive).sum()))
    errors = np.zeros(len(PENALTIES))
    for train, test in StratifiedKFold(n_folds).split(values, positive) if n_folds > 1 else ():
        for k, penalty in enumerate(PENALTIES):
            slope, offset = _least_squares(values[train], target[train], weight[train], penalty)
            errors[k] += weight[test] @ (expit(slope * values[test] + offset) - target[test]) ** 2
    slope, offset = _least_squares(values, target, weight, PENALTIES[int(errors.argmin())])
    return SigmoidLink(slope=slope, offset=offset) if slope > 0.0 else _prior(prior)


def _least_squares(values: Array, target: Array, weight: Array, penalty: float) -> tuple[float, float]:
    """Slope and offset of the regularised squares."""
    mean, spread = _centre_and_spread(values, weight)
    spread = spread or 1.0

    def objective(parameters: Array) -> tuple[float, Array]:
        slope = parameters[0] / spread
        output = expit(slope * (values - mean) + parameters[1])
        pull = weight * (output - target) * output * (1.0 - output)
        value = 0.5 * weight @ (output - target) ** 2 + penalty * slope**2
        return float(value), np.array(
            [pull @ (values - mean) / spread + 2.0 * penalty * slope / spread, pull.sum()]
        )

    found = minimize(objective, np.array([1.0, 0.0]), jac=True, method="BFGS")
    slope = float(found.x[0]) / spread
    return slope, float(found.x[1]) - slope * mean

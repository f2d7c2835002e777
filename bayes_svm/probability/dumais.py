"""Dumais' sigmoid, fitted by regularised least squares."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from bayes_svm.probability.calibration import centre_and_spread
from bayes_svm.probability.sigmoid import SigmoidLink, constant_sigmoid
from bayes_svm.utils.dealing import copies_of_weight, deal
from bayes_svm.utils.types import Array, Mask

__all__ = ["fit_dumais"]

# The penalty is chosen by cross-validation with so many folds.
PENALTY_FOLDS = 5
# Penalties to choose from.
PENALTIES = tuple(10.0**k for k in range(-6, 4))


def fit_dumais(values: Array, positive: Mask, weight: Array) -> SigmoidLink:
    r"""Fit a sigmoid by regularised least squares (Kwok 1999, footnote 5, after Dumais et al. 1998).

    .. math:: \min_{\omega, c} \; \tfrac{1}{2} \sum_i (o_i - t_i)^2 + \kappa \omega^2, \qquad
              o(f) = \frac{1}{1 + e^{-\omega (f + c)}}

    The penalty :math:`\kappa` is the one with the least squared error in 5-fold cross-validation.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Decision values of points that the machine was not trained on.
    positive : array of bool of shape (n_samples,)
        Which points belong to the positive class.
    weight : array of shape (n_samples,)
        How often each point counts.

    Returns
    -------
    SigmoidLink
        The fitted sigmoid; a constant, the class prior, if the values do not rank the classes.

    Warns
    -----
    UserWarning
        If the values rank the classes no better than chance.
    """
    target = positive.astype(float)
    prior = float(np.log(weight[positive].sum() / weight[~positive].sum()))
    copies = np.where(weight > 0, copies_of_weight(weight), 0.0)
    if centre_and_spread(values, weight)[1] == 0.0:
        return constant_sigmoid(prior)
    members = [float(copies[chosen].sum()) for chosen in (positive, ~positive)]
    n_folds = int(min(PENALTY_FOLDS, *members))
    errors = np.zeros(len(PENALTIES))
    if n_folds > 1:
        # Deal copies in the order of the values: the folds depend neither on the order of the rows nor on
        # whether a row is repeated or has a weight.
        order = np.lexsort((weight, values, positive))
        order = order[copies[order] > 0]
        dealt = deal(copies[order], n_folds)
        of = order[dealt.thing]
        share = weight[of] / copies[of] * dealt.number
        for fold, times in enumerate(dealt.times):
            test, train = dealt.hand == fold, weight.copy()
            train[of[test]] -= share[test]
            for k, penalty in enumerate(PENALTIES):
                slope, offset = _least_squares(values, target, train, penalty)
                output = expit(slope * values[of[test]] + offset)
                errors[k] += times * (share[test] @ (output - target[of[test]]) ** 2)
    slope, offset = _least_squares(values, target, weight, PENALTIES[int(errors.argmin())])
    return SigmoidLink(slope=slope, offset=offset) if slope > 0.0 else constant_sigmoid(prior)


def _least_squares(values: Array, target: Array, weight: Array, penalty: float) -> tuple[float, float]:
    """Slope and offset that minimise the regularised squares."""
    mean, spread = centre_and_spread(values, weight)
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

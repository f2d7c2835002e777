"""Mixtures of models, weighted by their leave-one-out probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["stacking_weights"]

Array = NDArray[np.float64]

MAX_ROUNDS = 10_000
CONVERGED = 1e-10  # gain of the mean log-likelihood in one round
NEGLIGIBLE = 1e-3  # weight of a model that is dropped


def stacking_weights(likelihood: Array, weight: Array) -> Array:
    r"""Weights of the mixture that maximises the leave-one-out log-likelihood, by EM.

    .. math:: \max_w \sum_i \log \sum_k w_k \, p_k(y_i | x_i, D_{-i}), \qquad
              w \ge 0, \; \sum_k w_k = 1

    The problem is concave. Models of weight below 1e-3 are dropped, and the rest weighted anew.

    Parameters
    ----------
    likelihood : array of shape (n_samples, n_models)
        What each model says of the true class, above 0.
    weight : array of shape (n_samples,)
        Of the samples.

    Returns
    -------
    array of shape (n_models,)
        0 for the models dropped.

    References
    ----------
    Yao, Vehtari, Simpson and Gelman, "Using stacking to average Bayesian predictive
    distributions", Bayesian Analysis 13(3), 2018.
    """
    found = _expectation_maximisation(likelihood, weight)
    kept = np.flatnonzero(found >= NEGLIGIBLE)
    weights = np.zeros(likelihood.shape[1])
    weights[kept] = _expectation_maximisation(likelihood[:, kept], weight)
    return weights


def _expectation_maximisation(likelihood: Array, weight: Array) -> Array:
    weights = np.full(likelihood.shape[1], 1.0 / likelihood.shape[1])
    share = weight / weight.sum()
    before = -np.inf
    for _ in range(MAX_ROUNDS):
        mixed = likelihood @ weights
        value = float(share @ np.log(mixed))
        if value - before <= CONVERGED:
            break
        before = value
        weights = weights * ((share / mixed) @ likelihood)
        weights /= weights.sum()
    return weights

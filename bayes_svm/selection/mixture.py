"""Mixtures of models, with weights that maximise the left-out likelihood."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from bayes_svm.utils.types import Array
from bayes_svm.utils.warn import warn

__all__ = ["log_shares", "pooled", "stacking_weights"]


# Pseudo-counts that all models share, so that few data rule out no model.
PRIOR = 1.0
# A model is dropped if its weight is below this share of the largest.
NEGLIGIBLE = 0.1
# Largest number of Newton steps.
MAX_STEPS = 200
# Newton's method ends when half of the squared decrement, per unit of sample weight, is below this.
CONVERGED = 1e-9
# Prior standard deviation of the logarithm of the weights' sum.
LOG_SUM_SD = 0.2
# The logarithm of the weights' sum is searched within plus and minus this.
MOST_LOG_SUM = 1.0
# Log-probabilities below this are raised to it.
LOWEST = float(np.log(np.finfo(float).tiny))


def pooled(logs: Array, weights: Array, base: Array) -> Array:
    r"""Log-probabilities of the logarithmic pool.

    .. math:: p(y | x) \propto \pi_y^{1 - \sum_k w_k} \prod_k p_k(y | x)^{w_k}

    Parameters
    ----------
    logs : array of shape (n_models, n_samples, n_classes)
        Log-probabilities of every model.
    weights : array of shape (n_models,)
        Weights of the models. If they sum to more than 1, the pool is more certain than its models are
        on average.
    base : array of shape (n_classes,)
        Logarithms of the classes' shares :math:`\pi`.

    Returns
    -------
    array of shape (n_samples, n_classes)
        Log-probabilities of the pool.
    """
    mean = np.tensordot(weights, np.maximum(logs, LOWEST), axes=1) + (1.0 - weights.sum()) * base
    return np.asarray(mean - logsumexp(mean, axis=1, keepdims=True))


def log_shares(y: NDArray[np.intp], weight: Array, n_classes: int) -> Array:
    """Logarithms of the classes' shares of the total sample weight."""
    counts = np.bincount(y, weights=weight, minlength=n_classes)
    return np.asarray(np.log(np.maximum(counts / counts.sum(), np.exp(LOWEST))))


def stacking_weights(logs: Array, y: NDArray[np.intp], weight: Array, base: Array) -> Array:
    r"""Weights of the pool that maximises the left-out log-likelihood.

    .. math:: \max_{v, s} \; \sum_i \log p_{s v}(y_i | x_i) + \frac{1}{K} \sum_k \log v_k
              - \frac{(\log s)^2}{2 \cdot 0.2^2}, \qquad v > 0, \; \sum_k v_k = 1

    The first step takes s = 1. That problem is concave and solved by Newton's method; its second term
    is a prior worth one observation. Models of less than a tenth of the largest weight are dropped, and
    the others are weighted anew. The second step finds s. It is above 1 for models whose errors are
    independent: together they know more than each does alone, so their mean is not certain enough.

    Parameters
    ----------
    logs : array of shape (n_models, n_samples, n_classes)
        Left-out log-probabilities of every model.
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
        Sample weights.
    base : array of shape (n_classes,)
        Logarithms of the classes' shares.

    Returns
    -------
    array of shape (n_models,)
        The weights s v; 0 for a model that is dropped.

    Warns
    -----
    ConvergenceWarning
        If Newton's method does not converge.
    """
    logs = np.maximum(logs, LOWEST)
    found = _newton(logs, y, weight)
    kept = np.flatnonzero(found >= NEGLIGIBLE * found.max())
    weights = np.zeros(len(logs))
    weights[kept] = _newton(logs[kept], y, weight)
    rows = np.arange(len(y))

    def loss(log_sum: float) -> float:
        own = pooled(logs[kept], np.exp(log_sum) * weights[kept], base)[rows, y]
        return float(-weight @ own + 0.5 * (log_sum / LOG_SUM_SD) ** 2)

    if len(kept) == 1:
        return weights
    best = minimize_scalar(
        loss, bounds=(-MOST_LOG_SUM, MOST_LOG_SUM), method="bounded", options={"xatol": 1e-10}
    )
    return np.asarray(np.exp(best.x) * weights)


def _objective(logs: Array, y: NDArray[np.intp], weight: Array, weights: Array) -> float:
    mean = np.tensordot(weights, logs, axes=1)
    own = mean[np.arange(len(y)), y] - logsumexp(mean, axis=1)
    return float(weight @ own + PRIOR * np.log(weights).mean())


def _newton(logs: Array, y: NDArray[np.intp], weight: Array) -> Array:
    """Weights on the simplex, by Newton's method with step halving."""
    n_models, n_samples = logs.shape[:2]
    weights = np.full(n_models, 1.0 / n_models)
    value = _objective(logs, y, weight, weights)
    truth = logs[:, np.arange(n_samples), y]
    for _ in range(MAX_STEPS):
        probability = np.exp(pooled(logs, weights, np.zeros(logs.shape[2])))
        mean = np.einsum("kic,ic->ki", logs, probability)
        gradient = (truth - mean) @ weight + PRIOR / n_models / weights
        spread = ((logs - mean[:, :, None]) * np.sqrt(weight[:, None] * probability)).reshape(n_models, -1)
        hessian = spread @ spread.T + np.diag(PRIOR / n_models / weights**2)
        # The weights must keep their sum, so the step must sum to 0.
        both = np.linalg.solve(hessian, np.column_stack([gradient, np.ones(n_models)]))
        step = both[:, 0] - both[:, 1] * both[:, 0].sum() / both[:, 1].sum()
        if gradient @ step <= 2.0 * CONVERGED * weight.sum():
            break
        falling = step < 0
        length = min(1.0, 0.99 * float((weights[falling] / -step[falling]).min(initial=np.inf)))
        while (trial := _objective(logs, y, weight, weights + length * step)) < value:
            length /= 2.0
            if length < 1e-12:
                return weights
        weights, value = weights + length * step, trial
    else:
        warn("The mixture's weights did not converge: try a smaller grid.", ConvergenceWarning)
    return np.asarray(weights / weights.sum())

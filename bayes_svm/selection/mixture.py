"""Pools of models, weighted by their left-out probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from bayes_svm.utils.types import Array
from bayes_svm.utils.warn import warn

__all__ = ["log_shares", "pooled", "stacking_weights"]


PRIOR = 1.0  # pseudo-counts, shared by all models: with few data no model is ruled out
NEGLIGIBLE = 0.1  # weight of a model that is dropped, relative to the largest
MAX_STEPS = 200
CONVERGED = 1e-9  # half of the squared Newton decrement, per unit of sample weight
SHARPER = 0.2  # standard deviation, a priori, of the logarithm of the weights' sum
WIDEST = 1.0  # and the farthest that it goes
LEAST = float(np.log(np.finfo(float).tiny))  # of a log-probability


def pooled(logs: Array, weights: Array, base: Array) -> Array:
    r"""Log-probabilities of the logarithmic pool.

    .. math:: p(y | x) \propto \pi_y^{1 - \sum_k w_k} \prod_k p_k(y | x)^{w_k}

    Parameters
    ----------
    logs : array of shape (n_models, n_samples, n_classes)
        Log-probabilities of every model.
    weights : array of shape (n_models,)
        With a sum above 1 the pool is more certain than its models are on average.
    base : array of shape (n_classes,)
        Logarithms of the classes' shares :math:`\pi`.

    Returns
    -------
    array of shape (n_samples, n_classes)
    """
    mean = np.tensordot(weights, np.maximum(logs, LEAST), axes=1) + (1.0 - weights.sum()) * base
    return np.asarray(mean - logsumexp(mean, axis=1, keepdims=True))


def log_shares(y: NDArray[np.intp], weight: Array, n_classes: int) -> Array:
    """Logarithms of the classes' shares of the weight."""
    counts = np.bincount(y, weights=weight, minlength=n_classes)
    return np.asarray(np.log(np.maximum(counts / counts.sum(), np.exp(LEAST))))


def stacking_weights(logs: Array, y: NDArray[np.intp], weight: Array, base: Array) -> Array:
    r"""Weights of the pool that maximises the left-out log-likelihood.

    .. math:: \max_{v, s} \; \sum_i \log p_{s v}(y_i | x_i) + \frac{1}{K} \sum_k \log v_k
              - \frac{(\log s)^2}{2 \cdot 0.2^2}, \qquad v > 0, \; \sum_k v_k = 1

    First with s = 1, a concave problem that is solved by Newton's method; its second term is a prior of
    one observation. Models of less than a tenth of the largest weight are dropped, and the rest
    weighted anew. Then s: models that err apart from one another know more together than each by itself, and
    their mean is not certain enough.

    Parameters
    ----------
    logs : array of shape (n_models, n_samples, n_classes)
        What each model says of every sample without having seen it.
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
        Of the samples.
    base : array of shape (n_classes,)
        Logarithms of the classes' shares.

    Returns
    -------
    array of shape (n_models,)
        The weights s v, 0 for the models dropped.

    Warns
    -----
    ConvergenceWarning
        If Newton's method does not end.
    """
    logs = np.maximum(logs, LEAST)
    found = _newton(logs, y, weight)
    kept = np.flatnonzero(found >= NEGLIGIBLE * found.max())
    weights = np.zeros(len(logs))
    weights[kept] = _newton(logs[kept], y, weight)
    rows = np.arange(len(y))

    def loss(log_sum: float) -> float:
        own = pooled(logs[kept], np.exp(log_sum) * weights[kept], base)[rows, y]
        return float(-weight @ own + 0.5 * (log_sum / SHARPER) ** 2)

    if len(kept) == 1:
        return weights
    best = minimize_scalar(loss, bounds=(-WIDEST, WIDEST), method="bounded", options={"xatol": 1e-10})
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
        # On the simplex: steps that sum to 0.
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

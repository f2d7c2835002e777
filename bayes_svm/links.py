"""From decision values (and their variance) to probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expit, log_expit, log_ndtr, logsumexp
from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "KwokLink",
    "Link",
    "SigmoidLink",
    "class_log_odds",
    "fit_sigmoid",
    "fit_sigmoids",
    "log_probabilities",
]

Array = NDArray[np.float64]


class Link(Protocol):
    """Log-odds of the positive class from a decision value and its posterior variance."""

    needs_variance: bool

    def log_odds(self, values: Array, variance: Array | None = None) -> Array:
        """Log-odds of the positive class."""
        ...


@dataclass(frozen=True)
class SigmoidLink:
    r"""Platt's sigmoid: ``p(+ | f) = 1 / (1 + exp(-(slope f + offset)))``, slope at least 0.

    Parameters
    ----------
    slope, offset : float
    """

    slope: float
    offset: float
    needs_variance = False

    def log_odds(self, values: Array, variance: Array | None = None) -> Array:
        """``slope * values + offset``; the variance is not used."""
        return np.asarray(self.slope * values + self.offset)


@dataclass(frozen=True)
class KwokLink:
    r"""Kwok's moderated output: the unnormalised hinge likelihood averaged over the posterior.

    .. math:: p_\pm(a, s) = \int e^{-[1 \mp t]_+} N(t; a, s^2) \, dt, \qquad
              p(+) = \frac{p_+}{p_+ + p_-}

    (equations 10 and 11 of Kwok 1999). Nothing is fitted.
    """

    needs_variance = True

    def log_odds(self, values: Array, variance: Array | None = None) -> Array:
        """Log-odds for decision values a and variances s^2; s = 0 is the unmoderated output."""
        a = np.asarray(values, dtype=np.float64)
        s = np.zeros_like(a) if variance is None else np.sqrt(np.asarray(variance, dtype=np.float64))
        return np.asarray(_log_mean_likelihood(a, s) - _log_mean_likelihood(-a, s))


def _log_mean_likelihood(a: Array, s: Array) -> Array:
    """``log of the mean of exp(-[1 - t]_+)`` over t normal with mean a and deviation s.

    The integral below the hinge is ``exp(s^2/2 + a - 1) Phi(-x)``, ``x = s + (a - 1)/s``. For
    x > 0 its two factors nearly cancel, and are written as one with the scaled erfc.
    """
    hinge = np.minimum(0.0, a - 1.0)
    safe = np.where(s > 0, s, 1.0)
    margin = (a - 1.0) / safe
    x = safe + margin
    with np.errstate(divide="ignore", over="ignore"):
        small = -0.5 * margin**2 + np.log(0.5 * erfcx(np.maximum(x, 0.0) / np.sqrt(2.0)))
    below = np.where(x > 0, small, 0.5 * safe**2 + a - 1.0 + log_ndtr(-x))
    return np.asarray(np.where(s > 0, np.logaddexp(below, log_ndtr(margin)), hinge))


def fit_sigmoid(values: Array, positive: NDArray[np.bool_], weight: Array, smoothing: float) -> SigmoidLink:
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
        With slope 0, the share of the positives, if the values rank the classes no better than chance.

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
    mean = np.average(values, weights=weight)
    spread = float(np.sqrt(np.average((values - mean) ** 2, weights=weight)))
    prior = float(np.log(n_positive / n_negative))
    if spread <= 1e-12 * max(1.0, float(np.abs(values).max())):
        slope = 0.0
    else:
        slope, offset = _newton((values - mean) / spread, target, weight, prior)
        slope /= spread
    if slope <= 0.0:
        warnings.warn(
            "The decision values do not separate the classes: the class prior is returned as the "
            "probability. Check the features' scale, C and the kernel's parameters.",
            UserWarning,
            stacklevel=4,
        )
        return SigmoidLink(slope=0.0, offset=prior)
    return SigmoidLink(slope=slope, offset=float(offset - slope * mean))


def _cross_entropy(score: Array, target: Array, weight: Array) -> float:
    return float(weight @ (np.logaddexp(0.0, score) - target * score))


def _newton(values: Array, target: Array, weight: Array, offset: float) -> tuple[float, float]:
    """Slope and offset of least cross-entropy, by Newton's method with step halving."""
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
            "The sigmoid's fit did not converge: raise smoothing.", ConvergenceWarning, stacklevel=5
        )
    return float(parameters[0]), float(parameters[1])


def fit_sigmoids(values: Array, y: NDArray[np.intp], weight: Array, smoothing: float) -> list[SigmoidLink]:
    """One sigmoid for (n,) values of two classes, or one per column of (n, n_classes).

    Parameters
    ----------
    values : array of shape (n_samples,) or (n_samples, n_classes)
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
    smoothing : float
    """
    if values.ndim == 1:
        return [fit_sigmoid(values, y == 1, weight, smoothing)]
    return [fit_sigmoid(values[:, k], y == k, weight, smoothing) for k in range(values.shape[1])]


def class_log_odds(links: Sequence[Link], values: Array, variance: Array | None) -> Array:
    """Log-odds of the positive class (one link), or of every class against the rest.

    Parameters
    ----------
    links : sequence of Link
        One for two classes, otherwise one per class.
    values : array of shape (n_samples,) or (n_samples, n_classes)
        Decision values.
    variance : array like values, or None

    Returns
    -------
    array of the shape of ``values``
    """
    if values.ndim == 1:
        return links[0].log_odds(values, variance)
    return np.column_stack(
        [
            link.log_odds(values[:, k], None if variance is None else variance[:, k])
            for k, link in enumerate(links)
        ]
    )


def log_probabilities(log_odds: Array) -> Array:
    """Log-probabilities of all classes; one-versus-rest probabilities are normalised.

    Parameters
    ----------
    log_odds : array of shape (n_samples,) or (n_samples, n_classes)

    Returns
    -------
    array of shape (n_samples, n_classes)
    """
    if log_odds.ndim == 1:
        return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
    logs = log_expit(log_odds)
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))

"""From decision values, and how uncertain they are, to probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_expit, log_ndtr, logit, logsumexp
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from bayes_svm.calibration import SigmoidLink, fit_dumais, fit_sigmoid

__all__ = [
    "LINK_NAMES",
    "CalibratorLink",
    "ClippedLink",
    "HingeLink",
    "KwokLink",
    "Link",
    "ModeratedLink",
    "SigmoidLink",
    "Uncertainty",
    "class_log_odds",
    "fit_links",
    "log_probabilities",
]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

LINK_NAMES = ("moderated", "sigmoid", "kwok", "hinge", "clipped", "dumais")
LITTLE, SHARE = 0.05, 0.2  # quantile of the training points' information, and share of it: see ModeratedLink
LEAST = 1e-12  # information, in units of the prior's precision, that is none: rounding is less
NODES, WEIGHTS = (part[5:] for part in np.polynomial.legendre.leggauss(10))  # the positive ones
SMALL = 0.1  # decision values, in units of the larger of 1 and s, whose log-odds are integrated
TIE = 1e-9  # log-odds that are all but 0


class Uncertainty(NamedTuple):
    """Posterior and prior variance of decision values, arrays of their shape."""

    variance: Array
    prior: Array

    @property
    def information(self) -> Array:
        """What the data say about each value: ``1 / variance - 1 / prior``, infinite where it is known."""
        with np.errstate(divide="ignore", invalid="ignore"):
            known = 1.0 / self.variance - 1.0 / self.prior
        return np.asarray(np.where(self.variance > 0.0, np.maximum(0.0, known), np.inf))

    def column(self, k: int) -> Uncertainty:
        """Of the k-th of several machines."""
        return Uncertainty(self.variance[:, k], self.prior[:, k])


class Link(Protocol):
    """Log-odds of the positive class from a decision value and how uncertain it is."""

    needs_variance: bool

    def log_odds(self, values: Array, uncertainty: Uncertainty | None = None) -> Array:
        """Log-odds of the positive class."""
        ...


@dataclass(frozen=True)
class ModeratedLink:
    r"""Platt's sigmoid, moderated where the data say less than about any point they hold.

    .. math:: \log \frac{p(+)}{p(-)} = (A f(x) + B) \min \left( 1, \frac{I(x)}{I_0} \right),
              \qquad I(x) = \frac{1}{s^2(x)} - \frac{1}{k(x, x) / \lambda}

    The information I is the precision that the data add to the prior's about f(x), in Kwok's
    posterior; :math:`I_0` is a fifth of what 95 % of the training points exceed, each left out
    itself, but no less than 1e-12 of the prior's precision. Among the data next to nothing is
    moderated, and the sigmoid is as well calibrated as without; away from them the probability goes
    to 1/2, with any kernel: with a polynomial one f grows, but the information falls as its square.

    Parameters
    ----------
    sigmoid : SigmoidLink
    reference : float
        The information :math:`I_0`; 0, where none is known, moderates nothing.
    """

    sigmoid: SigmoidLink
    reference: float
    needs_variance = True

    @classmethod
    def of(cls, sigmoid: SigmoidLink, left_out: Uncertainty | None, weight: Array) -> ModeratedLink:
        """From the uncertainty about training points, each left out itself, and their weights."""
        if left_out is None:
            return cls(sigmoid, 0.0)
        known = left_out.information
        order = np.argsort(known, kind="stable")
        mass = np.cumsum(weight[order])
        little = float(known[order[np.searchsorted(mass, LITTLE * mass[-1])]])
        prior = left_out.prior[(weight > 0) & (left_out.prior > 0)]
        least = LEAST / float(np.median(prior)) if len(prior) else 0.0
        return cls(sigmoid, max(SHARE * little, least) if np.isfinite(little) else least)

    def log_odds(self, values: Array, uncertainty: Uncertainty | None = None) -> Array:
        """The sigmoid's log-odds times the factor; without an uncertainty they are the sigmoid's."""
        log_odds = self.sigmoid.log_odds(values)
        if uncertainty is None or self.reference == 0.0:
            return log_odds
        share = uncertainty.information / self.reference
        # Where nothing is known, the order of the classes stays what it is.
        moderated = log_odds * np.minimum(share, 1.0) + TIE * log_odds / (1.0 + np.abs(log_odds))
        return np.where(share < 1.0, moderated, log_odds)


@dataclass(frozen=True)
class KwokLink:
    r"""Kwok's moderated output: the unnormalised hinge likelihood averaged over the posterior.

    .. math:: p_\pm(a, s) = \int e^{-[1 \mp t]_+} N(t; a, s^2) \, dt, \qquad
              p(+) = \frac{p_+}{p_+ + p_-}

    (equations 10 and 11 of Kwok 1999). Nothing is fitted.
    """

    needs_variance = True

    def log_odds(self, values: Array, uncertainty: Uncertainty | None = None) -> Array:
        """Log-odds for decision values a and variances s^2; s = 0 is the unmoderated output."""
        a = np.asarray(values, dtype=np.float64)
        s = np.zeros_like(a) if uncertainty is None else np.sqrt(uncertainty.variance)
        apart = _log_mean_likelihood(a, s) - _log_mean_likelihood(-a, s)
        # Near 0 the two cancel: there their difference is the integral of the slope from -a to a.
        small = np.abs(a) <= SMALL * np.maximum(1.0, s)
        size = np.abs(a[small])
        slopes = [
            weight * (_slope(node * size, s[small]) + _slope(-node * size, s[small]))
            for node, weight in zip(NODES, WEIGHTS, strict=True)
        ]
        apart[small] = a[small] * np.sum(slopes, axis=0)
        return np.asarray(apart)


def _log_mean_likelihood(a: Array, s: Array) -> Array:
    """``log of the mean of exp(-[1 - t]_+)`` over t normal with mean a and deviation s."""
    hinge = np.minimum(0.0, a - 1.0)
    return np.asarray(np.where(s > 0, np.logaddexp(*_log_parts(a, s)), hinge))


def _slope(a: Array, s: Array) -> Array:
    """Derivative of :func:`_log_mean_likelihood` by a: the share of the part below the hinge."""
    below, above = _log_parts(a, s)
    return np.asarray(np.where(s > 0, np.exp(below - np.logaddexp(below, above)), (a < 1.0).astype(float)))


def _log_parts(a: Array, s: Array) -> tuple[Array, Array]:
    """Logarithms of the mean's parts from t below 1 and from t above; of no meaning where s is 0.

    The integral below the hinge is ``exp(s^2/2 + a - 1) Phi(-x)``, ``x = s + (a - 1)/s``. For
    x > 0 its two factors nearly cancel, and are written as one with the scaled erfc.
    """
    safe = np.where(s > 0, s, 1.0)
    margin = (a - 1.0) / safe
    x = safe + margin
    with np.errstate(divide="ignore", over="ignore"):
        small = -0.5 * margin**2 + np.log(0.5 * erfcx(np.maximum(x, 0.0) / np.sqrt(2.0)))
    below = np.where(x > 0, small, 0.5 * safe**2 + a - 1.0 + log_ndtr(-x))
    return np.asarray(below), np.asarray(log_ndtr(margin))


@dataclass(frozen=True)
class HingeLink:
    r"""The unmoderated estimate (Kwok 1999, equation 16).

    .. math:: p(+) = \frac{e^{-[1 - a]_+}}{e^{-[1 - a]_+} + e^{-[1 + a]_+}}
    """

    needs_variance = False

    def log_odds(self, values: Array, uncertainty: Uncertainty | None = None) -> Array:
        """``[1 + a]_+ - [1 - a]_+``, which is a plus a clipped to [-1, 1]."""
        return np.asarray(values + np.clip(values, -1.0, 1.0))


@dataclass(frozen=True)
class ClippedLink:
    """The decision value clipped to [-1, 1] as a probability, ``(1 + a) / 2``: 0 and 1 are certain."""

    needs_variance = False

    def log_odds(self, values: Array, uncertainty: Uncertainty | None = None) -> Array:
        """Infinite from the margin on."""
        with np.errstate(divide="ignore"):
            return np.asarray(logit((1.0 + np.clip(values, -1.0, 1.0)) / 2.0))


@dataclass(frozen=True)
class CalibratorLink:
    """A scikit-learn classifier or regressor of one feature, fitted to tell the positive class."""

    calibrator: Any
    needs_variance = False

    @classmethod
    def fit(cls, calibrator: Any, values: Array, positive: Mask, weight: Array) -> CalibratorLink:
        """A clone of ``calibrator`` fitted on decision values.

        Raises
        ------
        ValueError
            If rows have different weights and it takes none, or it is a classifier without probabilities.
        """
        if isinstance(calibrator, type) or (
            is_classifier(calibrator) and not hasattr(calibrator, "predict_proba")
        ):
            raise ValueError(f"link={calibrator} is no regressor and no classifier with predict_proba.")
        fitted, features = clone(calibrator), values[:, None]
        if has_fit_parameter(fitted, "sample_weight"):
            return cls(fitted.fit(features, positive.astype(int), sample_weight=weight))
        if np.ptp(weight) > 0:
            raise ValueError(f"link={calibrator} takes no sample weights: use another, or equal weights.")
        return cls(fitted.fit(features, positive.astype(int)))

    def log_odds(self, values: Array, uncertainty: Uncertainty | None = None) -> Array:
        """Log-odds of the calibrator's probability, which double precision keeps from 0 and 1."""
        if hasattr(self.calibrator, "predict_proba"):
            probability = self.calibrator.predict_proba(values[:, None])[:, 1]
        else:
            probability = np.asarray(self.calibrator.predict(values[:, None]), dtype=np.float64).ravel()
            if not np.isfinite(probability).all():
                raise ValueError(
                    f"link={self.calibrator} gives NaN beyond the values it was fitted on: an "
                    'IsotonicRegression needs out_of_bounds="clip".'
                )
        least = np.finfo(float).eps
        return np.asarray(logit(np.clip(probability, least, 1.0 - least)))


def fit_links(
    link: Any,
    values: Array,
    y: NDArray[np.intp],
    weight: Array,
    smoothing: float,
    left_out: Uncertainty | None = None,
) -> list[Link]:
    """One link for (n,) decision values of two classes, or one per column of (n, n_classes).

    Parameters
    ----------
    link : str or estimator
        One of :data:`LINK_NAMES`, or a scikit-learn classifier or regressor of one feature.
    values : array of shape (n_samples,) or (n_samples, n_classes)
        Decision values of points that the machine has not seen.
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
    smoothing : float
        Of the sigmoid's targets, as in :func:`bayes_svm.calibration.fit_sigmoid`.
    left_out : Uncertainty, optional
        About ``values``, for a moderated link.
    """
    if values.ndim == 1:
        return [_fit_link(link, values, y == 1, weight, smoothing, left_out)]
    parts = [None if left_out is None else left_out.column(k) for k in range(values.shape[1])]
    return [_fit_link(link, values[:, k], y == k, weight, smoothing, part) for k, part in enumerate(parts)]


def _fit_link(
    link: Any,
    values: Array,
    positive: Mask,
    weight: Array,
    smoothing: float,
    left_out: Uncertainty | None,
) -> Link:
    formulas: dict[str, Link] = {"kwok": KwokLink(), "hinge": HingeLink(), "clipped": ClippedLink()}
    if not isinstance(link, str):
        return CalibratorLink.fit(link, values, positive, weight)
    if link in formulas:
        return formulas[link]
    if link == "dumais":
        return fit_dumais(values, positive, weight)
    sigmoid = fit_sigmoid(values, positive, weight, smoothing)
    return sigmoid if link == "sigmoid" else ModeratedLink.of(sigmoid, left_out, weight)


def class_log_odds(links: Sequence[Link], values: Array, uncertainty: Uncertainty | None) -> Array:
    """Log-odds of the positive class (one link), or of every class against the rest.

    Parameters
    ----------
    links : sequence of Link
        One for two classes, otherwise one per class.
    values : array of shape (n_samples,) or (n_samples, n_classes)
        Decision values.
    uncertainty : Uncertainty of arrays like values, or None

    Returns
    -------
    array of the shape of ``values``
    """
    if values.ndim == 1:
        return links[0].log_odds(values, uncertainty)
    return np.column_stack(
        [
            link.log_odds(values[:, k], None if uncertainty is None else uncertainty.column(k))
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
    none = np.isneginf(logs).all(axis=1)  # every class ruled out: they are equals
    logs[none] = 0.0
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))

"""Links of Kwok 1999, in which nothing is fitted: moderated, unmoderated and clipped outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr, logit

from bayes_svm.probability.link import Link
from bayes_svm.utils.types import Array

__all__ = ["ClippedLink", "HingeLink", "KwokLink"]

# The positive nodes of a Gauss-Legendre rule of ten.
NODES, WEIGHTS = (part[5:] for part in np.polynomial.legendre.leggauss(10))
# Decision values, in units of the larger of 1 and s, up to which log-odds are integrated.
SMALL = 0.1


@dataclass(frozen=True)
class KwokLink(Link):
    r"""Kwok's moderated output: the unnormalised hinge likelihood averaged over the posterior.

    .. math:: p_\pm(a, s) = \int e^{-[1 \mp t]_+} N(t; a, s^2) \, dt, \qquad
              p(+) = \frac{p_+}{p_+ + p_-}

    (equations 10 and 11 of Kwok 1999). Nothing is fitted.

    Parameters
    ----------
    boundary : float
        Log-odds where the machine is undecided, which are added: with class weights it is that of
        a population with the classes so weighted.
    """

    boundary: float = 0.0

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Log-odds for decision values a and variances s^2; s = 0 is the unmoderated output."""
        a = np.asarray(values, dtype=np.float64)
        s = np.zeros_like(a) if reading is None else np.sqrt(reading)
        apart = _log_mean_likelihood(a, s) - _log_mean_likelihood(-a, s)
        # Near 0 the two cancel: there their difference is the integral of the slope from -a to a.
        small = np.abs(a) <= SMALL * np.maximum(1.0, s)
        size = np.abs(a[small])
        slopes = [
            weight * (_slope(node * size, s[small]) + _slope(-node * size, s[small]))
            for node, weight in zip(NODES, WEIGHTS, strict=True)
        ]
        apart[small] = a[small] * np.sum(slopes, axis=0)
        return np.asarray(apart + self.boundary)


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
class HingeLink(Link):
    r"""The unmoderated estimate (Kwok 1999, equation 16).

    .. math:: p(+) = \frac{e^{-[1 - a]_+}}{e^{-[1 - a]_+} + e^{-[1 + a]_+}}

    ``boundary`` as in :class:`KwokLink`.
    """

    boundary: float = 0.0

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """``[1 + a]_+ - [1 - a]_+``, which is a plus a clipped to [-1, 1]."""
        return np.asarray(values + np.clip(values, -1.0, 1.0) + self.boundary)


@dataclass(frozen=True)
class ClippedLink(Link):
    """The decision value clipped to [-1, 1] as a probability, ``(1 + a) / 2``: 0 and 1 are certain.

    ``boundary`` as in :class:`KwokLink`.
    """

    boundary: float = 0.0

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Infinite from the margin on."""
        with np.errstate(divide="ignore"):
            return np.asarray(logit((1.0 + np.clip(values, -1.0, 1.0)) / 2.0) + self.boundary)

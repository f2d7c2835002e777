"""Links of Kwok 1999, formulas without fitted parameters: moderated, unmoderated and clipped outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr, logit

from bayes_svm.probability.link import Link
from bayes_svm.utils.types import Array

__all__ = ["ON_MARGIN", "ClippedLink", "HingeLink", "KwokLink"]

# The five positive nodes of the Gauss-Legendre rule with ten nodes, and their weights.
NODES, WEIGHTS = (part[5:] for part in np.polynomial.legendre.leggauss(10))
# Decision values below this, in units of max(1, s), lose digits in the difference of the two integrals.
CANCELLATION = 0.1
# Decision values that differ from 1 by no more than this are on the margin: they are known no better.
ON_MARGIN = 1e-9


@dataclass(frozen=True)
class KwokLink(Link):
    r"""Kwok's moderated output: the unnormalised hinge likelihood averaged over the posterior.

    .. math:: p_\pm(a, s) = \int e^{-[1 \mp t]_+} N(t; a, s^2) \, dt, \qquad
              p(+) = \frac{p_+}{p_+ + p_-}

    (equations 10 and 11 of Kwok 1999). Nothing is fitted.

    Parameters
    ----------
    boundary : float, default=0.0
        Log-odds where the machine is undecided, added to those of the output. A machine with class weights
        has learnt a population with the classes so weighted; this leads back to the one of the data.
    """

    boundary: float = 0.0

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Log-odds at decision values a with posterior variances s^2; no reading means s = 0, unmoderated."""
        a = np.asarray(values, dtype=np.float64)
        s = np.zeros_like(a) if reading is None else np.sqrt(reading)
        apart = _log_mean_likelihood(a, s) - _log_mean_likelihood(-a, s)
        # Near 0 the two terms cancel: there, integrate the derivative of the difference from -a to a.
        small = np.abs(a) <= CANCELLATION * np.maximum(1.0, s)
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
    """Derivative of :func:`_log_mean_likelihood` by a: the share of the integral from t < 1."""
    below, above = _log_parts(a, s)
    return np.asarray(np.where(s > 0, np.exp(below - np.logaddexp(below, above)), (a < 1.0).astype(float)))


def _log_parts(a: Array, s: Array) -> tuple[Array, Array]:
    """Logarithms of the parts of the mean from t < 1 and from t > 1; meaningless where s is 0.

    The part from t < 1 is ``exp(s^2/2 + a - 1) Phi(-x)`` with ``x = s + (a - 1)/s``. For x > 0 one factor
    is huge and the other tiny: the scaled complementary error function computes their product.
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
    r"""Kwok's unmoderated output (Kwok 1999, equation 16).

    .. math:: p(+) = \frac{e^{-[1 - a]_+}}{e^{-[1 - a]_+} + e^{-[1 + a]_+}}

    Parameters
    ----------
    boundary : float, default=0.0
        Log-odds where the machine is undecided, as in :class:`KwokLink`.
    """

    boundary: float = 0.0

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """``[1 + a]_+ - [1 - a]_+``, which equals a plus a clipped to [-1, 1]."""
        return np.asarray(values + np.clip(values, -1.0, 1.0) + self.boundary)


@dataclass(frozen=True)
class ClippedLink(Link):
    """Probability ``(1 + a) / 2``, with the decision value a clipped to [-1, 1].

    Parameters
    ----------
    boundary : float, default=0.0
        Log-odds where the machine is undecided, as in :class:`KwokLink`.
    """

    boundary: float = 0.0

    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Log-odds of the clipped values; infinite on the margin, to 1e-9, and beyond it."""
        # Where all machines say -1, rounding must not make one of the classes certain.
        clipped = np.where(np.abs(values) > 1.0 - ON_MARGIN, np.sign(values), values)
        with np.errstate(divide="ignore"):
            return np.asarray(logit((1.0 + clipped) / 2.0) + self.boundary)

"""Platt's sigmoid as a link, with the confidence band of its probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri

from bayes_svm.probability.link import Link
from bayes_svm.utils.types import Array
from bayes_svm.utils.warn import warn

__all__ = ["INSEPARABLE", "SigmoidLink", "constant_sigmoid"]

INSEPARABLE = (
    "The decision values do not separate the classes: the probabilities hardly differ from the class prior. "
    "Check the features' scale, C and the kernel's parameters."
)


@dataclass(frozen=True)
class SigmoidLink(Link):
    r"""Platt's sigmoid: ``p(+ | f) = 1 / (1 + exp(-(slope f + offset)))``, slope at least 0.

    The sigmoid saturates outside ``[low, high]``, the range of the values that it was fitted to. Where a
    straight line would add t to the log-odds at the end of that range, the sigmoid adds ``t / (1 + t)``,
    which is less than 1: of such values only their order is known.

    Parameters
    ----------
    slope : float
        Increase of the log-odds per unit of the decision value.
    offset : float
        Log-odds at the decision value 0.
    covariance : tuple of float
        Variance of the slope, covariance of slope and offset, variance of the offset: the inverse of the
        expected Hessian of the log posterior. NaN for a sigmoid that was not fitted by likelihood.
    low, high : float
        Range of the values that it was fitted to, extended towards f = 0 if the prior holds the offset to
        the machine's boundary. Infinite for a sigmoid that does not saturate.
    """

    slope: float
    offset: float
    covariance: tuple[float, float, float] = (np.nan, np.nan, np.nan)
    low: float = -np.inf
    high: float = np.inf

    def log_odds(self, values: Array, reading: object = None) -> Array:
        """Log-odds at decision values. The sigmoid needs nothing of the posterior: ``reading`` is ignored."""
        return np.asarray(self.slope * self._within(values) + self.offset)

    def _within(self, values: Array) -> Array:
        """Values outside ``[low, high]`` moved to within ``1 / slope`` of it; their order is kept."""
        if self.slope == 0.0 or not np.isfinite(self.high - self.low):
            return values
        inside = np.clip(values, self.low, self.high)
        beyond = self.slope * np.abs(values - inside)
        return np.asarray(inside + np.sign(values - inside) * (1.0 - 1.0 / (1.0 + beyond)) / self.slope)

    @property
    def standard_errors(self) -> tuple[float, float]:
        """Standard errors of the slope and of the offset."""
        return float(np.sqrt(self.covariance[0])), float(np.sqrt(self.covariance[2]))

    def band(self, values: Array, level: float = 0.95) -> tuple[Array, Array]:
        """Pointwise confidence band of the probability, from the errors of slope and offset.

        Parameters
        ----------
        values : array
            Decision values.
        level : float, default=0.95
            Confidence level, between 0 and 1.

        Returns
        -------
        low, high : arrays of the shape of ``values``
            Ends of the band, probabilities of the positive class.

        Raises
        ------
        ValueError
            If the level is not between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level={level} is not between 0 and 1.")
        slope_variance, both, offset_variance = self.covariance
        inside = self._within(np.asarray(values, dtype=np.float64))
        spread = np.sqrt(slope_variance * inside**2 + 2.0 * both * inside + offset_variance)
        reach = ndtri(0.5 + level / 2.0) * spread
        centre = self.log_odds(values)
        return np.asarray(expit(centre - reach)), np.asarray(expit(centre + reach))


def constant_sigmoid(log_odds: float) -> SigmoidLink:
    """The same probability everywhere, with a warning."""
    warn(INSEPARABLE)
    return SigmoidLink(slope=0.0, offset=log_odds)

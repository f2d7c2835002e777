"""Curvature of the smoothed hinge, from which the posterior is made."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from bayes_svm.utils.types import Array

__all__ = ["SHARPNESS", "curvature_slope", "hinge_curvature"]

# Kwok's eta: the hinge is smoothed over about 1 / eta of the margin.
SHARPNESS = 3.0


def hinge_curvature(margin: Array, smoothing: str = "swish", sharpness: float = SHARPNESS) -> Array:
    r"""Curvature of the smoothed hinge at ``u = 1 - y f``, never below 0.

    .. math:: \text{swish: } \; u \sigma(\eta u), \quad
              r(u) = \max(0, \; u \sigma''(\eta u) + 2 \sigma'(\eta u)); \qquad
              \text{softplus: } \; \tfrac{1}{\eta} \log(1 + e^{\eta u}), \quad
              r(u) = \eta \, \sigma (1 - \sigma)

    with :math:`\sigma(u) = 1 / (1 + e^{-\eta u})`. The first is Kwok's (below his equation 12),
    negative where ``eta |u| > 2.4`` and cut there: only points near the margin carry curvature,
    so that its cost follows their number. The second is positive everywhere.

    Parameters
    ----------
    margin : array
        ``y f``.
    smoothing : {"swish", "softplus"}, default="swish"
    sharpness : float
        eta.
    """
    u = sharpness * (1.0 - margin)
    s = expit(u)
    slope = sharpness * s * (1.0 - s)
    if smoothing == "softplus":
        return np.asarray(slope)
    return np.asarray(np.maximum(0.0, slope * (2.0 - u * np.tanh(u / 2.0))))


def curvature_slope(margin: Array, sharpness: float = SHARPNESS) -> Array:
    """Derivative of the swish's :func:`hinge_curvature` by the margin ``y f``.

    Parameters
    ----------
    margin : array
    sharpness : float
        eta.
    """
    u = sharpness * (1.0 - margin)
    s, bend = expit(u), np.tanh(u / 2.0)
    slope = sharpness**2 * s * (1.0 - s) * (3.0 * bend + 0.5 * u - 1.5 * u * bend**2)
    return np.asarray(np.where(u * bend < 2.0, slope, 0.0))

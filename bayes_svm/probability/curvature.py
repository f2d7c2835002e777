"""Curvature of the smoothed hinge loss, of which the posterior's Hessian is made."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from bayes_svm.utils.types import Array

__all__ = ["SHARPNESS", "curvature_slope", "hinge_curvature"]

# Kwok's eta: the kink of the hinge is smoothed over a width of about 1 / eta.
SHARPNESS = 3.0


def hinge_curvature(margin: Array, smoothing: str = "swish", sharpness: float = SHARPNESS) -> Array:
    r"""Curvature of the smoothed hinge loss at :math:`u = 1 - y f`, at least 0.

    .. math:: \text{swish: } \; u s(u), \quad r(u) = \max(0, \; u s''(u) + 2 s'(u)); \qquad
              \text{softplus: } \; \tfrac{1}{\eta} \log(1 + e^{\eta u}), \quad r(u) = \eta \, s(u) (1 - s(u))

    with :math:`s(u) = 1 / (1 + e^{-\eta u})`. The first is Kwok's (below his equation 12). Its curvature is
    negative for :math:`\eta |u| > 2.4`, and set to 0 there. Only points near the margin have curvature
    then, and the cost of the posterior depends on their number alone. The second is positive everywhere.

    Parameters
    ----------
    margin : array
        Label times decision value, ``y f``.
    smoothing : {"swish", "softplus"}, default="swish"
        How the hinge is smoothed.
    sharpness : float, default=3.0
        :math:`\eta`: the larger, the nearer to the hinge.

    Returns
    -------
    array of the shape of ``margin``
        The curvature r.
    """
    u = sharpness * (1.0 - margin)
    s = expit(u)
    slope = sharpness * s * (1.0 - s)
    if smoothing == "softplus":
        return np.asarray(slope)
    return np.asarray(np.maximum(0.0, slope * (2.0 - u * np.tanh(u / 2.0))))


def curvature_slope(margin: Array, sharpness: float = SHARPNESS) -> Array:
    """Derivative of the swish's :func:`hinge_curvature` with respect to the margin ``y f``.

    Parameters
    ----------
    margin : array
        Label times decision value, ``y f``.
    sharpness : float, default=3.0
        eta, as in :func:`hinge_curvature`.

    Returns
    -------
    array of the shape of ``margin``
        The derivative; 0 where the curvature is set to 0.
    """
    u = sharpness * (1.0 - margin)
    s, bend = expit(u), np.tanh(u / 2.0)
    slope = sharpness**2 * s * (1.0 - s) * (3.0 * bend + 0.5 * u - 1.5 * u * bend**2)
    return np.asarray(np.where(u * bend < 2.0, slope, 0.0))

"""Continuous parameters of an estimator, as points that an optimiser moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayes_svm.selection.trials import prefix_of
from bayes_svm.utils.types import Array

__all__ = ["Space"]

Parameters = dict[str, Any]

# First step along every axis of a search without a gradient, in logarithms.
STEP = 1.5


class Space:
    """Continuous parameters of an estimator, on a logarithmic scale.

    Parameters
    ----------
    estimator : BayesSVC or Pipeline
        The estimator whose parameters are searched. The search starts at its values.
    bounds : dict
        Bounds ``(low, high)`` of the parameters, as in :class:`bayes_svm.BayesSVCSearch`.

    Attributes
    ----------
    start : array of shape (n_axes,)
        Where the search starts: logarithms of the parameters.
    bounds : list of (float, float)
        Logarithms of the bounds, a pair for each axis.

    Raises
    ------
    ValueError
        If there are no bounds, or a parameter cannot be searched within them.
    """

    def __init__(self, estimator: Any, bounds: Mapping[str, tuple[float, float]]) -> None:
        if not bounds:
            raise ValueError("param_space is empty: name at least one parameter.")
        own, prefix = estimator.get_params(), prefix_of(estimator)
        self.names, self.prefix, self.kernel = list(bounds), prefix, own.get(f"{prefix}kernel")
        self.limits: dict[str, tuple[float, float]] = {}
        self.sizes, start, logs = [], [], []
        for name, pair in bounds.items():
            self.limits[name] = low, high = _checked_bounds(name, pair)
            if name == f"{prefix}kernel":
                values = self._checked_theta(low, high)
            elif name == f"{prefix}degree":
                raise ValueError(
                    "param_space cannot hold degree: only for whole numbers is the poly kernel positive "
                    "semi-definite. Use param_grid."
                )
            else:
                value = own.get(name)
                inside = isinstance(value, (int, float)) and low <= value <= high
                values = np.array([value if inside else np.sqrt(low * high)], dtype=float)
            self.sizes.append(len(values))
            start.append(np.log(values))
            logs += [(np.log(low), np.log(high))] * len(values)
        self.start, self.bounds = np.concatenate(start), logs

    def _checked_theta(self, low: float, high: float) -> Array:
        theta = getattr(self.kernel, "theta", np.empty(0))
        if len(theta) == 0:
            raise ValueError(
                f"param_space['{self.prefix}kernel'] needs a kernel of sklearn.gaussian_process with free "
                f"parameters, got {self.kernel!r}."
            )
        return np.clip(np.exp(theta), low, high)

    @property
    def simplex(self) -> Array:
        """Corners of the first simplex: the start, and a step from it along every axis.

        Each step goes towards the farther bound.
        """
        corners = [self.start]
        for k, (low, high) in enumerate(self.bounds):
            corner = self.start.copy()
            up, down = high - corner[k], corner[k] - low
            corner[k] += min(STEP, up) if up >= down else -min(STEP, down)
            corners.append(corner)
        return np.array(corners)

    def parameters(self, point: Array) -> Parameters:
        """The estimator's parameters at a point of the space."""
        found: Parameters = {}
        for name, part in zip(self.names, np.split(point, np.cumsum(self.sizes)[:-1]), strict=True):
            if name == f"{self.prefix}kernel":
                found[name] = self.kernel.clone_with_theta(part)
            else:
                # The exponential of a bound's logarithm may be beyond the bound.
                found[name] = float(np.clip(np.exp(part[0]), *self.limits[name]))
        return found

    def gradient(self, gradient: Mapping[str, Any]) -> Array:
        """Gradient of the evidence by the axes of the space, from its derivatives by name."""
        known = {f"{self.prefix}{'kernel' if key == 'theta' else key}": gradient[key] for key in gradient}
        for name in self.names:
            if name not in known:
                raise ValueError(
                    f"The evidence has no derivative by {name}: use another criterion, or param_grid."
                )
        return np.concatenate([np.atleast_1d(known[name]) for name in self.names])


def _checked_bounds(name: str, pair: Any) -> tuple[float, float]:
    """Bounds as two numbers; ValueError unless 0 < low < high < infinity."""
    try:
        low, high = (float(bound) for bound in pair)
    except (TypeError, ValueError):
        raise ValueError(f"param_space[{name!r}] = {pair!r} is not a pair of numbers (low, high).") from None
    if not 0.0 < low < high < np.inf:
        raise ValueError(f"param_space[{name!r}] = {(low, high)} needs 0 < low < high < infinity.")
    return low, high

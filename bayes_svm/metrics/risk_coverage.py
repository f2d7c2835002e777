"""Risk among accepted points against their share, and thresholds that meet a target."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta
from sklearn.utils import check_consistent_length, column_or_1d

from bayes_svm.utils.checks import checked_weights
from bayes_svm.utils.types import Array

__all__ = ["RiskCoverageCurve", "guaranteed_threshold", "risk_coverage_curve", "risk_upper_bound"]


@dataclass(frozen=True)
class RiskCoverageCurve:
    """Share of points accepted, and of errors among them, at every threshold of the confidence.

    Parameters
    ----------
    thresholds : array of shape (n_thresholds,)
        The distinct confidences, decreasing; points at or above are accepted.
    coverage : array of shape (n_thresholds,)
        Weighted share of points accepted, increasing to 1.
    risk : array of shape (n_thresholds,)
        Weighted share of errors among the accepted.
    """

    thresholds: Array
    coverage: Array
    risk: Array

    @property
    def area(self) -> float:
        """Mean of the risk over all coverages: 0 is perfect, smaller is better."""
        return float(np.diff(self.coverage, prepend=0.0) @ self.risk)

    def at(self, threshold: float) -> tuple[float, float]:
        """Coverage and risk with points at or above a threshold accepted; risk NaN if none is."""
        accepted = int(np.sum(self.thresholds >= threshold))
        if accepted == 0:
            return 0.0, float("nan")
        return float(self.coverage[accepted - 1]), float(self.risk[accepted - 1])


def risk_coverage_curve(
    y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> RiskCoverageCurve:
    """Compute the risk-coverage curve of predictions and how sure they are.

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,)
    confidence : array of shape (n_samples,)
        For instance the probability of the predicted class.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    RiskCoverageCurve

    Raises
    ------
    ValueError
        If lengths differ, or a confidence is not finite.

    Examples
    --------
    >>> from bayes_svm.decision import risk_coverage_curve
    >>> curve = risk_coverage_curve([0, 1, 1, 0], [0, 1, 0, 0], [0.9, 0.8, 0.6, 0.7])
    >>> curve.coverage.tolist(), curve.risk.tolist(), curve.area
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.0, 0.25], 0.0625)
    """
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    sure = column_or_1d(confidence).astype(float)
    check_consistent_length(y_true, y_pred, sure)
    if not np.isfinite(sure).all():
        raise ValueError("confidence holds values that are not finite.")
    weight = checked_weights(sample_weight, sure[:, None])
    kept = weight > 0
    thresholds, place = np.unique(-sure[kept], return_inverse=True)
    mass = np.cumsum(np.bincount(place, weights=weight[kept]))
    wrong = np.cumsum(np.bincount(place, weights=(weight * (y_true != y_pred))[kept]))
    return RiskCoverageCurve(-thresholds, mass / mass[-1], wrong / mass)


def risk_upper_bound(errors: ArrayLike, n: ArrayLike, delta: float) -> Array:
    r"""Largest risk under which so few errors are not improbable: the exact binomial tail inverted.

    .. math:: \max \{ r : \Pr[\mathrm{Bin}(n, r) \le \mathrm{errors}] \ge \delta \}

    Parameters
    ----------
    errors, n : int, or array of int
    delta : float

    Returns
    -------
    array, 1 where every point is an error
    """
    errors, n = np.asarray(errors, dtype=float), np.asarray(n, dtype=float)
    bound = beta.ppf(1 - delta, errors + 1, np.maximum(n - errors, 1.0))
    return np.where(errors < n, bound, 1.0)


def guaranteed_threshold(
    wrong: NDArray[np.bool_], confidence: Array, target_risk: float, delta: float
) -> float | None:
    """Threshold of a large coverage whose risk is below the target with probability ``1 - delta``.

    Binary search over the distinct confidences, each step a test at ``delta / n_steps``. Which
    tests are made depends on those before; that the union bound covers them all follows where the
    risk does not fall as coverage rises.

    Parameters
    ----------
    wrong : array of bool of shape (n_samples,)
        Errors on data that neither the classifier nor anything else was fitted on.
    confidence : array of shape (n_samples,)
    target_risk, delta : float

    Returns
    -------
    float or None
        None where no threshold passes.

    References
    ----------
    Geifman and El-Yaniv, "Selective classification for deep neural networks", NeurIPS 2017,
    algorithm 1.
    """
    thresholds, place = np.unique(-confidence, return_inverse=True)
    accepted = np.cumsum(np.bincount(place))
    errors = np.cumsum(np.bincount(place, weights=wrong))
    level = delta / ceil(log2(len(wrong) + 1))
    # Fewer points show nothing even without an error, and would turn the search from coverages that pass.
    fewest = np.log(level) / np.log1p(-target_risk)
    low, high, found = int(np.searchsorted(accepted, fewest)), len(thresholds) - 1, None
    while low <= high:
        middle = (low + high) // 2
        if risk_upper_bound(errors[middle], accepted[middle], level) <= target_risk:
            found, low = float(-thresholds[middle]), middle + 1
        else:
            high = middle - 1
    return found

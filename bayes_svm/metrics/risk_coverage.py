"""Risk among the accepted points against their share, and thresholds that keep the risk below a target."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta
from sklearn.utils import check_consistent_length, column_or_1d

from bayes_svm.utils.checks import checked_weights
from bayes_svm.utils.types import Array, Mask

__all__ = ["RiskCoverageCurve", "guaranteed_threshold", "risk_coverage_curve", "risk_upper_bound"]


@dataclass(frozen=True)
class RiskCoverageCurve:
    """Share of points accepted, and of errors among them, at every threshold of the confidence.

    Parameters
    ----------
    thresholds : array of shape (n_thresholds,)
        The distinct confidences, decreasing. At each threshold the points with at least this
        confidence are accepted.
    coverage : array of shape (n_thresholds,)
        Weighted share of points accepted, increasing to 1.
    risk : array of shape (n_thresholds,)
        Weighted share of errors among the accepted points.
    """

    thresholds: Array
    coverage: Array
    risk: Array

    @property
    def area(self) -> float:
        """Area under the curve, the mean of the risk over all coverages; smaller is better, 0 is perfect."""
        return float(np.diff(self.coverage, prepend=0.0) @ self.risk)

    def at(self, threshold: float) -> tuple[float, float]:
        """Coverage and risk if the points with at least this confidence are accepted.

        Parameters
        ----------
        threshold : float
            Smallest confidence that is accepted.

        Returns
        -------
        coverage : float
            Weighted share of points accepted.
        risk : float
            Weighted share of errors among them; NaN if no point is accepted.
        """
        accepted = int(np.sum(self.thresholds >= threshold))
        if accepted == 0:
            return 0.0, float("nan")
        return float(self.coverage[accepted - 1]), float(self.risk[accepted - 1])


def risk_coverage_curve(
    y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> RiskCoverageCurve:
    """Compute the risk-coverage curve of predictions with a confidence each.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True labels.
    y_pred : array of shape (n_samples,)
        Predicted labels.
    confidence : array of shape (n_samples,)
        How sure each prediction is; for instance the probability of the predicted class.
    sample_weight : array of shape (n_samples,), optional
        Weights of the points; all equal by default.

    Returns
    -------
    RiskCoverageCurve
        Coverage and risk at every threshold.

    Raises
    ------
    ValueError
        If the lengths differ, or a confidence is not finite.

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
        raise ValueError("confidence contains values that are not finite.")
    weight = checked_weights(sample_weight, sure[:, None])
    kept = weight > 0
    thresholds, place = np.unique(-sure[kept], return_inverse=True)
    mass = np.cumsum(np.bincount(place, weights=weight[kept]))
    wrong = np.cumsum(np.bincount(place, weights=(weight * (y_true != y_pred))[kept]))
    return RiskCoverageCurve(-thresholds, mass / mass[-1], wrong / mass)


def risk_upper_bound(errors: ArrayLike, n: ArrayLike, delta: float) -> Array:
    r"""Upper bound of the risk after some errors on n points, which holds with probability ``1 - delta``.

    .. math:: \max \{ r : \Pr[\mathrm{Bin}(n, r) \le \mathrm{errors}] \ge \delta \}

    This is the exact, one-sided binomial bound.

    Parameters
    ----------
    errors : int, or array of int
        Number of errors.
    n : int, or array of int
        Number of points.
    delta : float
        Probability that the bound fails.

    Returns
    -------
    array
        The bounds; 1 where every point is an error.
    """
    errors, n = np.asarray(errors, dtype=float), np.asarray(n, dtype=float)
    bound = beta.ppf(1 - delta, errors + 1, np.maximum(n - errors, 1.0))
    return np.where(errors < n, bound, 1.0)


def guaranteed_threshold(wrong: Mask, confidence: Array, target_risk: float, delta: float) -> float | None:
    """Threshold with large coverage whose risk is below the target with probability ``1 - delta``.

    The search is binary, over the distinct confidences. Each step tests one threshold at level
    ``delta / n_steps``, so that by the union bound all tests hold together. Which thresholds are
    tested depends on the earlier tests. The bound covers that too if the risk does not fall as the
    coverage rises.

    Parameters
    ----------
    wrong : array of bool of shape (n_samples,)
        Whether each prediction is wrong. For the guarantee, nothing may have been fitted on these
        points.
    confidence : array of shape (n_samples,)
        How sure each prediction is.
    target_risk : float
        Largest risk wanted among the accepted points.
    delta : float
        Probability that the risk is above the target all the same.

    Returns
    -------
    float or None
        Smallest confidence to accept; None if no threshold passes.

    References
    ----------
    Geifman and El-Yaniv, "Selective classification for deep neural networks", NeurIPS 2017,
    algorithm 1.
    """
    thresholds, place = np.unique(-confidence, return_inverse=True)
    accepted = np.cumsum(np.bincount(place))
    errors = np.cumsum(np.bincount(place, weights=wrong))
    level = delta / ceil(log2(len(wrong) + 1))
    # So few points pass no test even without an error; testing them would lead the search away from
    # larger coverages, which may pass.
    fewest = np.log(level) / np.log1p(-target_risk)
    low, high, found = int(np.searchsorted(accepted, fewest)), len(thresholds) - 1, None
    while low <= high:
        middle = (low + high) // 2
        if risk_upper_bound(errors[middle], accepted[middle], level) <= target_risk:
            found, low = float(-thresholds[middle]), middle + 1
        else:
            high = middle - 1
    return found

"""Risk among the accepted points against their share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, column_or_1d

from bayes_svm.metrics.distinct import distinct
from bayes_svm.utils.checks import checked_weights, require_alike
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.types import Array

__all__ = ["RiskCoverageCurve", "risk_coverage_curve"]


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

    Examples
    --------
    >>> from bayes_svm.decision import risk_coverage_curve
    >>> curve = risk_coverage_curve([0, 1, 1, 0], [0, 1, 0, 0], [0.9, 0.8, 0.6, 0.7])
    >>> curve.coverage.tolist(), curve.risk.tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.0, 0.25])
    """

    thresholds: Array
    coverage: Array
    risk: Array

    __repr__ = short_repr

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
        If the lengths differ or are 0, the labels are not those of classes or mix strings and numbers, or
        a confidence is not finite.

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
    if len(sure) == 0:
        raise ValueError("y_true holds 0 samples: a curve needs at least one.")
    require_alike(y_true, y_pred, "y_true and y_pred")
    if not np.isfinite(sure).all():
        raise ValueError("confidence contains values that are not finite.")
    weight = checked_weights(sample_weight, sure[:, None])
    kept = weight > 0
    points, place = distinct(sure[kept])
    # The most confident come first.
    thresholds, place = points[::-1], len(points) - 1 - place
    mass = np.cumsum(np.bincount(place, weights=weight[kept]))
    wrong = np.cumsum(np.bincount(place, weights=(weight * (y_true != y_pred))[kept]))
    return RiskCoverageCurve(thresholds, mass / mass[-1], wrong / mass)

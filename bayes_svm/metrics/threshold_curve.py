"""Counts of right and wrong decisions at every threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayes_svm.metrics.confusion import Confusion
from bayes_svm.utils.types import Array

__all__ = ["ThresholdCurve"]


@dataclass(frozen=True)
class ThresholdCurve:
    """Weighted counts where decision values at or above a threshold are decided positive.

    Parameters
    ----------
    thresholds : array of shape (n_thresholds,)
        The distinct decision values, increasing.
    tp, fp : array of shape (n_thresholds + 1,)
        True and false positives at each threshold; the last entry is the decision that
        nothing is positive.

    Notes
    -----
    The shapes are those of :func:`sklearn.metrics.precision_recall_curve`.
    """

    thresholds: Array
    tp: Array
    fp: Array

    @classmethod
    def from_decision_values(
        cls, positive: NDArray[np.bool_], values: Array, weight: Array
    ) -> ThresholdCurve:
        """Count at every distinct value; rows of weight zero do not count.

        Parameters
        ----------
        positive : array of bool of shape (n_samples,)
        values : array of shape (n_samples,)
        weight : array of shape (n_samples,)
        """
        kept = weight > 0
        thresholds, place = np.unique(values[kept], return_inverse=True)
        m = len(thresholds)
        tp: Array = np.bincount(place, weights=(weight * positive)[kept], minlength=m + 1).astype(float)
        fp: Array = np.bincount(place, weights=(weight * ~positive)[kept], minlength=m + 1).astype(float)
        return cls(thresholds, np.cumsum(tp[::-1])[::-1], np.cumsum(fp[::-1])[::-1])

    @property
    def fn(self) -> Array:
        """False negatives at each threshold."""
        return self.tp[0] - self.tp

    @property
    def tn(self) -> Array:
        """True negatives at each threshold."""
        return self.fp[0] - self.fp

    @property
    def precision(self) -> Array:
        """``tp / (tp + fp)``; 1 at the last entry, as scikit-learn has it."""
        decided = self.tp + self.fp
        return np.divide(self.tp, decided, out=np.ones_like(decided), where=decided > 0)

    @property
    def recall(self) -> Array:
        """``tp / (tp + fn)``, decreasing to 0."""
        return self.tp / self.tp[0]

    @property
    def false_positive_rate(self) -> Array:
        """``fp / (fp + tn)``, decreasing to 0."""
        return self.fp / self.fp[0]

    @property
    def positive_rate(self) -> Array:
        """Share decided positive, decreasing to 0."""
        return (self.tp + self.fp) / (self.tp[0] + self.fp[0])

    def f_beta(self, beta: float = 1.0) -> Array:
        """``(1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp)``."""
        part = (1 + beta**2) * self.tp
        return part / (part + beta**2 * self.fn + self.fp)

    def threshold_at(self, k: int) -> float:
        """Threshold that decides as entry k does, midway to the next lower decision value.

        The smallest decision value itself where all are positive, and the number next above
        the largest where none are.
        """
        if k == len(self.thresholds):
            return float(np.nextafter(self.thresholds[-1], np.inf))
        if k == 0:
            return float(self.thresholds[0])
        low, high = self.thresholds[k - 1], self.thresholds[k]
        middle = low + (high - low) / 2
        return float(middle if low < middle else high)

    def confusion_at(self, k: int) -> Confusion:
        """Confusion of entry k."""
        return Confusion(
            tp=float(self.tp[k]), fp=float(self.fp[k]), fn=float(self.fn[k]), tn=float(self.tn[k])
        )

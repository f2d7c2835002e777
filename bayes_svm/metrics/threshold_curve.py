"""Counts of right and wrong decisions at every threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_svm.metrics.distinct import distinct
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.types import Array, Mask

__all__ = ["ThresholdCurve"]


@dataclass(frozen=True)
class ThresholdCurve:
    """Weighted counts of the decisions at every threshold.

    A point is decided positive if its decision value is at or above the threshold.

    Parameters
    ----------
    thresholds : array of shape (n_thresholds,)
        The distinct decision values, increasing. Of values that rounding alone tells apart it is the
        smallest: no threshold divides them.
    tp : array of shape (n_thresholds + 1,)
        True positives at each threshold. The last entry belongs to no threshold: no point is decided
        positive.
    fp : array of shape (n_thresholds + 1,)
        False positives, likewise.
    tops : array of shape (n_thresholds,)
        The largest of the values that each threshold stands for.

    Notes
    -----
    The shapes are those of :func:`sklearn.metrics.precision_recall_curve`.

    Examples
    --------
    >>> from bayes_svm import choose_threshold
    >>> curve = choose_threshold([0, 1, 0, 1], [-1.0, -0.5, 0.2, 1.0], "f1", n_bootstrap=0).curves[0]
    >>> curve.thresholds.tolist()
    [-1.0, -0.5, 0.2, 1.0]
    """

    thresholds: Array
    tp: Array
    fp: Array
    tops: Array

    __repr__ = short_repr

    @classmethod
    def from_decision_values(cls, positive: Mask, values: Array, weight: Array) -> ThresholdCurve:
        """Count the decisions at every distinct decision value of the points with a weight above 0.

        Parameters
        ----------
        positive : array of bool of shape (n_samples,)
            Whether each point is positive.
        values : array of shape (n_samples,)
            Decision values.
        weight : array of shape (n_samples,)
            Weights of the points.

        Returns
        -------
        ThresholdCurve
            The counts.
        """
        kept = weight > 0
        thresholds, place = distinct(values[kept])
        m = len(thresholds)
        tops = thresholds.copy()
        np.maximum.at(tops, place, values[kept])
        tp: Array = np.bincount(place, weights=(weight * positive)[kept], minlength=m + 1).astype(float)
        fp: Array = np.bincount(place, weights=(weight * ~positive)[kept], minlength=m + 1).astype(float)
        return cls(thresholds, np.cumsum(tp[::-1])[::-1], np.cumsum(fp[::-1])[::-1], tops)

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
        """``tp / (tp + fp)``; 1 at the last entry, as in scikit-learn."""
        decided = self.tp + self.fp
        return np.divide(self.tp, decided, out=np.ones_like(decided), where=decided > 0)

    @property
    def recall(self) -> Array:
        """``tp / (tp + fn)``, decreasing to 0."""
        return self.tp / self.tp[0]

    @property
    def positive_rate(self) -> Array:
        """Share of points decided positive, decreasing to 0."""
        return (self.tp + self.fp) / (self.tp[0] + self.fp[0])

    def f_beta(self, beta: float = 1.0) -> Array:
        """F-beta at each threshold, ``(1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp)``.

        Parameters
        ----------
        beta : float, default=1.0
            Weight of recall against precision.

        Returns
        -------
        array of shape (n_thresholds + 1,)
            The last entry is 0.
        """
        part = (1 + beta**2) * self.tp
        whole = part + beta**2 * self.fn + self.fp
        # With a small beta the whole can underflow where no positive is found.
        return np.divide(part, whole, out=np.zeros_like(part), where=part > 0)

    def threshold_at(self, k: int) -> float:
        """Threshold that gives the decisions of entry k, midway to the next lower decision value.

        Parameters
        ----------
        k : int
            Number of the entry, from 0.

        Returns
        -------
        float
            At the first entry, where all points are decided positive, the smallest decision value
            itself. At the last, where none is, the smallest number above all decision values.
        """
        if k == len(self.thresholds):
            return float(np.nextafter(self.tops[-1], np.inf))
        if k == 0:
            return float(self.thresholds[0])
        low, high = self.tops[k - 1], self.thresholds[k]
        # Halved before the difference, which could overflow.
        middle = low + (high / 2 - low / 2)
        return float(middle if low < middle else high)

"""Counts of right and wrong decisions, and the measures computed from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from bayes_svm.metrics.intervals import proportion_interval
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.types import Array, Indices
from bayes_svm.utils.warn import warn

__all__ = ["MEASURES", "Confusion", "PerClass", "decisions_per_class"]

# The measures that a confusion has.
MEASURES = ("error", "recall", "precision", "f1")


def _ratio(part: float, whole: float, name: str, lacking: str) -> float:
    """The share ``part / whole``, or 0 with a warning that says what is lacking."""
    if whole > 0:
        return part / whole
    warn(f"{name} is ill-defined and set to 0.0: there are no {lacking}.", UndefinedMetricWarning)
    return 0.0


@dataclass(frozen=True)
class Confusion:
    """Weighted counts of the decisions for one class against the rest.

    Parameters
    ----------
    tp : float
        True positives.
    fp : float
        False positives.
    fn : float
        False negatives.
    tn : float
        True negatives.

    Examples
    --------
    >>> c = Confusion(tp=8, fp=2, fn=4, tn=86)
    >>> c.error, c.precision
    (0.06, 0.8)
    >>> [round(end, 3) for end in c.interval("precision")]
    [0.49, 0.943]
    """

    tp: float
    fp: float
    fn: float
    tn: float

    @classmethod
    def from_decisions(
        cls, positive: ArrayLike, decision_values: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Confusion:
        """Count the decisions; a point is decided positive if its decision value is above 0.

        Parameters
        ----------
        positive : array of bool of shape (n_samples,)
            Whether each point belongs to the class.
        decision_values : array of shape (n_samples,)
            Decision values for the class.
        sample_weight : array of shape (n_samples,), optional
            Weights of the points; 1 by default.

        Returns
        -------
        Confusion
            The weighted counts.
        """
        positive = np.asarray(positive, dtype=bool)
        decided = np.asarray(decision_values) > 0
        weight = np.ones(len(positive)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        cells = np.bincount(2 * positive + decided, weights=weight, minlength=4)
        return cls(tp=float(cells[3]), fp=float(cells[1]), fn=float(cells[2]), tn=float(cells[0]))

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn)

    @property
    def error(self) -> float:
        """Share of wrong decisions, ``(fp + fn) / n``."""
        return (self.fp + self.fn) / (self.tp + self.fp + self.fn + self.tn)

    @property
    def recall(self) -> float:
        """``tp / (tp + fn)``; 0 with a warning if there are no positives."""
        return _ratio(self.tp, self.tp + self.fn, "Recall", "positive samples")

    @property
    def precision(self) -> float:
        """``tp / (tp + fp)``; 0 with a warning if no point is decided positive."""
        return _ratio(self.tp, self.tp + self.fp, "Precision", "positive decisions")

    @property
    def f1(self) -> float:
        """``2 tp / (2 tp + fp + fn)``; 0 with a warning if no point is positive or decided positive."""
        return _ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn, "F1", "positive samples or decisions")

    def interval(self, measure: str, confidence: float = 0.95) -> tuple[float, float]:
        """Wilson score interval of a measure.

        F1 is not a proportion, but ``F1 = 2 J / (1 + J)`` grows with the proportion
        ``J = tp / (tp + fp + fn)``. Its interval is that of J, transformed. If there is nothing to
        count, the interval is (0, 1).

        Parameters
        ----------
        measure : {"error", "recall", "precision", "f1"}
            Name of the measure.
        confidence : float in (0, 1), default=0.95
            Probability that the interval contains the true value, if the rows are independent.

        Returns
        -------
        low, high : float
            The two ends.

        Raises
        ------
        ValueError
            If the measure is unknown, or if the confidence is not between 0 and 1.
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence={confidence!r} is not between 0 and 1.")
        cells = {
            "error": (self.fp + self.fn, self.tp + self.fp + self.fn + self.tn),
            "recall": (self.tp, self.tp + self.fn),
            "precision": (self.tp, self.tp + self.fp),
            "f1": (self.tp, self.tp + self.fp + self.fn),
        }
        if measure not in cells:
            raise ValueError(f"measure={measure!r} is not one of {MEASURES}.")
        part, whole = cells[measure]
        if whole == 0:
            return 0.0, 1.0
        low, high = map(float, proportion_interval(part, whole, alpha=1 - confidence))
        return (2 * low / (1 + low), 2 * high / (1 + high)) if measure == "f1" else (low, high)


@dataclass(frozen=True)
class PerClass:
    """Performance of a classifier, computed from its confusions.

    Parameters
    ----------
    confusions : tuple of Confusion
        With two classes a single one, of ``classes_[1]`` against ``classes_[0]``; with more, one per
        class against the rest.
    """

    confusions: tuple[Confusion, ...]

    __repr__ = short_repr

    def _macro(self, measure: str) -> float:
        return float(np.mean([getattr(confusion, measure) for confusion in self.confusions]))

    @property
    def error(self) -> float:
        """Share of wrong decisions.

        With more than two classes, the mean over the classes of the share of wrong decisions for the class
        against the rest. That is not the share of rows that get a wrong label, each of which is wrong for two
        of the classes.
        """
        return self._macro("error")

    @property
    def recall(self) -> float:
        """Recall; the macro average over the classes if there are more than two."""
        return self._macro("recall")

    @property
    def precision(self) -> float:
        """Precision; the macro average over the classes if there are more than two."""
        return self._macro("precision")

    @property
    def f1(self) -> float:
        """F1; the macro average over the classes if there are more than two."""
        return self._macro("f1")

    @property
    def micro(self) -> Confusion:
        """Sum of the confusions, whose measures are the micro averages."""
        return sum(self.confusions[1:], start=self.confusions[0])


def decisions_per_class(
    y: Indices, n_classes: int, decision_values: Array, weight: Array
) -> tuple[Confusion, ...]:
    """One confusion for two classes, otherwise one per class against the rest.

    Parameters
    ----------
    y : array of int of shape (n_samples,)
        Class numbers.
    n_classes : int
        Number of classes.
    decision_values : array of shape (n_samples,) or (n_samples, n_classes)
        A point is decided for a class if its decision value is above 0. With two classes these are the
        values of class 1.
    weight : array of shape (n_samples,)
        Weights of the points.

    Returns
    -------
    tuple of Confusion
        One, or ``n_classes``.
    """
    if n_classes == 2:
        return (Confusion.from_decisions(y == 1, decision_values, weight),)
    return tuple(Confusion.from_decisions(y == k, decision_values[:, k], weight) for k in range(n_classes))

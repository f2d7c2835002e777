"""What a threshold is chosen for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_svm.metrics.intervals import proportion_interval
from bayes_svm.metrics.threshold_curve import ThresholdCurve
from bayes_svm.utils.types import Array

__all__ = ["OBJECTIVES", "Objective"]

# The objectives that a threshold can be chosen for.
OBJECTIVES = ("f_beta", "precision", "recall", "cost", "rate", "break_even")


@dataclass(frozen=True)
class Objective:
    """An objective of :func:`bayes_svm.choose_threshold`, with its options checked.

    Parameters
    ----------
    name : str
        One of ``OBJECTIVES``.
    beta : float
        Weight of recall against precision, for "f_beta".
    at_least : float or None
        Precision or recall to reach, for "precision" and "recall".
    confidence : float or None
        Confidence of the lower bound that must reach ``at_least``; None if the share itself must.
    cost : array of shape (2, 2)
        Costs of the decisions, for "cost": rows are true classes, columns are decided ones.
    rate : float or None
        Share of points to decide positive, for "rate".

    Raises
    ------
    ValueError
        If the name is unknown, or an option is missing, out of range or of another objective.
    """

    name: str
    beta: float
    at_least: float | None
    confidence: float | None
    cost: Array
    rate: float | None

    def __post_init__(self) -> None:
        if self.name not in OBJECTIVES:
            raise ValueError(f"objective={self.name!r} is not one of {OBJECTIVES}.")
        if not 0 < self.beta < np.inf:
            raise ValueError(f"beta={self.beta!r} must be positive and finite.")
        bounded = self.name in ("precision", "recall")
        if bounded and (self.at_least is None or not 0 < self.at_least <= 1):
            raise ValueError(
                f"objective={self.name!r} needs at_least in (0, 1], the {self.name} to reach; "
                f"got at_least={self.at_least!r}."
            )
        if not bounded and (self.at_least is not None or self.confidence is not None):
            raise ValueError(
                f"at_least and confidence belong to objective='precision' or 'recall', not to {self.name!r}."
            )
        if self.confidence is not None and not 0.5 <= self.confidence < 1:
            raise ValueError(f"confidence={self.confidence!r} is not in [0.5, 1).")
        if (self.rate is not None) != (self.name == "rate"):
            raise ValueError(f"rate is needed for objective='rate' and for no other; got rate={self.rate!r}.")
        if self.rate is not None and not 0 <= self.rate <= 1:
            raise ValueError(f"rate={self.rate!r} is not in [0, 1].")

    def choose(self, curve: ThresholdCurve) -> int:
        """The best entry of a curve; of equally good ones that with the highest threshold.

        Parameters
        ----------
        curve : ThresholdCurve
            Counts at every threshold.

        Returns
        -------
        int
            Number of the entry, from 0.

        Raises
        ------
        ValueError
            If no threshold reaches the required precision or recall.
        """
        if self.name in ("precision", "recall"):
            return self._choose_bounded(curve, float(self.at_least or 0.0))
        return _last_largest(self._score(curve))

    def _score(self, curve: ThresholdCurve) -> Array:
        if self.name == "f_beta":
            return curve.f_beta(self.beta)
        if self.name == "cost":
            (tn, fp), (fn, tp) = self.cost
            return -(tn * curve.tn + fp * curve.fp + fn * curve.fn + tp * curve.tp)
        if self.name == "rate":
            return -np.abs(curve.positive_rate - float(self.rate or 0.0))
        # Precision and recall have the same numerator. They are equal where their denominators are: where
        # as many points are decided positive as there are positives.
        return -np.abs(curve.tp + curve.fp - curve.tp[0])

    def _choose_bounded(self, curve: ThresholdCurve, at_least: float) -> int:
        decided = curve.tp + curve.fp
        whole = decided if self.name == "precision" else np.full_like(decided, curve.tp[0])
        reached = _lower_bound(curve.tp, whole, self.confidence)
        reached[decided == 0] = -np.inf
        attained = reached >= at_least
        if not attained.any():
            bound = f" (lower bound at confidence {self.confidence:g})" if self.confidence else ""
            raise ValueError(
                f"No threshold reaches {self.name} >= {at_least:g}{bound}: the most is "
                f"{reached.max():.4g}. Ask for less, or use more data."
            )
        own, other = getattr(curve, self.name), curve.recall if self.name == "precision" else curve.precision
        best = np.where(attained, other, -np.inf)
        return _last_largest(np.where(best == best.max(), own, -np.inf))


def _last_largest(score: Array) -> int:
    return len(score) - 1 - int(np.argmax(score[::-1]))


def _lower_bound(part: Array, whole: Array, confidence: float | None) -> Array:
    """The shares ``part / whole``, or their one-sided Wilson lower bounds; 0 where the whole is 0."""
    some = whole > 0
    bound = np.zeros_like(whole)
    bound[some] = part[some] / whole[some]
    if confidence is None:
        return bound
    bound[some], _ = proportion_interval(part[some], whole[some], alpha=2 * (1 - confidence))
    return bound

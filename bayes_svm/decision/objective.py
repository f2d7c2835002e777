"""What a threshold is chosen for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayes_svm.decision.promises import (
    expected_recall,
    fewest_rows,
    largest_precision,
    lower_bound,
    precision_entry,
    recall_entry,
)
from bayes_svm.metrics.confusion import Confusion
from bayes_svm.metrics.threshold_curve import ThresholdCurve
from bayes_svm.utils.types import Array

__all__ = ["OBJECTIVES", "Objective"]

# Smallest beta, and the inverse of the largest: beta is squared.
LEAST_BETA = 1e-100
# Scores that differ by no more than this share of their size are equal.
ALIKE = 1e-12
# The objectives that a threshold can be chosen for.
OBJECTIVES = ("f_beta", "f1", "precision", "recall", "cost", "rate", "break_even")


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
        Probability that a precision or recall of ``at_least`` is reached; None if the expected one is.
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
        if not LEAST_BETA <= self.beta <= 1 / LEAST_BETA:
            raise ValueError(f"beta={self.beta!r} must be between {LEAST_BETA:g} and {1 / LEAST_BETA:g}.")
        if self.name != "f_beta" and self.beta != 1:
            raise ValueError(f"beta={self.beta!r} belongs to objective='f_beta', not to {self.name!r}.")
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

    def choose(self, curve: ThresholdCurve) -> int | None:
        """The best entry of a curve; of equally good ones that with the highest threshold.

        Parameters
        ----------
        curve : ThresholdCurve
            Counts at every threshold.

        Returns
        -------
        int or None
            Number of the entry, from 0; None if no threshold shows the required precision or recall.

        Raises
        ------
        ValueError
            If costs overflow.
        """
        if self.name == "recall":
            return recall_entry(curve, float(self.at_least or 0.0), self.confidence)
        if self.name == "precision":
            return precision_entry(curve, float(self.at_least or 0.0), self.confidence)
        score = self._score(curve)
        best = float(score.max())
        if not np.isfinite(score).all():
            raise ValueError("The costs times the weights leave double precision: divide them by a constant.")
        # Scores that differ by rounding are equal. Differences from what is asked for may be near 0.
        size = {"rate": 1.0, "break_even": float(curve.tp[0])}.get(self.name, abs(best))
        return int((score >= best - ALIKE * size).nonzero()[0][-1])

    def threshold_at(self, curve: ThresholdCurve, entry: int | None) -> float:
        """The threshold of an entry that was chosen.

        Parameters
        ----------
        curve : ThresholdCurve
            Counts at every threshold.
        entry : int or None
            What ``choose`` returned.

        Returns
        -------
        float
            Where nothing is shown, minus infinity for a recall, which all points positive keep, and
            infinity for a precision.
        """
        if entry is None:
            return -np.inf if self.name == "recall" else np.inf
        return curve.threshold_at(entry)

    def bound(self, curve: ThresholdCurve, entry: int | None) -> float | None:
        """What the confidence holds for, of precision or recall.

        Parameters
        ----------
        curve : ThresholdCurve
            Counts at every threshold.
        entry : int or None
            What ``choose`` returned.

        Returns
        -------
        float or None
            The bound; None without a confidence, or if nothing is shown.
        """
        if self.confidence is None or entry is None:
            return None
        if self.name == "precision":
            # The sequence of tests shows this much and no more: where it ends depends on the labels.
            return self.at_least
        return float(lower_bound(curve.tp[entry], curve.fn[entry], self.confidence))

    def told(self, curve: ThresholdCurve, entry: int, resampled: Confusion) -> Confusion:
        """The counts to expect on as many new rows.

        Parameters
        ----------
        curve : ThresholdCurve
            Counts at every threshold.
        entry : int
            What ``choose`` returned.
        resampled : Confusion
            The counts of thresholds that were chosen again on resamples.

        Returns
        -------
        Confusion
            The same, with the expected recall where it is known without resamples.
        """
        if self.name != "recall":
            return resampled
        positives = resampled.tp + resampled.fn
        found = positives * expected_recall(curve, entry)
        return replace(resampled, tp=found, fn=positives - found)

    def out_of_reach(self, curve: ThresholdCurve) -> str:
        """Why nothing is shown, and what is decided then.

        Parameters
        ----------
        curve : ThresholdCurve
            Counts at every threshold.

        Returns
        -------
        str
            Two sentences.
        """
        sure = "" if self.confidence is None else f" with confidence {self.confidence:g}"
        wanted = f"{self.name} >= {self.at_least:g}{sure}"
        if self.name == "precision":
            most = largest_precision(curve, self.confidence)
            return (
                f"No threshold shows {wanted}: the most that one shows is {most:.4g}. No point is called "
                "positive; ask for less, or use more data."
            )
        fewest = fewest_rows(float(self.at_least or 0.0), self.confidence)
        needs = "no number of positives shows it" if np.isinf(fewest) else f"it takes {fewest:.0f} positives"
        return (
            f"No threshold shows {wanted}: {needs}, and there are {curve.tp[0]:g}. Every point is called "
            "positive; ask for less, or use more data."
        )

    def _score(self, curve: ThresholdCurve) -> Array:
        if self.name in ("f_beta", "f1"):
            return curve.f_beta(self.beta)
        if self.name == "cost":
            (tn, fp), (fn, tp) = self.cost
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused
                return -(tn * curve.tn + fp * curve.fp + fn * curve.fn + tp * curve.tp)
        if self.name == "rate":
            return -np.abs(curve.positive_rate - float(self.rate or 0.0))
        # Precision and recall have the same numerator. They are equal where their denominators are: where
        # as many points are decided positive as there are positives.
        return -np.abs(curve.tp + curve.fp - curve.tp[0])

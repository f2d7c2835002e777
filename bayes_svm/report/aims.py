"""What the user wants of the decisions, and the threshold or the rejection that gives it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_svm.decision import choose_threshold
from bayes_svm.metrics.risk_coverage import guaranteed_threshold

from .errors import InputError

__all__ = ["Aims", "Decision", "Rejection", "check_aims", "decision_for", "rejection_for"]

CONFIDENCE = 0.95  # of the risk that a rejection is to keep


@dataclass(frozen=True)
class Aims:
    """Precision or recall to reach, or costs of a false and of a missed alarm; risk to stay below."""

    precision: float | None = None
    recall: float | None = None
    cost: tuple[float, float] | None = None
    max_risk: float | None = None

    @property
    def decision(self) -> str | None:
        """What the threshold is for, in words; None for nothing."""
        if self.precision is not None:
            return f"precision of at least {100 * self.precision:g} %"
        if self.recall is not None:
            return f"recall of at least {100 * self.recall:g} %"
        if self.cost is not None:
            return f"least cost, a false alarm at {self.cost[0]:g} and a missed one at {self.cost[1]:g}"
        return None


@dataclass(frozen=True)
class Decision:
    """The threshold on the positive class's probability for an aim, and the rows' counts, left out."""

    aim: str
    reason: str | None  # why there is none
    threshold: float = math.nan
    precision: float = math.nan
    recall: float = math.nan
    found: int = 0
    missed: int = 0
    false_alarms: int = 0
    cost: float = math.nan


@dataclass(frozen=True)
class Rejection:
    """The confidence below which to leave rows to a person, for a risk among the others."""

    max_risk: float
    reason: str | None
    threshold: float = math.nan
    answered: float = math.nan
    risk: float = math.nan


def check_aims(aims: Aims, n_classes: int) -> None:
    """Raise InputError where one threshold is asked for of more than two classes."""
    if aims.decision is not None and n_classes > 2:
        raise InputError(
            f"--precision, --recall and --cost need two classes, and the target has {n_classes}: "
            "use --max-risk"
        )


def decision_for(
    aims: Aims, labels: np.ndarray, classes: np.ndarray, probability: np.ndarray
) -> Decision | None:
    """Threshold for the aim on left-out probabilities."""
    aim = aims.decision
    if aim is None:
        return None
    options: dict[str, Any]
    if aims.cost is not None:
        options = {"objective": "cost", "fp": aims.cost[0], "fn": aims.cost[1]}
    elif aims.precision is not None:
        options = {"objective": "precision", "at_least": aims.precision}
    else:
        options = {"objective": "recall", "at_least": aims.recall}
    try:
        found = choose_threshold(labels == classes[1], probability[:, 1], **options)
    except ValueError as err:
        return Decision(aim, " ".join(str(err).split()))
    (_, fp), (fn, tp) = found.confusion_matrix
    called = tp + fp
    return Decision(
        aim,
        None,
        threshold=min(1.0, max(0.0, float(found.threshold))),
        precision=float(tp / called) if called else math.nan,
        recall=float(tp / (tp + fn)),
        found=int(tp),
        missed=int(fn),
        false_alarms=int(fp),
        cost=math.nan if found.total_cost is None else float(found.total_cost),
    )


def rejection_for(aims: Aims, confidence: np.ndarray, wrong: np.ndarray) -> Rejection | None:
    """Confidence from which on the risk is below the aim, as held-out data would show it at 95 %."""
    if aims.max_risk is None:
        return None
    threshold = guaranteed_threshold(wrong, confidence, aims.max_risk, 1.0 - CONFIDENCE)
    if threshold is None:
        return Rejection(aims.max_risk, f"{len(wrong)} rows cannot show it: ask for less")
    kept = confidence >= threshold
    return Rejection(aims.max_risk, None, threshold, float(kept.mean()), float(wrong[kept].mean()))

"""What the user wants the decisions to achieve, and the threshold or rejection that achieves it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_svm.decision import choose_threshold
from bayes_svm.decision.risk import one_of_each, shown_threshold, smallest_shown

from .errors import InputError
from .text import one_line

__all__ = ["Aims", "Decision", "Rejection", "check_aims", "check_weights", "decision_for", "rejection_for"]

# Probability with which a rejection keeps the risk below its target, were the data held out.
CONFIDENCE = 0.9


@dataclass(frozen=True)
class Aims:
    """What the user asks of the decisions; at most one of the first three is given.

    Parameters
    ----------
    precision : float or None
        Precision to reach.
    recall : float or None
        Recall to reach.
    cost : (float, float) or None
        Costs of a false alarm and of a missed one; their sum over all rows is to be least.
    max_risk : float or None
        Largest share of errors among the rows that are answered.
    """

    precision: float | None = None
    recall: float | None = None
    cost: tuple[float, float] | None = None
    max_risk: float | None = None

    @property
    def decision(self) -> str | None:
        """The aim of the threshold in words, or None if there is none."""
        if self.precision is not None:
            return f"precision of at least {100 * self.precision:g} %"
        if self.recall is not None:
            return f"recall of at least {100 * self.recall:g} %"
        if self.cost is not None:
            return f"least cost, a false alarm at {self.cost[0]:g} and a missed one at {self.cost[1]:g}"
        return None


@dataclass(frozen=True)
class Decision:
    """A threshold of the positive class's probability, and its decisions on the left-out rows.

    Parameters
    ----------
    aim : str
        What the threshold is for, in words.
    reason : str or None
        Why there is no threshold; None if there is one.
    threshold : float
        Rows with at least this probability are called positive.
    precision : float
        Precision of the decisions, by the weights of the rows.
    recall : float
        Recall of the decisions, by the weights of the rows.
    found : int
        Number of rows that are true positives.
    missed : int
        Number of rows that are false negatives.
    false_alarms : int
        Number of rows that are false positives.
    cost : float
        Cost of all decisions, by the weights of the rows; NaN unless costs were given.
    """

    aim: str
    reason: str | None
    threshold: float = math.nan
    precision: float = math.nan
    recall: float = math.nan
    found: int = 0
    missed: int = 0
    false_alarms: int = 0
    cost: float = math.nan

    @property
    def raises(self) -> bool:
        """Whether a higher threshold keeps what was asked for, and a lower one may not."""
        return self.aim.startswith("precision")


@dataclass(frozen=True)
class Rejection:
    """The confidence below which rows are left to a person, so that few of the others are wrong.

    Parameters
    ----------
    max_risk : float
        Largest share of errors wanted among the rows answered.
    reason : str or None
        Why there is no such confidence; None if there is one.
    threshold : float
        Rows with at least this confidence are answered.
    answered : float
        Share of the rows that are answered.
    risk : float
        Share of errors among them, each row left out.
    """

    max_risk: float
    reason: str | None
    threshold: float = math.nan
    answered: float = math.nan
    risk: float = math.nan


def check_aims(aims: Aims, n_classes: int, positive: object | None) -> None:
    """Raise InputError if a threshold is asked for, and it is not clear of which class.

    Parameters
    ----------
    aims : Aims
        What the user asks for.
    n_classes : int
        Number of classes.
    positive : object or None
        The class that the user named.
    """
    if aims.decision is not None and n_classes > 2 and positive is None:
        raise InputError(
            "--precision, --recall and --cost are about one class against the others, and the target has "
            f"{n_classes}: name it with --positive CLASS, or use --max-risk"
        )


def check_weights(aims: Aims, weight: np.ndarray | None) -> None:
    """Raise InputError if a share of errors is to be promised, and the rows do not count alike.

    Parameters
    ----------
    aims : Aims
        What the user asks for.
    weight : ndarray of shape (n,) or None
        How often each row counts.
    """
    if aims.max_risk is not None and weight is not None and np.ptp(weight) > 0:
        raise InputError(
            "--max-risk promises a share of the rows, and --weights or --counts says that they do not count "
            "alike: use one of the two, or repeat the rows"
        )


def decision_for(
    aims: Aims, label: str, truth: np.ndarray, probability: np.ndarray, weight: np.ndarray | None = None
) -> Decision | None:
    """Choose the threshold for the aim.

    Parameters
    ----------
    aims : Aims
        What the user asks for.
    label : str
        The positive class.
    truth : ndarray of bool of shape (n,)
        Whether each row belongs to it.
    probability : ndarray of shape (n,)
        Left-out probability that it does.
    weight : ndarray of shape (n,) or None
        How often each row counts, numbers of cases or weights of mean 1; once if None.

    Returns
    -------
    Decision or None
        The threshold and its decisions, or why there is none; None if no threshold is asked for.
    """
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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # The page counts the left-out rows themselves: it needs no resamples.
        found = choose_threshold(truth, probability, n_bootstrap=0, sample_weight=weight, **options)
    if not found.reached:
        # What follows the first sentence is for those who would decide by the threshold all the same.
        return Decision(aim, one_line(caught[0].message).partition(". ")[0])
    (_, fp), (fn, tp) = found.confusion_matrix
    called = tp + fp
    if called == 0:
        return Decision(aim, f"Of the {len(truth)} rows, calling none of them {label} costs least")
    positive = found.decide(probability)
    return Decision(
        aim,
        None,
        threshold=min(1.0, max(0.0, float(found.threshold))),
        precision=float(tp / called),
        recall=float(tp / (tp + fn)),
        found=int((truth & positive).sum()),
        missed=int((truth & ~positive).sum()),
        false_alarms=int((~truth & positive).sum()),
        cost=math.nan if found.total_cost is None else float(found.total_cost),
    )


def rejection_for(
    aims: Aims, confidence: np.ndarray, wrong: np.ndarray, groups: Any = None
) -> Rejection | None:
    """Choose the confidence from which on rows are answered.

    It is chosen as on held-out data, where the risk would be below the aim with a probability of 90 %.
    On left-out probabilities this is no guarantee.

    Parameters
    ----------
    aims : Aims
        What the user asks for.
    confidence : ndarray of shape (n,)
        Left-out probability of each row's predicted class.
    wrong : ndarray of bool of shape (n,)
        Whether each prediction is wrong.
    groups : ndarray of shape (n,) or None
        Group of each row, of which one row counts; None if the rows are independent.

    Returns
    -------
    Rejection or None
        The confidence and what it achieves, or why there is none; None if no risk is asked for.
    """
    if aims.max_risk is None:
        return None
    rows = slice(None) if groups is None else one_of_each(groups)
    tested = wrong[rows], confidence[rows]
    threshold = shown_threshold(*tested, aims.max_risk, CONFIDENCE)
    if threshold is None:
        least = smallest_shown(*tested, aims.max_risk, CONFIDENCE)
        shown = "no share" if least >= 1 else f"{100 * least:g} % or more, not less: ask for that"
        what = "rows" if groups is None else "groups, with one row of each,"
        return Rejection(aims.max_risk, f"{len(tested[0]):,} {what} can show {shown}")
    # What is less sure than all these rows was not tested; the smallest confidence stands clear of rounding.
    threshold = max(threshold, float(confidence.min()) * (1.0 - 1e-9))
    kept = confidence >= threshold
    return Rejection(aims.max_risk, None, threshold, float(kept.mean()), float(wrong[kept].mean()))

"""Error, recall, precision and F1 with their intervals, and the literature's estimates of them."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from bayes_svm.leave_one_out import leave_one_out
from bayes_svm.leave_one_out.estimates import span_estimate, xi_alpha
from bayes_svm.metrics.confusion import MEASURES, Confusion

from .evidence import share_interval
from .record import Performance, ValueWithInterval
from .text import one_line

__all__ = ["left_out_performance", "papers", "performance"]

# Two estimates of one error differ if they are further apart than this number of standard errors.
STANDARD_ERRORS = 3.0


def papers(
    clf: Any,
    features: np.ndarray,
    labels: np.ndarray,
    positive: int | None,
    weight: np.ndarray | None,
    notes: list[str],
    *,
    alone: Any = None,
    grouped: bool = False,
) -> tuple[Performance, ...]:
    """Estimates of the literature; they judge the signs of the decision values.

    They leave single rows out. Where rows belong to groups, or do not count alike, they have no intervals.

    Parameters
    ----------
    clf : BayesSVC
        The fitted model.
    features : ndarray of shape (n, n_features)
        What it was fitted to.
    labels : ndarray of shape (n,)
        Label of each row.
    positive : int or None
        Number of the positive class, if there are two classes.
    weight : ndarray of shape (n,) or None
        Weight of each row.
    notes : list of str
        Notes are appended.
    alone : ndarray of shape (n,) or None
        Number of each row, where a row of any weight is left out whole; None if one of its cases is.
    grouped : bool
        Whether the model leaves out whole groups.

    Returns
    -------
    tuple of Performance
        One for each estimate.
    """
    rows, classes = leave_one_out(clf, features, labels, sample_weight=weight, groups=alone), clf.classes_
    heavy = 0 if alone is None or weight is None else np.count_nonzero(weight >= 2)
    if heavy:
        notes.append(
            f"Of rows of at least twice the mean weight, here {heavy}, the xi-alpha and span estimates leave "
            "out a part, not the whole."
        )
    values = np.asarray(rows.train_decision_values).reshape(len(labels), -1)
    positives = classes[1:] if len(classes) == 2 else classes
    train = tuple(
        Confusion.from_decisions(labels == label, values[:, k], weight) for k, label in enumerate(positives)
    )
    notes.extend(_disagreement(clf, rows, grouped))
    found = {
        "training": train,
        "xi-alpha": xi_alpha(clf, features, labels, sample_weight=weight).confusions,
        "exact leave-one-out": rows.confusions,
    }
    try:
        found["span"] = span_estimate(clf, features, labels, sample_weight=weight).confusions
    except ValueError as err:
        # It needs an exact solution, which a kernel that is not positive semi-definite may not have.
        notes.append(f"No span estimate: {one_line(err)}")
    if positive == 0 and len(classes) == 2:
        found = {name: tuple(Confusion(c.tn, c.fn, c.fp, c.tp) for c in each) for name, each in found.items()}
    order = ("training", "xi-alpha", "span", "exact leave-one-out")
    return tuple(
        performance(name, found[name], intervals=alone is None and not grouped)
        for name in order
        if name in found
    )


def _disagreement(clf: Any, rows: Any, grouped: bool) -> list[str]:
    """A note if the machine's error is different with single rows left out and with strata or groups."""
    wrong_alone = rows.predicted != rows.y
    values = np.asarray(clf.left_out_decision_values_)
    decided = values > 0 if values.ndim == 1 else values.argmax(axis=1)
    wrong_together = decided != rows.y
    changed = np.count_nonzero(wrong_alone != wrong_together)
    difference = np.count_nonzero(wrong_alone) - np.count_nonzero(wrong_together)
    # The root is the standard error of the difference between paired counts.
    if abs(difference) <= STANDARD_ERRORS * np.sqrt(changed):
        return []
    if grouped:
        return [
            f"With single rows left out {100 * wrong_alone.mean():.1f} % of the signs of the decision value "
            f"are wrong, with whole groups left out {100 * wrong_together.mean():.1f} %. Rows of one group "
            "know each other; how new groups fare is what the groups tell."
        ]
    return [
        f"With single rows left out {100 * wrong_alone.mean():.1f} % of the signs of the decision value are "
        f"wrong, with strata left out {100 * wrong_together.mean():.1f} %. Leaving a row out makes its class "
        "rarer, and here this matters more than the columns. Strata keep the class ratio; trust them."
    ]


def left_out_performance(
    name: str, truth: np.ndarray, said: np.ndarray, weight: np.ndarray | None, groups: Any
) -> Performance:
    """One class against the rest, with the intervals that the rows or their groups allow.

    Parameters
    ----------
    name : str
        What the row of the table is called.
    truth : ndarray of bool of shape (n,)
        Whether each row belongs to the class.
    said : ndarray of bool of shape (n,)
        Whether it is predicted to.
    weight : ndarray of shape (n,) or None
        Weight of each row.
    groups : ndarray of shape (n,) or None
        Group of each row; None if the rows are independent.

    Returns
    -------
    Performance
        Error, recall, precision and F1.
    """
    found = performance(name, (Confusion.from_decisions(truth, np.where(said, 1.0, -1.0), weight),))
    if groups is None:
        return found
    right, one = truth & said, np.ones(len(truth)) if weight is None else weight
    # Of F1, which grows with it: the share of rows both so and called so among those that are either.
    counts = {
        "error": (truth != said, np.ones(len(truth), dtype=bool)),
        "recall": (right, truth),
        "precision": (right, said),
        "f1": (right, truth | said),
    }
    ends = {}
    for measure, (part, whole) in counts.items():
        value = getattr(found, measure).value
        low = high = math.nan
        if whole.any():
            low, high = share_interval(part * one, whole * one, groups)
        if measure == "f1":
            low, high = 2 * low / (1 + low), 2 * high / (1 + high)
        ends[measure] = ValueWithInterval(value, low, high)
    return Performance(name=name, **ends)


def performance(name: str, confusions: tuple[Any, ...], *, intervals: bool = True) -> Performance:
    """One confusion with its intervals, or the averages over the classes, which have no intervals.

    Parameters
    ----------
    name : str
        What the row of the table is called.
    confusions : tuple of Confusion
        One, or one per class.
    intervals : bool
        Whether there are intervals, of independent rows.

    Returns
    -------
    Performance
        Error, recall, precision and F1.
    """
    if len(confusions) == 1 and intervals:
        return Performance(
            name=name, **{measure: _with_interval(confusions[0], measure) for measure in MEASURES}
        )
    means = {
        measure: float(np.mean([np.nan_to_num(_value(one, measure)) for one in confusions]))
        for measure in MEASURES
    }
    return Performance(name=name, **{measure: ValueWithInterval(mean) for measure, mean in means.items()})


def _with_interval(confusion: Any, measure: str) -> ValueWithInterval:
    value = _value(confusion, measure)
    if math.isnan(value):
        return ValueWithInterval(value)
    return ValueWithInterval(value, *confusion.interval(measure))


def _value(confusion: Any, measure: str) -> float:
    """The measure, or NaN if it is 0/0, as is the precision of a class that is never predicted."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UndefinedMetricWarning)
        try:
            return float(getattr(confusion, measure))
        except UndefinedMetricWarning:
            return math.nan

"""Computing a report: one fit, from which all its numbers come."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from bayes_svm.conformal.venn_abers import left_out_intervals
from bayes_svm.kernels.gamma import resolve_gamma
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.leave_one_out import leave_one_out
from bayes_svm.leave_one_out.estimates import span_estimate, xi_alpha
from bayes_svm.metrics.confusion import MEASURES, Confusion
from bayes_svm.metrics.intervals import proportion_interval
from bayes_svm.utils.progress import step

from . import measures
from .aims import check_aims, decision_for, rejection_for
from .model import FittedTable
from .record import (
    ClassCount,
    MachineRecord,
    Model,
    Performance,
    Report,
    Source,
    Surprise,
    ValueWithInterval,
)
from .refusals import as_notes, memory_advice
from .tables.table import Table

__all__ = ["make_report"]

# Two estimates of one error differ if they are further apart than this number of standard errors.
STANDARD_ERRORS = 3.0
# Number of surprising rows shown.
N_SURPRISING = 10
# Number of columns shown of each of them.
N_VALUES = 4


def make_report(fitted: FittedTable) -> Report:
    """Compute the report from one fit.

    Parameters
    ----------
    fitted : FittedTable
        The fit of a table.

    Returns
    -------
    Report
        Everything that the report shows.

    Raises
    ------
    InputError
        If memory runs out, or if a threshold is asked for and there are more than two classes.
    """
    table, settings, features = fitted.table, fitted.settings, fitted.features
    check_aims(settings.aims, len(fitted.classes))
    notes = list(fitted.notes)
    with as_notes(notes), memory_advice(len(table.labels)), step("estimating the error"):
        papers = _papers(fitted.heaviest, features, table.labels, notes)
    labels, classes, predicted = table.labels, fitted.classes, fitted.predicted
    probability = fitted.left_out_proba
    names, binary = [str(label) for label in classes], len(classes) == 2
    confusions = _confusions(fitted)
    wrong = classes[predicted] != labels
    confidence = probability[np.arange(len(labels)), predicted]
    shown = [1] if binary else range(len(classes))
    return Report(
        source=Source(
            name=table.name,
            target=table.target,
            n_rows=len(labels),
            n_columns=table.frame.shape[1],
            notes=tuple(dict.fromkeys(notes)),
        ),
        model=_model(fitted),
        positive=names[1] if binary else None,
        performance=replace(_row("left out", confusions), error=_share(int(wrong.sum()), len(wrong))),
        per_class=()
        if binary
        else tuple(_row(name, (one,)) for name, one in zip(names, confusions, strict=True)),
        papers=papers,
        reliability=measures.reliability(probability[:, 1], labels == classes[1])
        if binary
        else measures.reliability(confidence, ~wrong),
        scores=measures.scores(labels, classes, probability),
        thresholds=tuple(
            measures.threshold_points(names[k], labels == classes[k], probability[:, k]) for k in shown
        ),
        risk_coverage=measures.risk_coverage_points(confidence, wrong),
        surprising=_surprising(table, classes, probability, fitted.left_out_decision_values),
        decision=decision_for(settings.aims, labels, classes, probability),
        rejection=rejection_for(settings.aims, confidence, wrong),
    )


def _papers(clf: Any, features: np.ndarray, labels: np.ndarray, notes: list[str]) -> tuple[Performance, ...]:
    """Estimates of the literature; they judge the signs of the decision values."""
    rows, classes = leave_one_out(clf, features, labels), clf.classes_
    values = np.asarray(rows.train_decision_values).reshape(len(labels), -1)
    positives = classes[1:] if len(classes) == 2 else classes
    train = tuple(
        Confusion.from_decisions(labels == label, values[:, k]) for k, label in enumerate(positives)
    )
    notes.extend(_disagreement(clf, rows))
    return (
        _row("training", train),
        _row("xi-alpha", xi_alpha(clf, features, labels).confusions),
        _row("span", span_estimate(clf, features, labels).confusions),
        _row("exact leave-one-out", rows.confusions),
    )


def _disagreement(clf: Any, rows: Any) -> list[str]:
    """A note if the machine's error is different with single rows left out and with strata left out."""
    wrong_alone = rows.predicted != rows.y
    values = np.asarray(clf.left_out_decision_values_)
    decided = values > 0 if values.ndim == 1 else values.argmax(axis=1)
    wrong_together = decided != rows.y
    changed = np.count_nonzero(wrong_alone != wrong_together)
    difference = np.count_nonzero(wrong_alone) - np.count_nonzero(wrong_together)
    # The root is the standard error of the difference between paired counts.
    if abs(difference) <= STANDARD_ERRORS * np.sqrt(changed):
        return []
    return [
        f"With single rows left out {100 * wrong_alone.mean():.1f} % of the signs of the decision value are "
        f"wrong, with strata left out {100 * wrong_together.mean():.1f} %. Leaving a row out makes its class "
        "rarer, and here this matters more than the columns. Strata keep the class ratio; trust them."
    ]


def _row(name: str, confusions: tuple[Any, ...]) -> Performance:
    """One confusion with its intervals, or the averages over the classes, which have no intervals."""
    if len(confusions) == 1:
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


def _share(count: int, n: int) -> ValueWithInterval:
    """The share ``count / n`` with its Wilson interval."""
    low, high = proportion_interval(count, n)
    return ValueWithInterval(count / n, float(low), float(high))


def _confusions(fitted: FittedTable) -> tuple[Confusion, ...]:
    """Confusion of the left-out predictions: one for two classes, otherwise one for each class."""
    labels, classes, predicted = fitted.table.labels, fitted.classes, fitted.predicted
    shown = [1] if len(classes) == 2 else range(len(classes))
    return tuple(
        Confusion.from_decisions(labels == classes[k], np.where(predicted == k, 1.0, -1.0)) for k in shown
    )


def _model(fitted: FittedTable) -> Model:
    """The record of the fitted model; of a mixture, that of its heaviest machine."""
    clf, features, labels = fitted.heaviest, fitted.features, fitted.table.labels
    classes, counts = np.unique(labels, return_counts=True)
    names = [str(label) for label in classes]
    solutions = clf.solution_ if isinstance(clf.solution_, list | tuple) else [clf.solution_]
    machines = tuple(
        MachineRecord(
            label=label,
            n_free=int(solution.n_free),
            n_bounded=int(solution.n_bounded),
            kkt_residual=float(solution.kkt_residual),
            relative_gap=float(solution.relative_gap),
            exact=bool(solution.exact),
            reason=solution.reason,
        )
        for label, solution in zip(names if len(solutions) > 1 else names[1:], solutions, strict=True)
    )
    statuses, times = np.unique(np.asarray(clf.left_out_.status).astype(str), return_counts=True)
    takes_gamma = Kernel(clf.kernel).takes_gamma
    return Model(
        kernel=clf.kernel,
        C=float(clf.C),
        gamma=clf.gamma if takes_gamma else None,
        gamma_value=resolve_gamma(clf.gamma, features, fitted.table.weights) if takes_gamma else None,
        n_features=features.shape[1],
        classes=tuple(ClassCount(name, int(n)) for name, n in zip(names, counts, strict=True)),
        n_support=len(clf.support_),
        machines=machines,
        statuses=dict(zip(statuses.tolist(), times.tolist(), strict=True)),
        seconds=fitted.seconds,
    )


def _surprising(
    table: Table, classes: np.ndarray, probability: np.ndarray, values: np.ndarray
) -> tuple[Surprise, ...]:
    """The rows whose own labels are least probable."""
    y = np.searchsorted(classes, table.labels)
    own = probability[np.arange(len(y)), y]
    predicted = probability.argmax(axis=1)
    columns = table.frame.iloc[:, :N_VALUES]
    rows = np.argsort(own, kind="stable")[:N_SURPRISING]
    return tuple(
        Surprise(
            row=int(i) + 1,
            label=str(table.labels[i]),
            probability=float(own[i]),
            interval=(float(low), float(high)),
            predicted=str(classes[predicted[i]]),
            predicted_probability=float(probability[i, predicted[i]]),
            values={str(name): columns[name].iloc[i] for name in columns},
        )
        for i, (low, high) in zip(rows, left_out_intervals(values, y, rows), strict=True)
    )

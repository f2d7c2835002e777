"""Computing a report from a fitted table."""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from bayes_svm.conformal.venn_abers import left_out_intervals
from bayes_svm.metrics.confusion import Confusion
from bayes_svm.utils.progress import step

from . import measures, neighbours
from .aims import check_aims, decision_for, rejection_for
from .errors import InputError
from .importance import MOST_ROWS, Importance, Shuffled, importance_of
from .members import members_of, mixture_of, model_record
from .model import FittedTable, deciding_as, leaving_of
from .neighbours import neighbours_of
from .performance import left_out_performance, papers, performance
from .record import Made, Report, Source
from .refusals import as_notes, memory_advice
from .spread import spreads
from .surprises import Surprise, surprising_rows
from .tables.table import Table
from .trust import trust_in

__all__ = ["make_report"]

# Shares of the rows, the most confident ones, whose errors are told.
ANSWERED = (1.0, 0.95, 0.9, 0.8, 0.5)
# Packages that the numbers depend on.
PACKAGES = ("bayes-svm", "numpy", "scipy", "scikit-learn", "pandas")


def make_report(fitted: FittedTable) -> Report:
    """Compute the report from one fit.

    Parameters
    ----------
    fitted : FittedTable
        The table and what was fitted to it.

    Returns
    -------
    Report
        Everything that the report shows.

    Raises
    ------
    InputError
        If memory runs out, or if a threshold is asked for and it is not clear of which class.
    """
    table, positive = fitted.table, fitted.positive
    check_aims(fitted.settings.aims, len(fitted.classes), table.positive)
    names = [str(label) for label in fitted.classes]
    y = np.searchsorted(fitted.classes, table.labels)
    shares = np.bincount(y, weights=table.weights)
    notes = list(fitted.notes)
    with as_notes(notes), memory_advice(len(y)):
        with step("estimating the error"):
            estimates = papers(
                fitted.heaviest,
                fitted.features,
                table.labels,
                positive,
                fitted.weights,
                notes,
                alone=np.arange(len(y)) if table.weighted else None,
                grouped=table.groups is not None,
            )
        with step("shuffling columns"):
            importance = _importance(fitted)
    return Report(
        source=_source(table, notes),
        made=_made(),
        model=model_record(fitted, names),
        positive=None if positive is None else names[positive],
        base_label=names[int(shares.argmax())],
        base_error=1.0 - float(shares.max() / shares.sum()),
        surprising=_surprising(fitted, names, y),
        importance=importance,
        papers=estimates,
        **_judged(fitted, names, y, positive),
    )


def _judged(fitted: FittedTable, names: list[str], y: np.ndarray, positive: int | None) -> dict[str, Any]:
    """What follows from the left-out probabilities alone."""
    aims, weight, n_classes = fitted.settings.aims, fitted.table.weights, len(names)
    probability, predicted = np.asarray(fitted.left_out_proba), np.asarray(fitted.predicted)
    wrong, every, units = predicted != y, np.arange(len(y)), fitted.table.units
    confidence = probability[every, predicted]
    per_class = tuple(
        left_out_performance(name, y == k, predicted == k, weight, units) for k, name in enumerate(names)
    )
    if n_classes == 2 and positive is not None:
        reliable = measures.reliability(probability[:, positive], y == positive, units, weight)
        shown, of_row = replace(per_class[positive], name="left out"), probability[:, positive]
    else:
        reliable, of_row = measures.reliability(confidence, ~wrong, units, weight), probability[every, y]
        told = tuple(
            Confusion.from_decisions(y == k, np.where(predicted == k, 1.0, -1.0), weight)
            for k in range(n_classes)
        )
        right = left_out_performance("", np.ones(len(y), dtype=bool), ~wrong, weight, units)
        shown = replace(performance("left out", told), error=right.error)
    curves = range(n_classes) if positive is None else [positive]
    return {
        "performance": shown,
        "per_class": per_class if n_classes > 2 else (),
        "confusion": _confusion(y, predicted, n_classes),
        "spreads": spreads(names, y, of_row, wrong),
        "trust": trust_in(reliable),
        "reliability": reliable,
        "scores": measures.scores(
            fitted.table.labels, fitted.classes, probability, units, weight, fitted.table.counted
        ),
        "thresholds": tuple(measures.threshold_points(names[k], y == k, probability[:, k]) for k in curves),
        "answered": measures.answered_rows(confidence, wrong, ANSWERED, fitted.table.groups),
        "risk_coverage": measures.risk_coverage_points(confidence, wrong),
        "costs": aims.cost,
        "decision": None
        if positive is None
        else decision_for(aims, names[positive], y == positive, probability[:, positive], weight),
        "rejection": rejection_for(aims, confidence, wrong, fitted.table.groups),
    }


def _confusion(y: np.ndarray, predicted: np.ndarray, n_classes: int) -> tuple[tuple[int, ...], ...]:
    counts = np.bincount(y * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)
    return tuple(tuple(row) for row in counts.tolist())


def _surprising(fitted: FittedTable, names: list[str], y: np.ndarray) -> tuple[Surprise, ...]:
    table, values = fitted.table, np.asarray(fitted.left_out_decision_values)
    rows = np.arange(1, len(y) + 1) if table.rows is None else table.rows
    identifiers, few = _identifiers(table, rows), len(y) <= neighbours.MOST_ROWS
    machine = deciding_as(fitted.estimator)
    return surprising_rows(
        table.frame,
        names,
        y,
        np.asarray(fitted.left_out_proba),
        np.asarray(fitted.predicted),
        lambda rows: left_out_intervals(values, y, rows, fitted.weights, table.groups),
        lambda row: neighbours_of(machine, fitted.features, row, rows, identifiers) if few else None,
        rows,
        identifiers,
        {one.name for one in table.columns if one.date},
    )


def _identifiers(table: Table, rows: np.ndarray) -> np.ndarray | None:
    """The names of the rows; None if they are only their numbers."""
    names = table.identifiers
    if names is None or np.array_equal(names.astype(str), rows.astype(str)):
        return None
    return names


def _importance(fitted: FittedTable) -> Importance:
    """Which columns matter, unless there are too many rows."""
    table, n = fitted.table, len(fitted.table.labels)
    if n > MOST_ROWS:
        return Importance(
            reason=f"With more than {MOST_ROWS:,} rows this takes too long, and was not done for these {n:,}."
        )
    given = {"sample_weight": fitted.weights, "groups": leaving_of(table)}
    shuffled = Shuffled(members_of(fitted), fitted.features, table.labels, given, mixture_of(fitted))
    return importance_of(table.frame, fitted.transformer, shuffled, n)


def _source(table: Table, notes: list[str]) -> Source:
    return Source(
        name=table.name,
        target=table.target,
        n_rows=len(table.labels),
        n_columns=table.frame.shape[1],
        notes=tuple(dict.fromkeys(notes)),
        fingerprint=table.fingerprint or None,
        columns=tuple(table.columns),
        weighted=table.weights is not None,
        counted=table.counted,
        n_groups=None if table.groups is None else len(np.unique(table.groups)),
        n_cases=None if table.weights is None or not table.counted else round(float(table.weights.sum())),
    )


def _made() -> Made:
    """The day, or that of SOURCE_DATE_EPOCH, and the versions."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(int(seconds), UTC)
    except (OverflowError, ValueError):
        raise InputError(
            f"the variable SOURCE_DATE_EPOCH of the environment is {seconds!r}: give seconds since 1970, or "
            "remove it"
        ) from None
    versions = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "(not installed)"
    return Made(now.date().isoformat(), versions)

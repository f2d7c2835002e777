"""Computing a report: fit once, and read every number off that one fit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from statsmodels.stats.proportion import proportion_confint

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.leave_one_out import leave_one_out
from bayes_svm.leave_one_out.estimates import span_estimate, xi_alpha
from bayes_svm.metrics.confusion import Confusion

from . import measures
from .aims import check_aims, decision_for, rejection_for
from .data import Table, feature_transformer
from .errors import InputError
from .record import ClassCount, Estimate, Machine, Model, Performance, Report, Settings, Source, Surprise

__all__ = ["as_notes", "features_of", "make_report", "memory_advice", "refusals"]

STANDARD_ERRORS = 3.0  # beyond which two estimates of one error differ
METRICS = ("error", "recall", "precision", "f1")
N_SURPRISING = 10
N_VALUES = 4


def make_report(table: Table, settings: Settings, step: Callable[[str], None] = lambda name: None) -> Report:
    """Fit `BayesSVC` on the table and read the report's numbers off that one fit.

    Parameters
    ----------
    table : Table
    settings : Settings
    step : callable
        Called with the name of each step before it starts, for a progress bar.

    Raises
    ------
    InputError
        If the fit refuses the data, or it does not fit into memory.
    """
    check_aims(settings.aims, len(np.unique(table.labels)))
    notes = list(table.notes)
    with as_notes(notes), memory_advice(len(table.labels)):
        step("preparing the columns")
        features = features_of(table, settings)
        step("fitting and leaving rows out")
        started = time.perf_counter()
        clf = _fitted(features, table.labels, settings)
        seconds = time.perf_counter() - started
        step("estimating the error")
        papers = _papers(clf, features, table.labels, notes)
    step("reading the probabilities")
    labels, classes, left_out = table.labels, np.asarray(clf.classes_), clf.left_out_
    probability = np.asarray(clf.left_out_proba_)
    names, binary = [str(label) for label in classes], len(classes) == 2
    predicted = np.asarray(left_out.predicted)
    wrong = classes[predicted] != labels
    confidence = probability[np.arange(len(labels)), predicted]
    shown = [1] if binary else range(len(classes))
    return Report(
        Source(table.name, table.target, len(labels), table.frame.shape[1], tuple(dict.fromkeys(notes))),
        _model(clf, features, labels, settings, left_out.status, seconds),
        names[1] if binary else None,
        replace(_row("left out", left_out.confusions), error=_share(int(wrong.sum()), len(wrong))),
        ()
        if binary
        else tuple(_row(name, (one,)) for name, one in zip(names, left_out.confusions, strict=True)),
        papers,
        measures.reliability(
            *((probability[:, 1], labels == classes[1]) if binary else (confidence, ~wrong))
        ),
        measures.scores(labels, classes, probability),
        tuple(measures.threshold_curve(names[k], labels == classes[k], probability[:, k]) for k in shown),
        measures.risk_coverage(confidence, wrong),
        _surprising(table, classes, probability),
        decision_for(settings.aims, labels, classes, probability),
        rejection_for(settings.aims, confidence, wrong),
    )


@contextmanager
def as_notes(notes: list[str]) -> Iterator[None]:
    """Collect warnings meant for users as notes of the report, one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")  # deprecations are for developers
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        yield
    notes.extend(" ".join(str(one.message).split()) for one in caught)


@contextmanager
def memory_advice(n: int) -> Iterator[None]:
    """Turn a MemoryError into one line that says what to do."""
    try:
        yield
    except MemoryError as err:
        advice = f"{n} rows need about {8e-9 * n * n:.1f} GB per kernel matrix; use fewer rows"
        raise InputError(" ".join(str(err).split()) or f"not enough memory: {advice}") from None


def features_of(table: Table, settings: Settings) -> np.ndarray:
    """The table's features as a matrix of floats: numbers standardised, categories one-hot."""
    features = feature_transformer(table.frame, impute=settings.impute).fit_transform(table.frame)
    return np.ascontiguousarray(features, dtype=float)


def _fitted(features: np.ndarray, labels: np.ndarray, settings: Settings) -> Any:
    clf = BayesSVC(C=settings.C, kernel=settings.kernel, gamma=settings.gamma)
    with refusals():
        return clf.fit(features, labels)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn a refusal of the data by the model into one line."""
    try:
        yield
    except InputError:
        raise
    except ValueError as err:
        raise InputError(f"the model could not be fitted: {' '.join(str(err).split())}") from err


def _papers(clf: Any, features: np.ndarray, labels: np.ndarray, notes: list[str]) -> tuple[Performance, ...]:
    """What the estimators of the literature say of the signs of the decision values."""
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
    """A note where single rows left out tell another error of the same machine than strata do."""
    wrong_alone = rows.predicted != rows.y
    values = np.asarray(clf.left_out_decision_values_)
    decided = values > 0 if values.ndim == 1 else values.argmax(axis=1)
    wrong_together = decided != rows.y
    changed = np.count_nonzero(wrong_alone != wrong_together)
    difference = np.count_nonzero(wrong_alone) - np.count_nonzero(wrong_together)
    if abs(difference) <= STANDARD_ERRORS * np.sqrt(changed):  # of a difference of paired counts
        return []
    return [
        f"With single rows left out {100 * wrong_alone.mean():.1f} % of the signs of the decision value are "
        f"wrong, with strata {100 * wrong_together.mean():.1f} %: leaving a row out makes its class rarer, "
        "which here counts for more than what the columns say. Strata keep the class ratio; trust them."
    ]


def _row(name: str, confusions: tuple[Any, ...]) -> Performance:
    """One confusion with its intervals, or the mean over the classes, for which there is no interval."""
    if len(confusions) > 1:
        means = (np.mean([np.nan_to_num(_value(one, metric)) for one in confusions]) for metric in METRICS)
        return Performance(name, *(Estimate(float(mean)) for mean in means))
    one = confusions[0]
    values = {metric: _value(one, metric) for metric in METRICS}
    return Performance(
        name,
        *(Estimate(v, *one.interval(m)) if np.isfinite(v) else Estimate(v) for m, v in values.items()),
    )


def _value(confusion: Any, metric: str) -> float:
    """Return the metric, or NaN where it is 0/0, as is the precision of a class that is never predicted."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UndefinedMetricWarning)
        try:
            return float(getattr(confusion, metric))
        except UndefinedMetricWarning:
            return float("nan")


def _share(count: int, n: int) -> Estimate:
    low, high = proportion_confint(count, n, alpha=0.05, method="wilson")
    return Estimate(count / n, float(low), float(high))


def _model(
    clf: Any, features: np.ndarray, labels: np.ndarray, settings: Settings, status: Any, seconds: float
) -> Model:
    classes, counts = np.unique(labels, return_counts=True)
    names = [str(label) for label in classes]
    solutions = clf.solution_ if isinstance(clf.solution_, list | tuple) else [clf.solution_]
    machines = tuple(
        Machine(
            label,
            int(s.n_free),
            int(s.n_bounded),
            float(s.kkt_residual),
            float(s.relative_gap),
            bool(s.exact),
            s.reason,
        )
        for label, s in zip(names if len(solutions) > 1 else names[1:], solutions, strict=True)
    )
    found, times = np.unique(np.asarray(status).astype(str), return_counts=True)
    takes_gamma = Kernel(settings.kernel).takes_gamma
    return Model(
        settings.kernel,
        float(settings.C),
        settings.gamma if takes_gamma else None,
        _gamma_value(features, settings.gamma) if takes_gamma else None,
        features.shape[1],
        tuple(ClassCount(name, int(n)) for name, n in zip(names, counts, strict=True)),
        len(clf.support_),
        machines,
        dict(zip(found.tolist(), times.tolist(), strict=True)),
        seconds,
    )


def _gamma_value(features: np.ndarray, gamma: str | float) -> float:
    if not isinstance(gamma, str):
        return float(gamma)
    variance = features.var() if gamma == "scale" else 1.0
    return float(1.0 / (features.shape[1] * variance)) if variance > 0 else 1.0


def _surprising(table: Table, classes: np.ndarray, probability: np.ndarray) -> tuple[Surprise, ...]:
    own = probability[np.arange(len(table.labels)), np.searchsorted(classes, table.labels)]
    predicted = probability.argmax(axis=1)
    columns = table.frame.iloc[:, :N_VALUES]
    return tuple(
        Surprise(
            int(i) + 1,
            str(table.labels[i]),
            float(own[i]),
            str(classes[predicted[i]]),
            float(probability[i, predicted[i]]),
            {str(name): columns[name].iloc[i] for name in columns},
        )
        for i in np.argsort(own, kind="stable")[:N_SURPRISING]
    )

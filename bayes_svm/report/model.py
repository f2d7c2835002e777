"""Fitting a table: one object that the report, the saved model and the other commands read."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.kernels.gamma import resolve_gamma
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.probability.several import normalised_log_odds
from bayes_svm.selection.search import BayesSVCSearch
from bayes_svm.utils.metaestimators import decided
from bayes_svm.utils.progress import step
from bayes_svm.utils.types import Array, Indices

from .aims import check_weights
from .errors import InputError
from .evidence import independent_share
from .record import Settings
from .refusals import as_notes, memory_advice, refusals
from .screening import promising
from .tables.features import feature_transformer, fitted_features
from .tables.spellings import as_whole, plain
from .tables.table import Table

__all__ = [
    "FittedTable",
    "deciding_as",
    "features_of",
    "fit_table",
    "heaviest_of",
    "leaving_of",
    "one_machine",
    "weights_of",
]

# The settings that are mixed where the user names none: C, and multiples of gamma="scale".
COSTS = (0.1, 1.0, 10.0)
WIDTHS = (0.25, 1.0, 4.0)
# Of two classes, one with a smaller share than this is rare. Then half of the settings weight the classes by
# their frequency, for which smaller C do; the others ignore a rare class if C is small.
RARE = 0.2
PLAIN_COSTS, BALANCED_COSTS = COSTS[1:], COSTS[:2]
# From this share of independent rows on, all of them count.
ALL_COUNT = 0.99
# Rows are dealt to strata one by one while their number times that of the strata is at most this; else there
# are at most so many parts.
MOST_DEALT, MOST_PARTS = 3_000_000, 1000


@dataclass(frozen=True)
class FittedTable:
    """A table and the model fitted to it.

    Parameters
    ----------
    table : Table
        The data.
    settings : Settings
        What the user chose.
    transformer : ColumnTransformer
        What turned the columns of the table into features, fitted.
    features : ndarray of shape (n, d)
        What the machine saw of each row.
    estimator : BayesSVC or BayesSVCSearch
        One machine, or a mixture of machines.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    left_out_proba : ndarray of shape (n, n_classes)
        Probabilities of each row, left out with its stratum or group.
    left_out_decision_values : ndarray of shape (n,) or (n, n_classes)
        Decision values of each row, left out; for a mixture the log-odds of its probabilities.
    predicted : ndarray of shape (n,)
        Number of the class predicted for each row, left out.
    seconds : float
        Wall time of the fit, leaving out included.
    notes : tuple of str
        What the user should know about the table and the fit.
    weights : ndarray of shape (n,) or None
        Weights of the rows in the fit: see :func:`weights_of`.
    """

    table: Table
    settings: Settings
    transformer: Any
    features: Array
    estimator: Any
    classes: np.ndarray
    left_out_proba: Array
    left_out_decision_values: Array
    predicted: Indices
    seconds: float
    notes: tuple[str, ...]
    weights: np.ndarray | None = None

    @property
    def heaviest(self) -> Any:
        """The one machine, or the machine of largest weight in the mixture."""
        return heaviest_of(self.estimator)

    @property
    def n_machines(self) -> int:
        """Number of settings in the mixture; 1 for one machine."""
        return len(getattr(self.estimator, "weights_", [1.0]))

    @property
    def positive(self) -> int | None:
        """Number of the class that recall and precision are about: the one the user named, otherwise the
        second of two; None for more than two classes if the user named none.
        """
        if self.table.positive is not None:
            return int(np.flatnonzero(self.classes == self.table.positive)[0])
        return 1 if len(self.classes) == 2 else None

    @property
    def approximate(self) -> str:
        """Why intervals and promises hold approximately only, in words."""
        saw = "preprocessing" if isinstance(self.estimator, BayesSVC) else "preprocessing and the choice"
        groups = (
            ""
            if self.table.groups is None
            else ", and the intervals of single probabilities know of groups only how alike their classes are"
        )
        return f"approximate: the {saw} saw these rows{groups}"


def heaviest_of(estimator: Any) -> Any:
    """The one machine, or the machine of largest weight in a mixture.

    Parameters
    ----------
    estimator : BayesSVC or BayesSVCSearch
        Fitted.

    Returns
    -------
    BayesSVC
        The machine.
    """
    if not hasattr(estimator, "weights_"):
        return estimator
    return estimator.estimators_[int(np.argmax(estimator.weights_))]


def deciding_as(estimator: Any) -> Any:
    """The heaviest machine, with the costs by which the whole decides.

    Parameters
    ----------
    estimator : BayesSVC or BayesSVCSearch
        Fitted.

    Returns
    -------
    BayesSVC
        A copy of the machine, with the same probabilities.
    """
    machine = copy.copy(heaviest_of(estimator))
    machine.class_weight_ = estimator.class_weight_
    return machine


def fit_table(table: Table, settings: Settings) -> FittedTable:
    """Fit the model to a table: a mixture over a small grid of settings, by left-out values.

    From 4000 rows on, settings that are of no use on half of the rows are not tried on all.

    A C or gamma that the user gave is fixed; the other stays in the grid. With both given, or with
    ``settings.quick``, one machine is fitted. If one of two classes is rare, and the user gives no costs of
    the classes, half of the settings weight the classes by their frequency. That is for the probabilities:
    the most probable class is predicted.

    Parameters
    ----------
    table : Table
        The data.
    settings : Settings
        What the user chose.

    Returns
    -------
    FittedTable
        The fit.

    Raises
    ------
    InputError
        If the model cannot be fitted to the data, if memory runs out, or if a risk is to be promised of rows
        whose weights differ.
    """
    check_weights(settings.aims, table.weights)
    notes = list(table.notes)
    with as_notes(notes), memory_advice(len(table.labels)):
        transformer, features = features_of(table, settings)
        started = time.perf_counter()
        with step("fitting"), refusals():
            weights = weights_of(table, notes)
            estimator = _unfitted(features, table, settings, weights)
            estimator.fit(features, table.labels, sample_weight=weights, groups=leaving_of(table))
        seconds = time.perf_counter() - started
        if settings.class_weight is None and hasattr(estimator, "weights_"):
            # Costs that are only settings to choose from are not the user's.
            estimator.class_weight_ = np.ones(len(estimator.classes_))
            wrong = estimator.classes_[estimator.left_out_proba_.argmax(axis=1)] != table.labels
            estimator.left_out_error_ = float(np.average(wrong, weights=table.weights))
    # With weights they are means, whose rounding may leave one above 1.
    proba = np.minimum(estimator.left_out_proba_, 1.0)
    values, predicted = _left_out(estimator, proba)
    return FittedTable(
        table=table,
        settings=settings,
        transformer=transformer,
        features=features,
        estimator=estimator,
        classes=np.asarray(estimator.classes_),
        left_out_proba=proba,
        left_out_decision_values=values,
        predicted=predicted,
        seconds=seconds,
        notes=tuple(dict.fromkeys(notes)),
        weights=weights,
    )


def leaving_of(table: Table) -> np.ndarray | None:
    """What leaves whole in the fit: the units of the table; of many, parts that have each class.

    To deal rows to strata one by one takes a time that grows with the square of their number.

    Parameters
    ----------
    table : Table
        The data.

    Returns
    -------
    ndarray of shape (n,) or None
        Number or name of what each row leaves with; None if each row leaves by itself.
    """
    if table.units is None or table.groups is not None:
        return table.units
    y = np.unique(table.labels, return_inverse=True)[1]
    rarest = int(np.bincount(y).min())
    if rarest * len(y) <= MOST_DEALT:
        return table.units
    import pandas as pd

    # The same whatever the order of the rows and the columns.
    rows = table.frame[sorted(table.frame.columns)].assign(**{"": table.weights})
    shuffled = np.argsort(pd.util.hash_pandas_object(rows, index=False).to_numpy(), kind="stable")
    part = np.empty(len(y), dtype=np.intp)
    for k in range(int(y.max()) + 1):
        own = shuffled[y[shuffled] == k]
        part[own] = np.arange(len(own)) % min(rarest, MOST_PARTS)
    return part


def weights_of(table: Table, notes: list[str]) -> np.ndarray | None:
    """Weights of the rows in a fit: those of the table, all of them smaller if rows of a group are alike.

    The links, and the choice of the settings, know the number of rows, and would take ten rows of a patient
    for ten patients. The weights sum to the number of independent rows.

    Parameters
    ----------
    table : Table
        The data.
    notes : list of str
        A note is appended if rows count less than they would.

    Returns
    -------
    ndarray of shape (n,) or None
        The weights; None if each row counts once.
    """
    if table.groups is None:
        return table.weights
    share = independent_share(table.labels, table.groups, table.weights)
    if share > ALL_COUNT:
        return table.weights
    n = len(table.labels)
    if table.weights is None:
        told = (
            f"these {n:,} rows count as {share * n:,.0f} independent ones, each with the weight {share:.3g}"
        )
    else:
        told = f"each row counts with {share:.3g} of its weight"
    notes.append(f"rows of a group have the same class more often than others: in the fit {told}")
    return np.full(n, share) if table.weights is None else share * table.weights


def features_of(table: Table, settings: Settings) -> tuple[Any, Array]:
    """Turn the table's features into numbers: numeric columns are standardised, others one-hot encoded.

    Parameters
    ----------
    table : Table
        The data.
    settings : Settings
        What the user chose.

    Returns
    -------
    transformer : ColumnTransformer
        The fitted transformer.
    features : ndarray of shape (n, n_features)
        The features.
    """
    transformer = feature_transformer(table.frame, impute=settings.impute)
    features = fitted_features(transformer, table.frame, table.weights)
    return transformer, np.ascontiguousarray(features, dtype=float)


def one_machine(settings: Settings, table: Table) -> BayesSVC:
    """An unfitted machine with the settings; C and gamma that the user did not give have their defaults.

    Parameters
    ----------
    settings : Settings
        What the user chose.
    table : Table
        The data.

    Returns
    -------
    BayesSVC
        The machine, which leaves all rows out.
    """
    return BayesSVC(
        C=1.0 if settings.C is None else settings.C,
        kernel=settings.kernel,
        gamma="scale" if settings.gamma is None else settings.gamma,
        class_weight=_class_weight(settings, table),
        leave_out_size=None,
    )


def _unfitted(features: Array, table: Table, settings: Settings, weights: np.ndarray | None) -> Any:
    """One machine, or the mixture over those settings of the grid that are worth it."""
    machine = one_machine(settings, table)
    grid: dict[str, list[Any]] = {}
    if settings.C is None:
        grid["C"] = list(COSTS)
    if settings.gamma is None and Kernel(settings.kernel).takes_gamma:
        scale = resolve_gamma("scale", features, table.weights)
        grid["gamma"] = [width * scale for width in WIDTHS]
    if settings.quick or not grid:
        return machine
    grids = [grid]
    if settings.class_weight is None and _one_is_rare(table):
        grids = [
            {**grid, "class_weight": [weight]} | ({"C": list(costs)} if "C" in grid else {})
            for weight, costs in ((None, PLAIN_COSTS), ("balanced", BALANCED_COSTS))
        ]
    tried = promising(machine, list(ParameterGrid(grids)), features, table.labels, weights, leaving_of(table))
    only = [{name: [value] for name, value in one.items()} for one in tried]
    return BayesSVCSearch(machine, only, combine="stack")


def _one_is_rare(table: Table) -> bool:
    """Whether there are two classes, one of them rare."""
    shares = np.bincount(np.unique(table.labels, return_inverse=True)[1], weights=table.weights)
    return len(shares) == 2 and bool(shares.min() < RARE * shares.sum())


def _class_weight(settings: Settings, table: Table) -> Any:
    """Costs of the classes by label: the user types labels as text."""
    if not isinstance(settings.class_weight, dict):
        return settings.class_weight
    by_name = {str(label): label for label in np.unique(table.labels).tolist()}
    # The labels have single blanks, whatever they are in the file.
    named = [name if name in by_name else as_whole(plain(name)) for name in settings.class_weight]
    given = dict(zip(named, settings.class_weight.values(), strict=True))
    if len(given) < len(named):
        raise InputError("--class-weight gives a class two costs; give each class one")
    unknown = [name for name in given if name not in by_name]
    if unknown:
        raise InputError(
            f"--class-weight names {unknown[0]!r}, which is no class of {table.target!r}; "
            f"the classes are {', '.join(map(repr, by_name))}"
        )
    return {by_name[name]: weight for name, weight in given.items()}


def _left_out(estimator: Any, proba: Array) -> tuple[Array, Indices]:
    """Left-out decision values, and the numbers of the classes predicted from the left-out rows."""
    if not hasattr(estimator, "weights_"):
        return np.asarray(estimator.left_out_decision_values_), np.asarray(estimator.left_out_.predicted)
    costs = np.asarray(estimator.class_weight_)
    logs = np.log(np.maximum(proba, np.finfo(float).tiny))
    values = logs[:, 1] - logs[:, 0] if len(costs) == 2 else normalised_log_odds(logs + np.log(costs))
    return values, decided(proba, costs)

"""Which columns matter: what left-out predictions lose if a column's values are shuffled among the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t
from sklearn.feature_selection import f_classif

from bayes_svm.classifiers.left_out_machines import LeftOutMachines
from bayes_svm.selection.mixture import pooled
from bayes_svm.utils.metaestimators import decided
from bayes_svm.utils.progress import counted

from .evidence import WIDER, error_of_mean

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnImportance", "Importance", "Shuffled", "importance_of"]

# Number of rows whose left-out predictions are made again, at least; of the rarest class, about; and at most.
ROWS, RAREST, MOST_TRIED = 300, 40, 1200
# A column is shuffled this many times at least, and at most.
FEWEST, MOST = 3, 5
# Where rows stand for others, so many other rows lend their values to each.
MOST_TURNS = 100
# Number of kernel values that are computed, about: a few seconds' worth.
BUDGET = 7e8
# With more rows, the machines without each of some rows take too much memory.
MOST_ROWS = 6000
# Probability that a column of a table that says nothing is called clear of chance, at most.
ALPHA = 0.05
# Where the values that are shuffled come from: with the same data, the result is the same.
SEED = 0


@dataclass(frozen=True)
class ColumnImportance:
    """What shuffling one column costs.

    Parameters
    ----------
    name : str
        The column.
    probability_lost : float
        Mean fall of the probability of the row's own class.
    probability_error : float
        Standard error of `probability_lost`, over the rows or their groups.
    error_added : float
        Rise of the share of wrong predictions.
    error_error : float
        Standard error of `error_added`, over the rows or their groups.
    """

    name: str
    probability_lost: float
    probability_error: float
    error_added: float
    error_error: float


@dataclass(frozen=True)
class Importance:
    """The columns, the most important first.

    Parameters
    ----------
    columns : tuple of ColumnImportance
        What was found.
    n_rows : int
        Number of rows whose predictions were made again.
    n_shuffles : int
        How often each column was shuffled.
    n_skipped : int
        Number of columns that were not tried: those whose means differ least between the classes.
    n_independent : int
        Number of groups among these rows, or of the rows without groups: the standard errors are as sure.
    reason : str or None
        Why nothing was tried; None if something was.
    """

    columns: tuple[ColumnImportance, ...] = ()
    n_rows: int = 0
    n_shuffles: int = 0
    n_skipped: int = 0
    n_independent: int = 2
    reason: str | None = None

    @property
    def clear(self) -> tuple[str, ...]:
        """Columns whose loss is further above 0 than chance explains, at 95 % for all of them together."""
        one_sided = t.isf(ALPHA / max(1, len(self.columns) + self.n_skipped), self.n_independent - 1)
        errors = WIDER * one_sided
        return tuple(
            one.name
            for one in self.columns
            if one.probability_lost > max(0.0, errors * one.probability_error)
        )


class Shuffled:
    """Left-out predictions of one model, or of a mixture, for rows of which a column has other values.

    Parameters
    ----------
    members : sequence of BayesSVC
        The fitted models.
    features : ndarray of shape (n, n_features)
        What they were fitted to.
    labels : ndarray of shape (n,)
        Label of each row.
    given : dict
        Sample weights and groups of the fit, as keyword arguments.
    mixture : BayesSVCSearch or None
        The mixture that the models belong to.
    """

    def __init__(
        self,
        members: Sequence[Any],
        features: np.ndarray,
        labels: np.ndarray,
        given: dict[str, Any],
        mixture: Any,
    ) -> None:
        rarest = np.unique(labels, return_counts=True)[1].min()
        size = min(MOST_TRIED, max(ROWS, math.ceil(RAREST * len(labels) / rarest)))
        self.machines = [LeftOutMachines(one, features, labels, size=size, **given) for one in members]
        self.mixture = mixture
        first, groups = self.machines[0], given.get("groups")
        self.rows, self.copies = first.rows, first.copies
        self.every = len(self.rows) < size
        self.groups = None if groups is None else groups[self.rows]
        self.classes = members[0].classes_
        self.weight = members[0].class_weight_
        self.y = np.searchsorted(self.classes, labels[self.rows])
        self.n_machines = sum(one.n_machines for one in self.machines)

    def judged(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probability of each row's own class, and whether it is predicted wrongly, with other features."""
        logs = [one.log_proba(features) for one in self.machines]
        mixed = logs[0]
        if len(logs) > 1:
            mixed = pooled(np.stack(logs), self.mixture.weights_, self.mixture.base_)
        proba = np.exp(mixed)
        weight = self.weight if self.mixture is None else self.mixture.class_weight_
        return proba[np.arange(len(self.y)), self.y], decided(proba, weight) != self.y


def importance_of(frame: pd.DataFrame, transformer: Any, shuffled: Shuffled, n_points: int) -> Importance:
    """Shuffle the columns one by one.

    Each row is predicted by the machine trained without its stratum, with its own value and with those of
    other rows. All features that a column is encoded by change together. The number of shuffles, and if need
    be of columns, follows from the size of the data, so that the time is some seconds.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns.
    transformer : ColumnTransformer
        Fitted; turns the columns into features.
    shuffled : Shuffled
        The left-out predictions.
    n_points : int
        Number of training rows.

    Returns
    -------
    Importance
        The columns, the most important first.
    """
    some = frame.iloc[shuffled.rows]
    features = _features(transformer, some)
    # A kernel value of many features takes longer.
    per_shuffle = len(some) * n_points * shuffled.n_machines * (1 + features.shape[1] / 50)
    most = max(5, math.floor(BUDGET / (FEWEST * per_shuffle)))
    encoded = _encoded_by(transformer, some, features)
    tried = _most_telling(encoded, features, shuffled.y, most)
    times = min(MOST, max(FEWEST, math.floor(BUDGET / (per_shuffle * max(1, len(tried))))))
    before, wrong_before = shuffled.judged(features)
    random = np.random.default_rng(SEED)
    orders = [random.permutation(len(some)) for _ in range(times)]
    copies = shuffled.copies
    # Of all rows each copy is evidence of its own; of a draw of different rows each of these is.
    alone = copies if shuffled.every else None
    if np.ptp(copies) > 0.0:
        # Every row gets the values of many others, which count as often as they occur.
        most = max(times, math.floor(BUDGET / (per_shuffle * max(1, len(tried)))))
        mixed = random.permutation(len(some))
        place, turns = np.argsort(mixed), random.permutation(len(some))[: min(most, MOST_TURNS)]
        orders = [mixed[(place + turn) % len(some)] for turn in turns]
    shares = [copies[order] / sum(copies[one] for one in orders) for order in orders]
    found = []
    for name in counted(tried, "columns"):
        lost, added = np.zeros(len(some)), np.zeros(len(some))
        for order, share in zip(orders, shares, strict=True):
            other = features.copy()
            other[:, encoded[name]] = features[order][:, encoded[name]]
            after, wrong_after = shuffled.judged(other)
            lost += (before - after) * share
            added += (wrong_after.astype(float) - wrong_before) * share
        (loss, loss_error), (rise, rise_error) = (
            (float(np.average(one, weights=copies)), error_of_mean(one, shuffled.groups, copies, alone))
            for one in (lost, added)
        )
        found.append(ColumnImportance(str(name), loss, loss_error, rise, rise_error))
    found.sort(key=lambda one: -one.probability_lost)
    n_rows = round(float(copies.sum()))
    independent = len(np.unique(shuffled.groups)) if shuffled.groups is not None else len(some)
    if alone is not None and shuffled.groups is None:
        independent = n_rows
    return Importance(tuple(found), n_rows, len(orders), len(encoded) - len(tried), max(2, independent))


def _features(transformer: Any, frame: pd.DataFrame) -> np.ndarray:
    return np.ascontiguousarray(transformer.transform(frame), dtype=float)


def _encoded_by(transformer: Any, frame: pd.DataFrame, features: np.ndarray) -> dict[Any, np.ndarray]:
    """Numbers of the features that each column is encoded by; none for a column of one value.

    The columns are numbered from 1, and those with a 1 in a place of their binary number get the values of
    the row before. The features that change with them have a 1 in this place of their column's number.
    """
    import pandas as pd

    rolled = frame.iloc[np.roll(np.arange(len(frame)), 1)].set_axis(frame.index)
    numbers = np.arange(1, frame.shape[1] + 1)
    owner = np.zeros(features.shape[1], dtype=np.intp)
    for place in range(frame.shape[1].bit_length()):
        moved = (numbers >> place) % 2 == 1
        other = pd.concat([frame.loc[:, ~moved], rolled.loc[:, moved]], axis=1)[list(frame.columns)]
        owner += (_features(transformer, other) != features).any(axis=0).astype(np.intp) << place
    return {name: np.flatnonzero(owner == k) for k, name in zip(numbers, frame.columns, strict=True)}


def _most_telling(
    encoded: dict[Any, np.ndarray], features: np.ndarray, y: np.ndarray, most: int
) -> list[Any]:
    """The columns to try: those whose features' means differ most between the classes, if they are many."""
    names = [name for name, own in encoded.items() if len(own)]
    if len(names) <= most:
        return names
    varying = np.unique(np.concatenate([encoded[name] for name in names]))
    ratio = np.zeros(features.shape[1])
    # Means that differ without any spread within the classes have an infinite ratio.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio[varying] = np.nan_to_num(f_classif(features[:, varying], y)[0], posinf=np.inf)
    return sorted(names, key=lambda name: -ratio[encoded[name]].max())[:most]

"""What a chosen threshold will decide on new data, by choosing it again on resamples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_svm.metrics.confusion import Confusion
from bayes_svm.utils.types import Array, Indices

__all__ = ["Rechosen", "confusions_of", "contingency", "rechosen"]


@dataclass(frozen=True)
class Rechosen:
    """The choices on all resamples, and what they decide on the rows that they did not see.

    Parameters
    ----------
    found : list of float or of array
        What was chosen; resamples where nothing could be chosen are left out.
    table : array of shape (n_classes, n_classes)
        Weights of the rows of each true class, row, that are decided for each class, column, scaled to
        the weights of the true classes in the data.
    """

    found: list[Any]
    table: Array


def rechosen(
    y: Indices,
    values: Array,
    weight: Array,
    n_bootstrap: int,
    random: np.random.RandomState,
    *,
    choose: Callable[[Array], Any],
    decide: Callable[[Any], Indices],
    table: Array,
) -> Rechosen:
    """Choose on resamples, and count the decisions on the rows out of each resample.

    Resamples are drawn within the classes, and do not depend on the order of the rows. A row is in one with
    a probability of about 0.63.

    Parameters
    ----------
    y : array of int of shape (n_samples,)
        Class numbers.
    values : array of shape (n_samples,) or (n_samples, n_columns)
        Decision values.
    weight : array of shape (n_samples,)
        Weights of the rows, above 0.
    n_bootstrap : int
        Number of resamples.
    random : RandomState
        Source of the resamples.
    choose : callable
        What is chosen by the weights of the rows; None if nothing can be.
    decide : callable
        Class number of every row by what was chosen.
    table : array of shape (n_classes, n_classes)
        The decisions on the data themselves, which stand for a class of which every resample has all rows.

    Returns
    -------
    Rechosen
        The choices and their decisions.
    """
    n_classes, found = len(table), []
    unseen = np.zeros_like(table)
    order = np.lexsort((weight, *np.atleast_2d(values.T)))
    members = [order[y[order] == k] for k in range(n_classes)]
    for _ in range(n_bootstrap):
        drawn = np.zeros(len(y))
        for rows in members:
            drawn[rows] = np.bincount(random.randint(len(rows), size=len(rows)), minlength=len(rows))
        one = choose(drawn * weight)
        if one is None:
            continue
        found.append(one)
        unseen += contingency(y, decide(one), np.where(drawn == 0, weight, 0.0), n_classes)
    whole, counted = table.sum(axis=1), unseen.sum(axis=1)
    scale = np.divide(whole, counted, out=np.zeros(n_classes), where=counted > 0)
    return Rechosen(found, np.where(counted[:, None] > 0, unseen * scale[:, None], table))


def contingency(y: Indices, decided: Indices, weight: Array, n_classes: int) -> Array:
    """Weights of the rows of each true class that are decided for each class.

    Parameters
    ----------
    y : array of int of shape (n_samples,)
        Class numbers.
    decided : array of int of shape (n_samples,)
        Numbers of the classes that the rows are decided for.
    weight : array of shape (n_samples,)
        Weights of the rows.
    n_classes : int
        Number of classes.

    Returns
    -------
    array of shape (n_classes, n_classes)
        Rows are true classes, columns are decided ones.
    """
    cells = np.bincount(n_classes * y + decided, weights=weight, minlength=n_classes**2)
    return np.asarray(cells.reshape(n_classes, n_classes))


def confusions_of(table: Array) -> tuple[Confusion, ...]:
    """One confusion for two classes, otherwise one per class against the rest.

    Parameters
    ----------
    table : array of shape (n_classes, n_classes)
        Weights as :func:`contingency` counts them.

    Returns
    -------
    tuple of Confusion
        One, of class 1 against class 0, or ``n_classes``.
    """
    numbers = (1,) if len(table) == 2 else range(len(table))
    found = []
    for k in numbers:
        # Sums alone: a difference of weights might come out below 0.
        own = np.arange(len(table)) == k
        tp, fp, fn, tn = (
            float(table[np.ix_(true, decided)].sum())
            for true, decided in ((own, own), (~own, own), (own, ~own), (~own, ~own))
        )
        found.append(Confusion(tp, fp, fn, tn))
    return tuple(found)

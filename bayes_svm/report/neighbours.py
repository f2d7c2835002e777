"""The training rows that speak most for and against what a model says of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_svm.classifiers.explaining import influential_rows
from bayes_svm.utils.metaestimators import decided

__all__ = ["MOST_ROWS", "Neighbour", "Neighbours", "neighbours_of"]

# Number of rows that are named, for and against.
N_EACH = 3
# With more training rows, finding out what leaving one of them out would change takes too long for a report.
MOST_ROWS = 3000


@dataclass(frozen=True)
class Neighbour:
    """A training row that a prediction rests on.

    Parameters
    ----------
    row : int
        Its number in the file, from 1, without the header.
    name : str or None
        Its identifier, if there are identifiers.
    label : str
        Its label.
    weight : float
        Size of its part of the decision value.
    probability : float or None
        Probability of the class in question without it; None if that is not known.
    """

    row: int
    name: str | None
    label: str
    weight: float
    probability: float | None


@dataclass(frozen=True)
class Neighbours:
    """What a prediction rests on.

    Parameters
    ----------
    about : str
        The class that the machine trained on all rows predicts.
    probability : float
        Its probability.
    supporting : tuple of Neighbour
        Training rows that speak most for it, the row itself not among them.
    opposing : tuple of Neighbour
        Training rows that speak most against it.
    """

    about: str
    probability: float
    supporting: tuple[Neighbour, ...]
    opposing: tuple[Neighbour, ...]


def neighbours_of(
    model: Any, features: np.ndarray, row: int, rows: np.ndarray, identifiers: np.ndarray | None = None
) -> Neighbours:
    """Find the rows that speak most for and against the prediction of a training row.

    Parameters
    ----------
    model : BayesSVC
        The fitted model.
    features : ndarray of shape (n, n_features)
        What it was fitted to.
    row : int
        Number of the row, from 0.
    rows : ndarray of shape (n,)
        Number of each row in the file.
    identifiers : ndarray of shape (n,), optional
        Name of each row.

    Returns
    -------
    Neighbours
        The rows, the most influential first.
    """
    X = features[[row]]
    proba = model.predict_proba(X)
    k = int(decided(proba, model.class_weight_)[0])
    supporting, opposing = influential_rows(model, X, k, N_EACH + 1)

    def others(influential: Any) -> tuple[Neighbour, ...]:
        return tuple(
            Neighbour(
                row=int(rows[one.row]),
                name=None if identifiers is None else str(identifiers[one.row]),
                label=str(one.label),
                weight=abs(float(one.contribution)),
                probability=one.probability,
            )
            for one in influential
            if one.row != row
        )[:N_EACH]

    return Neighbours(str(model.classes_[k]), float(proba[0, k]), others(supporting), others(opposing))

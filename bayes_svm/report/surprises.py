"""The rows whose own labels are least probable when they are left out, and why they surprise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Cell", "Surprise", "Typical", "cells_of", "surprising_rows"]

# Number of surprising rows.
N_ROWS = 10
# Number of columns of each of them at most, those that tell most against the label.
MOST_CELLS = 60
# A value is a reason if it is at least this many times as unusual among its own class as among the other.
RATIO = 3.0
# Number of reasons told.
N_REASONS = 3


@dataclass(frozen=True)
class Typical:
    """What a column is like in one class.

    Parameters
    ----------
    low : float or None
        First quartile of a column of numbers.
    high : float or None
        Third quartile.
    most : str or None
        Most frequent value of a column of texts.
    share : float or None
        Its share of the class's rows.
    """

    low: float | None = None
    high: float | None = None
    most: str | None = None
    share: float | None = None


@dataclass(frozen=True)
class Cell:
    """One value of a surprising row, beside what is typical of two classes.

    Parameters
    ----------
    column : str
        Name of the column.
    value : object
        The value; None if it is missing.
    own : Typical
        What is typical of the row's own class.
    other : Typical
        What is typical of the class that it looks like.
    own_share : float
        How usual the value is among the other rows of its own class: the share with a value at least as far
        from the middle, on either side, or the share with the same text.
    other_share : float
        The same among the rows of the other class.
    reason : bool
        Whether the value is one of those that tell most against the label.
    """

    column: str
    value: Any
    own: Typical
    other: Typical
    own_share: float
    other_share: float
    reason: bool


@dataclass(frozen=True)
class Surprise:
    """A row whose own label is improbable when the row is left out.

    Parameters
    ----------
    row : int
        Number of the row, from 1, without the header.
    name : str or None
        The row's identifier, if there are identifiers.
    label : str
        Its label.
    probability : float
        Left-out probability of its label.
    interval : tuple of float
        Lower and upper end of the label's probability interval.
    predicted : str
        The most probable class.
    predicted_probability : float
        Left-out probability of that class.
    other : str
        The class that it looks like: the most probable class other than its own.
    cells : tuple of Cell
        Its values, those that tell most against the label first; of a wide table only these.
    n_left_out : int
        Number of columns that are not among the cells.
    """

    row: int
    name: str | None
    label: str
    probability: float
    interval: tuple[float, float]
    predicted: str
    predicted_probability: float
    other: str
    cells: tuple[Cell, ...]
    n_left_out: int


def surprising_rows(
    frame: pd.DataFrame,
    names: list[str],
    y: np.ndarray,
    probability: np.ndarray,
    predicted: np.ndarray,
    intervals: Any,
    identifiers: np.ndarray | None = None,
) -> tuple[Surprise, ...]:
    """Find the rows whose own labels are least probable.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns.
    names : list of str
        Labels of the classes.
    y : ndarray of shape (n,)
        Class number of each row.
    probability : ndarray of shape (n, n_classes)
        Left-out probabilities.
    predicted : ndarray of shape (n,)
        Number of each row's predicted class.
    intervals : callable
        Takes numbers of rows, and returns lower and upper ends of the probability of their labels.
    identifiers : ndarray of shape (n,), optional
        Name of each row.

    Returns
    -------
    tuple of Surprise
        The rows, the most surprising first.
    """
    every = np.arange(len(y))
    own = probability[every, y]
    others = probability.copy()
    others[every, y] = -1.0
    rows = np.argsort(own, kind="stable")[:N_ROWS]
    found = []
    for row, (low, high) in zip(rows, intervals(rows), strict=True):
        other = int(others[row].argmax())
        cells = cells_of(frame, y, int(row), other)
        found.append(
            Surprise(
                row=int(row) + 1,
                name=None if identifiers is None else str(identifiers[row]),
                label=names[y[row]],
                probability=float(own[row]),
                interval=(float(low), float(high)),
                predicted=names[predicted[row]],
                predicted_probability=float(probability[row, predicted[row]]),
                other=names[other],
                cells=cells[:MOST_CELLS],
                n_left_out=max(0, len(cells) - MOST_CELLS),
            )
        )
    return tuple(found)


def cells_of(frame: pd.DataFrame, y: np.ndarray, row: int, other: int) -> tuple[Cell, ...]:
    """Compare a row's values with two classes: its own, of which it is left out, and another.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns.
    y : ndarray of shape (n,)
        Class number of each row.
    row : int
        Number of the row.
    other : int
        Number of the other class.

    Returns
    -------
    tuple of Cell
        One for each column, those that tell most against the row's class first.
    """
    import pandas as pd

    mine, theirs = y == y[row], y == other
    mine[row] = False
    found, ratios = [], []
    for name in frame.columns:
        column = frame[name]
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        compare = _numbers if numeric else _texts
        value, (own, own_share), (typical, share) = compare(column, row, mine, theirs)
        # One more row of each class, so that no share is 0.
        ratios.append((share + 1 / (theirs.sum() + 1)) / (own_share + 1 / (mine.sum() + 1)))
        found.append(Cell(str(name), value, own, typical, own_share, share, False))
    order = np.argsort(-np.array(ratios), kind="stable")
    reasons = {k for k in order[:N_REASONS] if ratios[k] >= RATIO}
    return tuple(replace(found[k], reason=k in reasons) for k in order)


def _numbers(column: pd.Series, row: int, *classes: np.ndarray) -> tuple[Any, ...]:
    values = column.to_numpy(dtype=float, na_value=np.nan)
    value = values[row]
    return (None if np.isnan(value) else column.iloc[row], *(_place(value, values[rows]) for rows in classes))


def _place(value: float, values: np.ndarray) -> tuple[Typical, float]:
    """Quartiles of some numbers, and twice the share of them beyond a value, at most 1."""
    missing = np.isnan(values)
    known = values[~missing]
    if np.isnan(value) or len(known) == 0:
        share = float(missing.mean()) if np.isnan(value) and len(values) else 0.0
    else:
        share = min(1.0, 2.0 * min(float((known <= value).mean()), float((known >= value).mean())))
    if len(known) == 0:
        return Typical(), share
    low, high = np.quantile(known, [0.25, 0.75])
    return Typical(low=float(low), high=float(high)), share


def _texts(column: pd.Series, row: int, *classes: np.ndarray) -> tuple[Any, ...]:
    texts = np.array(
        ["" if gone else str(one) for one, gone in zip(column, column.isna(), strict=True)], dtype=object
    )
    missing = column.isna().to_numpy()
    found = []
    for rows in classes:
        if not rows.any():
            found.append((Typical(), 0.0))
            continue
        same = missing[rows] if missing[row] else (texts[rows] == texts[row]) & ~missing[rows]
        values, counts = np.unique(texts[rows & ~missing].astype(str), return_counts=True)
        typical = Typical()
        if len(values):
            typical = Typical(most=str(values[counts.argmax()]), share=float(counts.max() / rows.sum()))
        found.append((typical, float(same.mean())))
    return (None if missing[row] else str(column.iloc[row]), *found)

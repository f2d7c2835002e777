"""The rows whose own labels are least probable when they are left out, and why they surprise."""

from __future__ import annotations

import numbers
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .neighbours import Neighbours

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Cell", "Surprise", "Typical", "cells_of", "surprising_rows"]

# Number of surprising rows.
N_ROWS = 10
# Number of columns of each of them at most, those that tell most against the label.
MOST_CELLS = 60
# A value is a reason if it is at least this many times as unusual among its own class as among the other.
RATIO = 3.0
# With fewer other rows of the class no value can be said to be unusual among them.
FEWEST = 5
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
    date : bool
        Whether the numbers are days since 1970-01-01.
    """

    column: str
    value: Any
    own: Typical
    other: Typical
    own_share: float
    other_share: float
    reason: bool
    date: bool = False


@dataclass(frozen=True)
class Surprise:
    """A row whose own label is improbable when the row is left out.

    Parameters
    ----------
    row : int
        Number of the row in the file, from 1, without the header.
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
    n_alike : int
        Number of other rows with its label.
    neighbours : Neighbours or None
        The training rows that the prediction rests on; None if there are too many rows to find out.
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
    n_alike: int
    neighbours: Neighbours | None = None

    @property
    def has_few_alike(self) -> bool:
        """Whether the other rows of its label are too few to say what is usual among them."""
        return self.n_alike < FEWEST


def surprising_rows(
    frame: pd.DataFrame,
    names: list[str],
    y: np.ndarray,
    probability: np.ndarray,
    predicted: np.ndarray,
    intervals: Any,
    neighbours: Any,
    rows: np.ndarray,
    identifiers: np.ndarray | None = None,
    dates: Collection[str] = (),
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
    neighbours : callable
        Takes the number of a row, and returns what its prediction rests on.
    rows : ndarray of shape (n,)
        Number of each row in the file.
    identifiers : ndarray of shape (n,), optional
        Name of each row.
    dates : collection of str
        The columns of dates.

    Returns
    -------
    tuple of Surprise
        The rows, the most surprising first.
    """
    every = np.arange(len(y))
    own = probability[every, y]
    others = probability.copy()
    others[every, y] = -1.0
    least = np.argsort(own, kind="stable")[:N_ROWS]
    found = []
    for row, (low, high) in zip(least, intervals(least), strict=True):
        other = int(others[row].argmax())
        cells = cells_of(frame, y, int(row), other, dates)
        found.append(
            Surprise(
                row=int(rows[row]),
                name=None if identifiers is None else str(identifiers[row]),
                label=names[y[row]],
                probability=float(own[row]),
                interval=(float(low), float(high)),
                predicted=names[predicted[row]],
                predicted_probability=float(probability[row, predicted[row]]),
                other=names[other],
                cells=cells,
                n_left_out=frame.shape[1] - len(cells),
                n_alike=int((y == y[row]).sum()) - 1,
                neighbours=neighbours(int(row)),
            )
        )
    return tuple(found)


def cells_of(
    frame: pd.DataFrame, y: np.ndarray, row: int, other: int, dates: Collection[str] = ()
) -> tuple[Cell, ...]:
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
    dates : collection of str
        The columns of dates.

    Returns
    -------
    tuple of Cell
        The columns that tell most against the row's class, at most 60, in this order.
    """
    mine, theirs = y == y[row], y == other
    mine[row] = False
    own_share, other_share = (_shares(frame, row, rows) for rows in (mine, theirs))
    # One more row of each class, so that no share is 0.
    ratios = (other_share + 1 / (theirs.sum() + 1)) / (own_share + 1 / (mine.sum() + 1))
    order = np.argsort(-ratios, kind="stable")[:MOST_CELLS]
    found = []
    for place, k in enumerate(order):
        column, date = frame.iloc[:, k], frame.columns[k] in dates
        value = column.iloc[row]
        found.append(
            Cell(
                column=str(frame.columns[k]),
                value=_shown(value),
                own=_typical(column[mine], date),
                other=_typical(column[theirs], date),
                own_share=float(own_share[k]),
                other_share=float(other_share[k]),
                reason=bool(place < N_REASONS and ratios[k] >= RATIO),
                date=date,
            )
        )
    return tuple(found)


def _shown(value: Any) -> Any:
    """A number or a text; None for a missing value."""
    import pandas as pd

    if pd.isna(value):
        return None
    return (
        value if isinstance(value, numbers.Number) and not isinstance(value, bool | np.bool_) else str(value)
    )


def _is_numeric(dtype: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype))


def _shares(frame: pd.DataFrame, row: int, rows: np.ndarray) -> np.ndarray:
    """How usual each value of a row is among some others.

    For a number, this is twice the share of the known ones at or beyond it, at most 1; for a text the share
    of the same text, and for a missing value that of missing ones.
    """
    shares = np.zeros(frame.shape[1])
    n = int(rows.sum())
    if n == 0:
        return shares
    numeric = np.array([_is_numeric(dtype) for dtype in frame.dtypes], dtype=bool)
    values = frame.loc[:, numeric].to_numpy(dtype=float, na_value=np.nan)
    value, others = values[row], values[rows]
    missing = np.isnan(others).sum(axis=0)
    beyond = np.minimum((others <= value).sum(axis=0), (others >= value).sum(axis=0))
    known = np.minimum(1.0, 2.0 * beyond / np.maximum(1, n - missing))
    shares[numeric] = np.where(np.isnan(value), missing / n, known)
    for k in np.flatnonzero(~numeric):
        column = frame.iloc[:, k]
        text, others_here = _shown(column.iloc[row]), column[rows]
        same = others_here.isna() if text is None else others_here.astype(str) == text
        shares[k] = float(same.mean())
    return shares


def _typical(column: pd.Series, date: bool) -> Typical:
    """Quartiles of numbers, which of dates are dates of the column; of texts the most frequent, the first."""
    known = column.dropna()
    if len(known) == 0:
        return Typical()
    if _is_numeric(column.dtype):
        values = known.to_numpy(dtype=float)
        low, high = np.quantile(values, [0.25, 0.75], method="lower" if date else "linear")
        return Typical(low=float(low), high=float(high))
    texts, counts = np.unique(known.astype(str).to_numpy(dtype=str), return_counts=True)
    return Typical(most=str(texts[counts.argmax()]), share=float(counts.max() / len(column)))

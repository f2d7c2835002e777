"""How nearly one column alone tells the class: the rows that it would get wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bayes_svm.utils.types import Indices

__all__ = ["exceptions_of", "few", "few_enough"]

# A column is named if it gets wrong at most this share of the rows outside the largest class, or one row
# where there are so many. Few columns of real data do, such as two of iris without its third class.
SHARE, ENOUGH = 0.03, 20


def few_enough(exceptions: int, y: Indices) -> bool:
    """Whether so few exceptions are no chance.

    Parameters
    ----------
    exceptions : int
        Number of rows that a column would get wrong.
    y : ndarray of shape (n,)
        Number of each row's class.

    Returns
    -------
    bool
        Whether the user should look at the column.
    """
    others = len(y) - int(np.bincount(y).max())
    return others >= ENOUGH and few(exceptions, others)


def few(exceptions: int, rows: int) -> bool:
    """Whether there are few exceptions among so many rows: one, or a small share."""
    return exceptions <= max(1, SHARE * rows)


def exceptions_of(values: np.ndarray, y: Indices) -> int:
    """Number of rows that one column gets wrong if it is read in the best simple way.

    Each of a few values stands for its most frequent class, and so do all texts that are in one row only; or
    numbers are cut in order into one interval a class. A missing value is a value too.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Floats, or texts as objects; NaN where they are missing.
    y : ndarray of shape (n,)
        Number of each row's class.

    Returns
    -------
    int
        The number of rows.
    """
    import pandas as pd

    codes = pd.factorize(values)[0] + 1
    ways = [len(y)]
    readings = [codes]
    alone = (np.bincount(codes) == 1)[codes]
    if values.dtype == object and not alone.all():
        # Texts in one row each, such as remarks on all rows but the healthy ones, are one value together.
        readings.append(np.where(alone, codes.max() + 1, codes))
    ways += [_by_value(one, y) for one in readings if len(np.unique(one)) <= len(y) / 3]
    if values.dtype != object and not np.isnan(values).any():
        ways.append(_by_order(values, y))
    return min(ways)


def _by_value(codes: Indices, y: Indices) -> int:
    """Rows that are not of the most frequent class of their value."""
    n_classes = int(y.max()) + 1
    pairs = codes * n_classes + y
    counts = np.bincount(pairs, minlength=(int(codes.max()) + 1) * n_classes).reshape(-1, n_classes)
    return int(len(y) - counts.max(axis=1).sum())


def _by_order(values: np.ndarray, y: Indices) -> int:
    """Rows outside their class's interval, for the best cuts between the classes in order of their means."""
    order = np.argsort(values, kind="stable")
    classes = np.unique(y)
    by_mean = classes[np.argsort([values[y == one].mean() for one in classes])]
    # Cuts are possible before the first value, and after the last row of each.
    ends = np.concatenate([[0], np.flatnonzero(np.diff(values[order])) + 1, [len(y)]])
    wrong = np.zeros(len(ends))
    for k, one in enumerate(by_mean):
        # Rows before each cut that are of another class than this.
        others = np.concatenate([[0], np.cumsum(y[order] != one)])[ends]
        # The interval of the class may begin at any earlier cut; the first begins before all rows.
        wrong = others if k == 0 else others + np.minimum.accumulate(wrong - others)
    return int(wrong[-1])

"""Groups and folds as numbers: which rows leave together."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv

from bayes_svm.utils.types import Indices

__all__ = ["fold_numbers", "group_numbers"]


def group_numbers(groups: ArrayLike | None, n_samples: int) -> Indices | None:
    """Number of the group of each row, from 0; None for no groups.

    Raises
    ------
    ValueError
        If the groups are not one label per row, labels that can be compared, and of two kinds at least.
    """
    if groups is None:
        return None
    labels: NDArray[Any] = np.asarray(groups, dtype=object)
    if labels.shape != (n_samples,) and labels.shape != (n_samples, 1):
        raise ValueError(
            f"groups has shape {labels.shape}: give one label for each of the {n_samples} rows, shape "
            f"({n_samples},)."
        )
    labels = labels.ravel()
    kinds = {"number" if isinstance(label, Number) else type(label).__name__ for label in labels}
    if len(kinds) > 1 or "NoneType" in kinds:
        raise ValueError(
            f"groups mixes labels of type {', '.join(sorted(kinds))}: give all as strings, or all as numbers."
        )
    if any(label != label for label in labels):
        raise ValueError("groups holds NaN: every row needs a group, if it is one of its own.")
    names, numbers = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"groups holds one group only ({names.tolist()[0]!r}): at least 2 are needed.")
    return np.asarray(numbers.ravel(), dtype=np.intp)


def fold_numbers(X: Any, y: ArrayLike, groups: ArrayLike | None, cv: Any, name: str) -> Indices:
    """Number of the test fold that each row belongs to; ``name`` is that of the parameter.

    Raises
    ------
    ValueError
        If a row is in no test fold or in several, or a fold is trained on other rows than those
        outside it: left-out values are those of the machine of all other rows.
    """
    n_samples = X.shape[0]
    if isinstance(cv, type):
        raise TypeError(f"{name} is the class {cv.__name__}: give an instance, {cv.__name__}() say.")
    labels = np.asarray(y).reshape(n_samples)
    fold, times = np.zeros(n_samples, dtype=np.intp), np.zeros(n_samples, dtype=np.intp)
    if isinstance(cv, Iterable) and not isinstance(cv, str) and not hasattr(cv, "split"):
        cv = list(cv)
        for number, split in enumerate(cv):
            if not (isinstance(split, Sized) and len(split) == 2):
                raise ValueError(f"{name}[{number}] is no pair of row numbers, (train, test): {split!r}.")
    # No splitter looks at the features: the number of rows is enough.
    for number, (train, test) in enumerate(
        check_cv(cv, labels, classifier=True).split(labels, labels, groups)
    ):
        outside = _rows_of(train, n_samples, name, number, "train")
        inside = _rows_of(test, n_samples, name, number, "test")
        fold[inside] = number
        times += inside
        if not np.array_equal(outside, ~inside):
            row = int(np.flatnonzero(outside == inside)[0])
            raise ValueError(
                f"{name} trains fold {number} on other rows than those outside its test part (row {row}): "
                "leaving out is exact for the machine of all other rows. Use a splitter such as KFold or "
                "StratifiedKFold."
            )
    if np.any(times != 1):
        row = int(np.flatnonzero(times != 1)[0])
        raise ValueError(
            f"{name} does not partition the rows: row {row} is in {times[row]} test folds. Use a splitter "
            "such as KFold or StratifiedKFold, without repetitions."
        )
    return fold


def _rows_of(part: Any, n_samples: int, name: str, number: int, kind: str) -> NDArray[np.bool_]:
    """Rows of one part of a split, given as numbers or as a mask."""
    rows, chosen = np.asarray(part), np.zeros(n_samples, dtype=bool)
    if rows.dtype == bool and rows.shape == (n_samples,):
        return rows
    if rows.size and not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(f"{name}: the {kind} part of fold {number} holds {rows.dtype}, not row numbers.")
    absent = rows[(rows < -n_samples) | (rows >= n_samples)]
    if absent.size:
        raise ValueError(
            f"{name}: the {kind} part of fold {number} names row {absent[0]}, and X has {n_samples} rows, 0 "
            f"to {n_samples - 1}."
        )
    chosen[rows.astype(np.intp)] = True
    return chosen

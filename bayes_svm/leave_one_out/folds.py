"""Groups and folds as numbers: which rows leave together."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv

from bayes_svm.utils.checks import require_comparable
from bayes_svm.utils.types import Indices

__all__ = ["fold_numbers", "group_numbers"]


def group_numbers(groups: ArrayLike | None, n_samples: int) -> Indices | None:
    """Number of the group of each row.

    Parameters
    ----------
    groups : array of shape (n_samples,), optional
        Label of the group of each row.
    n_samples : int
        Number of rows.

    Returns
    -------
    array of shape (n_samples,) or None
        The numbers, from 0; None without groups.

    Raises
    ------
    ValueError
        If there is not one label for each row, the labels cannot be compared, or all are the same.
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
    require_comparable(labels, "groups")
    names, numbers = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"groups holds one group only ({names.tolist()[0]!r}): at least 2 are needed.")
    return np.asarray(numbers.ravel(), dtype=np.intp)


def fold_numbers(X: Any, y: ArrayLike, groups: ArrayLike | None, cv: Any, name: str) -> Indices:
    """Number of the test fold that each row belongs to.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data, of which only the number of rows is used.
    y : array of shape (n_samples,)
        Class labels.
    groups : array of shape (n_samples,), optional
        Groups for the splitter, which has to keep them whole.
    cv : int, splitter or iterable
        The folds, as scikit-learn takes them.
    name : str
        Name of the parameter, for messages.

    Returns
    -------
    array of shape (n_samples,)
        The numbers of the folds.

    Raises
    ------
    TypeError
        If ``cv`` is a class.
    ValueError
        If a row is in no test fold or in several, or a fold is not trained on all rows outside it: left-out
        values are those of the machine trained on all other rows. If a fold tests every row. If rows of a
        group are in different folds.
    """
    n_samples = X.shape[0]
    if isinstance(cv, type):
        raise TypeError(f"{name} is the class {cv.__name__}: give an instance, such as {cv.__name__}().")
    labels = np.asarray(y).reshape(n_samples)
    fold, times = np.zeros(n_samples, dtype=np.intp), np.zeros(n_samples, dtype=np.intp)
    if isinstance(cv, Iterable) and not isinstance(cv, str) and not hasattr(cv, "split"):
        cv = list(cv)
        for number, split in enumerate(cv):
            if not (isinstance(split, Sized) and len(split) == 2):
                raise ValueError(f"{name}[{number}] is not a pair (train, test) of row numbers: {split!r}.")
    # No splitter looks at the features: the number of rows is enough.
    for number, (train, test) in enumerate(
        check_cv(cv, labels, classifier=True).split(labels, labels, groups)
    ):
        outside = _rows_of(train, n_samples, name, number, "train")
        inside = _rows_of(test, n_samples, name, number, "test")
        fold[inside] = number
        times += inside
        if not outside.any():
            raise ValueError(
                f"{name} tests every row in fold {number}, so that no row is left to train on: give two "
                "folds or more."
            )
        if not np.array_equal(outside, ~inside):
            row = int((outside == inside).nonzero()[0][0])
            raise ValueError(
                f"{name} trains fold {number} on other rows than those outside its test part (row {row}): "
                "leaving out is exact for the machine of all other rows. Use a splitter such as KFold or "
                "StratifiedKFold."
            )
    if np.any(times != 1):
        row = int((times != 1).nonzero()[0][0])
        raise ValueError(
            f"{name} does not partition the rows: row {row} is in {times[row]} test folds. Use a splitter "
            "such as KFold or StratifiedKFold, without repetitions."
        )
    if groups is not None:
        _, first, numbers = np.unique(groups, return_index=True, return_inverse=True)
        home = first[numbers.ravel()]
        if np.any(fold != fold[home]):
            row = int((fold != fold[home]).nonzero()[0][0])
            raise ValueError(
                f"{name} parts a group: rows {home[row]} and {row} belong together and are in folds "
                f"{fold[home[row]]} and {fold[row]}. Use a splitter that keeps groups whole, such as "
                "StratifiedGroupKFold, or give no groups."
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

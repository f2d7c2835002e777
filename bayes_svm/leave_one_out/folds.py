"""Groups and folds as numbers: which rows leave together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import check_consistent_length, column_or_1d

__all__ = ["group_numbers"]


def group_numbers(X: Any, y: ArrayLike, groups: ArrayLike | None, cv: Any) -> NDArray[np.intp] | None:
    """Number of the group or test fold that each row belongs to; None where neither is given.

    Raises
    ------
    ValueError
        If there are fewer than two groups, or a row is in no test fold or in several.
    """
    if groups is not None:
        groups = column_or_1d(groups)
        check_consistent_length(groups, y)
    if cv is None:
        if groups is None:
            return None
        names, numbers = np.unique(groups, return_inverse=True)
        if len(names) < 2:
            raise ValueError(f"groups holds one group only ({names[0]!r}): at least 2 are needed.")
        return np.asarray(numbers.ravel(), dtype=np.intp)
    n_samples = len(np.asarray(y))
    fold, times = np.zeros(n_samples, dtype=np.intp), np.zeros(n_samples, dtype=np.intp)
    for number, (_, test) in enumerate(check_cv(cv, y, classifier=True).split(X, y, groups)):
        fold[test] = number
        times += np.bincount(np.arange(n_samples)[test], minlength=n_samples)
    if np.any(times != 1):
        row = int(np.flatnonzero(times != 1)[0])
        raise ValueError(
            f"cv={cv!r} does not partition the rows: row {row} is in {times[row]} test folds. Use a splitter "
            "such as KFold or StratifiedKFold, without repetitions."
        )
    return fold

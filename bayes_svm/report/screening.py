"""Which settings of a grid to try on a large table: those not clearly worse on a part of its rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from bayes_svm.utils.progress import counted
from bayes_svm.utils.types import Array, Indices

from .evidence import error_of_mean

__all__ = ["parts_of", "promising"]

# On smaller tables every setting is tried on all rows, which takes little time.
LARGE = 2000
# The rows are dealt to so many parts, of which one, and two, are a part to try on.
N_PARTS = 4
# A class of fewer rows in one part, or in fewer groups of it, says too little of any setting.
FEWEST = 10
# A setting is clearly worse if its mean loss is larger by more standard errors of the difference than this.
CLEARLY = 3.0
# Smallest probability that a loss is computed from.
LEAST = float(np.finfo(float).tiny)


def promising(
    machine: Any, settings: list[dict[str, Any]], X: Array, y: np.ndarray, weight: Any, groups: Any
) -> list[dict[str, Any]]:
    r"""Return the settings of which half of the rows leave open that they are the best on all.

    .. math:: \min(d_{1/2}, \; 2 d_{1/2} - d_{1/4}) \le 3 \, \mathrm{se}(d_{1/2})

    The mean left-out log loss of a setting is larger than that of the best one by :math:`d_{1/2}` on half of
    the rows, and by :math:`d_{1/4}` on a quarter; the best is the one on half of them. More rows favour less
    smooth machines: the second term expects of the next doubling what the last one brought. A hopeless
    setting is often the one that takes most time, because its machine has many support vectors.

    Parameters
    ----------
    machine : BayesSVC
        Machine whose parameters are set.
    settings : list of dict
        The settings of the grid.
    X : ndarray of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,)
        Class of each row.
    weight : ndarray of shape (n_rows,) or None
        Weight of each row.
    groups : ndarray of shape (n_rows,) or None
        Group of each row; None if the rows are independent.

    Returns
    -------
    list of dict
        Some of the settings, in the same order: all of them if there are fewer than 2000 rows, or if a class
        has fewer than ten rows, or groups, in a quarter.
    """
    parts = parts_of(X, y, weight, groups)
    if parts is None or len(settings) < 2:
        return settings
    first, second = parts
    half = np.concatenate([first, second])
    of_quarter, of_half = (np.zeros((len(settings), len(rows))) for rows in (first, half))
    for number, setting in enumerate(counted(settings, "settings tried on half of the rows")):
        model = clone(machine).set_params(**setting)
        for losses, rows in ((of_quarter, first), (of_half, half)):
            losses[number] = _losses(model, rows, X, y, weight, groups)
    weights = None if weight is None else weight[half]
    best = np.average(of_half, axis=1, weights=weights).argmin()
    kept = []
    for setting, quarter, whole in zip(
        settings, of_quarter - of_quarter[best], of_half - of_half[best], strict=True
    ):
        d_half = np.average(whole, weights=weights)
        d_quarter = np.average(quarter, weights=None if weight is None else weight[first])
        error = error_of_mean(whole, None if groups is None else groups[half], weights)
        if min(d_half, 2 * d_half - d_quarter) <= CLEARLY * error:
            kept.append(setting)
    return kept


def _losses(model: Any, rows: Indices, X: Array, y: np.ndarray, weight: Any, groups: Any) -> Array:
    """Left-out log loss of each of the rows, by a machine of these rows."""
    weight, groups = (None if one is None else one[rows] for one in (weight, groups))
    with warnings.catch_warnings():
        # Of settings that are only compared. Those that stay warn again, on all rows.
        warnings.simplefilter("ignore")
        model.fit(X[rows], y[rows], sample_weight=weight, groups=groups)
    own = model.left_out_proba_[np.arange(len(rows)), np.searchsorted(model.classes_, y[rows])]
    return -np.log(np.maximum(own, LEAST))


def parts_of(X: Array, y: np.ndarray, weight: Any, groups: Any) -> tuple[Indices, Indices] | None:
    """Return two quarters of the rows, whatever the order of all rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,)
        Class of each row.
    weight : ndarray of shape (n_rows,) or None
        Weight of each row.
    groups : ndarray of shape (n_rows,) or None
        Group of each row; None if the rows are independent. A group is in one quarter.

    Returns
    -------
    first, second : ndarray of shape (n_part,)
        Row numbers, with the classes in the shares that they have in all rows. None instead of the two if
        there are fewer than 2000 rows, or if a class has fewer than ten rows, or groups, in one of them.
    """
    own = np.arange(len(y)) if groups is None else groups
    if len(y) < LARGE or _fewest(y, np.arange(len(y)), weight, own) < FEWEST * N_PARTS:
        return None
    order = np.lexsort([*X.T, np.unique(y, return_inverse=True)[1]])
    folds: Any = StratifiedKFold if groups is None else StratifiedGroupKFold
    parts = folds(N_PARTS, shuffle=True, random_state=0)
    split = parts.split(order, y[order], None if groups is None else groups[order])
    first, second = (order[next(split)[1]] for _ in range(2))
    return (
        (first, second) if min(_fewest(y, rows, weight, own) for rows in (first, second)) >= FEWEST else None
    )


def _fewest(y: np.ndarray, rows: Indices, weight: Any, groups: np.ndarray) -> int:
    """Number of groups, with one of the rows and a weight above 0, of the class that is in fewest."""
    used = rows if weight is None else rows[weight[rows] > 0]
    return min(len(np.unique(groups[used][y[used] == one])) for one in np.unique(y))

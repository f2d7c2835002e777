"""Which settings of a grid to try on all rows of a large table, by what they do on half of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from bayes_svm.selection.mixture import log_shares, stacking_weights
from bayes_svm.utils.progress import counted
from bayes_svm.utils.types import Array, Indices

from .evidence import error_of_mean

__all__ = ["promising", "quarters_of"]

# On smaller tables every setting is tried on all rows, which takes little time.
LARGE = 4000
# A class that is in fewer rows of a quarter, or in fewer groups of it, says too little of any setting.
FEWEST = 10
# Of a class a quarter has a quarter of the rows, up to this factor: a large group can make that impossible.
CLOSE = 4 / 3
# A setting is clearly worse if its mean loss is larger by more standard errors of the difference than this.
CLEARLY = 3.0
# Smallest probability that a logarithm is taken of.
LEAST = float(np.finfo(float).tiny)


def promising(
    machine: Any, settings: list[dict[str, Any]], X: Array, y: np.ndarray, weight: Any, groups: Any
) -> list[dict[str, Any]]:
    r"""Return the settings that may be of use on all rows, by what they do on half of them.

    .. math:: \min(d_{1/2}, \; 2 d_{1/2} - d_{1/4}) \le 3 \, \mathrm{se}(d_{1/2})
              \quad \text{or} \quad w_{1/2} > 0

    The mean left-out log loss of a setting is larger than that of the best one by :math:`d_{1/2}` on half of
    the rows, and by :math:`d_{1/4}` on a quarter; the best is the one on half of them. More rows favour less
    smooth machines: the second term expects of the next doubling what the last one brought. Settings with a
    weight in the mixture of half of the rows stay, too. A hopeless setting is often the one that takes most
    time, because its machine has many support vectors.

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
        Some of the settings, in the same order: all of them if :func:`quarters_of` finds no quarters.
    """
    quarters = quarters_of(X, y, weight, groups)
    if quarters is None or len(settings) < 2:
        return settings
    quarter, half = quarters[0], np.concatenate(quarters)
    logs: dict[str, list[Array]] = {"quarter": [], "half": []}
    for setting in counted(settings, "settings tried on half of the rows"):
        model = clone(machine).set_params(**setting)
        logs["quarter"].append(_left_out_logs(model, quarter, X, y, weight, groups))
        logs["half"].append(_left_out_logs(model, half, X, y, weight, groups))
    numbers = np.unique(y, return_inverse=True)[1]
    weight = np.ones(len(y)) if weight is None else weight
    losses = -np.stack(logs["half"])[:, np.arange(len(half)), numbers[half]]
    fewer = -np.stack(logs["quarter"])[:, np.arange(len(quarter)), numbers[quarter]]
    best = int(np.average(losses, axis=1, weights=weight[half]).argmin())
    more = losses - losses[best]
    d_half = np.average(more, axis=1, weights=weight[half])
    d_quarter = np.average(fewer - fewer[best], axis=1, weights=weight[quarter])
    group = None if groups is None else groups[half]
    error = np.array([error_of_mean(one, group, weight[half]) for one in more])
    used = weight[half] > 0.0
    own, counts = numbers[half][used], weight[half][used]
    base = log_shares(own, counts, int(numbers.max()) + 1)
    mixed = stacking_weights(np.stack(logs["half"])[:, used], own, counts, base)
    kept = (np.minimum(d_half, 2 * d_half - d_quarter) <= CLEARLY * error) | (mixed > 0.0)
    return [setting for setting, one in zip(settings, kept, strict=True) if one]


def _left_out_logs(model: Any, rows: Indices, X: Array, y: np.ndarray, weight: Any, groups: Any) -> Array:
    """Logarithms of the left-out probabilities of the rows, by a machine of these rows."""
    weight, groups = (None if one is None else one[rows] for one in (weight, groups))
    with warnings.catch_warnings():
        # Of settings that are only compared. Those that stay warn again, on all rows.
        warnings.simplefilter("ignore")
        model.fit(X[rows], y[rows], sample_weight=weight, groups=groups)
    return np.log(np.maximum(model.left_out_proba_, LEAST))


def quarters_of(X: Array, y: np.ndarray, weight: Any, groups: Any) -> tuple[Indices, Indices] | None:
    """Return two quarters of the rows, whatever the order of all rows.

    Parameters
    ----------
    X, y, weight, groups
        As in :func:`promising`. A group is in one quarter.

    Returns
    -------
    first, second : ndarray of shape (n_part,)
        Row numbers, with about a quarter of the rows of each class. None instead of the two if there are
        fewer than 4000 rows, if a class has fewer than ten rows, or groups, in one of them, or if there are
        no such quarters of whole groups.
    """
    own = np.arange(len(y)) if groups is None else groups
    if len(y) < LARGE or _fewest(y, np.arange(len(y)), weight, own) < 4 * FEWEST:
        return None
    number = np.unique(y, return_inverse=True)[1]
    # The distance from the mean does not depend on the order of the columns; the rest parts what is equal.
    distance = np.square(X - X.mean(axis=0)).sum(axis=1)
    order = np.lexsort([*X.T, *([] if weight is None else [weight]), distance, number])
    folds: Any = StratifiedKFold if groups is None else StratifiedGroupKFold
    split = folds(4, shuffle=True, random_state=0).split(
        order, y[order], None if groups is None else groups[order]
    )
    first, second = (order[next(split)[1]] for _ in range(2))
    every = np.bincount(number)
    for rows in (first, second):
        share = 4 * np.bincount(number[rows], minlength=len(every)) / every
        if share.min() < 1 / CLOSE or share.max() > CLOSE or _fewest(y, rows, weight, own) < FEWEST:
            return None
    return first, second


def _fewest(y: np.ndarray, rows: Indices, weight: Any, groups: np.ndarray) -> int:
    """Number of groups, with one of the rows and a weight above 0, of the class that is in fewest."""
    used = rows if weight is None else rows[weight[rows] > 0]
    return min(len(np.unique(groups[used][y[used] == one])) for one in np.unique(y))

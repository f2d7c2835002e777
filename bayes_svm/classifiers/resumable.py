"""A fit of BayesSVC that can be resumed where it was interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.leave_one_out.api import Store
from bayes_svm.leave_one_out.cases import what_leaves
from bayes_svm.leave_one_out.folds import group_numbers
from bayes_svm.utils.threads import one_blas_thread

__all__ = ["fit_resumably"]


def fit_resumably(
    model: BayesSVC,
    X: Any,
    y: ArrayLike,
    open_store: Callable[[tuple[int, int]], Store],
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> BayesSVC:
    """Fit so that an interrupted fit can be resumed: left-out values are stored as they are found.

    Parameters
    ----------
    model : BayesSVC
        The estimator to fit.
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array of shape (n_samples,)
        Labels.
    open_store : callable
        Takes a pair, the number of values of each problem and the number of problems. Returns the store,
        which may hold the values of an earlier run.
    sample_weight : array of shape (n_samples,), optional
        How often each row counts.
    groups : array of shape (n_samples,), optional
        Group of each row; groups are left out whole.

    Returns
    -------
    BayesSVC
        The fitted ``model``.
    """
    with one_blas_thread():
        machine = model._machine(X, y, sample_weight)
        numbers = group_numbers(groups, len(machine.y))
        leaving = what_leaves(machine, model.leave_out, y, numbers)
        model._fit(machine, leaving, numbers, open_store((len(leaving.case), machine.n_problems)))
    return model

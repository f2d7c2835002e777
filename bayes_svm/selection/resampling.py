"""Error or score on rows that are split off: training data, hold-out, k-fold, leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import LeaveOneOut as LeaveOneOutSplits
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.svm import SVC

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.leave_one_out import leave_one_out
from bayes_svm.metrics.bounds import hoeffding_bound, hold_out_deviation, leave_one_out_deviation
from bayes_svm.selection.bounds import training_bound
from bayes_svm.utils.metaestimators import fitted_on_rows, rows_for
from bayes_svm.utils.parallel import run_each
from bayes_svm.utils.types import Array, Indices

__all__ = ["Found", "Task", "hold_out", "k_fold", "left_out", "predictions", "training"]


@dataclass(frozen=True)
class Task:
    """What every method of estimation is given.

    Parameters
    ----------
    estimator : classifier
        The classifier to judge.
    X : array or sparse matrix of shape (n_samples, n_features)
        All the data.
    y : array of shape (n_samples,)
        Their labels.
    scorer : callable or None
        Scorer in place of the error.
    cv : int, splitter or iterable of splits
        Splits of the k-fold estimate.
    test_size : float
        Share of the rows that the hold-out estimate tests on.
    n_bootstrap : int
        Number of bootstrap resamples.
    confidence : float
        Probability with which an interval covers, and a bound holds.
    seed : int
        Seed of the hold-out split and the resamples.
    n_jobs : int or None
        Jobs of joblib.
    """

    estimator: Any
    X: Any
    y: NDArray[Any]
    scorer: Callable[..., float] | None
    cv: Any
    test_size: float
    n_bootstrap: int
    confidence: float
    seed: int
    n_jobs: int | None


class Found(NamedTuple):
    """What a method of estimation found.

    Parameters
    ----------
    value : float
        Error or score.
    n : int
        Number of distinct rows tested on.
    how : str
        How it was obtained.
    fits : int
        Number of times that the estimator was trained.
    scores : array of shape (n_splits,), optional
        Score of every split.
    bound, deviation : float, optional
        As in :class:`bayes_svm.selection.comparison.Estimate`.
    """

    value: float
    n: int
    how: str
    fits: int
    scores: Array | None = None
    bound: float | None = None
    deviation: float | None = None


def predictions(estimator: Any, X: Any, y: NDArray[Any], train: Indices) -> NDArray[Any]:
    """Labels that a clone trained on some rows predicts for all rows."""
    model = fitted_on_rows(estimator, X, y, train, {})
    return np.asarray(model.predict(rows_for(estimator, X, np.arange(len(y)), train)))


def _train_and_test(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    scorer: Callable[..., float] | None,
    train: Indices,
    test: Indices,
) -> float:
    """Number of errors, or the score, on some rows of a clone trained on others."""
    model = fitted_on_rows(estimator, X, y, train, {})
    X_test = rows_for(estimator, X, test, train)
    if scorer is not None:
        return float(scorer(model, X_test, y[test]))
    return float(np.sum(model.predict(X_test) != y[test]))


def _over_splits(task: Task, splits: list[tuple[Indices, Indices]], how: str) -> Found:
    calls = [
        delayed(_train_and_test)(task.estimator, task.X, task.y, task.scorer, train, test)
        for train, test in splits
    ]
    results = np.array(run_each(task.n_jobs, calls, "splits"))
    n_tests = sum(len(test) for _, test in splits)
    n = len(np.unique(np.concatenate([test for _, test in splits])))
    value = results.sum() / n_tests if task.scorer is None else results.mean()
    return Found(float(value), n, how, len(splits), results)


def training(task: Task) -> Found:
    """Error on the rows trained on, with the VC bound where the VC dimension is known."""
    rows = np.arange(len(task.y))
    found = _over_splits(task, [(rows, rows)], "tested on what it was trained on")
    if task.scorer is not None:
        return found
    bound, note = training_bound(task.estimator, task.X, task.y, found.value, 1 - task.confidence)
    return found._replace(bound=bound, how=f"{found.how}; {note}")


def hold_out(task: Task) -> Found:
    """Error on a random part of the rows, with Hoeffding's bound."""
    _, members = np.unique(task.y, return_counts=True)
    splitter = StratifiedShuffleSplit if members.min() >= 2 else ShuffleSplit
    split = splitter(1, test_size=task.test_size, random_state=task.seed)
    splits = list(split.split(np.zeros(len(task.y)), task.y))
    found = _over_splits(task, splits, f"one split, {100 * task.test_size:g} % tested")
    if task.scorer is not None:
        return found
    bound = found.value + hoeffding_bound(found.n, 1 - task.confidence)
    return found._replace(bound=bound, deviation=hold_out_deviation(found.n))


def k_fold(task: Task) -> Found:
    """Error over the test parts of a splitter."""
    rows = np.arange(len(task.y))
    given = check_cv(task.cv, task.y, classifier=True).split(task.X, task.y)
    splits = [(rows[train], rows[test]) for train, test in given]  # masks as row numbers
    return _over_splits(task, splits, f"{len(splits)} splits")


def left_out(task: Task) -> Found:
    """Leave-one-out error: from one solution for an SVC or BayesSVC, otherwise by re-training."""
    if isinstance(task.estimator, SVC):
        found = leave_one_out(clone(task.estimator), task.X, task.y, n_jobs=task.n_jobs)
    elif isinstance(task.estimator, BayesSVC):
        # It predicts by its probabilities, not by the sign of the decision value.
        model = clone(task.estimator)
        # A subclass may not have them as parameters.
        model.leave_out, model.leave_out_size, model.n_jobs = "rows", None, task.n_jobs
        found = model.fit(task.X, task.y).left_out_
    elif task.scorer is not None:
        raise ValueError("A single row has no score: with scoring, leave_one_out needs an SVC or a BayesSVC.")
    else:
        splits = list(LeaveOneOutSplits().split(np.zeros(len(task.y))))
        return _over_splits(task, splits, "re-trained without each row")
    how, n = "exact, from one solution", len(task.y)
    if task.scorer is not None:
        try:
            return Found(float(found.score(task.scorer)), n, how, 1)
        except AttributeError as error:
            raise ValueError(
                f"scoring={task.scorer!r} asks for what the left-out values of "
                f"{type(task.estimator).__name__} do not give, such as probabilities: choose another "
                "scoring, or a BayesSVC."
            ) from error
    if isinstance(task.estimator, BayesSVC) or len(found.classes) > 2:
        return Found(found.error, n, how, 1)
    changed = float(np.mean((found.train_decision_values > 0) != found.predicted))
    deviation = leave_one_out_deviation(n, changed)
    return Found(found.error, n, f"{how}; {100 * changed:.3g} % of decisions change", 1, deviation=deviation)

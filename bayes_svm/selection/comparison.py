"""Generic estimates of performance: training error, hold-out, bootstrap, k-fold, leave-one-out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import LeaveOneOut as LeaveOneOutSplits
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.svm import SVC
from sklearn.utils import check_random_state, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.leave_one_out import leave_one_out
from bayes_svm.utils.checks import checked_labels
from bayes_svm.utils.metaestimators import check_instance, check_jobs
from bayes_svm.utils.types import Array, Indices

__all__ = [
    "Estimate",
    "EstimateComparison",
    "compare_estimators",
    "no_information_rate",
]


MOST_DRAWS = 10_000  # of a resample that has every class
METHODS = ("training", "hold_out", "k_fold", "bootstrap", "632+", "leave_one_out")
INTERVALS = {"wilson": "wilson", "clopper-pearson": "beta"}


@dataclass(frozen=True)
class Estimate:
    """One estimate of performance and what it cost.

    Parameters
    ----------
    method : str
    value : float
        Error, or the score asked for.
    interval : (float, float) or None
        Of the error, as a proportion of n; of a score, Student's over the splits. None where
        there is no basis for one.
    n : int
        Distinct points tested on.
    how : str
        How it was obtained, in words.
    fits : int
        Times that the estimator was trained.
    seconds : float
        Wall time.
    """

    method: str
    value: float
    interval: tuple[float, float] | None
    n: int
    how: str
    fits: int
    seconds: float


@dataclass(frozen=True)
class EstimateComparison:
    """Estimates side by side; printed as a table.

    Parameters
    ----------
    estimates : tuple of Estimate
    measure : str
        "error", or the name of the score.
    confidence : float
        Of the intervals.
    """

    estimates: tuple[Estimate, ...]
    measure: str
    confidence: float

    def __getitem__(self, method: str) -> Estimate:
        for estimate in self.estimates:
            if estimate.method == method:
                return estimate
        raise KeyError(method)

    def __str__(self) -> str:
        interval = f"{100 * self.confidence:g} % interval"
        lines = [
            f"{'method':14} {self.measure[:10]:>10}  {interval:>18}  {'n':>6} {'fits':>6} {'seconds':>8}  how"
        ]
        for e in self.estimates:
            ends = "–" if e.interval is None else f"{e.interval[0]:.4f} – {e.interval[1]:.4f}"
            lines.append(
                f"{e.method:14} {e.value:10.4f}  {ends:>18}  {e.n:6d} {e.fits:6d} {e.seconds:8.2f}  {e.how}"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class _Task:
    """What every method is given."""

    estimator: Any
    X: Any
    y: NDArray[Any]
    scorer: Callable[..., float] | None
    cv: Any
    test_size: float
    n_bootstrap: int
    seed: int
    n_jobs: int | None
    verbose: int


def compare_estimators(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    methods: Sequence[str] = METHODS,
    scoring: str | Callable[..., float] | None = None,
    cv: Any = 10,
    test_size: float = 0.5,
    n_bootstrap: int = 50,
    confidence: float = 0.95,
    interval: str = "wilson",
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> EstimateComparison:
    """Estimate the performance of a classifier in several ways, and print them side by side.

    Parameters
    ----------
    estimator : classifier
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    methods : sequence of str
        * "training": on the data trained on; optimistic.
        * "hold_out": trained on one part, tested on the other.
        * "k_fold": the splits of ``cv``.
        * "bootstrap": training error less the bootstrap estimate of its bias (eq. 16 to 18).
        * "632+": the .632+ bootstrap.
        * "leave_one_out": one fit and exact paths for an SVC or BayesSVC; for any other
          classifier n fits.
    scoring : str or callable, optional
        A scikit-learn scorer in place of the error; the bootstraps correct errors only.
    cv : int, splitter or iterable of splits, default=10
        Of "k_fold".
    test_size : float, default=0.5
        Share tested on by "hold_out".
    n_bootstrap : int, default=50
        Resamples; drawn again until every class has two points in them, if it has two.
    confidence : float, default=0.95
    interval : {"wilson", "clopper-pearson"}, default="wilson"
        Of errors, from statsmodels, as if the tests were independent, which only those of
        "hold_out" are.
    random_state : int or RandomState instance, default=0
    n_jobs : int, optional
        Processes of joblib. The result does not depend on it.
    verbose : int, default=0
        Progress, as joblib prints it.

    Returns
    -------
    EstimateComparison

    Raises
    ------
    ValueError
        If an option is not one of those named, or a method cannot be had from the data: the message
        names it.

    Notes
    -----
    The paper writes the bias of eq. 16 with the opposite sign to Efron's, and eq. 17 without the
    division by the number of resamples; here it is Efron's mean of (error on the resample −
    error on the sample), subtracted.

    Worst-case bounds of these estimates are in :mod:`bayes_svm.metrics.bounds`.

    References
    ----------
    Joachims, "Estimating the generalization performance of a SVM efficiently", ICML 2000,
    section 3. Efron and Tibshirani, "Improvements on cross-validation: the .632+ bootstrap
    method", Journal of the American Statistical Association 92(438), 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.svm import SVC
    >>> from bayes_svm import compare_estimators
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = compare_estimators(SVC(), scale(X), y, methods=["training", "k_fold", "leave_one_out"])
    >>> for estimate in found.estimates:
    ...     print(estimate.method, round(estimate.value, 4), estimate.fits)
    training 0.0123 1
    k_fold 0.0228 10
    leave_one_out 0.0228 1
    """
    _check_options(methods, scoring, interval, confidence, test_size, n_bootstrap)
    check_instance(estimator)
    check_jobs(n_jobs)
    labels = checked_labels(y)
    X, _ = indexable(X, labels)
    check_classification_targets(labels)
    _check_folds(methods, cv, labels)
    task = _Task(
        estimator=estimator,
        X=X,
        y=labels,
        scorer=get_scorer(scoring) if isinstance(scoring, str) else scoring,
        cv=cv,
        test_size=test_size,
        n_bootstrap=n_bootstrap,
        seed=int(check_random_state(random_state).randint(2**31 - 1)),
        n_jobs=n_jobs,
        verbose=verbose,
    )
    estimates, resamples = [], None
    for method in methods:
        started = time.perf_counter()
        try:
            if method in ("bootstrap", "632+"):
                fresh = resamples is None
                resamples = _resample(task) if resamples is None else resamples
                value, how = _from_resamples(task, resamples, method)
                n, fits, scores = len(labels), task.n_bootstrap + 1, None
                how += "" if fresh else "; fits shared with the row above"
                fits = fits if fresh else 0
            else:
                value, n, how, fits, scores = _RUN[method](task)
        except ValueError as error:
            raise ValueError(f"methods: {method!r} failed. {error}") from error
        ends = (
            _proportion_interval(value, n, confidence, interval)
            if task.scorer is None
            else _mean_interval(scores, confidence)
        )
        estimates.append(Estimate(method, value, ends, n, how, fits, time.perf_counter() - started))
    measure = "error" if scoring is None else scoring if isinstance(scoring, str) else "score"
    return EstimateComparison(tuple(estimates), measure, confidence)


def _check_options(
    methods: Sequence[str], scoring: Any, interval: str, confidence: float, test_size: float, n_bootstrap: int
) -> None:
    unknown = [method for method in methods if method not in METHODS]
    if unknown or not methods:
        raise ValueError(f"methods={list(methods)!r}: choose from {METHODS}.")
    if scoring is not None and {"bootstrap", "632+"} & set(methods):
        raise ValueError("The bootstraps correct errors: with scoring, leave them out of methods.")
    if interval not in INTERVALS:
        raise ValueError(f"interval={interval!r} is not one of {tuple(INTERVALS)}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} is not in (0, 1).")
    if not 0 < test_size < 1:
        raise ValueError(f"test_size={test_size!r} is not in (0, 1).")
    if n_bootstrap < 1:
        raise ValueError(f"n_bootstrap={n_bootstrap!r} must be at least 1.")


def _check_folds(methods: Sequence[str], cv: Any, labels: NDArray[Any]) -> None:
    members = int(np.unique(labels, return_counts=True)[1].max())
    if "k_fold" in methods and isinstance(cv, Integral) and int(cv) > members:
        raise ValueError(
            f"cv={cv} is more than the {members} rows of the largest class: lower cv, or leave 'k_fold' out "
            "of methods."
        )


_Found = tuple[float, int, str, int, Array | None]


def _train_and_test(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    scorer: Callable[..., float] | None,
    train: Indices,
    test: Indices,
) -> tuple[float, int]:
    """Errors, or the score, of a machine trained on some rows on others; and how many they are."""
    model = clone(estimator)
    X_train, y_train = _safe_split(model, X, y, train)
    X_test, y_test = _safe_split(model, X, y, test, train)
    model.fit(X_train, y_train)
    if scorer is not None:
        return float(scorer(model, X_test, y_test)), len(test)
    return float(np.sum(model.predict(X_test) != y_test)), len(test)


def _over_splits(task: _Task, splits: list[tuple[Indices, Indices]], how: str) -> _Found:
    parts = Parallel(n_jobs=task.n_jobs, verbose=task.verbose)(
        delayed(_train_and_test)(task.estimator, task.X, task.y, task.scorer, train, test)
        for train, test in splits
    )
    results, sizes = np.array([part[0] for part in parts]), np.array([part[1] for part in parts])
    n = len(np.unique(np.concatenate([test for _, test in splits])))
    value = results.sum() / sizes.sum() if task.scorer is None else results.mean()
    return float(value), n, how, len(splits), results


def _training(task: _Task) -> _Found:
    rows = np.arange(len(task.y))
    value, n, _, fits, _ = _over_splits(task, [(rows, rows)], "")
    return value, n, "tested on what it was trained on", fits, None


def _hold_out(task: _Task) -> _Found:
    _, members = np.unique(task.y, return_counts=True)
    splitter = StratifiedShuffleSplit if members.min() >= 2 else ShuffleSplit
    split = splitter(1, test_size=task.test_size, random_state=task.seed)
    splits = list(split.split(np.zeros(len(task.y)), task.y))
    return _over_splits(task, splits, f"one split, {100 * task.test_size:g} % tested")


def _k_fold(task: _Task) -> _Found:
    splits = list(check_cv(task.cv, task.y, classifier=True).split(task.X, task.y))
    return _over_splits(task, splits, f"{len(splits)} splits")


def _leave_one_out(task: _Task) -> _Found:
    if isinstance(task.estimator, SVC | BayesSVC):
        if isinstance(task.estimator, SVC):
            found = leave_one_out(clone(task.estimator), task.X, task.y, n_jobs=task.n_jobs)
        else:  # what it predicts is not the sign
            model = clone(task.estimator).set_params(leave_out="rows", n_jobs=task.n_jobs)
            found = model.fit(task.X, task.y).left_out_
        value = found.error if task.scorer is None else found.score(task.scorer)
        return float(value), len(task.y), "exact, from one solution", 1, None
    if task.scorer is not None:
        raise ValueError(
            "A score of single points is not defined: with scoring, leave_one_out needs an SVC or BayesSVC."
        )
    splits = list(LeaveOneOutSplits().split(np.zeros(len(task.y))))
    return _over_splits(task, splits, "re-trained without each point")


_RUN: dict[str, Callable[[_Task], _Found]] = {
    "training": _training,
    "hold_out": _hold_out,
    "k_fold": _k_fold,
    "leave_one_out": _leave_one_out,
}


@dataclass(frozen=True)
class _Resamples:
    """Training predictions, and per bootstrap resample how often rows are in it and are wrong."""

    predicted: NDArray[Any]
    counts: NDArray[np.int64]  # (n_bootstrap, n_samples)
    wrong: NDArray[np.bool_]  # (n_bootstrap, n_samples)


def _resample(task: _Task) -> _Resamples:
    random, rows = np.random.RandomState(task.seed), np.arange(len(task.y))
    drawn = [_draw(task.y, random) for _ in range(task.n_bootstrap)]
    predictions = Parallel(n_jobs=task.n_jobs, verbose=task.verbose)(
        delayed(_predictions)(task.estimator, task.X, task.y, sample) for sample in [rows, *drawn]
    )
    return _Resamples(
        predicted=predictions[0],
        counts=np.array([np.bincount(sample, minlength=len(rows)) for sample in drawn]),
        wrong=np.array([predicted != task.y for predicted in predictions[1:]]),
    )


def _draw(y: NDArray[Any], random: np.random.RandomState) -> Indices:
    _, classes, members = np.unique(y, return_inverse=True, return_counts=True)
    needed = np.minimum(2, members)
    for _ in range(MOST_DRAWS):
        sample = random.randint(len(y), size=len(y))
        if np.all(np.bincount(classes[sample], minlength=len(members)) >= needed):
            return np.sort(sample).astype(np.intp)
    raise ValueError(
        f"None of {MOST_DRAWS} resamples had two rows of each of the {len(members)} classes: give more rows "
        "of the rarest classes, or leave the bootstraps out of methods."
    )


def _predictions(estimator: Any, X: Any, y: NDArray[Any], train: Indices) -> NDArray[Any]:
    model = clone(estimator)
    X_train, y_train = _safe_split(model, X, y, train)
    X_all, _ = _safe_split(model, X, y, np.arange(len(y)), train)
    return np.asarray(model.fit(X_train, y_train).predict(X_all))


def _from_resamples(task: _Task, resamples: _Resamples, method: str) -> tuple[float, str]:
    training = float(np.mean(resamples.predicted != task.y))
    counts, wrong = resamples.counts, resamples.wrong
    if method == "bootstrap":
        optimism = np.mean(wrong.mean(axis=1) - (counts * wrong).sum(axis=1) / len(task.y))
        value = min(1.0, max(0.0, training + float(optimism)))
        return value, f"training error + optimism over {len(counts)} resamples"
    absent = counts == 0
    times = absent.sum(axis=0)
    left_out = float(np.mean((absent & wrong).sum(axis=0)[times > 0] / times[times > 0]))
    chance = no_information_rate(task.y, resamples.predicted)
    left_out = min(left_out, chance)
    overfit = (left_out - training) / (chance - training) if left_out > training < chance else 0.0
    share = 0.632 / (1 - 0.368 * overfit)
    return (1 - share) * training + share * left_out, f"overfitting rate {overfit:.2f}"


def no_information_rate(y: ArrayLike, predicted: ArrayLike) -> float:
    """Error if labels and predictions were independent: ``sum_k p_k (1 - q_k)``.

    Parameters
    ----------
    y, predicted : array of shape (n_samples,)

    Returns
    -------
    float
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    return float(sum(np.mean(y == label) * np.mean(predicted != label) for label in np.unique(y)))


def _proportion_interval(value: float, n: int, confidence: float, interval: str) -> tuple[float, float]:
    from statsmodels.stats.proportion import proportion_confint  # heavy: only where it is used

    low, high = proportion_confint(value * n, n, alpha=1 - confidence, method=INTERVALS[interval])
    return float(low), float(high)


def _mean_interval(scores: Array | None, confidence: float) -> tuple[float, float] | None:
    """Student's interval of the mean over splits; None for fewer than two."""
    if scores is None or len(scores) < 2:
        return None
    from statsmodels.stats.weightstats import DescrStatsW

    low, high = DescrStatsW(scores).tconfint_mean(alpha=1 - confidence)
    return float(low), float(high)

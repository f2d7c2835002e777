"""Generic estimates of performance: training error, hold-out, bootstrap, k-fold, leave-one-out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer
from sklearn.utils import check_random_state, indexable
from sklearn.utils.multiclass import check_classification_targets

from bayes_svm.metrics.intervals import INTERVALS, proportion_interval
from bayes_svm.selection.bootstrap import Resamples, bias_corrected, plus_632, resample
from bayes_svm.selection.resampling import Found, Task, hold_out, k_fold, left_out, training
from bayes_svm.utils.checks import checked_labels
from bayes_svm.utils.metaestimators import check_instance, check_jobs
from bayes_svm.utils.progress import counted, shown
from bayes_svm.utils.types import Array

__all__ = ["METHODS", "Estimate", "EstimateComparison", "compare_estimators"]


OVER_SPLITS: dict[str, Callable[[Task], Found]] = {
    "training": training,
    "hold_out": hold_out,
    "k_fold": k_fold,
    "leave_one_out": left_out,
}
BOOTSTRAPS: dict[str, Callable[[Task, Resamples], Found]] = {
    "bootstrap": bias_corrected,
    "632+": plus_632,
}
# All methods, in the order in which they are shown.
METHODS = ("training", "hold_out", "k_fold", "bootstrap", "632+", "leave_one_out")


@dataclass(frozen=True)
class Estimate:
    """One estimate of performance and what it cost.

    Parameters
    ----------
    method : str
        Name of the method, one of those of :func:`bayes_svm.compare_estimators`.
    value : float
        The error, or the score asked for.
    interval : (float, float) or None
        Confidence interval. An error's is that of a proportion of ``n``, a score's is Student's over
        the splits, whose ends may be beyond the largest score. None for a score of fewer than two splits.
    n : int
        Number of distinct rows tested on.
    how : str
        How it was obtained, in words.
    fits : int
        Number of times that the estimator was trained.
    seconds : float
        Wall time in seconds.
    bound : float or None
        Upper bound of the error that holds with the probability ``confidence`` for every
        distribution of the data; it says nothing where it is above 1. None where no bound is known.
    deviation : float or None
        Largest root mean square difference between the estimate and the error, over all
        distributions of the data. None where it is not known.
    """

    method: str
    value: float
    interval: tuple[float, float] | None
    n: int
    how: str
    fits: int
    seconds: float
    bound: float | None = None
    deviation: float | None = None


@dataclass(frozen=True)
class EstimateComparison:
    """Estimates side by side; printed as a table.

    Parameters
    ----------
    estimates : tuple of Estimate
        One for each method, in the order asked for.
    measure : str
        "error", or the name of the score.
    confidence : float
        Probability with which the intervals cover, and the bounds hold.
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
            f"{'method':14} {self.measure[:10]:>10}  {interval:>18}  {'bound':>8} {'deviation':>9}  "
            f"{'n':>6} {'fits':>6} {'seconds':>8}  how"
        ]
        for e in self.estimates:
            ends = "–" if e.interval is None else f"{e.interval[0]:.4f} – {e.interval[1]:.4f}"
            bound, deviation = ("–" if x is None else f"{x:.4f}" for x in (e.bound, e.deviation))
            lines.append(
                f"{e.method:14} {e.value:10.4f}  {ends:>18}  {bound:>8} {deviation:>9}  "
                f"{e.n:6d} {e.fits:6d} {e.seconds:8.2f}  {e.how}"
            )
        return "\n".join(lines)


def compare_estimators(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    methods: Iterable[str] = METHODS,
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
        The classifier to judge. It is cloned, never fitted itself.
    X : array or sparse matrix of shape (n_samples, n_features)
        Data; the kernel matrix between the rows for a precomputed kernel.
    y : array of shape (n_samples,)
        Labels.
    methods : iterable of str, default=all of them
        * "training": error on the training data, which is too small.
        * "hold_out": trained on one part of the rows, tested on the other.
        * "k_fold": cross-validation with the splits of ``cv``.
        * "bootstrap": training error less the bootstrap estimate of its bias (eq. 16 to 18).
        * "632+": the .632+ bootstrap.
        * "leave_one_out": one fit and exact paths for an SVC or BayesSVC; n fits for any other
          classifier, a pipeline included, whose other steps are fitted without the row, too.
    scoring : str or callable, optional
        A scikit-learn scorer to use in place of the error. The bootstraps know the error only.
    cv : int, splitter or iterable of splits, default=10
        Splits of "k_fold".
    test_size : float, default=0.5
        Share of the rows that "hold_out" tests on.
    n_bootstrap : int, default=50
        Number of bootstrap resamples. A resample is drawn again until it has two rows of every class, or one
        of a class that has only one.
    confidence : float, default=0.95
        Probability with which the intervals cover and the bounds hold.
    interval : {"wilson", "clopper-pearson"}, default="wilson"
        Confidence interval of an error, from statsmodels. It takes the tests as independent, which
        only those of "hold_out" are. Where the columns say nothing, the error of "leave_one_out" and "k_fold"
        has up to twice the variance, and the interval misses more often. All methods take rows as
        independent; rows in groups need the splits of a splitter that keeps them whole as ``cv``, and
        "k_fold" alone.
    random_state : int, RandomState instance or None, default=0
        Seed of the hold-out split and the bootstrap resamples. None draws them anew each time.
    n_jobs : int, optional
        Number of jobs of joblib. The result does not depend on it.
    verbose : int, default=0
        1 shows the progress on stderr, if it takes more than two seconds.

    Returns
    -------
    EstimateComparison
        One estimate for each method; ``print`` shows them as a table.

    Raises
    ------
    TypeError
        If the estimator is not a classifier of scikit-learn's kind, or ``n_jobs`` is not a whole number.
    ValueError
        If an option is not one of those named, or a method fails on the data. The message names it.

    Notes
    -----
    The paper writes the bias of eq. 16 with the opposite sign to Efron's, and eq. 17 without the
    division by the number of resamples. Here it is Efron's mean of (error on the resample −
    error on the sample), subtracted.

    Errors, not scores, come with what learning theory says of them for every distribution of the
    data. The column ``bound`` is an upper bound of the error:

    * "training": the VC bound (eq. 10) of an SVC with the linear or polynomial kernel and two
      classes. The VC dimension of the rbf kernel is infinite, that of other kernels and classifiers
      is not known here; a :class:`~bayes_svm.BayesSVC` decides by probabilities.
    * "hold_out": Hoeffding's bound (eq. 15), of the classifier trained on the one part.

    The column ``deviation`` is the largest root mean square difference between estimate and error:

    * "hold_out": ``1 / (2 sqrt(n))`` (eq. 14).
    * "leave_one_out": theorem 2 (eq. 27), of an SVC with two classes. The theorem's probability that
      leaving a row out changes the decision at a new point is estimated by the share of rows whose own
      decision changes, so the column is an estimate too.

    Theorem 4 (eq. 77) supposes a classifier that minimises the training error, which an SVM does
    not: ``bayes_svm.metrics.bounds.leave_one_out_vc_bound`` is not shown.

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
    >>> round(found["leave_one_out"].deviation, 3)
    0.255
    """
    methods = list(methods)
    _check_options(methods, scoring, interval, confidence, test_size, n_bootstrap)
    check_instance(estimator)
    if not is_classifier(estimator):
        raise TypeError(
            f"{type(estimator).__name__} is not a classifier: compare_estimators judges classifiers."
        )
    check_jobs(n_jobs)
    labels = checked_labels(y)
    X, _ = indexable(X, labels)
    check_classification_targets(labels)
    _check_folds(methods, cv, labels)
    task = Task(
        estimator=estimator,
        X=X,
        y=labels,
        scorer=get_scorer(scoring) if isinstance(scoring, str) else scoring,
        cv=cv,
        test_size=test_size,
        n_bootstrap=n_bootstrap,
        confidence=confidence,
        seed=int(check_random_state(random_state).randint(2**31 - 1)),
        n_jobs=n_jobs,
    )
    with shown(verbose > 0):
        estimates = [
            _estimate(task, method, found, seconds, interval)
            for method, found, seconds in _run(task, methods)
        ]
    measure = "error" if scoring is None else scoring if isinstance(scoring, str) else "score"
    return EstimateComparison(tuple(estimates), measure, confidence)


def _run(task: Task, methods: Sequence[str]) -> Iterator[tuple[str, Found, float]]:
    """Name, findings and wall time of each method; the bootstraps share their resamples."""
    resamples = None
    for method in counted(methods, "methods"):
        started = time.perf_counter()
        try:
            if method in OVER_SPLITS:
                found = OVER_SPLITS[method](task)
            elif resamples is None:
                resamples = resample(task)
                found = BOOTSTRAPS[method](task, resamples)
            else:
                found = BOOTSTRAPS[method](task, resamples)
                found = found._replace(fits=0, how=f"{found.how}; fits shared with the row above")
        except ValueError as error:
            raise ValueError(f"methods: {method!r} failed. {error}") from error
        yield method, found, time.perf_counter() - started


def _estimate(task: Task, method: str, found: Found, seconds: float, interval: str) -> Estimate:
    """What a method found, with its confidence interval."""
    ends: tuple[float, float] | None
    if task.scorer is None:
        count, alpha = found.value * found.n, 1 - task.confidence
        low, high = proportion_interval(count, found.n, alpha, interval)
        ends = float(low), float(high)
    else:
        ends = _mean_interval(found.scores, task.confidence)
    return Estimate(
        method=method,
        value=found.value,
        interval=ends,
        n=found.n,
        how=found.how,
        fits=found.fits,
        seconds=seconds,
        bound=found.bound,
        deviation=found.deviation,
    )


def _check_options(
    methods: Sequence[str], scoring: Any, interval: str, confidence: float, test_size: float, n_bootstrap: int
) -> None:
    unknown = [method for method in methods if method not in METHODS]
    if unknown or not methods:
        raise ValueError(f"methods={list(methods)!r}: choose from {METHODS}.")
    if scoring is not None and BOOTSTRAPS.keys() & set(methods):
        raise ValueError("The bootstraps correct errors: with scoring, leave them out of methods.")
    if interval not in INTERVALS:
        raise ValueError(f"interval={interval!r} is not one of {tuple(INTERVALS)}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} is not in (0, 1).")
    if not 0 < test_size < 1:
        raise ValueError(f"test_size={test_size!r} is not in (0, 1).")
    if isinstance(n_bootstrap, bool) or not isinstance(n_bootstrap, Integral) or n_bootstrap < 1:
        raise ValueError(f"n_bootstrap={n_bootstrap!r} must be a whole number of at least 1.")


def _check_folds(methods: Sequence[str], cv: Any, labels: NDArray[Any]) -> None:
    members = int(np.unique(labels, return_counts=True)[1].max())
    if "k_fold" in methods and isinstance(cv, Integral) and int(cv) > members:
        raise ValueError(
            f"cv={cv} is more than the {members} rows of the largest class: lower cv, or leave 'k_fold' out "
            "of methods."
        )


def _mean_interval(scores: Array | None, confidence: float) -> tuple[float, float] | None:
    """Student's interval of the mean over splits; None for fewer than two."""
    if scores is None or len(scores) < 2:
        return None
    from statsmodels.stats.weightstats import DescrStatsW

    low, high = DescrStatsW(scores).tconfint_mean(alpha=1 - confidence)
    return float(low), float(high)

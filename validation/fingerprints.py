"""Hashes of every kind of result, to the last bit: two commits that print the same compute the same.

    python -m validation.fingerprints > before.txt

The problems are scikit-learn's own and drawn ones; nothing else is read. Hashes differ from
machine to machine.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from bayes_svm import (
    BayesSVC,
    BayesSVCSearch,
    MultivariateSVC,
    PairwiseCouplingClassifier,
    RejectOptionClassifier,
    choose_threshold,
    class_similarity,
    compare_estimators,
    leave_one_out,
    log_evidence,
    optimize_kernel,
    span_estimate,
    xi_alpha,
)


def fit_of(model: Any, X: Any, y: Any, **more: Any) -> list[Any]:
    """What a BayesSVC holds and says."""
    model.fit(X, y, **more)
    return [
        model.dual_coef_ if not sparse.issparse(model.dual_coef_) else model.dual_coef_.toarray(),
        model.intercept_, model.left_out_decision_values_, model.left_out_proba_, model.left_out_.error,
        model.decision_function(X), model.predict_proba(X),
    ]  # fmt: skip


def left_out(*arguments: Any, **more: Any) -> list[Any]:
    found = leave_one_out(*arguments, **more)
    return [found.decision_values, found.error, *(found.status if found.status is not None else ())]


def searched(search: BayesSVCSearch, X: Any, y: Any) -> list[Any]:
    search.fit(X, y)
    return [
        search.cv_results_["mean_test_score"], search.weights_, search.left_out_proba_,
        search.left_out_log_loss_, search.predict_proba(X),
    ]  # fmt: skip


def problems() -> Iterator[tuple[str, Callable[[], list[Any]]]]:
    """By name, what computes the values of each."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    moons, sides = make_moons(120, noise=0.3, random_state=0)
    random = np.random.default_rng(0)
    wide, halves = random.normal(size=(40, 200)), np.arange(40) % 2
    wide[:, :10] += halves[:, None]
    grid = np.round(3.0 * moons) / 3.0  # rows that occur several times
    weight, groups = random.integers(0, 4, size=120).astype(float), np.arange(120) // 4
    iris, wine, digits = (load(return_X_y=True) for load in (load_iris, load_wine, load_digits))
    images, numbers = digits[0][:300] / 16.0, digits[1][:300]
    settings = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}

    yield "rbf", lambda: fit_of(BayesSVC(C=10), X, y)
    yield "linear, sparse", lambda: fit_of(BayesSVC(kernel="linear"), sparse.csr_matrix(X), y)
    yield "cubic, columns outnumber rows", lambda: fit_of(BayesSVC(kernel="poly"), wide, halves)
    yield "duplicates, weights", lambda: fit_of(BayesSVC(C=100), grid, sides, sample_weight=weight)
    yield (
        "groups, class weights",
        lambda: fit_of(BayesSVC(class_weight="balanced"), moons, sides, groups=groups),
    )
    yield "rows, Kwok's link", lambda: fit_of(BayesSVC(leave_out="rows", link="kwok"), moons, sides)
    yield "three classes", lambda: fit_of(BayesSVC(), *iris)
    yield "ten classes, normalised", lambda: fit_of(BayesSVC(multiclass="normalise"), images, numbers)
    yield "pairs", lambda: [PairwiseCouplingClassifier(BayesSVC()).fit(*iris).predict_proba(iris[0])]
    yield "leave one out of an SVC", lambda: left_out(SVC(C=10), X, y)
    yield "leave one out, certified", lambda: left_out(SVC(C=10), moons, sides, method="certified")
    yield "folds of several classes", lambda: left_out(SVC(), *wine, cv=5)
    yield "xi-alpha, span", lambda: [
        *vars(xi_alpha(SVC(), moons, sides)).values(), span_estimate(SVC(), moons, sides).error
    ]  # fmt: skip
    yield "evidence", lambda: evidence_of(moons, sides)
    yield "search", lambda: searched(BayesSVCSearch(BayesSVC(), settings), moons, sides)
    yield "mixture", lambda: searched(BayesSVCSearch(BayesSVC(), settings, combine="stack"), *iris)
    yield "trained for F1", lambda: multivariate_of(MultivariateSVC(loss="f1"), X, y)
    yield "trained for ROC area", lambda: multivariate_of(MultivariateSVC(loss="roc_area"), X, y)
    yield "class similarity", lambda: similarity_of(moons, sides)
    yield "decisions", lambda: decisions_of(X, y)


def evidence_of(X: Any, y: Any) -> list[Any]:
    found = log_evidence(BayesSVC(), X, y)
    return [found.value, *found.gradient.values()]


def multivariate_of(model: MultivariateSVC, X: Any, y: Any) -> list[Any]:
    return [model.fit(X, y).decision_function(X)]


def similarity_of(X: Any, y: Any) -> list[Any]:
    best = optimize_kernel(X, y)
    return [class_similarity(X, y).value, best.value]


def decisions_of(X: Any, y: Any) -> list[Any]:
    model = BayesSVC().fit(X, y)
    threshold = choose_threshold(y, model.left_out_decision_values_, "precision", at_least=0.95)
    rejecting = RejectOptionClassifier(LogisticRegression(), target_coverage=0.9).fit(X, y)
    table = compare_estimators(BayesSVC(), X[:80], y[:80], random_state=0)
    return [
        threshold.threshold,
        rejecting.predict_proba(X),
        *(estimate.value for estimate in table.estimates),
    ]


def hash_of(values: list[Any]) -> tuple[str, float]:
    """Of all bits; and the sum of what is finite, for a first look at how far apart two are."""
    digest, total = hashlib.sha256(), 0.0
    for value in values:
        array = np.asarray(value)
        if array.dtype.kind in "fiub":
            array = np.ascontiguousarray(array, dtype=np.float64)
            total += float(array[np.isfinite(array)].sum())
            digest.update(array.tobytes())
        else:
            digest.update(repr(array.tolist()).encode())
    return digest.hexdigest()[:16], total


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they warn of is the tests' business
        for name, values in problems():
            digest, total = hash_of(values())
            print(f"{digest}  {total:+.12e}  {name}", flush=True)


if __name__ == "__main__":
    main()

"""Estimates by splits and by leaving one out, against scikit-learn and plain loops."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, RepeatedKFold, cross_val_score
from sklearn.svm import SVC

from _compared import Nearest, X, Y
from bayes_svm import BayesSVC, compare_estimators, leave_one_out


def test_splits_are_scikit_learns():
    model, cv = LogisticRegression(), KFold(5, shuffle=True, random_state=1)
    found = compare_estimators(model, X, Y, methods=["k_fold", "training"], cv=cv)
    assert found["k_fold"].value == pytest.approx(1 - cross_val_score(model, X, Y, cv=cv).mean())
    assert (found["k_fold"].fits, found["k_fold"].n) == (5, 80)
    assert found["training"].value == pytest.approx(1 - model.fit(X, Y).score(X, Y))
    scored = compare_estimators(model, X, Y, methods=["k_fold", "training"], cv=cv, scoring="roc_auc")
    scores = cross_val_score(model, X, Y, cv=cv, scoring="roc_auc")
    assert scored["k_fold"].value == pytest.approx(scores.mean())
    low, high = scored["k_fold"].interval
    assert high - low == pytest.approx(2 * 2.776445 * scores.std(ddof=1) / np.sqrt(5), rel=1e-5)
    assert scored["training"].interval is None


def test_masks_are_the_splits_of_their_rows():
    splits = list(KFold(5).split(X))
    masks = [tuple(np.isin(np.arange(len(Y)), part) for part in split) for split in splits]
    by_rows, by_masks = (
        compare_estimators(SVC(), X, Y, methods=["k_fold"], cv=cv)["k_fold"] for cv in (splits, masks)
    )
    assert (by_masks.value, by_masks.n, by_masks.interval) == (by_rows.value, 80, by_rows.interval)


def test_repeated_splits_do_not_make_the_interval_narrower():
    once = compare_estimators(Nearest(), X, Y, methods=["k_fold"], cv=KFold(5))["k_fold"]
    often = compare_estimators(Nearest(), X, Y, methods=["k_fold"], cv=RepeatedKFold(random_state=0))[
        "k_fold"
    ]
    assert once.n == often.n == 80
    assert often.fits == 50


def test_leave_one_out_of_a_bayes_svc_is_of_what_it_predicts():
    model = BayesSVC(C=2.0)
    found = compare_estimators(model, X, Y, methods=["leave_one_out"])["leave_one_out"]
    left_out = BayesSVC(C=2.0, leave_out="rows").fit(X, Y)
    answers = left_out.classes_[left_out.left_out_proba_.argmax(axis=1)]
    assert (found.value, found.fits) == (np.mean(answers != Y), 1)


@pytest.mark.parametrize("exact", [SVC(C=2.0)])
def test_leave_one_out_of_an_svm_is_one_fit_and_equals_n(exact):
    fast = compare_estimators(exact, X, Y, methods=["leave_one_out"])["leave_one_out"]
    left_out = leave_one_out(exact, X, Y)
    assert "unstable" not in left_out.status
    assert np.abs(left_out.decision_values).min() > 1e-4  # or the sign would be rounding
    wrong = 0
    for i in range(len(Y)):
        rest = np.arange(len(Y)) != i
        model = SVC(C=2.0, gamma=1 / (X.shape[1] * X.var()), tol=1e-8).fit(X[rest], Y[rest])
        wrong += model.predict(X[i : i + 1])[0] != Y[i]
    assert (fast.value, fast.fits) == (wrong / len(Y), 1)
    area = compare_estimators(exact, X, Y, methods=["leave_one_out"], scoring="roc_auc")
    assert 0.5 < area["leave_one_out"].value <= 1


def test_leave_one_out_of_another_classifier_is_n_fits():
    found = compare_estimators(Nearest(), X, Y, methods=["leave_one_out"])["leave_one_out"]
    expected = np.mean(
        [Nearest().fit(np.delete(X, i, 0), np.delete(Y, i)).predict(X[[i]])[0] != Y[i] for i in range(80)]
    )
    assert (found.value, found.fits) == (expected, 80)


def test_precomputed_kernels_are_split_on_both_sides():
    methods = ["training", "hold_out", "k_fold", "632+", "leave_one_out"]
    a = compare_estimators(SVC(kernel="linear"), X, Y, methods=methods, n_bootstrap=4, cv=4)
    b = compare_estimators(SVC(kernel="precomputed"), X @ X.T, Y, methods=methods, n_bootstrap=4, cv=4)
    assert [e.value for e in a.estimates] == pytest.approx([e.value for e in b.estimates], abs=0.026)

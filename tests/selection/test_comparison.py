"""Estimates of performance against plain loops and scikit-learn's own."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, RepeatedKFold, cross_val_score
from sklearn.svm import SVC
from statsmodels.stats.proportion import proportion_confint

from bayes_svm import BayesSVC, compare_estimators, leave_one_out
from bayes_svm.selection.bootstrap import no_information_rate
from bayes_svm.selection.comparison import METHODS

X, Y = make_classification(80, flip_y=0.2, random_state=0)


class Nearest(ClassifierMixin, BaseEstimator):
    """1-nearest neighbour: no training error at all."""

    def fit(self, X, y):
        self.X_, self.y_, self.classes_ = np.asarray(X), np.asarray(y), np.unique(y)
        return self

    def predict(self, X):
        return self.y_[np.square(np.asarray(X)[:, None] - self.X_[None]).sum(axis=2).argmin(axis=1)]


def slow_632_plus(estimator, X, y, samples):
    """Efron and Tibshirani's formulas, one point at a time."""
    predicted = estimator.fit(X, y).predict(X)
    training = np.mean(predicted != y)
    losses = [[] for _ in y]
    optimism = []
    for sample in samples:
        wrong = estimator.fit(X[sample], y[sample]).predict(X) != y
        optimism.append(wrong.mean() - wrong[sample].mean())
        for i in range(len(y)):
            if i not in sample:
                losses[i].append(wrong[i])
    outside = np.mean([np.mean(each) for each in losses if each])
    chance = np.mean(y[:, None] != predicted[None, :])
    capped = min(outside, chance)
    rate = (capped - training) / (chance - training) if capped > training and chance > training else 0.0
    weight = 0.632 / (1 - 0.368 * rate)
    return (1 - weight) * training + weight * capped, training + np.mean(optimism)


@pytest.mark.parametrize("estimator", [Nearest(), LogisticRegression(C=0.01)])
def test_bootstraps_are_efrons(estimator, monkeypatch):
    seen = []
    import bayes_svm.selection.bootstrap as module

    draw = module._draw
    monkeypatch.setattr(module, "_draw", lambda y, random: seen.append(draw(y, random)) or seen[-1])
    found = compare_estimators(estimator, X, Y, methods=["632+", "bootstrap"], n_bootstrap=8)
    plus, corrected = slow_632_plus(estimator, X, Y, seen)
    assert found["632+"].value == pytest.approx(plus)
    assert found["bootstrap"].value == pytest.approx(corrected)
    assert (found["632+"].fits, found["bootstrap"].fits) == (9, 0)


def test_no_information_rate_is_over_all_pairs():
    y, predicted = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1])
    assert no_information_rate(y, predicted) == np.mean(y[:, None] != predicted[None, :])


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


@pytest.mark.parametrize(("interval", "method"), [("wilson", "wilson"), ("clopper-pearson", "beta")])
def test_intervals_are_statsmodels(interval, method):
    found = compare_estimators(Nearest(), X, Y, methods=["hold_out"], interval=interval, confidence=0.9)
    one = found["hold_out"]
    assert one.n == 40
    assert one.interval == pytest.approx(proportion_confint(one.value * 40, 40, alpha=0.1, method=method))


def test_table_has_a_row_for_each_and_repeats_bit_for_bit():
    first = compare_estimators(LogisticRegression(), X, Y, n_bootstrap=5, cv=3)
    again = compare_estimators(LogisticRegression(), X, Y, n_bootstrap=5, cv=3, n_jobs=2)
    assert [e.method for e in first.estimates] == list(METHODS)
    assert [e.value for e in first.estimates] == [e.value for e in again.estimates]
    text = str(first)
    assert len(text.splitlines()) == 1 + len(METHODS)
    assert "95 % interval" in text
    assert "fits shared" in text
    with pytest.raises(FrozenInstanceError):
        first["632+"].value = 0.0
    with pytest.raises(KeyError):
        first["jackknife"]


@pytest.mark.filterwarnings("ignore:A class has two members")  # and its prior for a probability
def test_string_labels_three_classes_and_a_class_of_two():
    y = np.array(["a", "b"])[Y].astype(object)
    y[[3, 40]] = "c"
    found = compare_estimators(BayesSVC(kernel="linear", C=0.1), X, y, methods=["632+"], n_bootstrap=3)
    assert 0 < found["632+"].value < 0.6


def test_precomputed_kernels_are_split_on_both_sides():
    methods = ["training", "hold_out", "k_fold", "632+", "leave_one_out"]
    a = compare_estimators(SVC(kernel="linear"), X, Y, methods=methods, n_bootstrap=4, cv=4)
    b = compare_estimators(SVC(kernel="precomputed"), X @ X.T, Y, methods=methods, n_bootstrap=4, cv=4)
    assert [e.value for e in a.estimates] == pytest.approx([e.value for e in b.estimates], abs=0.026)


def test_bounds_of_a_hold_out_error():
    found = compare_estimators(Nearest(), X, Y, methods=["hold_out"], confidence=0.9)["hold_out"]
    assert found.bound == pytest.approx(found.value + np.sqrt(np.log(20) / 80))
    assert found.deviation == pytest.approx(0.5 / np.sqrt(40))


def test_deviation_of_a_leave_one_out_error():
    svc = SVC(C=2.0)
    found = compare_estimators(svc, X, Y, methods=["leave_one_out"])["leave_one_out"]
    changed = np.mean(svc.fit(X, Y).predict(X) != leave_one_out(svc, X, Y).predictions)
    assert changed > 0
    assert found.deviation == pytest.approx(np.sqrt(1 / 80 + 6 * changed))
    assert found.bound is None
    three = compare_estimators(svc, X, np.arange(80) % 3, methods=["leave_one_out"])["leave_one_out"]
    assert three.deviation is None


def test_bounds_are_of_errors_and_are_printed():
    methods = ["training", "hold_out", "leave_one_out"]
    scored = compare_estimators(SVC(kernel="linear"), X, Y, methods=["training", "hold_out"], scoring="f1")
    assert all((e.bound, e.deviation) == (None, None) for e in scored.estimates)
    shown = compare_estimators(SVC(kernel="linear"), X, Y, methods=methods)
    table = str(shown).splitlines()
    assert "bound" in table[0]
    assert "deviation" in table[0]
    assert shown["training"].how.endswith("VC dimension 21")
    assert f"{shown['training'].bound:.4f}" in table[1]
    assert f"{shown['hold_out'].deviation:.4f}" in table[2]
    assert f"{shown['leave_one_out'].deviation:.4f}" in table[3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["jackknife"]}, "choose from"),
        ({"methods": []}, "choose from"),
        ({"scoring": "f1"}, "bootstraps correct errors"),
        ({"interval": "wald"}, "interval='wald'"),
        ({"confidence": 1.0}, "confidence=1.0"),
        ({"test_size": 0.0}, "test_size=0.0"),
        ({"n_bootstrap": 0}, "n_bootstrap=0"),
        ({"methods": ["leave_one_out"], "scoring": "roc_auc"}, "A single row has no score"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        compare_estimators(LogisticRegression(), X, Y, **options)

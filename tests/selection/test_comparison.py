"""Tables, intervals and bounds of estimates of performance, and what is refused."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, SVR
from statsmodels.stats.proportion import proportion_confint

from _compared import Nearest, X, Y
from bayes_svm import BayesSVC, compare_estimators, leave_one_out
from bayes_svm.selection.comparison import METHODS


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
        ({"n_bootstrap": 2.5}, "n_bootstrap=2.5 must be a whole number"),
        ({"n_bootstrap": "5"}, "n_bootstrap='5' must be a whole number"),
        ({"n_bootstrap": True}, "n_bootstrap=True must be a whole number"),
        ({"methods": ["leave_one_out"], "scoring": "roc_auc"}, "A single row has no score"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        compare_estimators(LogisticRegression(), X, Y, **options)


def test_a_score_of_probabilities_that_an_svc_does_not_leave_out_is_refused():
    y = np.arange(80) % 3
    message = r"methods: .leave_one_out. failed. .*scoring=.*roc_auc_score.* values of SVC do not give"
    with pytest.raises(ValueError, match=message):
        compare_estimators(SVC(), X, y, methods=["leave_one_out"], scoring="roc_auc_ovr")


def test_a_regressor_is_refused():
    with pytest.raises(TypeError, match="SVR is not a classifier"):
        compare_estimators(SVR(), X, Y)


def test_methods_may_be_of_any_kind():
    names = ["training", "leave_one_out"]
    found = compare_estimators(SVC(), X, Y, methods=(name for name in names))
    assert [one.method for one in found.estimates] == names

"""Only some strata leave: which, what their rows count, and what is said of the others."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from bayes_svm import (
    BayesSVC,
    BayesSVCSearch,
    PairwiseCouplingClassifier,
    RejectOptionClassifier,
    choose_threshold,
)
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.leave_one_out import cases
from bayes_svm.leave_one_out.cases import rows_alone, strata
from bayes_svm.leave_one_out.leaving import STAYS


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    monkeypatch.setattr(cases, "LEAST_SAMPLE", 10)


def data(n=240, share=0.5, seed=0, n_classes=2):
    return make_classification(
        n, 6, n_informative=4, n_classes=n_classes, flip_y=0.2, random_state=seed,
        weights=[1 - share, share] if n_classes == 2 else None,
    )  # fmt: skip


def machine_for(X, y, weight=None):
    return machine_of(SVC(gamma=0.2), X, y, weight)[0]


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_each_class_has_its_share_and_at_least_so_many_members(share):
    X, y = data(share=share)
    machine = machine_for(X, y)
    leaving = strata(machine, size=60)
    rows = np.flatnonzero(leaving.kind >= 0)
    counts, all_counts = np.bincount(y[rows]), np.bincount(y)
    number = leaving.case.max() + 1
    assert number == max(10, np.ceil(60 * all_counts.min() / len(y)))
    assert counts[all_counts.argmin()] == number
    np.testing.assert_allclose(counts / all_counts, number / all_counts.min(), atol=1.0 / all_counts.min())
    assert (leaving.kind[np.setdiff1d(np.arange(len(y)), rows)] == STAYS).all()


@pytest.mark.parametrize("leave_out", ["strata", "rows"])
def test_the_values_are_those_of_machines_trained_without_the_case(leave_out):
    X, y = data()
    model = BayesSVC(gamma=0.2, leave_out=leave_out, leave_out_size=40).fit(X, y)
    machine = machine_for(X, y)
    leaving = strata(machine, size=40) if leave_out == "strata" else rows_alone(machine, 40)
    assert len(model.left_out_.rows) == len(leaving.part_row) < 60
    for case in range(0, leaving.case.max() + 1, 3):
        gone = leaving.part_row[leaving.case == case]
        kept = np.setdiff1d(np.arange(len(y)), gone)
        expected = SVC(gamma=0.2, tol=1e-9).fit(X[kept], y[kept]).decision_function(X[gone])
        np.testing.assert_allclose(model.left_out_decision_values_[gone], expected, atol=1e-6)


def test_the_same_rows_leave_in_any_order_and_at_any_number_of_jobs():
    X, y = data()
    order = np.random.default_rng(1).permutation(len(y))
    first, second = (BayesSVC(leave_out_size=40).fit(X[rows], y[rows]) for rows in (np.arange(len(y)), order))
    np.testing.assert_array_equal(np.sort(order[second.left_out_.rows]), first.left_out_.rows)
    np.testing.assert_allclose(second.predict_proba(X), first.predict_proba(X), atol=1e-9)
    third = BayesSVC(leave_out_size=40, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(third.left_out_proba_, first.left_out_proba_)


def test_nothing_is_known_of_the_others():
    X, y = data()
    result = (model := BayesSVC(leave_out_size=40).fit(X, y)).left_out_
    others = np.setdiff1d(np.arange(len(y)), result.rows)
    assert len(others) > 100
    assert np.isnan(result.decision_values[others]).all()
    assert np.isnan(model.left_out_proba_[others]).all()
    assert np.isnan(result.kkt_residual[others]).all()
    assert (result.predicted[others] == -1).all()
    assert (result.status[others] == "left in").all()
    assert (result.weight[others] == 0).all()
    assert not np.isnan(result.train_decision_values).any()
    with pytest.raises(ValueError, match="leave_out_size=None"):
        _ = result.predictions


def test_errors_and_scores_are_those_of_the_rows_left_out():
    X, y = data(share=0.2)
    result = (model := BayesSVC(leave_out_size=60).fit(X, y)).left_out_
    rows = result.rows
    predicted = model.left_out_proba_[rows].argmax(axis=1)
    assert result.error == np.mean(predicted != y[rows])
    assert result.recall == np.mean(predicted[y[rows] == 1] == 1)
    assert result.score("accuracy") == pytest.approx(1 - result.error)
    off = (predicted != y[rows]) - result.error
    assert result.error_deviation == pytest.approx(np.std(off) / np.sqrt(len(rows)))


def test_a_sample_of_all_is_all():
    X, y = data()
    whole, same = (BayesSVC(leave_out_size=size).fit(X, y) for size in (None, len(y)))
    np.testing.assert_array_equal(same.left_out_proba_, whole.left_out_proba_)
    assert len(whole.left_out_.rows) == len(y)


def test_weights_are_repeated_rows():
    X, y = data(n=120)
    weight = np.random.default_rng(0).integers(1, 5, size=120)
    weighted = BayesSVC(gamma=0.2, leave_out_size=50).fit(X, y, sample_weight=weight)
    repeated = BayesSVC(gamma=0.2, leave_out_size=50).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert len(weighted.left_out_.rows) < 120
    np.testing.assert_allclose(
        np.repeat(weighted.left_out_proba_, weight, axis=0), repeated.left_out_proba_, atol=1e-9
    )
    assert weighted.left_out_.error == pytest.approx(repeated.left_out_.error)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_few_rows_of_large_weight_all_leave():
    X, y = data(n=40)
    model = BayesSVC(leave_out_size=40).fit(X, y, sample_weight=np.full(40, 1e6))
    assert len(model.left_out_.rows) == 40


def test_rows_without_weight_keep_the_values_of_the_whole_machine():
    X, y = data()
    weight = np.ones(len(y))
    weight[:5] = 0.0
    model = BayesSVC(leave_out_size=40).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.left_out_decision_values_[:5], model.decision_function(X[:5]), atol=1e-9)


def test_several_classes():
    X, y = data(n=300, n_classes=3)
    model = BayesSVC(leave_out_size=90).fit(X, y)
    rows = model.left_out_.rows
    assert 60 < len(rows) < 130
    np.testing.assert_allclose(model.left_out_proba_[rows].sum(axis=1), 1.0)
    assert np.isnan(model.left_out_proba_).any(axis=1).sum() == len(y) - len(rows)
    assert 0 < model.left_out_.error < 1
    assert model.left_out_.confusions[0].tp + model.left_out_.confusions[0].fn == np.sum(y[rows] == 0)


def test_a_reject_option_goes_by_the_rows_left_out():
    X, y = data()
    fitted = RejectOptionClassifier(BayesSVC(leave_out_size=60), target_risk=0.1).fit(X, y)
    proba = fitted.estimator_.left_out_proba_
    rows = fitted.estimator_.left_out_.rows
    accepted = proba[rows].max(axis=1) >= fitted.threshold_
    assert 0 < accepted.sum() < len(rows)
    assert np.mean(proba[rows].argmax(axis=1)[accepted] != y[rows][accepted]) <= 0.1


def test_pairs_leave_all_rows_out():
    X, y = data(n=300, n_classes=3)
    model = PairwiseCouplingClassifier(BayesSVC(leave_out_size=150)).fit(X, y)
    assert [len(pair.left_out_.rows) for pair in model.estimators_] == [
        len(pair.left_out_proba_) for pair in model.estimators_
    ]
    np.testing.assert_allclose(model.left_out_proba_.sum(axis=1), 1.0)


def test_a_search_leaves_all_rows_out():
    X, y = data(n=120)
    search = BayesSVCSearch(BayesSVC(leave_out_size=20), {"C": [0.5, 2.0]}).fit(X, y)
    assert not np.isnan(search.left_out_proba_).any()
    assert len(search.best_estimator_.left_out_.rows) == 120


def test_a_threshold_of_values_with_gaps_says_where_they_are():
    X, y = data()
    model = BayesSVC(leave_out_size=40).fit(X, y)
    with pytest.raises(ValueError, match=r"left_out_\.rows"):
        choose_threshold(y, model.left_out_decision_values_)
    rows = model.left_out_.rows
    assert np.isfinite(choose_threshold(y[rows], model.left_out_decision_values_[rows]).threshold)


def test_parameters():
    with pytest.raises(ValueError, match="leave_out_size"):
        BayesSVC(leave_out_size=0).fit(*data(n=60))

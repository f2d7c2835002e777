"""Signs known before the end of a path: the same error, less work, never a wrong sign."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from _data import IDA, awkward, ida, noisy, three_classes
from bayes_svm import leave_one_out
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.leave_one_out import certified
from bayes_svm.leave_one_out import signs as settling


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("make", [noisy, awkward])
@pytest.mark.parametrize("n", [40, 150])
def test_signs_are_those_of_the_values(make, kernel, C, n):
    X, y = make(n=n, seed=1)
    svc = SVC(kernel=kernel, C=C, gamma=0.3, degree=2, coef0=1.0)
    full, signs = leave_one_out(svc, X, y), leave_one_out(svc, X, y, sign_only=True)
    np.testing.assert_array_equal(signs.predictions, full.predictions)
    assert signs.error == full.error
    np.testing.assert_array_equal(np.isnan(signs.decision_values), signs.status == "settled")
    known = signs.status != "settled"
    np.testing.assert_allclose(signs.decision_values[known], full.decision_values[known], atol=1e-8)
    assert signs.events.sum() <= full.events.sum()


@pytest.mark.parametrize("C", [1.0, 10.0])
@pytest.mark.parametrize("name", IDA)
def test_the_error_of_a_benchmark_set_is_identical_and_takes_fewer_events(name, C):
    X, y = ida(name)
    svc = SVC(C=C, gamma=1.0 / X.shape[1])
    full, signs = leave_one_out(svc, X, y), leave_one_out(svc, X, y, sign_only=True)
    np.testing.assert_array_equal(signs.predictions, full.predictions)
    assert (signs.error, signs.recall, signs.f1) == (full.error, full.recall, full.f1)
    if full.events.sum():
        assert signs.events.sum() < full.events.sum()


def test_a_linear_svc_settles_signs_too():
    X, y = noisy(n=150)
    svc = LinearSVC(loss="hinge")
    full, signs = leave_one_out(svc, X, y), leave_one_out(svc, X, y, sign_only=True)
    np.testing.assert_array_equal(signs.predictions, full.predictions)
    assert "settled" in signs.status


def test_a_score_of_values_is_refused_without_them():
    X, y = noisy()
    signs = leave_one_out(SVC(), X, y, sign_only=True)
    with pytest.raises(ValueError, match="Only signs were computed"):
        signs.score("roc_auc")


def test_options_that_need_values_are_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match="sign_only=True needs method='path'"):
        leave_one_out(SVC(), X, y, sign_only=True, method="retrain")
    for options in ({"cv": 5}, {"groups": np.arange(60)}, {"at": X}):
        with pytest.raises(ValueError, match="sign_only=True stops before the values"):
            leave_one_out(SVC(), X, y, sign_only=True, **options)
    with pytest.raises(ValueError, match="sign_only=True needs two classes"):
        leave_one_out(SVC(), *three_classes(), sign_only=True)


@pytest.mark.parametrize("C", [0.3, 10.0, 1e4])
@pytest.mark.parametrize("gamma", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_signs_that_the_check_keeps_are_those_of_the_values(monkeypatch, make, gamma, C):
    X, y = make(n=120)
    svc = SVC(C=C, gamma=gamma)
    full = leave_one_out(svc, X, y)
    monkeypatch.setattr(settling, "WORTH_A_CHECK", 1)
    monkeypatch.setattr(certified, "SHARE_CHECKED", 0.0)
    signs = leave_one_out(svc, X, y, sign_only=True)
    np.testing.assert_array_equal(signs.predictions, full.predictions)


def test_where_few_signs_are_proven_the_others_are_not_checked(monkeypatch):
    _, (solution,) = machine_of(SVC(gamma=0.1), *noisy(n=300))
    points = np.flatnonzero(solution.alpha)
    arguments = solution, points, np.zeros(len(points))
    every = certified.keep_their_sign(*arguments)
    monkeypatch.setattr(certified, "SHARE_CHECKED", 1.1)
    few = certified.keep_their_sign(*arguments)
    assert 0 < few.sum() < 20 < every.sum()
    assert np.all(every[few])

"""Machines without an equality constraint, and classes taken in pairs."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.svm import SVC, LinearSVC

from _data import awkward, noisy, three_classes
from bayes_svm import leave_one_out
from bayes_svm.dual.from_estimator import machine_of
from oracles.interior_point import minimise_box_qp


def linear_values(svc, X, y, bound):
    """Decision values at all rows of the machine with a regularised intercept, by the oracle.

    Two copies of every row, one of each sign of beta, make the sum free: the oracle has the
    equality constraint, so a point at the origin with wide bounds takes up the sum.
    """
    constant = svc.intercept_scaling if svc.fit_intercept else 0.0
    K = X @ X.T + constant**2
    padded = np.pad(K, (0, 1))
    wide = 10.0 * bound.sum() + 1.0
    lower = np.append(np.where(y > 0, 0.0, -bound), -wide)
    upper = np.append(np.where(y > 0, bound, 0.0), wide)
    return K @ minimise_box_qp(padded, np.append(y, 0.0).astype(float), lower, upper).beta[:-1]


@pytest.mark.parametrize("make", [noisy, awkward])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("options", [{}, {"intercept_scaling": 3.0}, {"fit_intercept": False}])
def test_linear_svc_left_out_is_the_oracles(make, C, options):
    X, y = make(n=24, seed=2)
    svc = LinearSVC(loss="hinge", C=C, **options)
    paths, retrained = (leave_one_out(svc, X, y, method=method) for method in ("path", "retrain"))
    np.testing.assert_allclose(paths.decision_values, retrained.decision_values, atol=1e-8)
    np.testing.assert_allclose(
        paths.train_decision_values, linear_values(svc, X, y, np.full(24, C)), atol=1e-5
    )
    for row in range(24):
        bound = np.where(np.arange(24) == row, 0.0, C)
        expected = linear_values(svc, X, y, bound)[row]
        assert paths.decision_values[row] == pytest.approx(expected, abs=1e-5)
    assert set(paths.status) <= {"unchanged", "path", "re-trained"}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_linear_svc_is_scikit_learns(form):
    X, y = noisy(n=80)
    svc = LinearSVC(loss="hinge", C=0.5, tol=1e-10, max_iter=1_000_000)
    result = leave_one_out(svc, form(X), y)
    fitted = clone(svc).fit(X, y)
    np.testing.assert_allclose(result.train_decision_values, fitted.decision_function(X), atol=1e-4)
    for row in range(0, 80, 9):
        keep = np.arange(80) != row
        left = clone(svc).fit(X[keep], y[keep]).decision_function(X[row : row + 1])[0]
        assert result.decision_values[row] == pytest.approx(left, abs=1e-4)


def test_the_null_point_takes_up_the_sum_and_holds_the_intercept_at_zero():
    X, y = noisy(n=30)
    machine, (solution,) = machine_of(LinearSVC(loss="hinge"), X, y)
    assert solution.exact
    assert solution.problem.label[-1] == 0
    assert solution.beta.sum() == pytest.approx(0.0, abs=1e-12)
    assert solution.intercept == pytest.approx(0.0, abs=1e-12)
    assert abs(solution.beta[-1]) > 1e-3
    assert len(machine.gram) == 31
    assert not machine.gram.whole()[-1].any()


def test_linear_svc_weights_groups_and_classes():
    X, y = three_classes()
    svc = LinearSVC(loss="hinge", C=0.7)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], size=60)
    weight[:6] = 1.0
    groups = np.arange(60) % 8
    for options in ({"sample_weight": weight}, {"groups": groups}, {"class_weight": None}):
        estimator = clone(svc).set_params(class_weight="balanced") if "class_weight" in options else svc
        options.pop("class_weight", None)
        paths, retrained = (
            leave_one_out(estimator, X, y, method=method, **options) for method in ("path", "retrain")
        )
        assert paths.decision_values.shape == (60, 3)
        np.testing.assert_allclose(paths.decision_values, retrained.decision_values, atol=1e-8)


def test_a_linear_svc_with_another_loss_is_refused():
    with pytest.raises(ValueError, match=r"LinearSVC\(loss='squared_hinge'\).*use loss='hinge'"):
        leave_one_out(LinearSVC(), *noisy())


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_an_svc_of_several_classes_is_left_out_in_pairs(shape):
    X, y = three_classes(n=45)
    labels = np.array(["b", "c", "a"])[y]
    svc = SVC(C=2.0, gamma=0.5, decision_function_shape=shape, tol=1e-9)
    result = leave_one_out(svc, X, labels)
    np.testing.assert_allclose(
        result.train_decision_values, clone(svc).fit(X, labels).decision_function(X), atol=1e-5
    )
    for row in range(45):
        keep = np.arange(45) != row
        left = clone(svc).fit(X[keep], labels[keep])
        np.testing.assert_allclose(
            result.decision_values[row], left.decision_function(X[row : row + 1])[0], atol=1e-5
        )
        assert result.predictions[row] == left.predict(X[row : row + 1])[0]
    assert result.error == pytest.approx(np.mean(result.predictions != labels))
    assert result.status.shape == (45, 3)


@pytest.mark.parametrize("break_ties", [False, True])
def test_tied_votes_are_broken_as_the_svc_does(break_ties):
    digits = load_digits(n_class=6)
    X, y = digits.data[:120] / 16.0, digits.target[:120]
    svc = SVC(C=0.05, gamma=0.02, break_ties=break_ties, tol=1e-8)
    result = leave_one_out(svc, X, y)
    rows = np.arange(0, 120, 10)
    for row in rows:
        keep = np.arange(120) != row
        left = clone(svc).fit(X[keep], y[keep])
        assert result.predictions[row] == left.predict(X[row : row + 1])[0]


def test_measures_of_pairs_count_the_predictions():
    X, y = three_classes()
    result = leave_one_out(SVC(), X, y)
    for k, confusion in enumerate(result.confusions):
        assert confusion.tp == np.sum((result.predictions == k) & (y == k))
        assert confusion.fp == np.sum((result.predictions == k) & (y != k))

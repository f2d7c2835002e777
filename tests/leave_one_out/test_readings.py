"""Which status a value gets, and its value in each."""

import numpy as np
import pytest
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import leave_one_out

METHODS = pytest.mark.parametrize("method", ["path", "retrain"])


def retrained(svc, X, y, row):
    rows = np.arange(len(y)) != row
    return svc.fit(X[rows], y[rows]).decision_function(X[row : row + 1])[0]


def test_points_without_weight_are_unchanged():
    X, y = noisy()
    result = leave_one_out(SVC(C=10.0), X, y)
    unchanged = result.status == "unchanged"
    assert 0 < unchanged.sum() < len(y)
    np.testing.assert_array_equal(result.decision_values[unchanged], result.train_decision_values[unchanged])
    assert np.all(np.abs(result.decision_values - result.train_decision_values)[~unchanged] > 1e-9)


@METHODS
def test_without_a_free_point_the_intercept_is_the_middle_as_libsvms(method):
    # At this C all coefficients of the smaller class are at their bound.
    X, y = noisy(n=21, seed=2)
    y[:] = np.where(np.arange(21) < 11, 1, -1)
    svc = SVC(C=1e-4, kernel="linear", tol=1e-8)
    result = leave_one_out(svc, X, y, method=method)
    unstable = np.flatnonzero(result.status == "unstable")
    assert len(unstable) >= 10
    for row in unstable:
        assert result.decision_values[row] == pytest.approx(retrained(svc, X, y, row), abs=1e-6)


@METHODS
def test_without_a_free_point_and_without_weight_the_intercept_may_still_move(method):
    # All coefficients are at 0.01 or 0; the far points pin no weight but the middle.
    X = np.array([[1.0], [3.0], [-1.0], [-2.0], [0.5], [-0.5]])
    y = np.array([1, 1, -1, -1, 1, -1])
    svc = SVC(C=0.2, kernel="linear", tol=1e-9)
    result = leave_one_out(svc, X, y, method=method)
    expected = [retrained(svc, X, y, row) for row in range(6)]
    np.testing.assert_allclose(result.decision_values, expected, atol=1e-5)


@METHODS
def test_one_copy_less_can_take_the_last_free_point(method):
    """Two copies share alpha = C: without one of them the other is at its bound, and none is free."""
    X, y = np.array([[1.0], [1.0], [-1.0]]), np.array([1, 1, -1])
    svc = SVC(C=0.1, kernel="linear")
    result = leave_one_out(svc, X, y, method=method)
    np.testing.assert_allclose(result.decision_values[:2], retrained(svc, X, y, 0), atol=1e-6)
    assert list(result.status[:2]) == ["unstable", "unstable"]


@METHODS
def test_an_intercept_that_is_unique_is_not_called_unstable(method):
    """No coefficient of this corner of the dual optimum is free, but the interval is one point."""
    X = np.array([[1.0, 0], [2, 0], [0, 1], [1, 0], [1, 0], [1, 0], [1, 1]])
    y = np.array([1, 1, -1, -1, -1, 1, -1])
    result = leave_one_out(SVC(C=10.0, kernel="poly", degree=2, gamma=0.5, coef0=1.0), X, y, method=method)
    assert result.status[1] in {"path", "re-trained"}


@METHODS
def test_the_last_of_a_class_leaves_the_other_class(method):
    X, y = noisy(n=20)
    y[:] = 1
    y[7] = -1
    result = leave_one_out(SVC(), X, y, method=method)
    assert result.status[7] == "one-class"
    assert result.decision_values[7] == 1.0
    assert "one-class" not in np.delete(result.status, 7)


@METHODS
def test_of_two_copies_the_last_of_a_class_one_remains(method):
    X, y = noisy(n=20)
    y[:] = 1
    y[7] = -1
    weight = np.where(y < 0, 2.0, 1.0)
    result = leave_one_out(SVC(gamma=0.5), X, y, sample_weight=weight, method=method)
    assert result.status[7] != "one-class"
    left = SVC(gamma=0.5, tol=1e-8).fit(X, y)
    assert result.decision_values[7] == pytest.approx(left.decision_function(X[7:8])[0], abs=1e-5)


def test_equal_rows_get_equal_values_and_all_of_them():
    X, y = noisy(n=20)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    result = leave_one_out(SVC(C=0.3), X, y)
    for k in range(3):
        np.testing.assert_array_equal(result.decision_values[k::3], result.decision_values[::3])


def test_where_the_whole_machine_is_not_exact_values_are_re_trained_or_inexact():
    X, y = noisy(n=40)
    with pytest.warns(UserWarning, match="not exact"):
        result = leave_one_out(SVC(kernel="sigmoid", gamma=5.0, coef0=-5.0, C=10.0), X, y)
    assert set(result.status) <= {"re-trained", "inexact", "unstable"}
    assert "inexact" in result.status
    assert np.isfinite(result.decision_values).all()

"""What leaves, which status a value gets, and the iterative methods as the function offers them."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from _data import awkward, noisy, three_classes
from bayes_svm import BayesSVC, leave_one_out
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.leave_one_out.cases import groups_alone, rows_alone
from bayes_svm.leave_one_out.methods import removals_of


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_certified_signs_are_the_exact_ones_and_warm_ends_at_tol(make, C):
    X, y = make(n=80)
    svc = SVC(C=C, gamma=0.5, tol=1e-2)
    exact = leave_one_out(svc, X, y)
    certified, warm = (leave_one_out(svc, X, y, method=method) for method in ("certified", "warm"))
    proven = certified.status == "certified"
    assert proven.mean() > 0.3
    np.testing.assert_array_equal(certified.predictions[proven], exact.predictions[proven])
    assert set(certified.status) <= {"certified", "converged"}
    assert set(warm.status) <= {"certified", "converged"}
    assert "converged" in warm.status
    assert warm.kkt_residual.max() <= 1e-2
    assert certified.kernel_columns.sum() > 0
    assert np.all(exact.kernel_columns == 0)
    assert certified.certified_share == pytest.approx(proven.mean())
    assert exact.certified_share == 0.0


def test_warm_values_come_closer_with_the_tolerance():
    X, y = noisy(n=60)
    exact = leave_one_out(SVC(gamma=0.5), X, y).decision_values
    off = []
    for tol in (1e-1, 1e-3, 1e-6):
        warm = leave_one_out(SVC(gamma=0.5, tol=tol), X, y, method="warm")
        solved = warm.status == "converged"
        assert solved.sum() > 10
        off.append(np.abs(warm.decision_values - exact)[solved].max())
    assert off[0] > off[1] > off[2]
    assert off[2] < 1e-5


def test_several_classes():
    X, y = three_classes()
    for estimator in (SVC(gamma=0.5), BayesSVC(gamma=0.5)):
        exact, certified = (leave_one_out(estimator, X, y, method=m) for m in ("path", "certified"))
        proven = certified.status == "certified"
        assert certified.status.shape == (60, 3)
        if isinstance(estimator, BayesSVC):
            agree = np.sign(certified.decision_values) == np.sign(exact.decision_values)
            assert agree[proven].all()


@pytest.mark.parametrize("method", ["certified", "warm"])
def test_what_they_cannot_do_is_refused(method):
    X, y = noisy()
    for options in ({"cv": 5}, {"groups": np.arange(60)}, {"at": X}):
        with pytest.raises(ValueError, match=f"method='{method}' leaves out single points only"):
            leave_one_out(SVC(), X, y, method=method, **options)
    with pytest.raises(ValueError, match=f"method='{method}' needs an intercept that is not regularised"):
        leave_one_out(LinearSVC(loss="hinge"), X, y, method=method)


def weighted_machine():
    X, y = noisy(n=12)
    X[5], y[5] = X[2], y[2]
    weight = np.array([1, 1, 2.5, 0, 1, 1, 3, 1, 0.4, 1, 1, 1.0])
    return machine_of(SVC(C=2.0), X, y, weight)[0]


def test_a_row_takes_one_copy_of_its_point():
    machine = weighted_machine()
    leaving = rows_alone(machine)
    removals, case, member = removals_of(machine.problem(0), leaving)
    np.testing.assert_array_equal(np.sort(leaving.part_row), np.delete(np.arange(12), 3))
    np.testing.assert_array_equal(removals.case[member], case)
    rest = dict(zip(leaving.part_row.tolist(), removals.rest[member], strict=True))
    assert rest[2] == 2.0 * (3.5 - 1.25)
    assert rest[5] == 2.0 * (3.5 - 1.0)
    assert rest[6] == 4.0
    assert rest[8] == 0.0


def test_a_group_takes_all_of_its_rows():
    machine = weighted_machine()
    problem = machine.problem(0)
    leaving = groups_alone(machine, np.array([0, 0, 1, 1, 2, 2, 2, 1, 0, 0, 1, 2]))
    removals, case, member = removals_of(problem, leaving)
    assert removals.n_cases == 3
    bounds = removals.bounds(problem.bound, 1)
    expected = problem.bound.copy()
    for row in (2, 7, 10):
        expected[problem.group[row]] -= problem.row_bound[row]
    np.testing.assert_allclose(bounds, expected)
    absent = np.flatnonzero(member < 0)
    np.testing.assert_array_equal(leaving.part_row[absent], [3])
    np.testing.assert_array_equal(case[absent], [1])
    present = np.flatnonzero(member >= 0)
    np.testing.assert_array_equal(removals.points[member[present]], problem.group[leaving.part_row[present]])


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

"""Machines with one more point are those that training on all points gives."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from _data import awkward, noisy
from bayes_svm.conformal.adding import Adder, NewPoints
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.leave_one_out import path


def added(estimator, X, y, new):
    """The adder, every new point with both labels, and their machines."""
    machine, (solution,) = machine_of(estimator, X, y)
    n_new = len(new)
    pairs = NewPoints(
        machine.cross(solution.problem, new),
        machine.kernel.diagonal(new),
        np.repeat(np.arange(n_new), 2),
        np.tile([1.0, -1.0], n_new),
        np.full(2 * n_new, float(estimator.C)),
    )
    adder = Adder(solution)
    return adder, pairs, adder.add(pairs)


def assert_as_trained(estimator, X, y, new):
    adder, pairs, found = added(estimator, X, y, new)
    for pair, status in enumerate(found.status):
        solution = adder.solved(pairs, pair)
        assert solution.exact
        order = np.argsort(adder._order)
        scale = max(1.0, np.abs(solution.values).max())
        np.testing.assert_allclose(found.values[pair], solution.values[order], atol=1e-9 * scale, rtol=0)
        assert (status == "unstable") == (not solution.stable)
        # The coefficients give these values, up to the intercept.
        row, beta = pairs.which[pair], found.beta[pair]
        kernel_part = np.append(
            adder.problem.gram.product(beta[:-1]) + beta[-1] * pairs.cross[row],
            pairs.cross[row] @ beta[:-1] + beta[-1] * pairs.diagonal[row],
        )
        # A null point is no point to ask for a value.
        own = np.append(adder.problem.label != 0, True)
        assert np.ptp((found.values[pair] - kernel_part)[own]) < 1e-8 * scale
    return found


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_machines_are_those_of_training_on_all_points(make, kernel, C):
    X, y = make()
    # New points, one of them a training row, and one far away.
    new = np.vstack([np.random.default_rng(1).normal(size=(4, X.shape[1])), X[5], np.full(X.shape[1], 9.0)])
    found = assert_as_trained(SVC(C=C, kernel=kernel, gamma=0.5, coef0=1.0), X, y, new)
    assert set(found.status) <= {"path", "unchanged", "unstable", "re-trained"}


def test_an_intercept_that_is_part_of_the_kernel():
    X, y = noisy()
    assert_as_trained(LinearSVC(C=0.5, loss="hinge"), X, y, np.random.default_rng(1).normal(size=(5, 3)))


def test_more_columns_than_rows_and_a_class_of_one():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(12, 50)), np.arange(12) % 2
    assert_as_trained(SVC(gamma=0.01), X, y, random.normal(size=(4, 50)))
    assert_as_trained(SVC(gamma=0.01), X, (np.arange(12) == 3).astype(int), random.normal(size=(4, 50)))


def test_where_no_point_is_free_the_intercept_is_in_the_middle():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    found = assert_as_trained(SVC(C=1e-3, kernel="linear"), X, y, np.array([[0.5], [2.5], [9.0]]))
    assert "unstable" in found.status


def test_points_that_the_tableau_lacks_are_added_to_it(monkeypatch):
    monkeypatch.setattr(path, "ALL_ROWS", 10)
    monkeypatch.setattr(path, "NEAR", 1e-3)
    X, y = noisy(n=80)
    found = assert_as_trained(SVC(C=3.0, gamma=0.5), X, y, 2 * np.random.default_rng(1).normal(size=(12, 3)))
    assert np.count_nonzero(found.status == "path") > 12


def test_a_point_beyond_the_margin_changes_nothing():
    X, y = noisy(noise=0.1)
    adder, _, found = added(SVC(kernel="linear"), X, y, np.array([[9.0, 0.0, 0.0]]))
    assert found.status[0] == "unchanged"
    np.testing.assert_array_equal(found.beta[0], np.append(adder.solution.beta, 0.0))
    assert found.values[1, -1] > -1.0
    assert found.beta[1, -1] == -1.0


def test_paths_that_do_not_end_at_the_optimum_are_solved_anew(monkeypatch):
    X, y = noisy()
    new = np.random.default_rng(1).normal(size=(4, 3))
    expected = added(SVC(gamma=0.5), X, y, new)[2]
    monkeypatch.setattr("bayes_svm.conformal.adding.MAX_EVENTS", 0)
    found = added(SVC(gamma=0.5), X, y, new)[2]
    assert "re-trained" in found.status
    np.testing.assert_allclose(found.values, expected.values, atol=1e-9)
    np.testing.assert_allclose(found.beta, expected.beta, atol=1e-9)


def without_free_points():
    """A machine all of whose points are at a bound, so that no path starts from it."""
    random = np.random.RandomState(47)
    n = random.randint(10, 80)
    y = np.r_[0, 0, 1, 1, random.rand(n - 4) > random.choice([0.5, 0.8])].astype(int)
    X = random.randn(n, 2) + 0.7 * y[:, None]
    return X, y, np.random.RandomState(0).randn(6, 2)


def test_without_a_path_to_follow_nothing_is_read_that_was_not_written(monkeypatch):
    X, y, new = without_free_points()
    # What happens to be in memory must not pass for where a path ended.
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float, **_: np.full(shape, 0.5).astype(dtype))
    estimator = SVC(C=0.001, gamma=0.5)
    assert not added(estimator, X, y, new)[0].followed
    found = assert_as_trained(estimator, X, y, new)
    assert set(found.status) <= {"re-trained", "unstable"}

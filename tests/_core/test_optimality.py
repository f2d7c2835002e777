import numpy as np
import pytest
from sklearn.svm import SVC

from _data import awkward, noisy
from bayes_svm._core.check_records import Measured, Points, Tolerance
from bayes_svm._core.optimality import check_ends, check_moved
from bayes_svm._core.removals import Removals
from bayes_svm.dual.from_estimator import machine_of
from oracles.optimality import measure


def checked(problem, beta, values, points, rest):
    """``check_ends`` where one point of each row keeps ``rest``."""
    n = len(points)
    bounds = np.tile(problem.bound, (n, 1))
    bounds[np.arange(n), points] = rest
    return check_ends(beta, values, problem.label, bounds, Tolerance(1e-9, 1e-13))


@pytest.mark.parametrize("make", [noisy, awkward])
def test_residual_gap_and_scale_are_the_definitions(make):
    X, y = make(n=30)
    machine, (solution,) = machine_of(SVC(C=2.0, gamma=0.5), X, y)
    problem, points = machine.problem(0), np.arange(5)
    beta = solution.beta * np.array([[1.0], [0.9], [0.5], [0.1], [0.7]])
    rest = np.abs(beta[points, points])
    values = beta @ problem.gram.whole() + 0.1
    kkt, gap, scale, free, _, _ = checked(problem, beta, values, points, rest)
    for k in points:
        bound = problem.bound.copy()
        bound[k] = rest[k]
        expected = measure(problem.gram.whole(), problem.label, bound, beta[k], 0.1)
        assert kkt[k] == pytest.approx(expected.kkt_residual)
        assert gap[k] == pytest.approx(expected.gap, abs=1e-12)
        assert scale[k] == pytest.approx(expected.scale)
        assert free[k]


def test_where_nothing_is_free_values_move_to_the_middle():
    X, y = np.array([[1.0], [2.0], [-1.0], [-3.0]]), np.array([1, 1, -1, -1])
    machine, (solution,) = machine_of(SVC(kernel="linear", C=0.01), X, y)
    problem = machine.problem(0)
    values = (solution.values + 0.3)[None].copy()
    _, _, _, free, low, high = checked(
        problem, solution.beta[None].copy(), values, np.array([0]), problem.bound[:1].copy()
    )
    assert not free[0]
    assert high[0] - low[0] > 1.0
    np.testing.assert_allclose(values[0], solution.values, atol=1e-12)


def measured(points, members, delta, moved, shift):
    """``check_moved`` with its outputs made and returned."""
    n = len(delta)
    found = Measured(*np.empty((4, n)), np.empty(n, dtype=bool))
    check_moved(points, members, delta, moved, shift, Tolerance(1e-9, 1e-13), found)
    return found


def test_points_that_move_are_measured_as_all_points_are():
    X, y = noisy(n=30)
    machine, (solution,) = machine_of(SVC(C=2.0, gamma=0.5), X, y)
    problem = machine.problem(0)
    K, label, start = problem.gram.whole(), problem.label, solution.beta
    norm, mass, largest = start @ K @ start, label @ start, np.abs(start).max()
    points = Points(
        start, K @ start + 0.3 - label, label, problem.bound.copy(), K @ start, largest, norm, mass
    )
    members = Removals(np.arange(4), np.arange(3), problem.bound[:3] * [1.0, 0.0, 0.5])
    rest = members.rest.copy()
    delta = np.random.default_rng(0).normal(size=(3, 30)) * 0.1
    delta[0] = 0.0
    delta -= delta.mean(axis=1, keepdims=True)  # of beta that do not sum to 0 the intercept adds to the gap
    found = measured(points, members, delta, delta @ K, np.full(3, -0.2))
    for k in range(3):
        bound = problem.bound.copy()
        bound[k] = rest[k]
        beta = start + delta[k]
        expected = measure(K, label, bound, beta, 0.1)
        dual = label @ beta - beta @ K @ beta / 2
        assert found.kkt[k] == pytest.approx(expected.kkt_residual, abs=1e-12)
        assert found.dual[k] == pytest.approx(abs(dual))
        assert found.gap[k] == pytest.approx(expected.gap * abs(dual), abs=1e-9)
        assert found.square[k] == pytest.approx(delta[k] @ K @ delta[k], abs=1e-12)
        assert found.free[k]
    np.testing.assert_array_equal(points.bound, problem.bound)  # put back after each path
    np.testing.assert_array_equal(members.rest, rest)


def test_a_point_taken_out_says_nothing():
    label = np.array([1.0, -1.0, 0.0])
    points = Points(np.zeros(3), np.zeros(3), label, np.array([1.0, 1.0, 1e300]), np.zeros(3), 1.0, 0.0, 0.0)
    members = Removals(np.array([0, 1]), np.array([1]), np.array([-1.0]))
    delta, moved = np.array([[1.0, -0.5, -0.5]]), np.array([[-0.2, 9.0, 0.0]])
    found = measured(points, members, delta, moved, np.zeros(1))
    assert found.kkt[0] == 0.0
    assert found.gap[0] == 0.0
    assert found.free[0]  # the null point


def test_what_is_left_out_does_not_excuse_coefficients_beyond_their_bounds():
    # Next to what is left out the first two are rounding; next to what is left they are not.
    label = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    start, end = np.array([0, 0, 1, -1, 1e6, -1e6]), np.array([-5e-4, 5e-4, 1, -1, 0, 0])
    points = Points(start, np.zeros(6), label, np.full(6, 1e6), np.zeros(6), 0.0, 0.0, 0.0)
    members = Removals(np.array([0, 2]), np.array([4, 5]), np.full(2, -1.0))
    found = measured(points, members, (end - start)[None], np.zeros((1, 6)), np.zeros(1))
    assert found.kkt[0] == pytest.approx(5e-4, rel=1e-5)

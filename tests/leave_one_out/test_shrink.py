import numpy as np
import pytest
from sklearn.svm import SVC

from _data import awkward, noisy
from bayes_svm.leave_one_out._shrink import Tolerance, check_ends, check_touched
from bayes_svm.machine import machine_of
from oracles.optimality import measure


def checked(problem, beta, values, points, rest):
    """``check_ends`` with its outputs made and returned."""
    n = len(points)
    kkt, gap, scale, low, high = (np.empty(n) for _ in range(5))
    free = np.zeros(n, dtype=bool)
    bounds = np.tile(problem.bound, (n, 1))
    bounds[np.arange(n), points] = rest
    check_ends(beta, values, problem.label, bounds, Tolerance(1e-9, 1e-13), kkt, gap, scale, free, low, high)
    return kkt, gap, scale, free, low, high


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


def test_touched_points_are_measured_as_all_points_are():
    X, y = noisy(n=30)
    machine, (solution,) = machine_of(SVC(C=2.0, gamma=0.5), X, y)
    problem = machine.problem(0)
    beta = solution.beta * np.array([[1.0], [0.9], [0.5]])
    residual = beta @ problem.gram.whole() + 0.1 - problem.label
    bounds = np.tile(problem.bound, (3, 1))
    kkt, gap, free = np.empty(3), np.empty(3), np.empty(3, dtype=bool)
    largest = np.abs(solution.beta).max()
    check_touched(beta, residual, problem.label, bounds, Tolerance(1e-9, 1e-13), largest, kkt, gap, free)
    for k in range(3):
        expected = measure(problem.gram.whole(), problem.label, problem.bound, beta[k], 0.1)
        norm = beta[k] @ problem.gram.whole() @ beta[k]
        dual = np.abs(beta[k]).sum() - norm / 2
        # Of beta that do not sum to 0 the intercept adds to what the points say of the gap.
        assert kkt[k] == pytest.approx(expected.kkt_residual)
        assert gap[k] - 0.1 * beta[k].sum() == pytest.approx(expected.gap * dual, abs=1e-9)
        assert free[k]


def test_a_point_taken_out_says_nothing():
    label, bounds = np.array([1.0, -1.0, 0.0]), np.array([[1.0, -1.0, 1e300]])
    kkt, gap, free = np.empty(1), np.empty(1), np.empty(1, dtype=bool)
    beta, residual = np.array([[1.0, -0.5, 7.0]]), np.array([[-0.2, 9.0, 0.0]])
    check_touched(beta, residual, label, bounds, Tolerance(1e-9, 1e-13), 1.0, kkt, gap, free)
    assert kkt[0] == 0.0
    assert gap[0] == 0.0
    assert free[0]  # the null point

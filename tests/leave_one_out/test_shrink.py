import numpy as np
import pytest
from sklearn.svm import SVC

from _data import awkward, noisy
from bayes_svm.leave_one_out._shrink import Tolerance, check_ends
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
    values = beta @ problem.gram + 0.1
    kkt, gap, scale, free, _, _ = checked(problem, beta, values, points, rest)
    for k in points:
        bound = problem.bound.copy()
        bound[k] = rest[k]
        expected = measure(problem.gram, problem.label, bound, beta[k], 0.1)
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

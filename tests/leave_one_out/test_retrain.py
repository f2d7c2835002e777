import numpy as np
import pytest
from sklearn.datasets import make_circles
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from _data import awkward, noisy
from bayes_svm import leave_one_out
from bayes_svm._core.removals import Removals
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.leave_one_out.retrain import retrain
from oracles.left_out import left_out


def alone(problem, point, rest, **options):
    """One point with its bound lowered to ``rest``."""
    case = Removals.of_points(np.array([point]), np.array([rest]))
    return retrain(problem, case, **options)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_what_is_left_of_a_points_weight_counts(share):
    X, y = noisy(n=30)
    svc = SVC(C=2.0, gamma=0.5)
    machine, _ = machine_of(svc, X, y)
    K = rbf_kernel(X, gamma=0.5)
    for point in range(0, 30, 7):
        outcome = alone(machine.problem(0), point, 2.0 * share)
        oracle = left_out(K, y, np.full(30, 2.0), point, 2.0 * (1 - share))
        assert outcome.status[0] == "re-trained"
        assert outcome.values[0] == pytest.approx(oracle.values[point], abs=1e-7)


@pytest.mark.parametrize("make", [noisy, awkward])
def test_a_start_makes_no_difference(make):
    X, y = make(n=30)
    machine, (solution,) = machine_of(SVC(C=5.0, gamma=0.5), X, y)
    problem = machine.problem(0)
    for point in range(len(problem.label)):
        seeded, fresh = (alone(problem, point, 0.0, start=start) for start in (solution, None))
        assert seeded.values[0] == pytest.approx(fresh.values[0], abs=1e-7)


def test_too_few_steps_make_it_inexact():
    X, y = noisy(n=30)
    machine, _ = machine_of(SVC(C=100.0), X, y)
    outcome = alone(machine.problem(0), 0, 0.0, max_iter=1)
    assert outcome.status[0] == "inexact"
    assert outcome.gap[0] > 1e-6


def test_the_problem_is_left_as_it_was():
    X, y = noisy(n=30)
    machine, _ = machine_of(SVC(), X, y)
    problem = machine.problem(0)
    alone(problem, 0, 0.0)
    np.testing.assert_array_equal(problem.bound, np.ones(30))


@pytest.mark.parametrize(("n", "C"), [(60, 0.1), (60, 1.0), (300, 0.1), (300, 1.0), (300, 1e2), (300, 1e4)])
def test_points_on_circles_are_left_out_alike_and_without_endless_exchanges(n, C):
    """Turned by the angle between two points of a circle, the data are the same."""
    X, y = make_circles(n, factor=0.5, random_state=0)
    found = leave_one_out(SVC(C=C), X, y)
    assert set(found.status) <= {"path", "re-trained", "unchanged"}
    assert found.events.max() <= 10 * n
    for label in (0, 1):
        assert np.ptp(found.decision_values[y == label]) <= 1e-8

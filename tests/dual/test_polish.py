import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from _data import awkward, noisy
from bayes_svm._core.records import TOO_MANY_EVENTS
from bayes_svm.dual import polish as polish_module
from bayes_svm.dual import tableau_path
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.polish import (
    MAX_CIRCLES,
    coefficients_of_partition,
    exchanged,
    margin_targets,
    optimality_violation,
    polish,
)
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solving import solve
from bayes_svm.dual.tableau_path import Stretch
from bayes_svm.dual.working_set import lower_violation
from bayes_svm.kernels.gram import WholeMatrix


def problem_of(X, y, C):
    return DualProblem.merge(
        WholeMatrix(rbf_kernel(X)), np.arange(len(y)), y.astype(float), np.full(len(y), C)
    )


def roughly_solved(problem, tolerance):
    beta = np.zeros(len(problem.label))
    lower_violation(problem, beta, -problem.label, tolerance, 10**6)
    return beta


def violation_of(problem, targets, polished):
    beta, free = polished.beta, polished.free
    gradient = problem.gram.product(beta) - targets
    residual = gradient - gradient[free].mean()
    residual[free] = 0
    return optimality_violation(beta, residual, problem.lower, problem.upper).max()


def test_targets_are_distinct_and_near_the_labels():
    label = np.repeat([1.0, -1.0], 500)
    targets = margin_targets(label, 1e-7)
    assert len(np.unique(np.abs(targets))) == 1000
    assert np.all((np.abs(targets) > 1) & (np.abs(targets) <= 1 + 1.0001e-7))
    np.testing.assert_array_equal(np.sign(targets), label)
    np.testing.assert_array_equal(targets, margin_targets(label, 1e-7))


@pytest.mark.parametrize("start", [1e-6, 1e-2, 1.0, np.inf])
def test_the_end_is_the_optimum_wherever_it_starts(start):
    problem = problem_of(*noisy(), 10.0)
    targets = margin_targets(problem.label, 1e-7)
    beta = roughly_solved(problem, start)
    polished = polish(problem, targets, beta, min(start, 2.0))
    assert polished.reason is None
    assert violation_of(problem, targets, polished) <= 1e-10
    assert abs(polished.beta.sum()) <= 1e-10


def test_dependent_free_points_are_reduced_to_an_independent_set():
    X, y = noisy(n=30, d=2)
    problem = DualProblem.merge(WholeMatrix(X @ X.T), np.arange(30), y.astype(float), np.full(30, 1.0))
    beta = np.where(y > 0, 0.5 / (y > 0).sum(), -0.5 / (y < 0).sum())  # all thirty are free
    polished = polish(problem, margin_targets(problem.label, 1e-7), beta, 2.0)
    assert polished.reason is None
    assert len(polished.free) <= 3


def test_an_indefinite_kernel_is_a_reason_and_not_an_exception():
    X, y = noisy(n=30)
    K = np.tanh(2.0 * X @ X.T - 1.0)
    problem = DualProblem.merge(WholeMatrix(K), np.arange(30), y.astype(float), np.full(30, 1.0))
    beta = np.where(y > 0, 0.5 / (y > 0).sum(), -0.5 / (y < 0).sum())
    assert "not positive" in polish(problem, problem.label, beta, 2.0).reason


def test_exchanges_that_go_in_circles_again_on_a_new_tableau_end_the_polish(monkeypatch):
    events = []

    def in_circles(problem, tableau, motion, beta, residual, end):
        events.append(7)
        return Stretch(beta, np.sort(tableau.rows[: tableau.n_free]), events[-1], TOO_MANY_EVENTS, 0.5)

    monkeypatch.setattr(polish_module, "follow_on", in_circles)
    problem = problem_of(*noisy(), 10.0)
    polished = polish(problem, margin_targets(problem.label, 1e-7), roughly_solved(problem, 1.0), 1.0)
    assert len(events) == MAX_CIRCLES
    assert polished.pivots == sum(events)
    assert "did not end" in polished.reason


def test_the_start_is_left_as_it_was():
    problem = problem_of(*awkward(), 10.0)
    beta = roughly_solved(problem, 1e-2)
    before = beta.copy()
    polish(problem, margin_targets(problem.label, 1e-7), beta, 1e-2)
    np.testing.assert_array_equal(beta, before)


def test_violation_is_on_the_side_where_a_coefficient_can_move():
    beta, lower, upper = np.array([0.0, 0.5, 1.0, 0.0]), np.zeros(4), np.array([1.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(optimality_violation(beta, np.full(4, 0.2), lower, upper), [0, 0.2, 0.2, 0])
    np.testing.assert_array_equal(
        optimality_violation(beta, np.full(4, -0.2), lower, upper), [0.2, 0.2, 0, 0]
    )


def test_coefficients_of_a_partition_put_its_free_points_on_their_targets():
    problem = problem_of(*noisy(n=20), 100.0)
    beta = np.where(np.arange(20) % 4 == 0, problem.lower + problem.upper, 0.0) / 50
    free = np.array([1, 2, 3])
    found, intercept = coefficients_of_partition(problem, 1e-3 * problem.label, beta, free)
    kept = np.setdiff1d(np.arange(20), free)
    np.testing.assert_array_equal(found[kept], beta[kept])
    inside = (found[free] > problem.lower[free]) & (found[free] < problem.upper[free])
    if inside.all():
        np.testing.assert_allclose(
            problem.gram.rows(free) @ found + intercept, 1e-3 * problem.label[free], atol=1e-12
        )
    assert np.all((found >= problem.lower) & (found <= problem.upper))


def test_exchanges_that_leave_no_free_point_are_none():
    """Three coefficients exceed their bounds at first; then the last one does."""
    X, y = np.random.default_rng(5).normal(size=(4, 1)), np.array([-1.0, 1.0, -1.0, 1.0])
    problem, targets = problem_of(X, y, 1.0), margin_targets(y, 1e-9)
    assert exchanged(problem, targets, y / 2) is None
    polished = polish(problem, targets, y / 2, 1.0)
    assert polished.reason is None
    np.testing.assert_allclose(polished.beta.sum(), 0.0, atol=1e-12)


def test_points_outside_of_the_tableau_do_not_end_a_polish():
    random = np.random.default_rng(100)
    n = 4000
    y = np.where(np.arange(n) < int(n * random.choice([0.05, 0.1, 0.3])), 1, -1)
    solution = solve(machine_of(SVC(), random.normal(size=(n, 1)), y)[0].problem(0))
    assert solution.exact
    assert solution.kkt_residual < 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_a_tableau_of_a_few_points_at_a_time_leads_to_the_same_optimum(monkeypatch, seed):
    """Of a weak machine, most of whose points are near the margin, a tableau covers some of them."""
    random = np.random.default_rng(seed)
    n = int(random.integers(200, 500))
    X = random.normal(size=(n, int(random.integers(1, 4))))
    y = np.where(np.arange(n) < max(6, n // 10), 1, -1)
    C, gamma = 10 ** random.uniform(-2, 1), 10 ** random.uniform(-2, 0.5)
    problem = machine_of(SVC(C=C, gamma=gamma), X, y)[0].problem(0)
    whole = solve(problem)
    for most in (0, 20):
        monkeypatch.setattr(polish_module, "MOST_EXPECTED", most)
        few = solve(problem)
        assert few.exact or not whole.exact
        if whole.exact:
            # Decision values are as sure as the square root of the gap.
            np.testing.assert_allclose(few.values, whole.values, atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_a_few_changes_of_a_tableau_at_a_time_lead_to_the_same_optimum(monkeypatch, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(300, 3))
    y = np.where(random.random(300) < 0.3, 1, -1)
    # A violation of 0.03 leaves much to the polish.
    problem = machine_of(SVC(C=10.0, gamma=0.1), X, y)[0].problem(0)
    whole = solve(problem)
    monkeypatch.setattr(polish_module, "FEWER", 0.0)
    for most in (24, 512):
        monkeypatch.setattr(tableau_path, "FEWEST_CHANGES", most)
        monkeypatch.setattr(tableau_path, "MOST_CHANGES", most)
        found = solve(problem, tol=0.03)
        assert found.exact
        assert found.pivots > 0
        np.testing.assert_allclose(found.values, whole.values, atol=1e-6)

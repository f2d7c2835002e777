from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from _data import IDA, awkward, ida, noisy, three_classes
from bayes_svm import BayesSVC, leave_one_out
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.problem import intercept_interval
from bayes_svm.dual.solving import solve, solve_on_margin
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.leave_one_out.start import pinning_points
from oracles.left_out import train
from oracles.optimality import measure


def solved(svc, X, y, weight=None):
    _, solutions = machine_of(svc, X, y, weight)
    solution = next(solutions)
    return solution.problem, solution


def assert_exact(svc, X, y, weight=None):
    """The solution says it is exact, and it is: on the rows as given, from the definitions."""
    machine, (solution,) = machine_of(svc, X, y, weight)
    # The last digit of a kernel value counts where coefficients are 1e7: this is the matrix it is exact for.
    K = machine.gram.whole()[np.ix_(machine.row_of, machine.row_of)]
    measured = measure(
        K,
        np.where(machine.y == 1, 1.0, -1.0),
        machine.row_bound,
        solution.row_beta,
        solution.intercept,
    )
    one_sum = np.finfo(float).eps * (np.abs(K) @ np.abs(solution.row_beta)).max()
    if not solution.exact:
        # Said so, and rounding of the sums allows no better.
        assert "double precision" in solution.reason
        assert solution.kkt_residual <= 64 * one_sum
        return
    assert solution.kkt_residual <= 1e-9 * solution.scale
    assert measured.kkt_residual <= 1e-9 * solution.scale + one_sum  # the measurement rounds too
    # A residual of rounding, at every point, is a gap of C times it: at C = 1e6 more than 1e-9.
    rounding = machine.row_bound.sum() * measured.kkt_residual / solution.dual
    if machine.row_bound.max() > 1e3:
        rounding += 1e-14 * machine.row_bound.sum() * measured.scale / solution.dual
    assert abs(measured.gap) <= 1e-9 + rounding


def one_feature(seed):
    X, y = noisy(n=50, d=1, seed=seed)
    return X, y


def with_constant_column(seed):
    X, y = noisy(n=50, seed=seed)
    X[:, 1] = 3.0
    return X, y


def unbalanced(seed):
    X, y = noisy(n=80, seed=seed)
    y[:] = -1
    y[:2] = 1
    return X, y


def repeated(seed):
    X, y = noisy(n=20, seed=seed)
    return np.repeat(X, 4, axis=0), np.repeat(y, 4)


def both_labels_everywhere(seed):
    X, _ = noisy(n=20, seed=seed)
    return np.vstack([X, X]), np.repeat([1, -1], 20)


def circles(seed):
    X, y = make_circles(60, noise=0.2, factor=0.5, random_state=seed)
    return X, 2 * y - 1


DATA = [
    noisy,
    awkward,
    one_feature,
    with_constant_column,
    unbalanced,
    repeated,
    both_labels_everywhere,
    circles,
]


@pytest.mark.parametrize("C", [1e-6, 1e-2, 1.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("make", DATA)
def test_solution_is_exact(make, kernel, C):
    X, y = make(seed=1)
    assert_exact(SVC(C=C, kernel=kernel, degree=2, coef0=1.0), X, y)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e4])
def test_solution_is_exact_with_weights_from_nothing_to_a_thousand(C, seed):
    X, y = awkward(n=40, seed=seed)
    weight = np.random.default_rng(seed).choice([0, 1e-3, 0.5, 1, 2, 1e3], size=40)
    weight[:4] = 1.0
    assert_exact(SVC(C=C), X, y, weight)


@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
def test_solution_is_exact_on_a_kernel_of_rank_one(C):
    X, y = noisy(n=60)
    X = X[:, :1] * np.ones((1, 3))
    assert_exact(SVC(C=C, kernel="linear"), X, y)


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_solution_is_exact_at_any_scale_of_the_features(size):
    X, y = noisy(n=60)
    assert_exact(SVC(C=1.0, kernel="linear"), size * X, y)


@pytest.mark.parametrize("seed", range(5))
def test_values_are_the_oracles(seed):
    X, y = awkward(n=25, seed=seed)
    svc = SVC(C=3.0, gamma=0.4)
    problem, solution = solved(svc, X, y)
    oracle = train(Kernel("rbf", gamma=0.4)(X, X), y, np.full(25, 3.0))
    np.testing.assert_allclose(solution.values[problem.group], oracle.values, atol=1e-6)


def test_one_far_outlier_is_solved_or_at_least_not_ruined():
    # Its k(x, x) is 1e12 times the others'. SVC still tells the other points apart.
    X, y = noisy(n=40)
    X[0] = 1e6
    _, solution = solved(SVC(kernel="linear", tol=1e-3), X, y)
    libsvm = SVC(kernel="linear", max_iter=10**6).fit(X, y)
    assert solution.exact or solution.kkt_residual <= 10 * libsvm.tol * solution.scale
    assert solution.relative_gap < 1.0


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_fitted_machine_and_one_trained_here_agree(kernel):
    X, y = noisy()
    svc = SVC(kernel=kernel, C=2.0)
    _, here = solved(svc, X, y)
    _, fitted = solved(svc.fit(X, y), X, y)
    np.testing.assert_allclose(fitted.values, here.values, atol=1e-9)
    np.testing.assert_allclose(fitted.beta, here.beta, atol=1e-8)


def test_the_result_does_not_depend_on_tol():
    X, y = noisy()
    loose, tight = (solved(SVC(tol=tol), X, y)[1] for tol in (0.3, 1e-8))
    np.testing.assert_allclose(loose.values, tight.values, atol=1e-9)


def test_too_few_steps_are_named_as_the_reason():
    X, y = noisy()
    _, solution = solved(SVC(C=100.0, max_iter=3, tol=1e-9), X, y)
    assert not solution.exact
    assert "stopped after max_iter=3 steps" in solution.reason
    assert "scale the features" in solution.reason
    assert solution.relative_gap > 1e-3


def test_coefficients_are_feasible_even_after_too_few_steps():
    X, y = noisy()
    problem, solution = solved(SVC(C=100.0, max_iter=7, tol=1e-9), X, y)
    assert np.all((solution.beta >= problem.lower) & (solution.beta <= problem.upper))
    assert solution.beta.sum() == pytest.approx(0, abs=1e-9)


def test_a_kernel_that_is_positive_but_for_a_constant_is_solved():
    # Minus the distance: the coefficients add up to 0, so a constant in the kernel does not matter.
    X, y = noisy(n=30)
    K = -np.linalg.norm(X[:, None] - X, axis=2)
    problem, solution = solved(SVC(kernel="precomputed", C=5.0), K, y)
    assert solution.exact, solution.reason
    oracle = train(K + 100.0, y, np.full(30, 5.0))
    np.testing.assert_allclose(solution.values[problem.group], oracle.values, atol=1e-6)


def test_a_solution_of_rounding_residual_is_exact_whichever_solver_found_it():
    X, y = awkward(n=40, d=3, seed=0)
    _, solution = solved(SVC(C=0.01, gamma=0.5), X, y)
    assert solution.kkt_residual <= 1e-12
    assert solution.exact, solution.reason


def test_a_negative_kernel_is_flagged_and_no_exception():
    X, y = noisy(n=20)
    _, solution = solved(SVC(kernel="precomputed"), -(X @ X.T), y)
    assert solution.reason is not None


INDEFINITE = [(1.0, -1.0), (0.5, 1.0), (5.0, -5.0), (2.0, 0.0)]


@pytest.mark.parametrize(("gamma", "coef0"), INDEFINITE)
def test_an_indefinite_kernel_is_flagged(gamma, coef0):
    X, y = noisy(n=40)
    kernel = Kernel("sigmoid", gamma=gamma, coef0=coef0)
    centring = np.eye(40) - 1 / 40  # a constant added to a kernel moves only the intercept
    assert np.linalg.eigvalsh(centring @ kernel(X, X) @ centring)[0] < -1.0
    _, solution = solved(SVC(kernel="sigmoid", gamma=gamma, coef0=coef0, C=10.0), X, y)
    assert solution.reason is not None


@pytest.mark.parametrize(("gamma", "coef0"), INDEFINITE)
def test_an_indefinite_kernel_warns(gamma, coef0):
    X, y = noisy(n=40)
    with pytest.warns(ConvergenceWarning, match="not exact"):
        leave_one_out(SVC(kernel="sigmoid", gamma=gamma, coef0=coef0, C=10.0), X, y)


def test_a_solution_without_free_points_takes_the_middle_as_libsvm_does():
    X, y = np.array([[1.0], [2.0], [-1.0], [-3.0]]), np.array([1, 1, -1, -1])
    svc = SVC(kernel="linear", C=0.01)
    _, solution = solved(svc, X, y)
    assert not solution.stable
    assert solution.intercept == pytest.approx(svc.fit(X, y).intercept_[0], abs=1e-6)


def test_ends_of_the_interval_of_intercepts():
    # f = 0.2 x + b with both coefficients at their bound 0.1
    gradient = np.array([0.2 - 1.0, -0.2 + 1.0])
    ends = intercept_interval(np.array([0.1, -0.1]), gradient, np.array([0.0, -0.1]), np.array([0.1, 0.0]))
    assert ends == pytest.approx((-0.8, 0.8))


def test_the_pinning_point_of_a_solution_without_free_points_is_on_the_lowest_intercept():
    X, y = np.array([[1.0], [2.0], [-1.0], [-3.0]]), np.array([1, 1, -1, -1])
    problem, solution = solved(SVC(kernel="linear", C=0.01), X, y)
    low, _ = intercept_interval(
        solution.beta,
        solution.values - solution.intercept - solution.problem.label,
        problem.lower,
        problem.upper,
    )
    (point,) = pinning_points(solution)
    assert low + solution.values[point] - solution.intercept == pytest.approx(solution.problem.label[point])


def test_free_points_are_free_and_on_the_margin():
    X, y = noisy()
    _, solution = solved(SVC(), X, y)
    free = solution.free
    assert len(free) == solution.n_free > 0
    assert np.all((solution.alpha[free] > 0) & (solution.alpha[free] < solution.problem.bound[free]))
    np.testing.assert_allclose(solution.values[free], solution.problem.label[free], atol=1e-12)


def test_rows_share_the_coefficient_of_their_point_by_weight():
    X, y = noisy(n=20, seed=3)
    X, y = np.vstack([X, X[:3]]), np.append(y, y[:3])
    weight = np.ones(23)
    weight[:3], weight[20] = 2.0, 0.0
    problem, solution = solved(SVC(C=10.0), X, y, weight)
    beta = solution.row_beta
    assert beta[20] == 0
    np.testing.assert_allclose(beta[1:3], 2 * beta[21:])
    np.testing.assert_allclose(
        np.bincount(problem.group[problem.group >= 0], beta[problem.group >= 0]), solution.beta
    )


def test_a_start_makes_no_difference():
    X, y = noisy()
    problem, solution = solved(SVC(), X, y)
    again = solve(problem, start=0.3 * solution.beta)
    np.testing.assert_allclose(again.values, solution.values, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_from_the_scaled_solution_of_another_C_exchanges_lead_to_the_same(make, kernel):  # noqa: N802
    X, y = make(n=120)
    before, without_pairs = None, 0
    for C in np.logspace(-2, 3, 41):
        machine, (solution,) = machine_of(SVC(C=C, kernel=kernel, gamma=0.5), X, y)
        if before is not None:
            again = solve(machine.problem(0), start=before[1] * (C / before[0]))
            assert again.exact
            np.testing.assert_allclose(again.values, solution.values, atol=1e-8 * solution.scale)
            assert again.primal == pytest.approx(solution.primal, rel=1e-9)
            without_pairs += again.smo_steps == 0
        before = C, solution.beta
    assert without_pairs > 10


@pytest.mark.parametrize("far", [0.0, 1.0])
def test_a_start_far_away_makes_no_difference_either(far):
    X, y = noisy(n=120)
    machine, (solution,) = machine_of(SVC(C=10.0, gamma=0.5), X, y)
    start = np.zeros(120)
    # All of the smaller class at its bound, and as much of the other.
    few = min(np.sum(y == y[0]), np.sum(y != y[0]))
    for label in np.unique(y):
        start[np.flatnonzero(y == label)[:few]] = far * 10.0 * (1 if label == machine.classes[1] else -1)
    again = solve(machine.problem(0), start=start[np.argsort(machine.row_of)])
    assert again.exact
    np.testing.assert_allclose(again.values, solution.values, atol=1e-9)


def test_slack_is_the_hinge_loss():
    X, y = noisy()
    problem, solution = solved(SVC(), X, y)
    np.testing.assert_allclose(
        solution.slack[problem.group], np.maximum(0, 1 - y * solution.values[problem.group])
    )


def test_one_solution_per_class_of_several():
    X, y = three_classes()
    model = BayesSVC().fit(X, y)
    assert [solution.exact for solution in model.solution_] == [True] * 3


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", IDA)
def test_the_benchmark_sets_are_solved_exactly(name, kernel):
    X, y = ida(name)
    for C in (0.1, 1.0, 10.0, 100.0):
        svc = SVC(C=C, kernel=kernel, gamma="auto")
        machine, (solution,) = machine_of(svc, X, y)
        problem = machine.problem(0)
        measured = measure(
            problem.gram.whole(), problem.label, problem.bound, solution.beta, solution.intercept
        )
        assert solution.exact, (C, solution.reason)
        assert measured.kkt_residual <= 1e-9 * measured.scale, C
        assert abs(measured.gap) <= 1e-9, C


@pytest.mark.parametrize(("scale", "C"), [(1e20, 1e300), (1e50, 1e300), (1e150, 1e10)])
def test_a_solution_that_overflows_is_refused_by_name(scale, C):
    X, y = noisy(60)
    with pytest.raises(ValueError, match=r"overflows double precision, with C .* scale X"):
        BayesSVC(C=C, kernel="linear").fit(scale * X, y)


@pytest.mark.filterwarnings("ignore:The decision values do not separate")  # or do, by rounding
@pytest.mark.parametrize(("scale", "C"), [(1.0, 1e300), (1e-50, 1e300)])
def test_a_huge_c_is_answered_as_long_as_the_decision_values_are_finite(scale, C):
    """The objective, C times a slack that is rounding, may overflow."""
    X, y = noisy(60)
    with pytest.warns(ConvergenceWarning, match="not exact"):
        model = BayesSVC(C=C, kernel="linear").fit(scale * X, y)
    assert np.isfinite(model.predict_proba(scale * X)).all()


def test_coefficients_of_any_finite_size_are_shared_among_rows():
    """Without a direction that separates the classes, coefficients reach their bounds."""
    X, y = np.zeros((8, 2)), np.array([0, 1] * 4)
    with pytest.warns(UserWarning, match="do not separate"):
        model = BayesSVC(C=1e300, kernel="linear").fit(X, y)
    assert np.isfinite(model.dual_coef_).all()
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


@pytest.mark.parametrize("n", [100, 300])
def test_dependent_points_on_the_margin_share_what_they_carry(n):
    X, y = make_circles(n, factor=0.5, random_state=0)
    problem, solution = solved(SVC(), X, 2 * y - 1)
    shared = solve_on_margin(problem, solution.beta, solution.values - problem.label)
    assert len(shared.free) == n  # of which some fifty are independent
    assert max(shared.kkt_residual, np.abs(shared.values - problem.label).max()) <= 1e-12
    for label in (-1, 1):  # turned by the angle between two points, the data are the same
        assert np.ptp(shared.alpha[problem.label == label]) <= 0.1 * shared.alpha.max()
    low = np.flatnonzero(problem.label > 0)[:3]
    lower = replace(problem, bound=np.where(np.isin(np.arange(n), low), 0.5 * shared.alpha, problem.bound))
    within = solve_on_margin(lower, shared.beta, shared.values - problem.label)
    assert np.all(within.alpha <= lower.bound)
    assert np.abs(within.values - problem.label).max() <= 1e-12


def test_where_the_free_points_are_all_there_is_nothing_to_share():
    problem, solution = solved(SVC(), *noisy(n=40))
    near = solution.values - problem.label
    assert solve_on_margin(problem, solution.beta, near, len(solution.free)) is None

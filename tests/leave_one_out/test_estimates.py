import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_circles
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from _data import awkward, noisy, three_classes
from bayes_svm import leave_one_out, span_estimate, xi_alpha
from bayes_svm.dual.from_estimator import machine_of


def by_definition(svc, X, y, rho, radius):
    """``d_plus, d_minus`` from alpha and xi of a fitted SVC."""
    svc.fit(X, y)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    xi = np.maximum(0, 1 - y * svc.decision_function(X))
    doubtful = rho * alpha * radius + xi >= 1
    return (doubtful & (y > 0)).sum(), (doubtful & (y < 0)).sum()


@pytest.mark.parametrize("rho", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("C", [0.4, 1.0, 10.0])
def test_counts_and_measures_are_joachims_formulas(C, rho):
    X, y = noisy()
    estimate = xi_alpha(SVC(C=C, gamma=0.5), X, y, rho=rho, r_delta_squared=0.9)
    plus, minus = by_definition(SVC(C=C, gamma=0.5, tol=1e-9), X, y, rho, 0.9)
    n_plus = (y > 0).sum()
    np.testing.assert_array_equal(estimate.counts, [plus, minus])
    assert estimate.error == pytest.approx((plus + minus) / 60)
    assert estimate.recall == pytest.approx(1 - plus / n_plus)
    assert estimate.precision == pytest.approx((n_plus - plus) / (n_plus - plus + minus))
    assert estimate.f1 == pytest.approx((2 * n_plus - 2 * plus) / (2 * n_plus - plus + minus))


@pytest.mark.parametrize("C", [0.3, 3.0, 100.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("seed", range(4))
def test_rho_two_bounds_the_leave_one_out_errors(seed, kernel, C):
    X, y = noisy(seed=seed)
    svc = SVC(C=C, kernel=kernel)
    estimate, exact = xi_alpha(svc, X, y), leave_one_out(svc, X, y)
    assert estimate.stable
    (bound,), (found,) = estimate.confusions, exact.confusions
    assert bound.fn >= found.fn
    assert bound.fp >= found.fp


@st.composite
def problems(draw):
    """Few points on an integer grid, many of them equal, with both labels on some."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(4, 12))
    X = random.integers(-3, 4, size=(n, draw(st.integers(1, 2)))).astype(float)
    y = np.where(random.random(n) < 0.5, 1, -1)
    y[:4] = [1, 1, -1, -1]
    kernel = draw(st.sampled_from(["linear", "rbf"]))
    return X, y, SVC(C=10.0 ** draw(st.integers(-2, 2)), kernel=kernel, gamma=0.5)


@settings(max_examples=200, deadline=None)
@given(problem=problems())
def test_where_all_solutions_are_stable_nothing_is_better_than_estimated(problem):
    """Proven: the whole solution has a free point, and so has that without any one point."""
    X, y, svc = problem
    exact = leave_one_out(svc, X, y)
    estimate = xi_alpha(svc, X, y)
    assume(estimate.stable and "unstable" not in exact.status)
    (bound,), (found,) = estimate.confusions, exact.confusions
    assert bound.fn >= found.fn
    assert bound.fp >= found.fp
    assert estimate.error >= exact.error
    assert estimate.recall <= exact.recall
    if bound.tp:  # else precision is 0 / 0 or 0 by convention
        assert estimate.precision <= exact.precision
        assert estimate.f1 <= exact.f1


def errors_of(X, y, svc, rho):
    """Doubtful points and exact leave-one-out errors of both classes."""
    X, y = np.array(X, dtype=float), np.array(y)
    estimate, exact = xi_alpha(svc, X, y, rho=rho), leave_one_out(svc, X, y)
    (bound,), (found,) = estimate.confusions, exact.confusions
    return (bound.fn, bound.fp), (found.fn, found.fp), estimate.stable, "unstable" in exact.status


def test_counter_example_rho_one_is_no_bound():
    """Three of four points in a row of alternating classes: alpha alone says less than 2 alpha does."""
    problem = [[-2], [-1], [2], [-3]], [1, 1, -1, -1], SVC(C=100, gamma=0.5)
    assert errors_of(*problem, rho=1.0) == ((1, 1), (0, 2), True, False)
    (_, doubtful), (_, wrong), *_ = errors_of(*problem, rho=2.0)
    assert doubtful >= wrong


def test_counter_example_a_remainder_without_a_free_point():
    """The whole solution has a free point; the one without the first has none, and any intercept of many."""
    problem = [[1], [2], [2], [3], [-1]], [1, 1, -1, -1, 1], SVC(C=0.01, gamma=0.5)
    assert errors_of(*problem, rho=2.0) == ((0, 2), (2, 2), True, True)


def test_counter_example_a_solution_without_a_free_point():
    problem = (
        [[-3], [-2], [3], [0], [-3], [1]],
        [1, 1, -1, -1, 1, -1],
        SVC(C=0.1, gamma=0.5),
    )
    assert errors_of(*problem, rho=2.0) == ((1, 2), (3, 3), False, False)


def test_radius_is_that_of_the_kernel_matrix_or_one_for_unit_texts():
    X, y = noisy()
    K = X @ X.T
    assert xi_alpha(SVC(kernel="linear"), X, y).r_delta_squared == pytest.approx(np.diag(K).max() - K.min())
    assert xi_alpha(SVC(kernel="linear"), normalize(np.abs(X)), y).r_delta_squared == 1.0
    assert xi_alpha(SVC(kernel="linear"), normalize(X), y).r_delta_squared > 1.0


def test_integer_weights_are_repeated_rows():
    X, y = awkward(n=20)
    weight = np.random.default_rng(0).integers(1, 4, size=20)
    svc, repeated = SVC(C=0.5, gamma=0.5), (np.repeat(X, weight, axis=0), np.repeat(y, weight))
    weighted = xi_alpha(svc, X, y, sample_weight=weight)
    assert weighted.confusions == xi_alpha(svc, *repeated).confusions
    spans = span_estimate(svc, X, y, sample_weight=weight).decision_values
    np.testing.assert_allclose(
        np.repeat(spans, weight), span_estimate(svc, *repeated).decision_values, atol=1e-9
    )


def test_several_classes_are_one_against_the_rest():
    X, y = three_classes()
    svc = SVC(gamma=0.5)
    several, spans = xi_alpha(svc, X, y), span_estimate(svc, X, y)
    for k in range(3):
        assert several.confusions[k] == xi_alpha(svc, X, y == k).confusions[0]
        binary = span_estimate(svc, X, y == k)
        np.testing.assert_allclose(spans.decision_values[:, k], binary.decision_values, atol=1e-9)
    assert several.micro.fn == sum(confusion.fn for confusion in several.confusions)


def test_without_a_free_point_the_bound_is_not_claimed():
    X, y = np.array([[1.0], [2.0], [-1.0], [-3.0]]), np.array([1, 1, -1, -1])
    assert not xi_alpha(SVC(kernel="linear", C=0.01), X, y).stable


@pytest.mark.parametrize("rho", [0.0, -1.0, 2.1, np.nan])
def test_rho_out_of_range_is_refused(rho):
    with pytest.raises(ValueError, match=r"rho=.* is not in \(0, 2\]"):
        xi_alpha(SVC(), *noisy(), rho=rho)


@pytest.mark.parametrize("radius", [-1.0, np.inf, np.nan])
def test_a_radius_out_of_range_is_refused(radius):
    with pytest.raises(ValueError, match=r"r_delta_squared=.* must be finite and at least 0"):
        xi_alpha(SVC(), *noisy(), r_delta_squared=radius)


def squared_distance_from_affine_hull(point, others):
    base = others[0]
    directions = (others[1:] - base).T
    weights = np.linalg.lstsq(directions, point - base, rcond=None)[0]
    return np.sum((point - base - directions @ weights) ** 2)


def test_span_is_the_distance_from_the_affine_hull_of_the_other_free_points():
    X, y = noisy(n=40, d=6)
    svc = SVC(C=1.0, kernel="linear")
    values = span_estimate(svc, X, y).decision_values
    _, (solution,) = machine_of(svc, X, y)
    for r in range(40):
        others = X[solution.free[solution.free != r]]
        span = squared_distance_from_affine_hull(X[r], others)
        expected = solution.values[r] - y[r] * solution.alpha[r] * span
        assert values[r] == pytest.approx(expected, abs=1e-8)


def test_span_is_exact_where_the_free_points_do_not_change():
    X, y = noisy(seed=3)
    svc = SVC(C=1.0, gamma=0.5)
    exact = leave_one_out(svc, X, y)
    quiet = exact.events == 0
    assert (quiet & (exact.status == "path")).sum() > 3
    np.testing.assert_allclose(
        span_estimate(svc, X, y).decision_values[quiet], exact.decision_values[quiet], atol=1e-6
    )


def test_span_is_closer_than_xi_alpha():
    X, y = noisy(n=150, noise=0.7)
    svc = SVC(C=1.0, gamma=0.5)
    exact = leave_one_out(svc, X, y).error
    assert abs(span_estimate(svc, X, y).error - exact) < 0.3 * abs(xi_alpha(svc, X, y).error - exact)


@pytest.mark.filterwarnings("ignore:The solution is not exact")  # it is refused
def test_span_of_an_inexact_solution_is_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match="exact set of free points: stopped after max_iter=2"):
        span_estimate(SVC(C=100.0, max_iter=2, tol=1e-9), X, y)


def test_the_span_of_dependent_points_on_the_margin_is_zero():
    X, y = make_circles(100, factor=0.5, random_state=0)
    found = span_estimate(SVC(C=100.0, gamma=1.6), X, y)
    assert found.error == 0.0
    np.testing.assert_allclose(found.decision_values, np.where(y == 1, 1.0, -1.0), atol=1e-6)

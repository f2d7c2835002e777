import numpy as np
import pytest
from scipy.special import expit
from sklearn.svm import SVC

from _data import awkward, noisy, three_classes
from bayes_svm import BayesSVC
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.probability.curvature import hinge_curvature
from bayes_svm.probability.eigensystem import Eigensystem
from bayes_svm.probability.left_out_posterior import (
    information_across,
    leave_one_out_variance,
    left_out_variance,
)
from bayes_svm.probability.posterior import Posterior, posterior_of


def explicit(X, r, lam, at):
    """``z' A^-1 z`` with ``A = lam I + sum r z z'``, the features themselves being z."""
    A = lam * np.eye(X.shape[1]) + (X * r[:, None]).T @ X
    return np.einsum("ij,jk,ik->i", at, np.linalg.inv(A), at)


def rows_left_out(machine, posterior):
    """Variance at every row without it."""
    problem, rows = machine.problem(0), np.arange(len(machine.y))
    return left_out_variance(machine, problem, posterior, rows, rows, problem.row_bound / machine.weight)


@pytest.fixture(params=[0.01, 1.0, 100.0])
def linear(request):
    X, y = noisy(n=40)
    machine, (solution,) = machine_of(SVC(C=request.param, kernel="linear"), X, y)
    posterior = posterior_of(machine, solution, request.param)
    return X, y, machine, solution, posterior, request.param


def test_variance_is_that_of_the_explicit_feature_map(linear):
    X, y, _, solution, posterior, C = linear
    r = hinge_curvature(y * solution.values)
    at = np.random.default_rng(1).normal(size=(9, 3))
    np.testing.assert_allclose(posterior.variance(at), explicit(X, r, 1 / C, at), rtol=1e-6)


def test_left_out_variance_deletes_the_row(linear):
    X, y, machine, solution, posterior, C = linear
    r = hinge_curvature(y * solution.values)
    kept = ~np.eye(40, dtype=bool)
    expected = [explicit(X[kept[i]], r[kept[i]], 1 / C, X[i : i + 1])[0] for i in range(40)]
    np.testing.assert_allclose(rows_left_out(machine, posterior), expected, rtol=1e-5)


@pytest.mark.parametrize("size", [2, 5, 17])
def test_left_out_variance_deletes_all_that_leaves_together(linear, size):
    X, y, machine, solution, posterior, C = linear
    r = hinge_curvature(y * solution.values)
    case = np.arange(40) // size
    row = np.random.default_rng(0).permutation(40)
    found = left_out_variance(machine, machine.problem(0), posterior, case, row, np.full(40, C))
    for number in range(case.max() + 1):
        gone = row[case == number]
        kept = np.setdiff1d(np.arange(40), gone)
        expected = explicit(X[kept], r[kept], 1 / C, X[gone])
        np.testing.assert_allclose(found[case == number], expected, rtol=1e-5)


def test_blocks_of_cases_make_no_difference(linear, monkeypatch):
    _, _, machine, _, posterior, C = linear
    arguments = machine, machine.problem(0), posterior, np.arange(40) // 3, np.arange(40), np.full(40, C)
    whole = left_out_variance(*arguments)
    monkeypatch.setattr("bayes_svm.probability.left_out_posterior.BLOCK_BYTES", 8 * 5 * len(posterior.points))
    np.testing.assert_allclose(left_out_variance(*arguments), whole, rtol=1e-9)


def test_information_across_halves_is_that_of_the_other_halfs_posterior(linear):
    X, y, machine, solution, _, C = linear
    half = np.random.default_rng(0).integers(0, 2, size=40)
    r = hinge_curvature(y * solution.values)
    found = information_across(
        machine,
        solution,
        C,
        half=half,
        row=np.arange(40),
        counted=np.full(40, C),
        max_rows=256,
    )
    prior = C * np.einsum("ij,ij->i", X, X)
    for one in (0, 1):
        own = half != one
        variance = explicit(X[own], r[own], 1 / C, X[~own])
        np.testing.assert_allclose(found[~own], 1 / variance - 1 / prior[~own], rtol=1e-5)


def test_information_is_not_lost_in_rounding():
    """1e-20 of the prior's precision: the difference of two precisions would be 0."""
    X, y = noisy()
    posterior = BayesSVC(gamma=1.0).fit(X, y)._link_posteriors[0]
    far = X[:1] + np.array([[6.0, 0.0, 0.0]])
    assert 1e-60 < posterior.information(far)[0] < 1e-16
    assert posterior.information(far + 100.0)[0] == 0.0
    near = posterior.information(X)
    np.testing.assert_allclose(near, 1.0 / posterior.variance(X) - posterior.lam, rtol=1e-6)


def test_leave_one_out_variance_of_an_estimator_is_the_same(linear):
    X, y, machine, _, posterior, C = linear
    found = leave_one_out_variance(SVC(C=C, kernel="linear"), X, y)
    np.testing.assert_array_equal(found, rows_left_out(machine, posterior))
    assert leave_one_out_variance(BayesSVC(C=C), *three_classes()).shape == (60, 3)


def test_repeated_rows_count_as_often_and_one_of_them_goes():
    X, y = noisy(n=20)
    C, X, y = 2.0, np.repeat(X, 3, axis=0), np.repeat(y, 3)
    machine, (solution,) = machine_of(SVC(C=C, kernel="linear"), X, y)
    problem = machine.problem(0)
    posterior = posterior_of(machine, solution, C)
    r = hinge_curvature(y * solution.values[problem.group])
    np.testing.assert_allclose(posterior.variance(X), explicit(X, r, 1 / C, X), rtol=1e-6)
    expected = explicit(X[1:], r[1:], 1 / C, X[:1])
    np.testing.assert_allclose(rows_left_out(machine, posterior)[:3], expected[0], rtol=1e-6)


def test_weights_multiply_the_curvature():
    X, y = awkward(n=20)
    X += np.random.default_rng(0).normal(size=X.shape)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=20)
    weight[:4] = 1
    model = BayesSVC(C=2.0, kernel="linear").fit(X, y, sample_weight=weight)
    r = weight * hinge_curvature(y * model.decision_function(X))
    np.testing.assert_allclose(model.posterior_variance(X), explicit(X, r, 0.5, X), rtol=1e-6)


def test_far_from_the_data_the_variance_is_the_priors():
    X, y = noisy()
    model = BayesSVC(C=3.0, gamma=1.0).fit(X, y)
    assert model.posterior_variance(np.full((1, 3), 100.0))[0] == pytest.approx(3.0)
    assert np.all(model.posterior_variance(X) < 3.0)


def test_the_variance_is_never_negative():
    X, _ = noisy(d=1)
    model = BayesSVC(C=1e8, kernel="linear").fit(X, np.where(X[:, 0] > 0, 1, -1))
    assert np.all(model.posterior_variance(np.vstack([X, [[0.0]]])) >= 0)


def test_several_classes_have_a_variance_each():
    X, y = three_classes()
    variance = BayesSVC(gamma=0.5).fit(X, y).posterior_variance(X)
    assert variance.shape == (60, 3)
    for k in range(3):
        binary = BayesSVC(gamma=0.5).fit(X, y == k).posterior_variance(X)
        np.testing.assert_allclose(variance[:, k], binary, rtol=1e-8)


@pytest.mark.parametrize("sharpness", [1.0, 3.0])
def test_softplus_curvature_is_its_second_derivative(sharpness):
    margin, step = np.linspace(-4, 4, 33), 1e-4

    def softplus(margin):
        return np.logaddexp(0, sharpness * (1 - margin)) / sharpness

    numeric = (softplus(margin + step) - 2 * softplus(margin) + softplus(margin - step)) / step**2
    np.testing.assert_allclose(hinge_curvature(margin, "softplus", sharpness), numeric, atol=1e-6)


def test_swish_curvature_is_its_second_derivative_cut_at_zero():
    margin, step, sharpness = np.linspace(-4, 4, 33), 1e-4, 3.0

    def swish(margin):
        return (1 - margin) * expit(sharpness * (1 - margin))

    numeric = (swish(margin + step) - 2 * swish(margin) + swish(margin - step)) / step**2
    np.testing.assert_allclose(hinge_curvature(margin), np.maximum(0.0, numeric), atol=1e-6)
    assert np.all(hinge_curvature(np.array([0.19, 1.81])) == 0)
    assert np.all(hinge_curvature(np.array([0.21, 1.79])) > 0)


def test_softplus_curvature_is_positive_everywhere():
    assert np.all(hinge_curvature(np.linspace(-9, 9, 101), "softplus") > 0)


def test_blocks_make_no_difference(monkeypatch):
    X, _ = noisy(n=30)
    posterior = Posterior(Kernel("rbf"), X[:10], np.arange(10), np.arange(10), np.ones(10), 0.5)
    whole = posterior.variance(X)
    blocks = Kernel.blocks
    monkeypatch.setattr(Kernel, "blocks", lambda *arguments: blocks(*arguments, max_bytes=100))
    np.testing.assert_allclose(posterior.variance(X), whole, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_a_variance_that_would_overflow_is_a_large_number(kernel):
    X, y = noisy()
    model = BayesSVC(kernel=kernel).fit(X, y)
    far = model.posterior_variance(np.vstack([X[:1], np.full((1, 3), 1e200)]))
    np.testing.assert_allclose(far[0], model.posterior_variance(X[:1])[0], rtol=1e-9)
    assert 1e40 < far[1] < 1e121


KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "linear": {"kernel": "linear"},
    "cubic": {"kernel": "poly", "degree": 3, "coef0": 1.0, "gamma": 1.0},
}


def system_of(n, C, kernel, smoothing="swish"):
    """Posterior at the solution of a noisy problem, its kernel matrix, and points to judge it at."""
    X, y = noisy(n=n)
    machine, (solution,) = machine_of(SVC(C=C, **kernel), X, y)
    posterior = posterior_of(machine, solution, C, smoothing=smoothing)
    at = np.vstack([X[:20], 4.0 * X[:5]])
    gram = posterior.kernel(posterior.rows, posterior.rows)
    return posterior, gram, posterior.kernel.diagonal(at), posterior.kernel(at, posterior.rows), at


@pytest.mark.parametrize("smoothing", ["swish", "softplus"])
@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_eigensystem_gives_the_direct_variance(kernel, n, smoothing):
    posterior, gram, diagonal, cross, at = system_of(n, 1.0, KERNELS[kernel], smoothing)
    system = Eigensystem.of(gram, posterior.curvature, posterior.lam)
    np.testing.assert_allclose(system.variance(diagonal, cross), posterior.variance(at), rtol=1e-8)
    assert system.error < 1e-8


def test_eigenvectors_are_those_of_the_unsymmetric_system():
    posterior, gram, *_ = system_of(60, 1.0, KERNELS["rbf"])
    system = Eigensystem.of(gram, posterior.curvature, posterior.lam)
    r = posterior.curvature
    for value, direction in zip(system.values[:5], system.directions.T[:5], strict=True):
        np.testing.assert_allclose(r * (gram @ direction), value * direction, atol=1e-10 * value)
        assert direction @ gram @ direction == pytest.approx(1.0)  # orthonormal in feature space
    assert np.all(np.diff(system.values) <= 0)


@pytest.mark.parametrize("tolerance", [1e-3, 0.1, 1.0])
def test_a_truncated_eigensystem_errs_by_no_more_than_it_says(tolerance):
    posterior, gram, diagonal, cross, _ = system_of(200, 1.0, KERNELS["rbf"])
    whole = Eigensystem.of(gram, posterior.curvature, posterior.lam)
    part = Eigensystem.of(gram, posterior.curvature, posterior.lam, tolerance)
    assert len(part.values) < len(whole.values)
    assert part.error <= tolerance
    error = np.abs(part.variance(diagonal, cross) / whole.variance(diagonal, cross) - 1.0).max()
    assert error <= part.error * (1 + 1e-9)


def test_the_spanned_part_is_the_papers_and_vanishes_far_from_the_data():
    posterior, gram, *_ = system_of(60, 1.0, KERNELS["rbf"])
    system = Eigensystem.of(gram, posterior.curvature, posterior.lam)
    far = np.full((1, 3), 50.0)
    cross, diagonal = posterior.kernel(far, posterior.rows), posterior.kernel.diagonal(far)
    assert system.variance(diagonal, cross, spanned_only=True)[0] < 1e-12
    assert system.variance(diagonal, cross)[0] == pytest.approx(1.0)  # C k(x, x)
    # Equation 15, term by term, on the symmetric problem's own numbers.
    cross = posterior.kernel(np.zeros((1, 3)), posterior.rows)
    expected = sum(
        (cross[0] @ direction) ** 2 / (posterior.lam + value)
        for value, direction in zip(system.values, system.directions.T, strict=True)
    )
    assert system.variance(np.ones(1), cross, spanned_only=True)[0] == pytest.approx(expected)


def test_a_linear_kernel_has_no_part_outside_the_span():
    posterior, gram, diagonal, cross, _ = system_of(60, 1.0, KERNELS["linear"])
    system = Eigensystem.of(gram, posterior.curvature, posterior.lam)
    assert len(system.values) == 3
    np.testing.assert_allclose(
        system.variance(diagonal, cross, spanned_only=True), system.variance(diagonal, cross), rtol=1e-8
    )
    assert 0 < system.n_parameters < 3


def test_a_lambda_below_rounding_gives_a_variance_all_the_same():
    X, _ = noisy(n=60)
    rows = np.arange(60)
    variance = Posterior(Kernel("linear"), X, rows, rows, np.ones(60), 1e-20).variance(X)
    assert np.all(np.isfinite(variance))
    assert np.all(variance >= 0)


def test_a_sketch_knows_less():
    X, y = noisy(n=200)
    machine, (solution,) = machine_of(SVC(), X, y)
    whole, sketch = (posterior_of(machine, solution, 1.0, max_rows=rows) for rows in (None, 20))
    assert len(sketch.points) == 20
    assert np.all(sketch.variance(X) >= whole.variance(X) * (1 - 1e-12))

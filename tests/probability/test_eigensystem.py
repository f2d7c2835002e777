"""The eigensystem of Kwok's Hessian, beside the posterior's factorisation."""

import numpy as np
import pytest
from sklearn.svm import SVC

from _data import noisy
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.probability import eigensystem
from bayes_svm.probability.eigensystem import Eigensystem, is_definite
from bayes_svm.probability.posterior import posterior_of

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


def test_a_large_matrix_has_the_eigensystem_of_a_small_one(monkeypatch):
    A = np.random.default_rng(0).normal(size=(30, 40))
    small = Eigensystem.of(A @ A.T, np.ones(30), 1.0)
    monkeypatch.setattr(eigensystem, "SMALL", 0)
    large = Eigensystem.of(A @ A.T, np.ones(30), 1.0)
    np.testing.assert_allclose(large.values, small.values)
    np.testing.assert_allclose(np.abs(large.directions), np.abs(small.directions), atol=1e-9)
    assert is_definite(A @ A.T)
    assert not is_definite(A.T @ A - np.eye(40))

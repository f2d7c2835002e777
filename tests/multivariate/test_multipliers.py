"""Rounds of the method of multipliers, compared with cutting planes alone."""

import numpy as np
import pytest
from scipy import sparse

from bayes_svm.multivariate import multipliers
from bayes_svm.multivariate.cutting_plane import minimise
from bayes_svm.multivariate.losses import loss_of
from bayes_svm.multivariate.products import KernelProducts, LinearProducts


def text(n=300, features=400):
    """Sparse rows of many features."""
    random = np.random.default_rng(0)
    X = sparse.random(n, features, density=0.03, random_state=0, format="csr")
    return X, np.asarray(X[:, :30].sum(axis=1)).ravel() + 0.3 * random.normal(size=n) > 0.6


@pytest.fixture
def at_once(monkeypatch):
    """Rounds begin after one plane."""
    monkeypatch.setattr(multipliers, "PLANES", 1)
    monkeypatch.setattr(multipliers, "PLANES_IF_NARROW", 1)


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize(("name", "beta"), [("f1", 1.0), ("f_beta", 2.0), ("break_even", 1.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_that_of_planes_alone(monkeypatch, C, name, beta, weighted):
    X, positive = text()
    weight = np.random.default_rng(1).integers(0, 4, size=300).astype(float) if weighted else None
    loss = loss_of(name, positive, weight, beta=beta)
    planes = minimise(LinearProducts(X), loss, C, tol=1e-4, max_iter=3000)
    monkeypatch.setattr(multipliers, "PLANES_IF_NARROW", 1)
    found = minimise(LinearProducts(X), loss, C, tol=1e-4)
    assert planes.converged
    assert found.converged
    assert found.n_planes < planes.n_planes
    assert found.primal >= planes.dual * (1 - 1e-9)
    assert planes.primal >= found.dual * (1 - 1e-9)
    assert np.all(np.diff(found.history[:, 0]) <= 0)
    assert np.all(np.diff(found.history[:, 1]) >= 0)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("form", [sparse.csc_matrix, sparse.csr_array, lambda X: X.toarray()])
def test_every_form_of_the_data(form):
    X, positive = text()
    loss = loss_of("f1", positive)
    first = minimise(LinearProducts(X), loss, 1.0, tol=1e-6)
    other = minimise(LinearProducts(form(X)), loss, 1.0, tol=1e-6)
    # The objective is strongly convex: so far may two points with these gaps be apart.
    assert np.linalg.norm(other.w - first.w) <= 2 * np.sqrt(2 * 1e-6 * first.primal)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("name", ["f1", "break_even"])
@pytest.mark.parametrize("kind", ["constant", "zero", "grid", "one line", "large"])
def test_awkward_data_leave_the_bound_below(kind, name, C):
    random = np.random.default_rng(0)
    X = {
        "constant": np.ones((30, 3)),
        "zero": np.zeros((30, 3)),
        "grid": random.integers(-2, 3, size=(30, 3)).astype(float),
        "one line": np.repeat(random.normal(size=(30, 1)), 3, axis=1),
        "large": 1e3 * random.normal(size=(30, 3)),
    }[kind]
    for positive in (random.random(30) < 0.4, np.arange(30) == 3, np.arange(30) != 3):
        for constant in (0.0, 1.0):
            result = minimise(LinearProducts(X, constant), loss_of(name, positive), C, max_iter=60)
            values, bounds = result.history[:, 0], result.history[:, 1]
            assert np.isfinite(values).all()
            assert np.all(bounds <= values * (1 + 1e-9) + 1e-12)


@pytest.mark.usefixtures("at_once")
def test_the_largest_number_of_planes_counts_rounds():
    X, positive = text()
    assert minimise(LinearProducts(X), loss_of("f1", positive), 1.0, max_iter=4).n_planes == 4


@pytest.mark.parametrize(
    ("name", "beta"), [("error", 1.0), ("roc_area", 1.0), ("f_beta", 0.5), ("recall_at_k", 1.0)]
)
def test_other_losses_and_kernels_keep_to_planes(name, beta):
    X, positive = text()
    assert multipliers.planes_before(LinearProducts(X), loss_of(name, positive, beta=beta, k=200)) is None
    assert multipliers.planes_before(KernelProducts(np.eye(300)), loss_of("f1", positive)) is None

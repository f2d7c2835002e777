"""Cutting planes compared with the exact ordinary machine and a slow solver."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from _data import awkward, noisy
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.multivariate.cutting_plane import minimise
from bayes_svm.multivariate.losses import LOSS_NAMES, loss_of
from bayes_svm.multivariate.planes import HIGH, LOW, Planes
from bayes_svm.multivariate.products import KernelProducts, LinearProducts


def value(products, loss, C, w):
    level, c = loss.most_violated(products.scores(w))
    return w @ products.dual(w) / 2 + C * max(0.0, level - c @ products.scores(w))


@pytest.mark.parametrize("constant", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("C", [0.01, 0.5, 5.0])
@pytest.mark.parametrize("data", [noisy, awkward])
def test_error_loss_gives_the_hyperplane_of_the_ordinary_machine(data, C, constant):
    X, y = data(n=40)
    result = minimise(LinearProducts(X, constant), loss_of("error", y > 0), C, tol=1e-10)
    assert result.converged
    ordinary = LinearSVC(loss="hinge", C=2 * C, fit_intercept=constant > 0, intercept_scaling=constant or 1.0)
    _, [solution] = machine_of(ordinary, X, y)
    w = solution.row_beta @ X
    assert np.linalg.norm(w) > 1e-3
    np.testing.assert_allclose(result.w[: X.shape[1]], w, atol=1e-4 * np.linalg.norm(w))
    if constant:
        assert constant * result.w[-1] == pytest.approx(
            constant**2 * solution.row_beta.sum(), abs=1e-4 * np.linalg.norm(w)
        )


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_the_certificate_holds_against_another_solver(name):
    X, y = noisy(n=30, d=2)
    products, loss = LinearProducts(X), loss_of(name, y > 0, beta=2.0 if name == "f_beta" else 1.0, k=10)
    result = minimise(products, loss, 0.1, tol=1e-6)
    assert result.converged
    assert result.primal == pytest.approx(value(products, loss, 0.1, result.w), rel=1e-12)
    other = minimize(
        lambda w: value(products, loss, 0.1, w),
        result.w + 0.1,
        method="Nelder-Mead",
        options={"maxiter": 4000, "maxfev": 4000, "xatol": 1e-9, "fatol": 1e-9},
    )
    assert result.dual <= other.fun * (1 + 1e-12)
    assert result.primal <= other.fun * (1 + 2e-6)
    assert np.all(np.diff(result.history[:, 0]) <= 0)
    assert np.all(np.diff(result.history[:, 1]) >= 0)


def test_the_projection_is_the_nearest_point_below_a_level():
    X, y = noisy(n=40)
    products, loss = LinearProducts(X), loss_of("f1", y > 0)
    planes = Planes.none(products)
    minimise(products, loss, 0.2, max_iter=6, planes=planes)
    centre = np.random.default_rng(0).normal(size=products.n_weights)

    def bound(w):
        return w @ w / 2 + 0.2 * max(0.0, (planes.level - planes.vectors.times(w)).max())

    lowest, value = bound(planes.vectors.combined(planes.solve(0.2))), bound(centre)
    near, highest = planes.project(0.2, centre, centre @ centre, value, -np.inf)
    found = (planes.vectors.combined(near) + planes.rho * centre) / (1 + planes.rho)
    combined = planes.vectors.combined(highest)
    lower = highest @ planes.level - combined @ combined / 2
    assert lower <= lowest * (1 + 1e-12)
    share = (bound(found) - lower) / (value - lower)
    assert LOW - 0.01 <= share <= HIGH + 0.01
    own = {"type": "ineq", "fun": lambda w: bound(found) - bound(w)}
    nearest = minimize(lambda w: np.sum((w - centre) ** 2), found, constraints=own, method="SLSQP").x
    assert np.linalg.norm(found - centre) <= np.linalg.norm(nearest - centre) * (1 + 1e-6)


@pytest.mark.parametrize("name", ["f1", "roc_area", "recall_at_k"])
def test_every_kind_of_data_gives_the_same_machine(name):
    X, y = noisy(n=60, d=4)
    X[np.abs(X) < 0.5] = 0.0
    loss = loss_of(name, y > 0, k=20)
    dense = minimise(LinearProducts(X), loss, 0.2)
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for form in (sparse.csr_matrix(X), sparse.csc_matrix(X), wide):
        other = minimise(LinearProducts(form), loss, 0.2)
        assert other.n_planes == dense.n_planes
        np.testing.assert_allclose(other.w, dense.w, rtol=1e-9, atol=1e-10)
    kernel = minimise(KernelProducts(X @ X.T + 1.0), loss, 0.2)
    np.testing.assert_allclose(kernel.scores, dense.scores, atol=1e-6)


def test_planes_are_taken_over_to_another_penalty():
    X, y = noisy(n=80, d=5)
    products, loss = LinearProducts(X), loss_of("f1", y > 0)
    planes = Planes.none(products)
    minimise(products, loss, 0.1, planes=planes)
    for C in (0.2, 0.05):
        warm, cold = minimise(products, loss, C, planes=planes), minimise(products, loss, C)
        assert warm.n_planes < cold.n_planes
        assert warm.primal == pytest.approx(cold.primal, rel=2e-3)
        assert warm.gap <= 1e-3


def test_dropped_planes_leave_the_bound_as_it_is(monkeypatch):
    X, y = noisy(n=80, d=5)
    problem = (LinearProducts(X), loss_of("f1", y > 0), 1.0)
    kept = minimise(*problem, tol=1e-5)
    monkeypatch.setattr("bayes_svm.multivariate.planes.IDLE", 3)
    dropped = minimise(*problem, tol=1e-5)
    assert dropped.history[-1, 2] < dropped.n_planes
    assert dropped.converged
    assert dropped.primal == pytest.approx(kept.primal, rel=2e-5)


def test_too_few_planes_leave_a_gap_that_is_named():
    X, y = noisy(n=80)
    result = minimise(LinearProducts(X), loss_of("f1", y > 0), 1.0, max_iter=2)
    assert not result.converged
    assert result.n_planes == 2
    assert result.gap > 1e-3


def test_an_rbf_kernel():
    X, y = awkward(n=40)
    products = KernelProducts(rbf_kernel(X, gamma=1.0) + 1.0)
    result = minimise(products, loss_of("f1", y > 0), 1.0, tol=1e-4)
    assert result.converged
    assert result.primal == pytest.approx(value(products, loss_of("f1", y > 0), 1.0, result.w))


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("kind", ["constant", "grid", "one line", "large", "kernel"])
def test_the_bound_is_never_above_the_value(kind, name, C):
    random = np.random.default_rng(0)
    X = {
        "constant": np.ones((30, 3)),
        "grid": random.integers(-2, 3, size=(30, 3)).astype(float),
        "one line": np.repeat(random.normal(size=(30, 1)), 3, axis=1),
        "large": 1e3 * random.normal(size=(30, 3)),
        "kernel": random.normal(size=(30, 2)),
    }[kind]
    positive = random.random(30) < 0.4
    products = KernelProducts(rbf_kernel(X, X) + 1.0) if kind == "kernel" else LinearProducts(X)
    result = minimise(products, loss_of(name, positive, k=7), C, max_iter=60)
    values, bounds = result.history[:, 0], result.history[:, 1]
    assert np.isfinite(values).all()
    assert np.all(bounds <= values * (1 + 1e-9) + 1e-12)
    assert result.primal == pytest.approx(
        value(products, loss_of(name, positive, k=7), C, result.w), rel=1e-6
    )

"""Matrices that grow row by row, compared with one array of all rows."""

import numpy as np
import pytest
from scipy import sparse

from bayes_svm.multivariate import rows as module
from bayes_svm.multivariate.cutting_plane import minimise
from bayes_svm.multivariate.losses import loss_of
from bayes_svm.multivariate.products import LinearProducts


@pytest.mark.parametrize("kind", [module.DenseRows, module.SparseRows])
@pytest.mark.parametrize("number", [1, 3, 4, 40])
def test_products_are_those_of_one_array(monkeypatch, kind, number):
    monkeypatch.setattr(module, "BLOCK", 4)
    random = np.random.default_rng(0)
    whole = random.normal(size=(number, 6)) * (random.random((number, 6)) < 0.4)
    whole[0] = 0.0
    kept_rows = kind(6)
    for row in whole:
        kept_rows.append(row)
    u, alpha = random.normal(size=6), random.normal(size=number)
    np.testing.assert_allclose(kept_rows.times(u), whole @ u, atol=1e-14)
    np.testing.assert_allclose(kept_rows.combined(alpha), alpha @ whole, atol=1e-13)
    kept = np.arange(0, number, 2)
    kept_rows.keep(kept)
    kept_rows.append(u)
    left = np.vstack([whole[kept], u])
    np.testing.assert_allclose(kept_rows.times(u), left @ u, atol=1e-14)


@pytest.mark.parametrize("name", ["f1", "break_even", "roc_area"])
def test_sparse_planes_are_the_dense_ones(name):
    random = np.random.default_rng(1)
    X = random.normal(size=(150, 400)) * (random.random((150, 400)) < 0.05)
    positive = X[:, :20].sum(axis=1) + 0.5 * random.normal(size=150) > 0.8
    loss = loss_of(name, positive)
    dense = minimise(LinearProducts(X), loss, 0.3, tol=1e-5)
    assert dense.converged
    for form in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array):
        found = minimise(LinearProducts(form(X)), loss, 0.3, tol=1e-5)
        assert found.converged
        assert found.primal == pytest.approx(dense.primal, rel=2e-5)
        np.testing.assert_allclose(found.scores, X @ found.w[:-1] + found.w[-1], atol=1e-9)

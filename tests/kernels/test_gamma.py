import numpy as np
import pytest
from scipy import sparse

from _data import noisy
from bayes_svm.kernels.gamma import resolve_gamma


@pytest.mark.parametrize("as_sparse", [False, True])
def test_weight_two_is_the_row_twice_for_gamma(as_sparse):
    X, _ = noisy(n=10)
    X[X < 0] = 0
    weight = np.array([2.0, 1.0, 0.0, 1.0, 3.0, 1.0, 1.0, 1.0, 1.0, 2.0])
    repeated = np.repeat(X, weight.astype(int), axis=0)
    rows = sparse.csr_matrix(X) if as_sparse else X
    assert resolve_gamma("scale", rows, weight) == pytest.approx(1 / (3 * repeated.var()), rel=1e-12)


def test_gamma_scale_does_not_cancel_far_from_the_origin():
    X = 1e8 + np.array([[0.0], [1.0], [2.0], [4.0]])
    expected = 1 / X.var()
    assert resolve_gamma("scale", X) == pytest.approx(expected, rel=1e-6)
    assert resolve_gamma("scale", sparse.csr_matrix(X)) == pytest.approx(expected, rel=1e-6)


def test_gamma_scale_of_a_sparse_matrix_with_repeated_entries():
    # Row 0 holds 1 + 1 at one place: the matrix is [[2, 0], [0, 1]].
    X = sparse.csr_matrix((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert resolve_gamma("scale", X) == pytest.approx(resolve_gamma("scale", X.toarray()))


def test_gamma_by_name_and_by_number():
    X = np.eye(4)
    assert resolve_gamma("auto", X) == 0.25
    assert resolve_gamma(3, X) == 3.0
    assert resolve_gamma("scale", np.full((5, 2), 7.0)) == 1.0


@pytest.mark.parametrize("value", [0.1, 1e8 / 3, -7.7e-5])
@pytest.mark.parametrize("n", [37, 100_000])
def test_gamma_scale_of_constant_rows_is_one(value, n):
    X = np.full((n, 3), value)
    for data in (X, sparse.csr_array(X)):
        for weight in (None, np.linspace(0.1, 3.0, n)):
            assert resolve_gamma("scale", data, weight) == 1.0


def test_gamma_scale_of_rows_that_vary_little_is_that_of_their_variance():
    X = 1.0 + 1e-9 * np.random.default_rng(0).normal(size=(50, 3))
    assert resolve_gamma("scale", X) == pytest.approx(1.0 / (3 * X.var()), rel=1e-6)

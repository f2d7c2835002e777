import numpy as np
import pytest

from bayes_svm.utils import parallel, triangular
from bayes_svm.utils.parallel import working_threads
from bayes_svm.utils.triangular import cholesky, half_solved, inverse_of_factored, solve_with_factor

SIZE = 23


@pytest.fixture(params=["whole", "in parts"])
def parts(request, monkeypatch):
    if request.param == "in parts":
        monkeypatch.setattr(triangular, "WHOLE", 11)
        monkeypatch.setattr(triangular, "PANEL", 4)
        monkeypatch.setattr(triangular, "OPERATIONS", 2 * SIZE**2)


@pytest.fixture(params=["C", "F"])
def matrix(request):
    A = np.random.default_rng(0).normal(size=(SIZE, SIZE + 3))
    return np.array(A @ A.T, order=request.param)


def test_the_factor_and_the_inverse(parts, matrix):
    before = matrix.copy()
    factor, info = cholesky(matrix)
    assert info == 0
    np.testing.assert_array_equal(matrix, before)
    np.testing.assert_array_equal(factor, np.tril(factor))
    np.testing.assert_allclose(factor @ factor.T, matrix, rtol=1e-12, atol=1e-12)
    out = np.empty((SIZE + 1, SIZE + 1))
    inverse_of_factored(factor, out[:SIZE, :SIZE])
    lower = np.tril(out[:SIZE, :SIZE])
    np.testing.assert_allclose(lower, np.tril(np.linalg.inv(matrix)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("column", [1, 8, 9, 12, 13, 22, 23])
def test_the_first_column_that_is_not_definite(parts, matrix, column):
    matrix[column - 1, column - 1] -= 1e6
    assert cholesky(matrix)[1] == column


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("columns", [1, 2, 3, 8])
def test_the_solutions(parts, matrix, order, columns):
    factor, _ = cholesky(matrix)
    right = np.array(np.random.default_rng(1).normal(size=(SIZE, columns)), order=order)
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(solve_with_factor(factor, right), np.linalg.solve(matrix, right), **close)
    np.testing.assert_allclose(
        solve_with_factor(factor, right[:, 0]), np.linalg.solve(matrix, right[:, 0]), **close
    )
    for transposed in (False, True):
        wanted = np.linalg.solve(factor.T if transposed else factor, right)
        np.testing.assert_allclose(half_solved(factor, right.copy("K"), transposed), wanted, **close)


def test_the_bits_are_the_same_with_threads(monkeypatch):
    monkeypatch.setattr(parallel, "WORTH", 0.0)
    monkeypatch.setattr(triangular, "WHOLE", 64)
    monkeypatch.setattr(triangular, "PANEL", 16)
    monkeypatch.setattr(triangular, "TOGETHER", 16)
    A = np.random.default_rng(2).normal(size=(200, 210))
    matrix, right, found = A @ A.T, A[:, :70].copy(), []
    for n_jobs in (1, 3):
        with working_threads(n_jobs):
            factor, _ = cholesky(matrix)
            inverse = np.zeros_like(factor)
            inverse_of_factored(factor, inverse)
            solution, half = solve_with_factor(factor, right), half_solved(factor, right.copy())
            found.append((factor, np.tril(inverse), solution, half))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)

"""The start for kernels of low rank, against an interior-point method on the whole kernel matrix."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from _data import noisy
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.low_rank import low_rank_factor, low_rank_start
from bayes_svm.kernels.gram import WholeMatrix
from oracles.left_out import train

N = 200


def problem_of(svc, X, y, weight=None):
    machine, _ = machine_of(svc, X, y, weight)
    return machine.problem(0)


def grid():
    X = np.random.default_rng(0).integers(0, 5, size=(N, 4)).astype(float)
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    y[::9] *= -1
    return X, y


def test_factor_is_that_of_the_matrix():
    X, _ = noisy(n=N, d=5)
    for columns in (X, X * [1e3, 1, 1, 1, 1e-1]):
        K = columns @ columns.T
        L = low_rank_factor(WholeMatrix(K), 10)
        assert L.shape == (N, 5)
        np.testing.assert_allclose(L @ L.T, K, atol=1e-8 * K.max())


def test_a_kernel_of_a_higher_rank_has_no_factor():
    X, y = noisy(n=N, d=5)
    assert low_rank_factor(WholeMatrix(X @ X.T), 4) is None
    assert low_rank_factor(WholeMatrix(rbf_kernel(X)), 12) is None
    assert low_rank_start(problem_of(SVC(), X, y)) is None


@pytest.mark.parametrize("distance", [1.0, 0.0])
def test_a_kernel_without_a_diagonal_has_no_start(distance):
    X, y = noisy(n=N, d=2)
    K = -distance * np.abs(X[:, None] - X).sum(axis=2)
    assert low_rank_start(problem_of(SVC(kernel="precomputed"), K, y)) is None


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("data", [grid, lambda: noisy(n=N, d=4)], ids=["grid", "noisy"])
def test_start_is_near_the_oracles_optimum_and_at_its_bounds(data, C):
    X, y = data()
    problem = problem_of(SVC(kernel="linear", C=C), X, y, np.random.default_rng(1).choice([0.5, 1, 3], N))
    beta = low_rank_start(problem)
    assert np.all((beta >= problem.lower) & (beta <= problem.upper))
    assert np.any(beta == 0) or C < 1
    assert np.any(np.abs(beta) == problem.bound)
    K = problem.gram.whole()
    points = problem.first_row
    oracle = train(X[points] @ X[points].T, problem.label, problem.bound)
    assert abs(beta.sum()) <= 1e-4 * problem.bound.max()
    values = K @ beta
    shift = oracle.values - values
    np.testing.assert_allclose(shift, np.median(shift), atol=1e-3 * max(1.0, np.abs(values).max()))


def test_a_null_point_has_no_start():
    X, y = noisy(n=N)
    assert low_rank_start(problem_of(LinearSVC(loss="hinge"), X, y)) is None


def test_numbers_beyond_double_precision_have_no_start():
    X, y = noisy(n=N)
    assert low_rank_start(problem_of(SVC(kernel="linear", C=1e300), X, y)) is None


@pytest.mark.parametrize("C", [1e2, 1e5])
def test_a_large_c_takes_no_more_pair_updates(C):
    X, y = noisy(n=600, d=6)
    machine, (solution,) = machine_of(SVC(kernel="linear", C=C), X, y)
    assert solution.smo_steps <= 5 * 600
    assert solution.kkt_residual <= 10 * solution.rounding
    K = machine.gram.whole()
    np.testing.assert_allclose(solution.values, K @ solution.beta + solution.intercept, atol=1e-6)

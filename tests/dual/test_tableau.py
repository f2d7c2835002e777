import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from _data import noisy
from bayes_svm.dual.tableau import (
    FreeSystem,
    Tableau,
    independent_points,
    kernel_shift,
)
from bayes_svm.kernels.gram import WholeMatrix

X, _ = noisy(n=12)
K = rbf_kernel(X)
GRAM = WholeMatrix(K)
FREE = np.array([0, 3, 4, 9])


def bordered(K, free):
    n = len(free)
    matrix = np.zeros((n + 1, n + 1))
    matrix[:n, :n] = K[np.ix_(free, free)]
    matrix[n, :n] = matrix[:n, n] = 1
    return matrix


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_solve_is_the_bordered_systems(scale):
    targets, total = np.array([1.0, -1.0, 2.0, 0.5]), 0.7
    beta, intercept = FreeSystem(GRAM, FREE, scale).solve(targets, total)
    expected = np.linalg.solve(bordered(K, FREE), np.append(targets, total))
    np.testing.assert_allclose(np.append(beta, intercept), expected, atol=1e-12)


def pivot(others):
    """Rates by the definition: rows are inputs, columns positions; the intercept is last."""
    whole = bordered(K, np.concatenate([FREE, others]))
    inside, outside = np.r_[0:4, len(whole) - 1], np.arange(4, len(whole) - 1)
    inverse = np.linalg.inv(whole[np.ix_(inside, inside)])
    cross = whole[np.ix_(inside, outside)]
    expected = np.empty_like(whole)
    expected[np.ix_(inside, inside)] = inverse
    expected[np.ix_(inside, outside)] = inverse @ cross
    expected[np.ix_(outside, inside)] = -(inverse @ cross).T
    expected[np.ix_(outside, outside)] = whole[np.ix_(outside, outside)] - cross.T @ inverse @ cross
    return expected


def test_tableau_is_the_principal_pivot_of_the_bordered_matrix():
    others = np.array([1, 7, 11])
    tableau = Tableau.sweep(GRAM, FreeSystem(GRAM, FREE, 1.0), others)
    np.testing.assert_allclose(tableau.W, pivot(others), atol=1e-11)
    np.testing.assert_array_equal(tableau.rows, [0, 3, 4, 9, 1, 7, 11])
    np.testing.assert_array_equal(tableau.base_in, [True] * 4 + [False] * 3)


def test_rows_of_points_outside_are_those_of_a_larger_tableau():
    others, points = np.array([1, 7]), np.array([11, 2])
    system = FreeSystem(GRAM, FREE, 1.0)
    tableau = Tableau.sweep(GRAM, system, others)
    rows = tableau.columns_outside(GRAM, system, points, K[np.ix_(FREE, others)])
    expected = pivot(np.concatenate([others, points]))[[6, 7]][:, [0, 1, 2, 3, 4, 5, 8]]
    np.testing.assert_allclose(rows, expected, atol=1e-11)


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_independent_points_are_as_many_as_the_rank_of_their_differences(rank):
    Z = np.random.default_rng(0).normal(size=(30, rank))
    gram = WholeMatrix(Z @ Z.T)
    chosen = independent_points(gram, np.arange(30), kernel_shift(gram))
    assert len(chosen) == rank + 1  # the intercept counts for one
    assert np.linalg.matrix_rank(Z[chosen] - Z[chosen].mean(axis=0)) == rank


def test_of_equal_points_one_is_independent():
    assert len(independent_points(WholeMatrix(np.ones((5, 5))), np.arange(5), 1.0)) == 1


def test_dependent_free_points_are_refused():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        FreeSystem(WholeMatrix(-np.eye(3)), np.arange(3), 0.1)


def test_a_kernel_that_may_be_indefinite_is_shifted_by_its_most_negative_value():
    K = np.array([[1.0, -3.0], [-3.0, 1.0]])
    assert kernel_shift(WholeMatrix(K)) == 1.0 + 2 * 3.0
    assert kernel_shift(WholeMatrix(np.eye(2), positive_semidefinite=True)) == 1.0


def test_scale_of_a_kernel_that_vanishes():
    assert kernel_shift(WholeMatrix(np.zeros((3, 3)))) == 1.0

import numpy as np
import pytest

from bayes_svm._follow import combine, factorise, factorise_changed, solve_factorised, toggle

random = np.random.default_rng(0)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_factorise_and_solve_are_numpys_solve(size):
    A, x = random.normal(size=(10, 10)), random.normal(size=10)
    A[0, 0] = 0.0 if size > 1 else A[0, 0]  # needs a pivot
    expected = np.append(np.linalg.solve(A[:size, :size], x[:size]), x[size:])
    pivots = np.empty(10, dtype=np.int64)
    assert factorise(A, pivots, size)
    solve_factorised(A, pivots, x, size)
    np.testing.assert_allclose(x, expected, rtol=1e-10)


def test_a_singular_matrix_is_not_factorised():
    assert not factorise(np.zeros((3, 3)), np.empty(3, dtype=np.int64), 3)


def test_the_empty_system_has_a_solution():
    assert factorise(np.zeros((3, 3)), np.empty(3, dtype=np.int64), 0)


def test_the_changed_points_system_maps_their_inputs_to_their_positions():
    W, changed, A = random.normal(size=(6, 6)), np.array([4, 1, 3]), np.empty((3, 3))
    x, pivots = np.array([1.0, 2.0]), np.empty(3, dtype=np.int64)
    assert factorise_changed(W, changed, 2, A, pivots)
    solve_factorised(A, pivots, x, 2)
    np.testing.assert_allclose(x @ W[np.ix_([4, 1], [4, 1])], [1.0, 2.0], rtol=1e-10)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7, 8])
def test_combine_adds_rows_of_the_tableau(count):
    W, start, out = random.normal(size=(9, 9)), random.normal(size=9), np.empty(9)
    weights, rows = random.normal(size=9), random.permutation(9)
    combine(W, start, rows, weights, count, out)
    np.testing.assert_allclose(out, start + weights[:count] @ W[rows[:count]], atol=1e-12)


def test_a_point_that_changes_sides_twice_has_not_changed():
    is_in, changed = np.array([True, False, False]), np.empty(4, dtype=np.int64)
    n = 0
    for i in (0, 2, 1):
        n = toggle(i, is_in, changed, n)
    assert (n, list(changed[:3]), list(is_in)) == (3, [0, 2, 1], [False, True, True])
    n = toggle(2, is_in, changed, n)
    assert (n, list(changed[:2]), list(is_in)) == (2, [0, 1], [False, True, False])

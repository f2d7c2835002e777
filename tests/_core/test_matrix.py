import numpy as np
import pytest

from bayes_svm._core.matrix import (
    add_sparse_product,
    block,
    largest_sum,
    minus_distances,
    mirror_lower,
    smallest_of_rows,
    sum_of_rows,
    transpose,
)

random = np.random.default_rng(0)
A = random.normal(size=(9, 9))
A += A.T


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "columns"), [([], [1]), ([3, 0, 3], []), ([8, 2], [0, 5, 5, 8])])
def test_block_is_numpys(rows, columns, precision):
    rows, columns = np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp)
    out = np.empty((len(rows), len(columns)), dtype=precision)
    block(A, rows, columns, out)
    np.testing.assert_array_equal(out, A[np.ix_(rows, columns)].astype(precision))


def test_largest_sum_is_of_absolute_values():
    rows, weights = np.array([8, 0, 3]), np.array([-1.0, 0.5, 2.0])
    assert largest_sum(A, rows, weights) == pytest.approx((np.abs(weights) @ np.abs(A[rows])).max())
    assert largest_sum(A, rows[:0], weights[:0]) == 0.0


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 64, 130])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_mirror_lower_leaves_the_rest(precision, n):
    B = random.normal(size=(n + 2, n + 2)).astype(precision)
    mirrored, lower = B.copy(), np.tril(B[1:-1, 1:-1])
    mirror_lower(mirrored[1:-1, 1:-1])
    B[1:-1, 1:-1] = lower + np.tril(lower, -1).T
    np.testing.assert_array_equal(mirrored, B)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (5, 130), (130, 5), (64, 8), (65, 9)])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_transpose_writes_to_what_it_is_given_alone(precision, shape):
    values = random.normal(size=shape).astype(precision)
    out = np.full((shape[1] + 2, shape[0] + 2), 7.0, dtype=precision)
    transpose(values, out[1:-1, 1:-1])
    expected = np.full_like(out, 7.0)
    expected[1:-1, 1:-1] = values.T
    np.testing.assert_array_equal(out, expected)


def test_minus_distances_are_never_positive_and_symmetric_to_the_last_bit():
    X = random.normal(size=(7, 3))
    lengths = np.square(X).sum(axis=1)
    found = X @ X.T
    minus_distances(found, 2.0, lengths, lengths)
    np.testing.assert_allclose(found, -np.square(X[:, None] - X).sum(axis=2), atol=1e-14)
    assert found.max() == 0.0
    one, other = X[:1] @ X[1:].T, X[1:] @ X[:1].T
    other[:] = one.T
    minus_distances(one, 2.0, lengths[:1], lengths[1:])
    minus_distances(other, 2.0, lengths[1:], lengths[:1])
    np.testing.assert_array_equal(one, other.T)
    overflown = np.array([[np.nan, np.inf, -np.inf]])
    minus_distances(overflown, 2.0, lengths[:1], lengths[:3])
    np.testing.assert_array_equal(overflown, [[np.nan, 0.0, -np.inf]])


def test_smallest_and_sum_of_rows():
    rows = np.array([4, 0, 4])
    np.testing.assert_array_equal(smallest_of_rows(A, rows), A[rows].min(axis=1))


@pytest.mark.parametrize("count", [0, 1, 3, 4, 9])
def test_sum_of_rows_is_the_product(count):
    rows, weights = random.permutation(9)[:count], random.normal(size=count)
    np.testing.assert_allclose(sum_of_rows(A, rows, weights), weights @ A[rows], atol=1e-13)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_sparse_product_is_added(precision):
    weights = (random.normal(size=(4, 9)) * (random.random((4, 9)) < 0.3)).astype(precision)
    out = random.normal(size=(4, 9)).astype(precision)
    expected = out + weights @ A.astype(precision)
    add_sparse_product(out, weights, A.astype(precision))
    np.testing.assert_allclose(out, expected, atol=10 * np.finfo(precision).eps)

import numpy as np
import pytest

from bayes_svm._matrix import block, largest_sum, mirror_lower, smallest_of_rows, symmetric_product

random = np.random.default_rng(0)
A = random.normal(size=(9, 9))
A += A.T


@pytest.mark.parametrize(("rows", "columns"), [([], [1]), ([3, 0, 3], []), ([8, 2], [0, 5, 5, 8])])
def test_block_is_numpys(rows, columns):
    rows, columns = np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp)
    np.testing.assert_array_equal(block(A, rows, columns), A[np.ix_(rows, columns)])


def test_largest_sum_is_of_absolute_values():
    weights = random.normal(size=9) * (np.arange(9) % 3 > 0)
    assert largest_sum(A, weights) == pytest.approx((np.abs(A) @ np.abs(weights)).max())
    assert largest_sum(A, np.zeros(9)) == 0.0


def test_mirror_lower_leaves_the_rest():
    B = random.normal(size=(6, 6))
    mirrored = B.copy()
    mirror_lower(mirrored, 4)
    lower = np.tril(B[:4, :4])
    np.testing.assert_array_equal(mirrored[:4, :4], lower + np.tril(lower, -1).T)
    np.testing.assert_array_equal(mirrored[4:], B[4:])
    np.testing.assert_array_equal(mirrored[:4, 4:], B[:4, 4:])


def test_smallest_of_rows():
    rows = np.array([4, 0, 4])
    np.testing.assert_array_equal(smallest_of_rows(A, rows), A[rows].min(axis=1))


@pytest.mark.parametrize("count", [0, 1, 3, 4, 9])
def test_symmetric_product_is_the_product(count):
    weights = random.normal(size=9) * (np.arange(9) < count)
    np.testing.assert_allclose(symmetric_product(A, weights), A @ weights, atol=1e-13)

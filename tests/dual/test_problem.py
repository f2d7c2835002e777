import numpy as np
import pytest
from scipy import sparse

from _data import awkward
from bayes_svm.dual.problem import DualProblem, distinct_rows
from bayes_svm.kernels.gram import WholeMatrix
from bayes_svm.utils.dealing import copies_of_weight


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_each_row_equals_its_distinct_row(convert):
    X, _ = awkward()
    distinct, row_of, _ = distinct_rows(convert(X))
    np.testing.assert_array_equal(X[distinct][row_of], X)
    assert len(np.unique(X[distinct], axis=0)) == len(distinct)
    assert list(distinct) == sorted(distinct)


def test_minus_zero_is_zero():
    distinct, *_ = distinct_rows(np.array([[0.0, 1.0], [-0.0, 1.0]]))
    assert list(distinct) == [0]


def test_stored_zeros_and_repeated_entries_do_not_tell_sparse_rows_apart():
    X = sparse.csr_matrix(
        (np.array([1.0, 1.0, 2.0, 0.0]), np.array([0, 0, 0, 1]), np.array([0, 2, 4])), shape=(2, 2)
    )
    assert list(distinct_rows(X).row_of) == [0, 0]
    assert X.nnz == 4  # the caller's matrix is left as it was


def test_equal_points_merge_and_their_bounds_add_up():
    row_of, label = np.array([0, 0, 1, 0, -1]), np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    problem = DualProblem.merge(WholeMatrix(np.eye(2)), row_of, label, np.array([1.0, 2.0, 4.0, 8.0, 0.0]))
    np.testing.assert_array_equal(problem.label, [-1, 1, -1])
    np.testing.assert_array_equal(problem.bound, [8, 3, 4])
    np.testing.assert_array_equal(problem.group, [1, 1, 2, 0, -1])
    np.testing.assert_array_equal(problem.first_row, [3, 0, 2])
    np.testing.assert_array_equal(problem.gram.whole(), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])


def test_bounds_of_signed_coefficients():
    problem = DualProblem.merge(
        WholeMatrix(np.eye(2)), np.array([0, 1]), np.array([1.0, -1.0]), np.array([2.0, 3.0])
    )
    np.testing.assert_array_equal(problem.lower, [0, -3])
    np.testing.assert_array_equal(problem.upper, [2, 0])


def test_a_weight_stands_for_its_floor_of_copies():
    weight = np.array([0.0, 0.5, 1.0, 1.99, 2.0, 3.7, 3 * (1 - 1e-15)])
    np.testing.assert_array_equal(copies_of_weight(weight), [1, 1, 1, 1, 2, 3, 3])

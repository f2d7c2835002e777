from math import fsum

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from _data import noisy, three_classes
from bayes_svm import BayesSVC
from bayes_svm.classifiers.expansion import weights_of, without_repeats
from bayes_svm.kernels.kernel import Kernel


def test_the_sums_are_those_of_the_repeated_points():
    chosen, sums = without_repeats(np.array([4, 2, 4, 7, 2]), np.array([[1.0, 2.0, 3.0, 4.0, -5.0]]))
    assert chosen.tolist() == [1, 0, 3]
    assert sums.tolist() == [[-3.0, 4.0, 4.0]]
    chosen, sums = without_repeats(np.array([4, 2]), np.array([[1.0, 2.0]]))
    assert chosen == slice(None)
    assert sums.tolist() == [[1.0, 2.0]]


def test_weights_are_as_exact_as_the_rows_whatever_the_offset_of_a_feature():
    rng = np.random.default_rng(0)
    rows, coefficients = rng.normal([1e8, 0.0, -1e6], size=(50, 3)), rng.normal(size=(2, 50))
    coefficients -= coefficients.mean(axis=1, keepdims=True)
    weights = weights_of(Kernel("linear"), coefficients, rows)
    exact = [[fsum(one * column) for column in rows.T] for one in coefficients]
    np.testing.assert_allclose(weights, exact, atol=1e-6)


def test_there_are_weights_of_linear_machines_with_more_support_vectors_than_features():
    rows, coefficients = np.ones((4, 3)), np.ones((2, 4))
    assert weights_of(Kernel("rbf", 1.0), coefficients, rows) is None
    np.testing.assert_allclose(weights_of(Kernel("linear"), coefficients, rows), np.full((2, 3), 4.0))
    np.testing.assert_allclose(
        weights_of(Kernel("linear"), coefficients, sparse.csr_array(rows)), np.full((2, 3), 4.0)
    )
    assert weights_of(Kernel("linear"), coefficients[:, :1], rows[:1]) is None
    assert weights_of(Kernel("linear"), coefficients, sparse.csr_array(np.eye(4, 3))) is None
    assert weights_of(Kernel("linear"), np.full((2, 4), 1e308), rows) is None
    assert weights_of(Kernel("linear"), np.full((2, 4), 1e300), 1e9 * rows) is None


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("make", [noisy, three_classes])
def test_repeated_rows_are_one_point_of_a_prediction(make, convert):
    X, y = make(n=60)
    one = BayesSVC(leave_out=10, C=7.0).fit(X, y)
    # Seven copies with a seventh of C each are the same machine.
    seven = BayesSVC(leave_out=10, C=1.0).fit(convert(np.repeat(X, 7, axis=0)), np.repeat(y, 7))
    assert len(seven.support_) == 7 * len(one.support_)
    assert seven._expansion[1].shape[1] == len(one.support_)
    margins = seven._margins(convert(X + 0.1))
    np.testing.assert_allclose(margins, one._margins(X + 0.1), atol=1e-9)
    kernel = rbf_kernel(X + 0.1, np.repeat(X, 7, axis=0)[seven.support_], gamma=seven.kernel_.gamma)
    told = np.squeeze(kernel @ seven.dual_coef_.T + seven.intercept_)
    np.testing.assert_allclose(margins, told, atol=1e-9)


def test_repeated_rows_of_a_precomputed_kernel_are_too():
    X, y = noisy(n=60)
    rows = np.repeat(np.arange(60), 3)
    K = rbf_kernel(X, X[rows])
    model = BayesSVC(kernel="precomputed", leave_out=10).fit(K[rows], y[rows])
    assert model._expansion[1].shape[1] < len(model.support_)
    told = K[:, model.support_] @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(K), told, atol=1e-9)

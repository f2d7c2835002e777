import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from _data import noisy, three_classes
from bayes_svm import BayesSVC
from bayes_svm.classifiers.expansion import without_repeats


def test_the_sums_are_those_of_the_repeated_points():
    chosen, sums = without_repeats(np.array([4, 2, 4, 7, 2]), np.array([[1.0, 2.0, 3.0, 4.0, -5.0]]))
    assert chosen.tolist() == [1, 0, 3]
    assert sums.tolist() == [[-3.0, 4.0, 4.0]]
    chosen, sums = without_repeats(np.array([4, 2]), np.array([[1.0, 2.0]]))
    assert chosen == slice(None)
    assert sums.tolist() == [[1.0, 2.0]]


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

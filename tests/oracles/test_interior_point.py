import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from _data import awkward, noisy
from oracles.interior_point import minimise_box_qp, relative_gap
from oracles.left_out import train


def box(y, C):
    return np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_decision_values_are_libsvms(make, C):
    X, y = make(n=40)
    K = rbf_kernel(X, gamma=0.5)
    optimum = minimise_box_qp(K, y.astype(float), *box(y, C))
    libsvm = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y).decision_function(K)
    # LIBSVM keeps its kernel matrix in float32
    np.testing.assert_allclose(K @ optimum.beta + optimum.intercept, libsvm, atol=1e-4)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("make", [noisy, awkward])
def test_gap_is_zero_to_rounding(make, C):
    X, y = make(n=40)
    assert abs(minimise_box_qp(rbf_kernel(X, gamma=0.5), y.astype(float), *box(y, C)).gap) < 1e-11


def test_gap_of_a_wrong_point_is_not_zero():
    X, y = noisy(n=20)
    K = rbf_kernel(X)
    assert relative_gap(K, y.astype(float), *box(y, 1.0), 0.01 * (y - y.mean()), 0.0) > 0.1


def test_coefficients_are_feasible():
    X, y = awkward()
    lower, upper = box(y, 2.0)
    upper[0] = lower[0] = 0.0
    beta = minimise_box_qp(X @ X.T, y.astype(float), lower, upper).beta
    assert beta[0] == 0
    assert abs(beta.sum()) < 1e-10
    assert np.all((beta >= lower - 1e-12) & (beta <= upper + 1e-12))


def test_the_interval_of_intercepts_is_known_by_hand():
    # Both coefficients at C: w = 0.2, and any intercept in [-0.8, 0.8] is optimal.
    X = np.array([[1.0], [-1.0]])
    trained = train(X @ X.T, np.array([1, -1]), np.full(2, 0.1))
    assert trained.width == pytest.approx(1.6)
    np.testing.assert_allclose(trained.values, [0.2, -0.2], atol=1e-9)

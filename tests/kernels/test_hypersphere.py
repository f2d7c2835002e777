import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import BayesSVC
from bayes_svm.kernels.hypersphere import GaussianKernel, HypersphereKernel, inverse_lengths
from bayes_svm.kernels.kernel import Kernel


@pytest.mark.parametrize("name", ["linear", "poly"])
def test_hypersphere_form_is_the_kernel_over_both_lengths(name):
    X, _ = noisy(n=9)
    Z = X[:4] + 0.5
    H = HypersphereKernel(name, gamma=0.5, degree=2, coef0=0.3)(X, Z)
    kernel = Kernel(name, gamma=0.5, degree=2, coef0=0.3)
    for i in range(9):
        for j in range(4):
            k_xx, k_zz = kernel(X[i : i + 1], X[i : i + 1]), kernel(Z[j : j + 1], Z[j : j + 1])
            expected = kernel(X[i : i + 1], Z[j : j + 1]) / np.sqrt(k_xx * k_zz)
            assert H[i, j] == pytest.approx(expected.item(), abs=1e-14)


def test_a_point_at_the_origin_is_similar_to_nothing():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    np.testing.assert_allclose(HypersphereKernel("linear")(X, X), [[0, 0], [0, 1]], atol=1e-15)


def test_sparse_rows_give_the_dense_values():
    X, _ = noisy(n=12)
    X[X < 0] = 0
    rows = sparse.csr_matrix(X)
    for kernel in (
        HypersphereKernel("poly", gamma=0.5),
        GaussianKernel([1.0, 2.0, 0.5]),
        GaussianKernel(0.7),
    ):
        np.testing.assert_allclose(kernel(rows, rows), kernel(X, X), atol=1e-13)


@pytest.mark.parametrize("machine", [SVC, BayesSVC])
@pytest.mark.parametrize("kernel", [HypersphereKernel("poly", coef0=1.0), GaussianKernel(1.3)])
def test_a_machine_takes_it_as_its_kernel(machine, kernel):
    X, y = noisy()
    values = machine(kernel=kernel).fit(X, y).decision_function(X)
    K = kernel(X, X)
    precomputed = machine(kernel="precomputed").fit(K, y).decision_function(K)
    np.testing.assert_allclose(values, precomputed, atol=1e-2 if machine is SVC else 1e-8)


def test_no_squared_length_is_negative():
    with pytest.raises(ValueError, match=r"not positive semi-definite: k\(x, x\) = -1 is a squared length"):
        inverse_lengths(np.array([1.0, -1.0]), "made up")


@pytest.mark.parametrize("wrong", [{"gamma": "scale"}, {"kernel": "precomputed"}])
def test_what_a_callable_cannot_know_is_refused(wrong):
    X, _ = noisy(n=5)
    with pytest.raises(ValueError, match="needs more than the points of one call"):
        HypersphereKernel(**wrong)(X, X)


def test_gaussian_kernel_is_the_papers_formula():
    X, _ = noisy(n=6)
    lengths = np.array([0.5, 2.0, 1.0])
    for given in (lengths, 1.7):
        K = GaussianKernel(given)(X, X)
        for i in range(6):
            for j in range(6):
                expected = np.exp(-0.5 * np.sum((X[i] - X[j]) ** 2 / np.broadcast_to(given, 3) ** 2))
                assert K[i, j] == pytest.approx(expected, abs=1e-13)
    assert GaussianKernel(2.0).gamma == 0.125
    np.testing.assert_allclose(GaussianKernel(lengths).gamma, 0.5 / lengths**2)


@pytest.mark.parametrize("far", [1e7, 1e9])
def test_rows_far_from_the_origin_lose_no_digits(far):
    X = np.array([[0.0], [1.0], [2.0]])
    near = GaussianKernel(1.0)(X, X[:2])
    np.testing.assert_allclose(GaussianKernel(1.0)(X + far, X[:2] + far), near, atol=1e-6)
    np.testing.assert_array_equal(GaussianKernel(1.0)(X + far, X + far), GaussianKernel(1.0)(X, X))


@pytest.mark.parametrize(
    "kernel", [GaussianKernel(2.0), HypersphereKernel("rbf"), HypersphereKernel("linear")]
)
def test_what_points_may_be(kernel):
    X = np.array([[1.0, 2.0], [0.0, 3.0]])
    np.testing.assert_array_equal(kernel(X.tolist(), X.tolist()), kernel(X, X.copy()))
    # The 3 in two parts.
    parts = sparse.csr_matrix((np.array([1.0, 2.0, 1.0, 2.0]), np.array([0, 1, 1, 1]), np.array([0, 2, 4])))
    np.testing.assert_allclose(kernel(parts, parts), kernel(X, X), rtol=1e-12)
    np.testing.assert_allclose(kernel(sparse.coo_array(X), X), kernel(X, X), rtol=1e-12)
    assert parts.nnz == 4


def test_what_is_no_set_of_points_is_refused():
    for kernel in (GaussianKernel(), HypersphereKernel("linear")):
        with pytest.raises(ValueError, match="Expected 2D array"):
            kernel(np.ones(3), np.ones(3))


def test_whole_numbers_are_no_counters_that_overflow():
    X = np.array([[200, 100], [3, 250]], dtype=np.uint8)
    for name in ("linear", "poly", "rbf"):
        kernel = HypersphereKernel(name, gamma=1e-5)
        np.testing.assert_array_equal(kernel(X, X), kernel(X.astype(float), X.astype(float)))


def test_a_callable_gets_what_it_is_given():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    found = HypersphereKernel(lambda A, B: np.outer(A["a"], B["a"]))(frame, frame)
    np.testing.assert_allclose(found, np.ones((2, 2)))


@pytest.mark.parametrize("gamma", [-1.0, "wide", np.nan])
def test_what_is_no_gamma_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma must be 'auto' or a number that is at least 0, and is"):
        HypersphereKernel("rbf", gamma=gamma)(np.eye(2), np.eye(2))


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ([1.0, 2.0], "one for each feature"),
        (0.0, "above 0"),
        (np.inf, "finite"),
        ([1.0, -1.0, 1.0], "above 0"),
        (1e-200, "NaN or infinity"),
    ],
)
def test_length_scales_that_do_not_fit(scale, message):
    X, _ = noisy(n=5)
    with pytest.raises(ValueError, match=message):
        GaussianKernel(scale)(X, X)

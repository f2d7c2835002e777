import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from _data import noisy
from bayes_svm.kernels import functions as kernels
from bayes_svm.kernels.kernel import Kernel

PARAMETERS = {"gamma": 0.3, "degree": 2, "coef0": 0.5}


def dot(X, Z):
    return X @ Z.T


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
def test_a_name_means_what_it_means_to_svc(name):
    X, y = noisy(n=40)
    svc = SVC(kernel=name, C=0.5, **PARAMETERS).fit(X, y)
    cross = Kernel(name, **PARAMETERS)(X, svc.support_vectors_)
    np.testing.assert_allclose(
        cross @ svc.dual_coef_[0] + svc.intercept_, svc.decision_function(X), atol=1e-10
    )


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
def test_sparse_rows_give_the_dense_values(name):
    X, _ = noisy(n=12)
    X[X < 0] = 0
    kernel, rows = Kernel(name, **PARAMETERS), sparse.csr_matrix(X)
    np.testing.assert_allclose(kernel(rows, rows), kernel(X, X), atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(rows), kernel.diagonal(X), atol=1e-12)


@pytest.mark.parametrize("function", ["linear", "poly", "rbf", "sigmoid", dot])
def test_diagonal_is_that_of_the_matrix(function):
    X, _ = noisy(n=12)
    kernel = Kernel(function, **PARAMETERS)
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(kernel(X, X)), atol=1e-12)


def test_diagonal_of_a_precomputed_kernel_is_refused():
    with pytest.raises(ValueError, match=r"precomputed kernel holds no k\(x, x\) of new points"):
        Kernel("precomputed").diagonal(np.eye(3))


@pytest.mark.parametrize(
    ("function", "linear", "gamma", "distance", "definite"),
    [
        ("linear", True, False, False, True),
        ("poly", False, True, True, True),
        ("rbf", False, True, True, True),
        ("sigmoid", False, True, True, False),
        ("precomputed", False, False, False, False),
        (dot, False, False, True, False),
    ],
)
def test_a_kernel_knows_its_properties(function, linear, gamma, distance, definite):
    kernel = Kernel(function, **PARAMETERS)
    assert kernel.is_linear == linear
    assert kernel.takes_gamma == gamma
    assert kernel.tells_distance == distance
    assert kernel.positive_semidefinite == definite
    assert kernel.precomputed == (function == "precomputed")
    assert kernel.is_callable == callable(function)


@pytest.mark.parametrize(("degree", "coef0"), [(2.5, 1.0), (3, -0.1)])
def test_some_polynomials_are_not_positive_semidefinite(degree, coef0):
    assert not Kernel("poly", degree=degree, coef0=coef0).positive_semidefinite


@pytest.mark.parametrize("max_bytes", [1, 8 * 5 * 4, 2**26])
def test_blocks_put_together_are_the_whole(max_bytes):
    X, _ = noisy(n=23)
    kernel, numbers = Kernel("rbf"), np.arange(5)
    blocks = list(kernel.blocks(X, X[:5], numbers, max_bytes=max_bytes))
    assert all(values.nbytes <= max(max_bytes, 8 * 5) for _, values in blocks)
    assert [i for rows, _ in blocks for i in range(rows.start, rows.stop)] == list(range(23))
    np.testing.assert_allclose(np.vstack([values for _, values in blocks]), kernel(X, X[:5]), atol=1e-14)


def test_blocks_of_a_precomputed_kernel_are_columns():
    K = np.arange(30.0).reshape(6, 5)
    blocks = Kernel("precomputed").blocks(K, np.empty((0, 0)), np.array([4, 1]), max_bytes=40)
    np.testing.assert_array_equal(np.vstack([values for _, values in blocks]), K[:, [4, 1]])


def test_a_value_that_is_not_finite_names_the_kernel_and_its_parameters():
    X = np.full((2, 2), 1e30)
    with pytest.raises(ValueError, match=r"poly\(gamma=2, degree=30, coef0=1\) returned NaN or infinity"):
        Kernel("poly", gamma=2.0, degree=30, coef0=1.0)(X, X)


def test_a_diagonal_that_is_not_finite_names_the_kernel_too():
    with pytest.raises(ValueError, match=r"poly\(gamma=1, degree=30, coef0=0\) returned NaN or infinity"):
        Kernel("poly", gamma=1.0, degree=30).diagonal(np.full((1, 2), 1e30))


def test_nan_from_a_callable_names_it():
    def broken(X, Z):
        return np.full((len(X), len(Z)), np.nan)

    with pytest.raises(ValueError, match="callable 'broken' returned NaN or infinity"):
        Kernel(broken)(np.eye(2), np.eye(2))


def test_a_callable_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"callable .* returned shape \(2,\), expected \(2, 2\)"):
        Kernel(lambda X, Z: X[:, 0])(np.eye(2), np.eye(2))


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown kernel 'rbv': use one of .*rbf"):
        Kernel("rbv")(np.eye(2), np.eye(2))


def test_large_finite_values_are_no_error():
    X = np.full((2, 1), 1e153)
    assert np.isfinite(Kernel("linear")(X, X)).all()


def test_a_degree_that_is_no_whole_number_is_named():
    with pytest.raises(ValueError, match="A degree that is no whole number has no value where gamma x'z"):
        Kernel("poly", degree=2.5)(np.array([[1.0]]), np.array([[-1.0]]))


@pytest.mark.parametrize("degree", [0, 0.5])
def test_degrees_below_one_are_powers_too(degree):
    X = np.random.default_rng(0).uniform(size=(30, 3))
    values = Kernel("poly", gamma=0.5, degree=degree, coef0=1.0)(X, X)
    np.testing.assert_allclose(values, (0.5 * X @ X.T + 1.0) ** degree)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("tile", [3, 256])
def test_gram_is_the_kernel_of_a_matrix_with_itself(monkeypatch, name, form, tile):
    monkeypatch.setattr(kernels, "TILE", tile)
    X = form(np.random.default_rng(0).normal(size=(10, 4)))
    kernel = Kernel(name, **PARAMETERS)
    gram = kernel.gram(X)
    np.testing.assert_allclose(gram, kernel(X, X), atol=1e-14)
    np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize("offset", [1e6, 1e8, 1.7e9])
def test_an_rbf_of_columns_far_from_zero_loses_no_digits(offset):
    random = np.random.default_rng(0)
    # Sums of these numbers and the offset are exact.
    X = np.round(random.normal(size=(60, 3)) * 2**20) / 2**20
    kernel = Kernel("rbf", gamma=0.3)
    expected, far = kernel.gram(X), X + np.array([offset, -offset, 0.0])
    np.testing.assert_array_equal(far - np.array([offset, -offset, 0.0]), X)
    for found in (
        kernel.gram(far),
        kernel(far, far),
        np.vstack([kernel(far[[i]], far) for i in range(60)]),
        next(iter(kernel.tiles(kernel.features(far), np.arange(60), np.arange(60))))[2],
    ):
        np.testing.assert_allclose(found, expected, atol=1e-14, rtol=0)


def test_columns_far_from_zero_are_moved_despite_an_outlier_and_for_sparse_rows_too():
    X = np.round(np.random.default_rng(0).normal(size=(60, 3)) * 2**20) / 2**20
    kernel, far = Kernel("rbf", gamma=0.3), X + 2.0**30
    far[7] = 0.0
    expected = kernel(X, X)
    expected[7] = expected[:, 7] = 0.0
    expected[7, 7] = 1.0
    for found in (kernel(far, far), kernel.gram(far), kernel(sparse.csr_array(far), far)):
        np.testing.assert_allclose(found, expected, atol=1e-14, rtol=0)


def test_an_rbf_of_huge_features_is_refused_by_name():
    with pytest.raises(ValueError, match=r"kernel rbf\(gamma=1\) returned NaN or infinity"):
        Kernel("rbf", gamma=1.0).gram(np.array([[1e155, 1.0], [-2e155, 0.0]]))

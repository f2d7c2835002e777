"""Class similarity, compared with a double loop over pairs of rows."""

import joblib
import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

from _data import noisy, three_classes
from bayes_svm import AggregationKernel, class_similarity
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.similarity import class_similarity as similarity


def slow(K, y, unbiased=True):
    """Averages, W, B and CS from a loop over pairs."""
    classes = np.unique(y)
    H = np.zeros_like(K)
    for i in range(len(K)):
        for j in range(len(K)):
            if K[i, i] > 0 and K[j, j] > 0:
                H[i, j] = K[i, j] / np.sqrt(K[i, i] * K[j, j])
    pairs = [(i, j) for i in range(len(K)) for j in range(len(K)) if i != j or not unbiased]
    average = np.array(
        [[np.mean([H[i, j] for i, j in pairs if y[i] == a and y[j] == b]) for b in classes] for a in classes]
    )
    within = np.mean([H[i, j] for i, j in pairs if y[i] == y[j]])
    between = np.mean([H[i, j] for i, j in pairs if y[i] != y[j]])
    return average, within, between, np.arccos(within) - np.arccos(between)


def assert_is(found, expected):
    for name, value in zip(("average", "within", "between", "value"), expected, strict=True):
        np.testing.assert_allclose(getattr(found, name), value, atol=1e-12)


def two_words(X, Z):
    return (1.0 + X @ Z.T) ** 2


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", two_words])
@pytest.mark.parametrize("data", [noisy, three_classes])
def test_it_is_the_double_loops(data, kernel, unbiased):
    X, y = data(n=40)
    X[3] = X[4]
    y = np.append(y, y[0])
    X = np.vstack([X, np.zeros((1, X.shape[1]))])
    K = Kernel(kernel, gamma=0.6, coef0=0.0)(X, X)
    assert_is(class_similarity(X, y, kernel=kernel, gamma=0.6, unbiased=unbiased), slow(K, y, unbiased))
    assert_is(class_similarity(K, y, kernel="precomputed", unbiased=unbiased), slow(K, y, unbiased))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_sparse_rows_give_the_dense_values(kernel):
    X, y = three_classes()
    X[X < 0] = 0
    dense = class_similarity(X, y, kernel=kernel)
    found = class_similarity(sparse.coo_array(X), y, kernel=kernel)
    assert_is(found, (dense.average, dense.within, dense.between, dense.value))


@pytest.mark.parametrize("kernel", ["rbf", two_words])
def test_panels_and_threads_do_not_show(kernel, monkeypatch):
    X, y = three_classes(n=70)
    whole = class_similarity(X, y, kernel=kernel)
    monkeypatch.setattr(similarity, "PANEL", 16)
    one, two = (class_similarity(X, y, kernel=kernel, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_is(one, (whole.average, whole.within, whole.between, whole.value))
    np.testing.assert_array_equal(one.average, two.average)
    assert one.value == two.value


def test_processes_have_one_blas_thread():
    def kernel(X, Z):
        assert {blas["num_threads"] for blas in threadpool_info() if blas["user_api"] == "blas"} == {1}
        return X @ Z.T

    X, y = noisy(60, seed=0)
    with joblib.parallel_config(backend="loky", inner_max_num_threads=2):
        spread = class_similarity(X, y, kernel=kernel, n_jobs=2)
    assert spread.value == class_similarity(X, y, kernel=kernel).value


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_a_weight_is_a_count_of_rows(kernel, unbiased):
    X, y = three_classes(n=30)
    weight = np.random.default_rng(1).integers(0, 4, 30).astype(float)
    twice = np.repeat(np.arange(30), weight.astype(int))
    if kernel == "precomputed":
        X = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    repeated = X[np.ix_(twice, twice)] if kernel == "precomputed" else X[twice]
    found = class_similarity(X, y, kernel=kernel, sample_weight=weight, unbiased=unbiased)
    full = class_similarity(repeated, y[twice], kernel=kernel, unbiased=unbiased)
    assert_is(found, (full.average, full.within, full.between, full.value))


def test_a_common_factor_of_small_weights_does_not_show():
    X, y = noisy()
    tiny, full = class_similarity(X, y, sample_weight=np.full(60, 1e-3)), class_similarity(X, y)
    assert tiny.value == pytest.approx(full.value, abs=1e-12)


def test_pairs_of_a_row_with_itself_raise_w_most_where_the_kernel_is_narrow():
    X, y = noisy()
    excess = []
    for gamma in (0.1, 1.0, 100.0):
        plug_in, honest = (
            class_similarity(X, y, gamma=gamma, unbiased=unbiased) for unbiased in (False, True)
        )
        assert plug_in.between == honest.between
        excess.append(plug_in.within - honest.within)
    assert 0 < excess[0] < excess[1] < excess[2]


def test_classes_that_are_one_point_each_and_orthogonal():
    found = class_similarity(np.repeat(np.eye(3), 4, axis=0), np.repeat([0, 1, 2], 4), kernel="linear")
    assert (found.within, found.between) == (1.0, 0.0)
    assert found.value == -np.pi / 2


def test_a_constant_kernel_tells_nothing():
    found = class_similarity(np.ones((6, 2)), [0, 0, 0, 1, 1, 1], kernel="linear")
    assert found.value == pytest.approx(0.0, abs=1e-7)
    assert class_similarity(np.ones((6, 6)), [0, 0, 0, 1, 1, 1], kernel="precomputed").value == 0.0


def test_a_kernel_of_zeros_tells_nothing():
    found = class_similarity(np.zeros((6, 2)), [0, 0, 0, 1, 1, 1], kernel="linear")
    assert (found.within, found.between, found.value) == (0.0, 0.0, 0.0)


def test_an_aggregation_kernel_needs_no_pairs():
    codes = np.random.default_rng(0).integers(-1, 3, (40, 5)).astype(float)
    codes[0], codes[1, 2] = -1, np.nan
    y = np.arange(40) % 3
    kernel = AggregationKernel([1.0, 0.0, 2.0, 0.5, 1.0])
    assert_is(class_similarity(codes, y, kernel=kernel), slow(kernel(codes, codes), y))


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_the_error_of_a_sample_is_its_standard_error(kernel):
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 2))
    y = np.where(X[:, 0] + random.normal(size=600) > 1, "rare", "common")
    weight = random.integers(1, 4, 600).astype(float)
    if kernel == "precomputed":
        X = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    full = class_similarity(X, y, kernel=kernel, sample_weight=weight)
    assert full.standard_error == 0.0
    assert full.n_samples == 600
    draws = [
        class_similarity(X, y, kernel=kernel, sample_weight=weight, max_samples=150, random_state=seed)
        for seed in range(200)
    ]
    assert {draw.n_samples for draw in draws} <= {149, 150, 151}
    errors = np.array([draw.value - full.value for draw in draws])
    claimed = np.sqrt(np.mean([draw.standard_error**2 for draw in draws]))
    assert abs(errors.mean()) < 4 * claimed / np.sqrt(200)
    assert claimed == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.2)


@pytest.mark.parametrize("options", [{"sample_weight": np.arange(400) % 9 + 1.0}, {"unbiased": False}])
def test_a_sample_of_rows_that_are_pairs_with_themselves_is_not_biased(options):
    # A narrow kernel: pairs of a row with itself, or with its copies, are much more alike than others.
    X, y = noisy(n=400)
    full = class_similarity(X, y, gamma=4.0, **options)
    draws = [
        class_similarity(X, y, gamma=4.0, max_samples=60, random_state=seed, **options) for seed in range(200)
    ]
    claimed = np.sqrt(np.mean([draw.standard_error**2 for draw in draws]))
    errors = np.array([draw.value - full.value for draw in draws])
    # What bias of second order is left is far below the error of one sample.
    assert abs(errors.mean()) < 0.5 * claimed
    assert claimed == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.25)


@pytest.mark.parametrize("options", [{"unbiased": False}, {"sample_weight": np.r_[np.ones(40), 3.0]}])
def test_a_class_of_one_row_is_in_every_sample(options):
    X = np.random.default_rng(0).normal(size=(41, 2))
    y = np.r_[np.zeros(20), np.ones(20), 2]
    full = class_similarity(X, y, gamma=0.5, **options)
    found = class_similarity(X, y, gamma=0.5, max_samples=20, random_state=0, **options)
    assert found.average[2, 2] == full.average[2, 2] == 1.0
    assert abs(found.value - full.value) < 4 * found.standard_error


def test_a_sample_has_two_of_the_rarest_class_and_is_the_same_again():
    X, y = noisy(n=200)
    y = np.r_[np.full(197, "a"), np.full(3, "b")]
    first, again = (class_similarity(X, y, max_samples=20, random_state=3) for _ in range(2))
    assert first.value == again.value
    assert first.standard_error > 0
    assert class_similarity(X, y, max_samples=200).standard_error == 0.0


def test_a_class_of_one_member_has_no_pair():
    X, y = noisy(n=9)
    y = np.r_[np.zeros(8), 7]
    with pytest.raises(ValueError, match=r"Class 7\.0 has 1 member, and so no pair of different members"):
        class_similarity(X, y)
    assert class_similarity(X, y, unbiased=False).average[1, 1] == 1.0
    assert np.isfinite(class_similarity(X, y, sample_weight=np.r_[np.ones(8), 2.0]).value)


def test_one_class_has_nothing_to_be_compared_with():
    with pytest.raises(ValueError, match="one class only"):
        class_similarity(np.eye(3), [1, 1, 1])


def minus(X, Z):
    return -(X @ Z.T)


def lopsided(X, Z):
    return X @ np.roll(Z, 1, axis=1).T + 10.0


def too_similar(X, Z):
    return np.where(np.abs(X[:, :1] - Z[:, 0]) < 1e-12, 1.0, 2.0)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (minus, r"'minus' is not positive semi-definite: k\(x, x\) ="),
        (lopsided, "'lopsided' is not symmetric"),
        (too_similar, "cosine, but reaches 2"),
    ],
)
def test_what_is_not_a_kernel_is_refused(kernel, message):
    X, y = noisy()
    with pytest.raises(ValueError, match=message):
        class_similarity(X, y, kernel=kernel)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "cosine"}, "'kernel' parameter"),
        ({"max_samples": 1}, "'max_samples' parameter"),
        ({"sample_weight": -np.ones(60)}, "negative"),
        ({"sample_weight": np.full(60, 1e-300)}, "sample_weight is too large, too small or too uneven"),
        ({"sample_weight": np.full(60, 1e200)}, "sample_weight is too large, too small or too uneven"),
        ({"sample_weight": np.r_[1.0, np.full(58, 1e-20), 1.0]}, "too uneven"),
        ({"kernel": "precomputed"}, "square"),
        ({"kernel": "poly", "gamma": 1e200}, "NaN or infinity"),
    ],
)
def test_arguments_that_do_not_fit(options, message):
    X, y = noisy()
    with pytest.raises(ValueError, match=message):
        class_similarity(X, y, **options)


def test_missing_values_are_refused():
    X, y = noisy()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        class_similarity(X, y)


@pytest.mark.parametrize("kernel", [lambda X: X @ X.T, lambda X: (X @ X.T + 1) ** 2])
def test_single_precision_is_no_fault_of_a_kernel_matrix(kernel):
    X = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
    y, gram = X[:, 0] > 0, kernel(X)
    found = class_similarity(gram, y, kernel="precomputed")
    expected = class_similarity(gram.astype(float), y, kernel="precomputed")
    assert found.value == pytest.approx(expected.value, abs=1e-6)


@pytest.mark.parametrize("place", [(0, 99), (5, similarity.PANEL + 50)])
def test_a_kernel_matrix_that_is_not_symmetric_is_refused(place):
    n = similarity.PANEL + 100
    gram = np.eye(n) * 0.5 + 0.5
    gram[place] = 0.9
    with pytest.raises(ValueError, match=r"is not symmetric: .* differ by up to 0\.4"):
        class_similarity(gram, np.arange(n) % 2, kernel="precomputed")

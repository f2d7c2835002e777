"""The order of rows by what they hold."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from _data import awkward, noisy
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.order import coarse_keys, shuffled


def rank_of_rows(X, y, kernel="rbf"):
    machine, _ = machine_of(SVC(kernel=kernel, gamma=0.5), X, y)
    return machine.content_rank[machine.row_of]


@pytest.mark.parametrize("make", [noisy, awkward])
def test_distinct_rows_have_distinct_places_and_equal_rows_the_same(make):
    X, y = make()
    ranks = rank_of_rows(X, y)
    _, content = np.unique(X, axis=0, return_inverse=True)
    assert len(np.unique(ranks)) == content.max() + 1
    for k in range(content.max() + 1):
        assert np.ptp(ranks[content.ravel() == k]) == 0


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_permuted_and_repeated_rows_keep_the_order(kernel):
    X, y = noisy(n=40)
    K = X @ X.T
    ranks = rank_of_rows(K if kernel == "precomputed" else X, y, kernel)
    chosen = np.random.default_rng(1).permutation(np.repeat(np.arange(40), 2))
    again = rank_of_rows(
        K[np.ix_(chosen, chosen)] if kernel == "precomputed" else X[chosen], y[chosen], kernel
    )
    np.testing.assert_array_equal(again, ranks[chosen])


def test_dense_and_sparse_rows_have_the_same_order():
    X, y = awkward(n=40, d=5)
    stored_zeros = sparse.csr_matrix(X)
    stored_zeros.data[::3] = 0.0
    shuffled = stored_zeros.copy()
    for row in range(40):  # entries of a row in another order
        part = slice(shuffled.indptr[row], shuffled.indptr[row + 1])
        shuffled.indices[part], shuffled.data[part] = shuffled.indices[part][::-1], shuffled.data[part][::-1]
    shuffled.has_sorted_indices = False
    dense = rank_of_rows(stored_zeros.toarray(), y)
    np.testing.assert_array_equal(rank_of_rows(stored_zeros, y), dense)
    np.testing.assert_array_equal(rank_of_rows(shuffled, y), dense)


def radial(X, y, weight=None, **parameters):
    machine, _ = machine_of(SVC(**({"gamma": 0.5} | parameters)), X, y, weight)
    return machine.radial_rank[machine.row_of]


@pytest.mark.parametrize(
    "parameters",
    [{}, {"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0}, {"kernel": "precomputed"}],
    ids=str,
)
@pytest.mark.parametrize("of", [np.asarray, sparse.csr_matrix])
def test_rows_are_ranked_by_their_distance_from_the_mean_feature_vector(parameters, of):
    X, y = noisy(n=40, d=5)
    weight = np.random.default_rng(0).integers(1, 4, size=40)
    if parameters.get("kernel") == "precomputed":
        X = K = rbf_kernel(X, gamma=0.5)
        of = np.asarray
    else:
        K = machine_of(SVC(**({"gamma": 0.5} | parameters)), X, y)[0].kernel(X, X)
    share = weight / weight.sum()
    squared = K.diagonal() - 2 * K @ share + share @ K @ share
    np.testing.assert_array_equal(radial(of(X), y, weight, **parameters), np.argsort(np.argsort(squared)))


def test_many_rows_are_ranked_by_their_distance_from_the_mean_row(monkeypatch):
    monkeypatch.setattr("bayes_svm.dual.machine.ALL_AT_ONCE", 10)
    X, y = noisy(n=60, d=5)
    expected = np.argsort(np.argsort(np.linalg.norm(X - X.mean(axis=0), axis=1)))
    for of in (np.asarray, sparse.csr_matrix):
        machine, _ = machine_of(SVC(gamma=0.5), of(X), y)
        np.testing.assert_array_equal(machine.radial_rank[machine.row_of], expected)


def shuffled_ranks(X, y, weight=None, **parameters):
    machine, _ = machine_of(SVC(**({"gamma": 0.5} | parameters)), X, y, weight)
    return machine.shuffled_rank[machine.row_of]


@pytest.mark.parametrize("of", [np.asarray, sparse.csr_matrix])
def test_the_shuffled_rank_is_that_of_the_distance_from_the_mean_row_whatever_the_kernel(of):
    X, y = noisy(n=200, d=5)
    weight = np.random.default_rng(0).integers(1, 4, size=200)
    apart = np.linalg.norm(X - np.average(X, axis=0, weights=weight), axis=1)
    by_distance = np.argsort(np.argsort(apart))
    for parameters in ({}, {"gamma": 5.0}, {"kernel": "linear"}):
        ranks = shuffled_ranks(of(X), y, weight, **parameters)
        np.testing.assert_array_equal(ranks, np.argsort(np.argsort(shuffled(by_distance))))
    assert sorted(ranks) == list(range(200))
    assert abs(np.corrcoef(ranks, by_distance)[0, 1]) < 0.2
    # The feature vectors of a linear kernel are the rows.
    np.testing.assert_array_equal(shuffled_ranks(X @ X.T, y, weight, kernel="precomputed"), ranks)


def test_a_small_change_of_the_data_changes_no_shuffled_rank_where_the_hash_is_another():
    X, y = noisy(n=200, d=5)
    ranks, random = shuffled_ranks(X, y), np.random.default_rng(0)
    changed = 3.0 * (X + 1e-9 * random.normal(size=X.shape))[:, random.permutation(5)]
    np.testing.assert_array_equal(shuffled_ranks(changed, y), ranks)
    assert np.any(rank_of_rows(changed, y) != rank_of_rows(X, y))
    far = X + 2.0**22
    np.testing.assert_array_equal(shuffled_ranks(far, y), shuffled_ranks(far - 2.0**22, y))


def design():
    """All rows are equally far from the mean, up to rounding: only what they hold ranks them."""
    levels = np.array(np.meshgrid(*[[0.0, 1.0]] * 6)).reshape(6, -1).T
    return 0.1 + levels * [0.1, 0.3, 0.7, 1.1, 2.3, 0.9], np.where(levels[:, 0] == levels[:, 1], 1, -1)


@pytest.mark.parametrize("ranks", [radial, shuffled_ranks])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_rows_that_are_equally_far_but_for_rounding_are_ranked_by_what_they_hold(ranks, kernel):
    X, y = design()
    K = rbf_kernel(X, gamma=0.5)
    expected = ranks(K if kernel == "precomputed" else X, y, kernel=kernel)
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(64), 3))
        chosen = K[np.ix_(rows, rows)] if kernel == "precomputed" else X[rows]
        np.testing.assert_array_equal(ranks(chosen, y[rows], kernel=kernel), expected[rows])
    if kernel == "rbf":
        np.testing.assert_array_equal(ranks(sparse.csr_matrix(X), y), expected)
        np.testing.assert_array_equal(expected, rank_of_rows(X, y))


def test_columns_far_from_zero_lose_no_digits_in_a_sparse_matrix():
    X, y = noisy(n=200, d=5)
    X[::2, 0] = 0.0
    X[:, 1:] += 1e8
    np.testing.assert_array_equal(shuffled_ranks(sparse.csr_matrix(X), y), shuffled_ranks(X, y))


def test_rows_of_weight_zero_move_no_rank_whatever_they_hold():
    X, y = noisy(n=60, d=5)
    weight = np.append(np.ones(60), 0.0)
    for of in (np.asarray, sparse.csr_matrix):
        found = [
            shuffled_ranks(of(np.vstack([X, np.full(5, far)])), np.append(y, 1), weight)
            for far in (1.0, 1e12)
        ]
        np.testing.assert_array_equal(found[1][:60], found[0][:60])


def test_the_shuffle_has_no_serial_correlation():
    """Ranks that follow each other in the order leave together: they must be as near as at random."""
    for n in (20, 40, 60, 80, 100, 150, 200, 300, 500, 1000):
        order = np.argsort(shuffled(np.arange(n)))
        near = [np.corrcoef(order[:-lag], order[lag:])[0, 1] for lag in (1, 2, 3)]
        assert np.abs(near).max() < 2.0 / np.sqrt(n)


def test_the_radial_rank_does_not_depend_on_the_order_of_rows_or_columns():
    X, y = awkward(n=40, d=5)
    expected, random = radial(X, y), np.random.default_rng(0)
    rows = random.permutation(40)
    np.testing.assert_array_equal(radial(X[rows], y[rows]), expected[rows])
    np.testing.assert_array_equal(radial(sparse.csr_matrix(X), y), expected)
    X, y = noisy(n=40, d=5)
    np.testing.assert_array_equal(radial(X[:, random.permutation(5)], y), radial(X, y))
    # Pairs of mirrored rows are equally far, and their places follow from what they hold.
    steps = np.arange(1, 33) / 10
    X = np.concatenate([steps, -steps])[:, None] + 0.3
    rows = random.permutation(64)
    ranks = radial(X, np.tile([0, 1], 32), gamma=3.0)
    np.testing.assert_array_equal(radial(X[rows], np.tile([0, 1], 32)[rows], gamma=3.0), ranks[rows])
    assert np.all(ranks[:32] // 2 == ranks[32:] // 2)


MATRICES = {
    "ordinary": np.random.default_rng(0).normal(size=(400, 20)),
    "of all magnitudes": np.random.default_rng(1).normal(size=(60, 7))
    * 10.0 ** np.random.default_rng(2).integers(-300, 300, size=(60, 7)),
    "halves of units": np.random.default_rng(3).integers(-(2**22), 2**22, size=(300, 6)) / 2.0,
    "at the ends of double precision": np.array(
        [[5e-324, 0.0], [1e-310, 5e-324], [1.7e308, 1.0], [0.8, 0.4], [-0.8, 1.6], [0.75, -0.0], [0.0, 0.0]]
    ),
    "by columns": np.asfortranarray(np.random.default_rng(4).normal(size=(30, 5))),
}


@pytest.mark.parametrize("name", MATRICES)
def test_the_loop_for_dense_rows_finds_the_keys_of_sparse_ones(name):
    X = MATRICES[name]
    np.testing.assert_array_equal(coarse_keys(X), coarse_keys(sparse.csr_matrix(X)))


def test_negative_zero_is_zero():
    X, y = awkward(n=20)
    np.testing.assert_array_equal(rank_of_rows(np.where(X == 0, -0.0, X), y), rank_of_rows(X, y))


@pytest.mark.parametrize("seed", range(5))
def test_rounding_changes_no_place(seed):
    """As that of a scaler fitted to permuted rows."""
    X, y = noisy(n=60, seed=seed)
    order = np.random.default_rng(seed).permutation(60)
    first, second = scale(X), scale(X[order])
    assert np.abs(first[order] - second).max() < 1e-12
    np.testing.assert_array_equal(rank_of_rows(second, y[order]), rank_of_rows(first, y)[order])


def test_rows_with_the_same_first_hash_are_told_apart_by_the_second():
    X, y = noisy(n=40)
    X = np.vstack([X, X * (1 + 1e-12), X[:3] * (1 - 1e-12)])
    labels = np.concatenate([y, y, y[:3]])
    ranks = rank_of_rows(X, labels)
    assert sorted(ranks) == list(range(83))
    order = np.random.default_rng(0).permutation(83)
    np.testing.assert_array_equal(rank_of_rows(X[order], labels[order]), ranks[order])
    # Those that differ by rounding alone stay together.
    assert np.all(np.abs(ranks[3:40] - ranks[43:80]) == 1)


def test_the_order_does_not_follow_the_values():
    X = np.arange(200.0)[:, None] + 1
    ranks = rank_of_rows(X, np.arange(200) % 2)
    assert abs(np.corrcoef(ranks, X[:, 0])[0, 1]) < 0.2


@pytest.mark.parametrize("seed", range(10))
def test_kernel_matrices_of_few_different_values_have_an_order_too(seed):
    """Counts of words and sets of properties: rows that are equal as sets differ by what is near them."""
    random = np.random.default_rng(seed)
    X = (random.random((60, 12)) < 0.3).astype(float)
    X[:, 0] = 1.0
    shared = X @ X.T
    own = np.diag(shared)
    K, y = shared / (own[:, None] + own - shared), np.arange(60) % 2
    ranks = rank_of_rows(K, y, "precomputed")
    _, content = np.unique(X, axis=0, return_inverse=True)
    assert len(np.unique(ranks)) == content.max() + 1
    order = random.permutation(60)
    np.testing.assert_array_equal(
        rank_of_rows(K[np.ix_(order, order)], y[order], "precomputed"), ranks[order]
    )

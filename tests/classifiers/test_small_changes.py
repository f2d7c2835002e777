"""What is told of a point changes little with the data: no choice is made by their last digits."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine, make_blobs, make_classification, make_moons
from sklearn.preprocessing import scale

from bayes_svm import BayesSVC


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def made():
    X, y = make_classification(600, random_state=0)
    return scale(X), y


def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


def moons():
    X, y = make_moons(500, noise=0.2, random_state=194)
    return scale(X), y


def blobs():
    X, y = make_blobs(500, centers=2, n_features=5, cluster_std=3, random_state=591)
    return scale(X), y


def binary(n=300):
    """Many rows are equal, and many others are equally far from the mean."""
    random = np.random.default_rng(0)
    X = (random.random((n, 10)) < 0.4).astype(float)
    return X, (X[:, :3].sum(axis=1) + 0.7 * random.normal(size=n) > 1.2).astype(int)


@pytest.mark.parametrize("data", [breast_cancer, made, wine, moons, blobs])
@pytest.mark.parametrize("C", [1.0, 10.0])
def test_probabilities_of_all_rows_and_far_from_them_survive_noise_and_another_order_of_columns(data, C):
    X, y = data()
    at = np.vstack([X, 2 * X, -X])
    expected = BayesSVC(C=C).fit(X, y).predict_proba(at)
    random = np.random.default_rng(0)
    for _ in range(3):
        order = random.permutation(X.shape[1])
        noise = 1e-7 * random.normal(size=X.shape)
        clf = BayesSVC(C=C).fit((X + noise)[:, order], y)
        # The strata, the folds of the joint link, the halves and the sketch are the same.
        np.testing.assert_allclose(clf.predict_proba(at[:, order]), expected, atol=1e-4)


@pytest.mark.parametrize("data", [breast_cancer, wine])
def test_neither_units_nor_single_precision_matter(data):
    X, y = data()
    expected = BayesSVC().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(BayesSVC().fit(3 * X, y).predict_proba(3 * X), expected, atol=1e-9)
    single = X.astype(np.float32)
    np.testing.assert_allclose(BayesSVC().fit(single, y).predict_proba(single), expected, atol=1e-4)


def test_a_precomputed_linear_kernel_gives_what_the_rows_give():
    X, y = wine()
    expected = BayesSVC(kernel="linear").fit(X, y).predict_proba(X)
    found = BayesSVC(kernel="precomputed").fit(X @ X.T, y).predict_proba(X @ X.T)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_order_of_the_columns_changes_little_where_rows_are_equal_or_equally_far():
    X, y = binary()
    at = np.vstack([X, 2 * X, -X])
    expected = BayesSVC(C=10.0).fit(X, y).predict_proba(at)
    order = np.random.default_rng(0).permutation(10)
    np.testing.assert_allclose(
        BayesSVC(C=10.0).fit(X[:, order], y).predict_proba(at[:, order]), expected, atol=0.02
    )

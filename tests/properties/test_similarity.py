"""Invariances of class similarity, and problems whose class similarity is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_svm import class_similarity

seeds = st.integers(0, 2**32)
kernels = st.sampled_from(["linear", "rbf", "poly"])
often = settings(max_examples=40, derandomize=True, deadline=None)


def awkward(seed):
    """Data with duplicates, ties, constant columns, rows of zeros and classes of very different sizes."""
    random = np.random.default_rng(seed)
    n_classes = random.integers(2, 5)
    y = np.r_[np.repeat(np.arange(n_classes), 2), random.choice(n_classes, random.integers(0, 25))]
    X = random.integers(0, 3, (len(y), random.integers(1, 4))) * 10.0 ** random.integers(-3, 3)
    X += (random.random() < 0.5) * random.normal(size=X.shape)
    return random, X, y


@often
@given(seed=seeds, kernel=kernels)
def test_order_of_the_rows_does_not_show(seed, kernel):
    random, X, y = awkward(seed)
    order = random.permutation(len(y))
    one, other = class_similarity(X, y, kernel=kernel), class_similarity(X[order], y[order], kernel=kernel)
    np.testing.assert_allclose(one.average, other.average, atol=1e-12)
    assert np.cos(one.value) == pytest.approx(np.cos(other.value), abs=1e-12)


@often
@given(seed=seeds, kernel=kernels)
def test_names_and_order_of_the_classes_do_not_show(seed, kernel):
    random, X, y = awkward(seed)
    names = random.permutation(["zebra", "ant", "Cat", "1"])
    one, other = class_similarity(X, y, kernel=kernel), class_similarity(X, names[y], kernel=kernel)
    place = np.searchsorted(other.classes, names[one.classes])
    np.testing.assert_allclose(one.average, other.average[np.ix_(place, place)], atol=1e-12)
    assert one.within == pytest.approx(other.within, abs=1e-12)
    assert one.between == pytest.approx(other.between, abs=1e-12)


@often
@given(seed=seeds, kernel=kernels, unbiased=st.booleans())
def test_it_stays_in_its_range(seed, kernel, unbiased):
    _, X, y = awkward(seed)
    found = class_similarity(X, y, kernel=kernel, unbiased=unbiased)
    np.testing.assert_array_equal(found.average, found.average.T)
    assert np.all(np.abs(found.average) <= 1 + 1e-12)
    assert found.value == pytest.approx(np.arccos(found.within) - np.arccos(found.between), abs=1e-15)


@often
@given(seed=seeds, factor=st.sampled_from([1e-6, 3.0, 1e6]))
def test_a_factor_of_the_kernel_does_not_show(seed, factor):
    _, X, y = awkward(seed)
    one, other = (class_similarity(K, y, kernel="precomputed") for K in (X @ X.T, factor * (X @ X.T)))
    np.testing.assert_allclose(one.average, other.average, atol=1e-10)


@often
@given(seed=seeds)
def test_classes_drawn_alike_are_near_zero(seed):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(400, 3)), np.arange(400) % 2
    assert abs(class_similarity(X, y).value) < 0.02


@often
@given(seed=seeds)
def test_each_class_one_direction_of_its_own(seed):
    random = np.random.default_rng(seed)
    y = np.r_[np.repeat(np.arange(3), 2), random.integers(0, 3, 20)]
    X = np.eye(3)[y] * random.uniform(0.1, 10, (26, 1))
    assert class_similarity(X, y, kernel="linear").value == pytest.approx(-np.pi / 2, abs=1e-7)

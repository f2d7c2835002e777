"""Weights in the sums, compared with rows that are repeated and all contingency tables tried."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_svm import MultivariateSVC
from bayes_svm.multivariate.losses import loss_of
from bayes_svm.multivariate.ranked import Ranked

NAMES = ["f1", "f_beta", "precision_at_k", "recall_at_k", "break_even"]


def table_value(name, a, b, positives, negatives, beta, k):
    """Loss less scores of the most violated labelling with this table, or minus infinity."""
    n_positive = len(positives)
    k = n_positive if name == "break_even" else k
    of = k if name == "precision_at_k" else n_positive
    scores = -2 * positives[: n_positive - a].sum()
    gained = 2 * negatives[::-1][:b].sum()
    if name in ("f1", "f_beta"):
        square = 1.0 if name == "f1" else beta**2
        return 100 * (1 - (1 + square) * a / (a + b + square * n_positive)) + scores + gained
    if k < n_positive:
        return 100 * (1 - min(a, k) / of) + scores + gained if a + b >= k else -np.inf
    share = (n_positive - a) / b if b else 1.0
    return 100 * (1 - a / of) + scores + share * gained if a + b == k else -np.inf


def brute_force(name, positive, scores, weight, beta, k):
    """The largest value over all tables of the repeated rows."""
    positives = np.sort(np.repeat(scores[positive], weight[positive]))
    negatives = np.sort(np.repeat(scores[~positive], weight[~positive]))
    return max(
        table_value(name, a, b, positives, negatives, beta, k)
        for a in range(len(positives) + 1)
        for b in range(len(negatives) + 1)
    )


@st.composite
def weighted(draw, largest):
    """Labels, scores and weights; many ties, rows of weight 0, classes of one member or of all the weight."""
    n = draw(st.integers(2, 8))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    positive = random.random(n) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    positive[:2] = [True, False]
    weight = random.integers(0, largest + 1, size=n)
    weight[:2] = np.maximum(weight[:2], 1)
    if draw(st.booleans()):
        weight[positive] = np.minimum(weight[positive], 1)
    size = draw(st.sampled_from([0.0, 0.1, 2.0, 30.0]))
    scores = size * (random.integers(-2, 3, size=n) if draw(st.booleans()) else random.normal(size=n))
    return positive, scores, weight


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(problem=weighted(5), data=st.data())
def test_the_search_finds_the_maximum_over_all_tables_of_the_repeated_rows(name, beta, problem, data):
    positive, scores, weight = problem
    k = data.draw(st.integers(1, int(weight.sum())))
    of = loss_of(name, positive, weight.astype(float), beta=beta if name == "f_beta" else 1.0, k=k)
    loss, c = of.most_violated(scores)
    expected = brute_force(name, positive, scores, weight, beta, k)
    assert loss - c @ scores == pytest.approx(expected, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(problem=weighted(2000), data=st.data())
def test_large_weights_are_repeated_rows(name, problem, data):
    positive, scores, weight = problem
    scores = scores / weight.max()
    rows = np.repeat(np.arange(len(weight)), weight)
    # Without ties, no run of equal scores is taken together.
    repeated = scores[rows] * (1 + 1e-7 * np.random.default_rng(0).random(len(rows)))
    k = data.draw(st.integers(1, len(rows)))
    for beta in (0.5, 2.0):
        beta = beta if name == "f_beta" else 1.0
        one, c = loss_of(name, positive, weight.astype(float), beta=beta, k=k).most_violated(scores)
        many, d = loss_of(name, positive[rows], beta=beta, k=k).most_violated(repeated)
        assert one - c @ scores == pytest.approx(many - d @ repeated, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("weight", [1e6, 1e8, 1e12])
@pytest.mark.parametrize("name", NAMES)
def test_huge_weights_cost_nothing_and_scale(name, weight):
    random = np.random.default_rng(0)
    positive, counts = random.random(2000) < 0.3, random.integers(1, 4, size=2000)
    scores = 0.05 * (random.normal(size=2000) + positive)
    k = int(counts.sum() // 2)
    few = loss_of(name, positive, counts * 1000.0, k=k * 1000)
    many = loss_of(name, positive, counts * weight, k=k * int(weight))
    started = time.process_time()
    loss, c = many.most_violated(scores / weight)
    assert time.process_time() - started < 1.0
    expected, d = few.most_violated(scores / 1000)
    assert loss - c @ scores / weight == pytest.approx(expected - d @ scores / 1000, rel=1e-5)


def test_a_machine_of_huge_weights_is_that_of_small_ones():
    random = np.random.default_rng(0)
    y = random.random(200) < 0.2
    X = random.normal(size=(200, 3)) + y[:, None]
    counts = random.integers(1, 4, size=200)
    few, many = (
        scale * MultivariateSVC(C=0.1 / scale**2, tol=1e-5).fit(X, y, counts * scale).decision_function(X)
        for scale in (1e4, 1e8)
    )
    np.testing.assert_allclose(many, few, atol=5e-3 * np.abs(few).max())


def test_sums_of_the_lowest_values_are_those_of_the_repeated_rows():
    values, counts = np.array([2.0, -1.0, 2.0, 0.5]), np.array([3.0, 2.0, 1.0, 4.0])
    ranked = Ranked.of(values, counts)
    repeated = np.sort(np.repeat(values, counts.astype(int)))
    for number in range(11):
        assert ranked.total(np.array(number)) == pytest.approx(repeated[:number].sum())
        assert ranked.among_lowest(values, number) @ counts == pytest.approx(number)


def test_a_users_loss_counts_the_memory_of_its_table_first():
    weight = np.array([1e6, 1e8, 1e8])
    with pytest.raises(MemoryError, match=r"1,000,001 x 200,000,001 contingency tables needs 3,2\d\d,"):
        loss_of(lambda a, b, c, d: a + b, np.array([True, False, False]), weight)

"""The search for the most violated labelling, compared with a search of all labellings."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_svm.multivariate.losses import LOSS_NAMES, loss_of

CONTINGENCY = [name for name in LOSS_NAMES if name != "roc_area"]


def delta(name, a, b, c, d, beta, k):
    """Loss of a contingency table, or None for a table that the loss does not admit."""
    if name == "error":
        return 2.0 * (b + c)
    if name in ("f1", "f_beta"):
        square = 1.0 if name == "f1" else beta**2
        return 100.0 * (1 - (1 + square) * a / ((1 + square) * a + b + square * c))
    size = a + c if name == "break_even" else k
    of = k if name == "precision_at_k" else a + c
    if size < a + c:
        return 100.0 * (1 - min(a, size) / of) if a + b >= size else None
    return 100.0 * (1 - a / of) if a + b == size else None


def share(name, a, b, c, k):
    """Factor of the scores of the negatives that are labelled 1."""
    size = a + c if name == "break_even" else k
    at_k = name in ("precision_at_k", "recall_at_k", "break_even") and size >= a + c
    return c / b if at_k and b else 1.0


def brute_force(loss, y, scores, share_of=lambda a, b, c: 1.0):
    """Largest ``loss - c's`` over all labellings; ``loss`` is a function of the table."""
    best = -np.inf
    for labels in itertools.product((-1, 1), repeat=len(y)):
        z = np.array(labels)
        a, b = int(np.sum((z > 0) & (y > 0))), int(np.sum((z > 0) & (y < 0)))
        value = loss(a, b, int(np.sum(y > 0)) - a, int(np.sum(y < 0)) - b)
        if value is not None:
            c = np.where(y > 0, y - z, share_of(a, b, int(np.sum(y > 0)) - a) * (y - z))
            best = max(best, value - c @ scores)
    return best


def brute_force_pairs(y, scores, weight):
    """The largest value over all pairs, each of which may be swapped on its own."""
    total, largest = 0.0, 0.0
    for i in np.flatnonzero(y > 0):
        for j in np.flatnonzero(y < 0):
            pair = weight[i] * weight[j]
            total += pair
            largest += pair * max(0.0, 1.0 - 2.0 * (scores[i] - scores[j]))
    return 100.0 * largest / total


def is_a_plane(loss, c, y, scores, of, weight=None):
    """Assert that the plane is below R at other scores too."""
    random = np.random.default_rng(0)
    for _ in range(5):
        other = scores + random.normal(size=len(y)) * 10.0 ** random.integers(-2, 2)
        better, slopes = of.most_violated(other)
        assert better - slopes @ other >= loss - c @ other - 1e-9 * (100 + np.abs(other).sum())


@st.composite
def problems(draw, largest=9):
    """Labels of both classes, and scores, many of them equal."""
    n = draw(st.integers(2, largest))
    y = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    y[:2] = [1, -1]
    seed, kind = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from(["ties", "small", "large", "zero"]))
    random = np.random.default_rng(seed)
    scores = {
        "ties": random.integers(-2, 3, size=n) * 4.0,
        "small": random.normal(size=n),
        "large": 50.0 * random.normal(size=n),
        "zero": np.zeros(n),
    }[kind]
    return y, scores


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", CONTINGENCY)
@settings(max_examples=25, deadline=None)
@given(problem=problems(), data=st.data())
def test_the_search_finds_the_maximum_over_all_labellings(name, beta, problem, data):
    y, scores = problem
    k = data.draw(st.integers(1, len(y)))
    of = loss_of(name, y > 0, beta=beta if name == "f_beta" else 1.0, k=k)
    loss, c = of.most_violated(scores)
    shares = functools.partial(share, name, k=k)
    expected = brute_force(lambda *table: delta(name, *table, beta, k), y, scores, shares)
    assert loss - c @ scores == pytest.approx(expected, rel=1e-10, abs=1e-9)
    is_a_plane(loss, c, y, scores, of)


@pytest.mark.parametrize("k", [3, 5, 8])
@pytest.mark.parametrize("name", CONTINGENCY)
def test_twelve_rows(name, k):
    random = np.random.default_rng(0)
    y = np.where(np.arange(12) % 12 < 5, 1, -1)
    scores = 3 * random.normal(size=12)
    of = loss_of(name, y > 0, beta=2.0 if name == "f_beta" else 1.0, k=k)
    loss, c = of.most_violated(scores)
    shares = functools.partial(share, name, k=k)
    expected = brute_force(lambda *table: delta(name, *table, 2.0, k), y, scores, shares)
    assert loss - c @ scores == pytest.approx(expected, rel=1e-10)
    predicted = np.where(c == 0, y, -y)
    a, b = np.sum((predicted > 0) & (y > 0)), np.sum((predicted > 0) & (y < 0))
    assert loss == pytest.approx(delta(name, a, b, 5 - a, 7 - b, 2.0, k))
    np.testing.assert_allclose(c, (y - predicted) * np.where(y > 0, 1.0, shares(a, b, 5 - a)))


@pytest.mark.parametrize("name", ["precision_at_k", "recall_at_k", "break_even"])
@pytest.mark.parametrize("k", [2, 5, 9])
def test_nothing_is_gained_by_a_constant_for_all_rows(name, k):
    of = loss_of(name, np.arange(15) < 5, k=k)
    nothing, _ = of.most_violated(np.zeros(15))
    assert nothing == 100.0
    for constant in (-100.0, -1.0, 1.0, 100.0):
        level, c = of.most_violated(np.full(15, constant))
        assert level - constant * c.sum() >= nothing


@pytest.mark.parametrize("name", ["precision_at_k", "recall_at_k", "break_even"])
@pytest.mark.parametrize("k", [5, 9])
def test_the_loss_of_the_k_highest_rows_is_bounded(name, k):
    random = np.random.default_rng(4)
    positive, size = np.arange(15) < 5, 5 if name == "break_even" else k
    of = loss_of(name, positive, k=k)
    for scores in random.normal(size=(50, 15)) + positive:
        hits = positive[np.argsort(-scores)[:size]].sum()
        level, c = of.most_violated(scores)
        assert level - c @ scores >= 100 * (1 - hits / (size if name == "precision_at_k" else 5)) - 1e-9


@settings(max_examples=100, deadline=None)
@given(problem=problems(largest=12), seed=st.integers(0, 2**32 - 1))
def test_area_is_the_sum_over_pairs(problem, seed):
    y, scores = problem
    scores = scores / 4
    for weight in (np.ones(len(y)), np.random.default_rng(seed).random(len(y)) + 0.01):
        of = loss_of("roc_area", y > 0, weight)
        loss, c = of.most_violated(scores)
        assert loss - c @ scores == pytest.approx(brute_force_pairs(y, scores, weight), abs=1e-9)
        assert c.sum() == pytest.approx(0.0, abs=1e-9)
        is_a_plane(loss, c, y, scores, of)


@settings(max_examples=40, deadline=None)
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_any_function_of_the_table(problem, seed):
    y, scores = problem
    random = np.random.default_rng(seed)
    values = 100 * random.random((len(y) + 1, len(y) + 1))
    values[np.sum(y > 0), 0] = 0.0
    of = loss_of(lambda a, b, c, d: values[a, b], y > 0)
    loss, c = of.most_violated(scores)
    expected = brute_force(lambda a, b, c, d: values[a, b], y, scores)
    assert loss - c @ scores == pytest.approx(expected, rel=1e-10, abs=1e-9)


def test_a_table_looked_at_in_blocks_gives_the_same(monkeypatch):
    random = np.random.default_rng(1)
    positive, scores = random.random(60) < 0.4, 5 * random.normal(size=60)
    of = loss_of(lambda a, b, c, d: 100 * (b + c) / (a + b + c + d) + (b + c > 0) * (a % 3), positive)
    loss, c = of.most_violated(scores)
    monkeypatch.setattr("bayes_svm.multivariate.contingency.BLOCK", 100)
    assert of.most_violated(scores)[0] == loss
    np.testing.assert_array_equal(of.most_violated(scores)[1], c)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0, 10.0])
def test_f_beta_equals_its_table_on_many_rows(beta):
    random = np.random.default_rng(2)
    positive = random.random(400) < 0.3
    square = beta**2
    table = loss_of(
        lambda a, b, c, d: 100 * (1 - (1 + square) * a / ((1 + square) * a + b + square * c)), positive
    )
    fast = loss_of("f_beta", positive, beta=beta)
    for spread in (1e-3, 0.1, 1.0, 30.0):
        scores = spread * (random.normal(size=400) - 0.5 + positive)
        found = [loss - c @ scores for loss, c in (of.most_violated(scores) for of in (fast, table))]
        assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.parametrize("name", LOSS_NAMES)
@settings(max_examples=25, deadline=None)
@given(problem=problems(), data=st.data())
def test_a_weight_is_a_repeated_row(name, problem, data):
    y, scores = problem
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))))
    weight[:2] = np.maximum(weight[:2], 1)
    rows = np.repeat(np.arange(len(y)), weight)
    k = data.draw(st.integers(1, len(rows)))
    one = loss_of(name, y > 0, weight.astype(float), k=k).most_violated(scores)
    many = loss_of(name, y[rows] > 0, k=k).most_violated(scores[rows])
    assert one[0] == pytest.approx(many[0])
    np.testing.assert_allclose(one[1], np.bincount(rows, many[1], len(y)), atol=1e-9)


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_the_order_of_the_rows_does_not_matter(name):
    random = np.random.default_rng(3)
    positive, scores = random.random(50) < 0.4, random.integers(-3, 4, size=50).astype(float)
    loss, c = loss_of(name, positive, k=20).most_violated(scores)
    order = random.permutation(50)
    other, shuffled = loss_of(name, positive[order], k=20).most_violated(scores[order])
    assert loss == pytest.approx(other)
    np.testing.assert_allclose(shuffled, c[order], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("f_beta", {"beta": 0.0}, "beta=0.0"),
        ("f_beta", {"beta": np.inf}, "beta=inf"),
        ("precision_at_k", {}, "k=None"),
        ("recall_at_k", {"k": 0}, "k=0"),
        ("precision_at_k", {"k": 5}, "number of rows, 4; got k=5"),
        ("f1", {"weight": np.array([1, 0.5, 1, 1])}, "whole numbers"),
        ("f1", {"weight": np.full(4, 1e200)}, "sample_weight stands for 4e\\+200 rows"),
        ("accuracy", {}, "Unknown loss 'accuracy'"),
        (lambda a, b, c, d: np.where(b == 1, np.nan, a), {}, "nan for the contingency table of 0 true"),
        (lambda a, b, c, d: b - 1.0 + 0 * a, {}, "-1.0 for the contingency table of 0"),
        (lambda a, b, c, d: np.zeros(7), {}, r"shape \(7,\)"),
        (lambda a, b, c, d: 100 * 2 * a / (2 * a + b + c + 1e-9), {}, "is 100 where all rows are right"),
        (lambda a, b, c, d: 1.0 + 0 * a * b, {}, "is 1 where all rows are right: it must be 0 there"),
    ],
)  # fmt: skip
def test_bad_options_are_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        loss_of(name, np.array([True, False, False, True]), **options)


@pytest.mark.parametrize(("label", "of"), [(True, "negative"), (False, "positive")])
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_one_class_is_refused(name, label, of):
    with pytest.raises(ValueError, match=f"no {of} rows"):
        loss_of(name, np.full(4, label), k=1)


def test_a_table_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr("bayes_svm.utils.memory.available_bytes", lambda: 10**9)
    with pytest.raises(MemoryError, match="contingency tables needs"):
        loss_of(lambda a, b, c, d: a + b, np.arange(20_000) % 2 == 0)

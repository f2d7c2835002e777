"""Thresholds that keep their word about recall and precision, beside the definitions counted row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm

from _data import problem
from bayes_svm import choose_threshold
from bayes_svm.decision.promises import fewest_rows

SURE = 0.9


def slow_recall(y, values, at_least, confidence):
    """Number of positives below the highest value of a positive that shows the recall; None if none does."""
    positives, best = np.sort(values[y == 1]), None
    n, share = len(positives), 1 - at_least
    for value in positives:
        k = int(np.sum(positives < value)) + 1
        if confidence is None:
            shown = k <= share * (n + 1) + 1e-9
        else:
            shown = beta.cdf(share, k, n + 1 - k) >= confidence
        best = k - 1 if shown else best
    return best


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(10, 120),
    st.sampled_from([1, 1000]),
    st.sampled_from([0.7, 0.8, 0.9]),
    st.sampled_from([None, SURE]),
)
@pytest.mark.filterwarnings("ignore:No threshold shows")
def test_recall_is_the_order_statistic(seed, n, levels, at_least, confidence):
    y, values, _ = problem(seed, n, levels, False)
    below = slow_recall(y, values, at_least, confidence)
    found = choose_threshold(y, values, "recall", at_least=at_least, confidence=confidence, n_bootstrap=0)
    assert found.reached == (below is not None)
    assert found.confusions[0].fn == (below or 0)
    if below is None:
        assert found.threshold == -np.inf


def slow_precision(y, values, at_least, confidence):
    """Rows called positive by the last test that passes, from the fewest rows on; None if the first fails."""
    start = np.ceil(np.log(1 - confidence) / np.log(at_least))
    counts = sorted({int(np.sum(values >= value)) for value in values})
    least, best = start, None
    while True:
        called = next((count for count in counts if count >= least), None)
        if called is None:
            return best
        wrong = int(np.sum(y[np.argsort(-values, kind="stable")[:called]] == 0))
        if binom.cdf(wrong, called, 1 - at_least) > 1 - confidence:
            return best
        best, least = called, max(called + 1, 1.2 * called)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(20, 200), st.sampled_from([1, 1000]), st.sampled_from([0.5, 0.6, 0.7])
)
@pytest.mark.filterwarnings("ignore:No threshold shows")
def test_precision_is_tested_in_a_fixed_order(seed, n, levels, at_least):
    y, values, _ = problem(seed, n, levels, False)
    called = slow_precision(y, values, at_least, SURE)
    found = choose_threshold(y, values, "precision", at_least=at_least, confidence=SURE, n_bootstrap=0)
    confusion = found.confusions[0]
    assert found.reached == (called is not None)
    assert confusion.tp + confusion.fp == (called or 0)
    assert found.bound == (at_least if called else None)


def test_precision_without_confidence_is_the_lowest_threshold_of_enough_smoothed_precision():
    y, values, _ = problem(1, 150, 1000, False)
    found = choose_threshold(y, values, "precision", at_least=0.7, n_bootstrap=0)
    shown = [
        value
        for value in values
        if (tp := np.sum(y[values >= value])) and beta.median(tp, np.sum(values >= value) - tp + 1) >= 0.7
    ]
    assert found.confusions[0].tp + found.confusions[0].fp == np.sum(values >= min(shown))


def test_one_row_at_the_top_shows_no_precision():
    y = np.r_[np.zeros(30), np.ones(10)]
    values = np.r_[np.arange(30), 40, np.arange(9) / 10]
    with pytest.warns(UserWarning, match=r"shows precision >= 0.9: the most that one shows is 0.5"):
        found = choose_threshold(y, values, "precision", at_least=0.9)
    assert found.threshold == np.inf
    assert not found.decide(values).any()
    assert not found.reached
    assert found.standard_error == np.inf


@pytest.mark.parametrize(
    ("at_least", "confidence", "needed"),
    [(0.95, None, 19), (0.9, None, 9), (0.95, 0.9, 45), (0.98, 0.9, 114)],
)
def test_the_fewest_positives_that_show_a_recall(at_least, confidence, needed):
    assert fewest_rows(at_least, confidence) == needed
    options = {"at_least": at_least, "confidence": confidence, "n_bootstrap": 0}
    for n in (needed - 1, needed):
        y, values = np.repeat([0, 1], n), np.arange(2.0 * n) % (n + 0.5)
        if n == needed:
            assert choose_threshold(y, values, "recall", **options).reached
            continue
        with pytest.warns(UserWarning, match=f"takes {needed} positives, and there are {n}"):
            found = choose_threshold(y, values, "recall", **options)
        assert found.decide([-1e9]).tolist() == [1]
        assert found.recall == 1


@pytest.mark.parametrize("name", ["recall", "precision"])
def test_a_share_of_one_is_never_shown(name):
    y, values = np.repeat([0, 1], 50), np.arange(100.0)
    for confidence in (None, SURE):
        with pytest.warns(UserWarning, match=f"No threshold shows {name} >= 1"):
            assert not choose_threshold(y, values, name, at_least=1.0, confidence=confidence).reached


def draws(number, n, seed=0):
    """Values of n rows, 30 % positive and one deviation higher, of many draws."""
    random = np.random.default_rng(seed)
    for _ in range(number):
        y = (random.random(n) < 0.3).astype(int)
        yield y, random.normal(size=n) + 2 * y


def true_shares(threshold):
    """Recall and precision at a threshold, from the two normal distributions."""
    from scipy.stats import norm

    found, wrong = 0.3 * norm.sf(threshold - 2), 0.7 * norm.sf(threshold)
    return found / 0.3, found / (found + wrong)


def test_recall_is_kept_in_the_mean_and_with_confidence_in_most_draws():
    plain, sure = (
        [
            true_shares(
                choose_threshold(y, f, "recall", at_least=0.9, confidence=confidence, n_bootstrap=0).threshold
            )[0]
            for y, f in draws(300, 200)
        ]
        for confidence in (None, SURE)
    )
    assert np.mean(plain) >= 0.9 - 2 * np.std(plain) / np.sqrt(300)
    assert np.mean(np.array(plain) >= 0.9) < 0.75
    assert np.mean(np.array(sure) >= 0.9) >= 0.9 - 2 * np.sqrt(0.09 / 300)


@pytest.mark.filterwarnings("ignore:No threshold shows", "ignore:at_least was out of reach")
def test_precision_with_confidence_is_broken_in_few_draws_and_not_told_too_high():
    broken, told = [], []
    for y, f in draws(200, 300):
        found = choose_threshold(y, f, "precision", at_least=0.85, confidence=SURE)
        true = true_shares(found.threshold)[1] if found.reached else np.nan
        broken.append(found.reached and true < 0.85)
        if found.reached:
            told.append(found.precision - true)
    assert np.mean(broken) <= 0.1 + 2 * np.sqrt(0.09 / 200)
    assert len(told) > 100
    assert -0.03 < np.mean(told) < 0.01


@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("n", [100, 300])
def test_the_recall_told_is_that_of_new_points_in_the_mean(n, confidence):
    told, true = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        values = np.r_[rng.normal(size=n), rng.normal(1.5, size=n)]
        y = np.repeat([0, 1], n)
        found = choose_threshold(y, values, "recall", at_least=0.9, confidence=confidence, n_bootstrap=2)
        told.append(found.recall)
        true.append(norm.sf(found.threshold - 1.5))
    assert abs(np.mean(told) - np.mean(true)) < 0.006
    assert np.ptp(told) == 0

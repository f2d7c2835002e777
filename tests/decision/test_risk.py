"""Thresholds for a target risk, beside the definitions counted row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from bayes_svm.decision.risk import (
    as_many_as_left,
    out_of_reach,
    plain_threshold,
    rounded_up,
    shown_threshold,
    smallest_plain,
    smallest_shown,
)
from bayes_svm.metrics.risk_coverage import risk_coverage_curve

SURE = 0.9


def answered(seed, n, levels):
    """Answers and their confidence, with ties if there are few levels."""
    random = np.random.default_rng(seed)
    confidence = np.round(random.uniform(0.5, 1.0, n) * levels) / levels
    return random.random(n) < (1 - confidence) * random.uniform(0.2, 1.2), confidence


def slow_tested(wrong, confidence, target, sure):
    """Numbers of accepted rows that are tested, one after the other; the largest that passes, or None."""
    delta, n = 1 - sure, len(wrong)
    counts = sorted({int(np.sum(confidence >= value)) for value in confidence})
    fewest = np.ceil(np.log(delta / 5) / np.log(1 - target) - 1e-9)
    starts = [
        (next((m for m in counts if m >= start), None), share)
        for start, share in ((fewest, 0.2), (np.sqrt(fewest * n), 0.8))
    ]
    level, best = 0.0, None
    for m in counts:
        level += delta * sum(share for start, share in starts if start == m)
        errors = np.sum(wrong[np.argsort(-confidence, kind="stable")[:m]])
        if level > 0 and binom.cdf(errors, m, target) <= level * (1 + 1e-9):
            best = m
        else:
            level = 0.0
    return best


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 300),
    st.sampled_from([10, 40, 10**9]),
    st.sampled_from([0.02, 0.05, 0.2, 0.5]),
    st.sampled_from([0.5, 0.9, 0.99]),
)
def test_thresholds_are_tested_from_two_starts(seed, n, levels, target, sure):
    wrong, confidence = answered(seed, n, levels)
    found = shown_threshold(wrong, confidence, target, sure)
    accepted = slow_tested(wrong, confidence, target, sure)
    assert (found is None) == (accepted is None)
    if accepted is not None:
        assert np.sum(confidence >= found) == accepted
        lower, least = confidence[confidence < found], np.min(confidence[confidence >= found])
        assert found == (0.0 if len(lower) == 0 else (np.max(lower) + least) / 2)


@pytest.mark.parametrize("informative", [True, False])
@pytest.mark.parametrize("n", [100, 300])
def test_promised_risk_is_exceeded_in_at_most_delta_of_2000_runs(informative, n):
    """The confidence s is uniform on (1/2, 1), and a point is wrong with probability 1 - s.

    If the confidence is not informative, every point is wrong with a probability just above the target.
    """
    random, target, runs = np.random.default_rng(0), 0.1, 2000
    exceeded = found = 0
    for _ in range(runs):
        confidence = random.uniform(0.5, 1.0, n)
        wrong = random.random(n) < ((1 - confidence) if informative else target + 1e-9)
        threshold = shown_threshold(wrong, confidence, target, SURE)
        if threshold is not None:
            found += 1
            risk = (1 - threshold) / 2 if informative else target + 1e-9
            exceeded += risk > target
    assert exceeded <= (1 - SURE) * runs
    assert found > 20


def test_all_are_accepted_where_there_are_no_errors_and_none_where_all_are():
    confidence = np.linspace(0.5, 1, 500)
    assert shown_threshold(np.zeros(500, bool), confidence, 0.05, SURE) == 0.0
    assert shown_threshold(np.ones(500, bool), confidence, 0.05, SURE) is None
    assert shown_threshold(np.zeros(9, bool), confidence[:9], 0.05, SURE) is None


def test_ties_are_one_threshold():
    wrong = np.r_[np.zeros(200, bool), np.ones(100, bool)]
    confidence = np.r_[np.full(200, 0.9), np.full(100, 0.6)]
    assert shown_threshold(wrong, confidence, 0.1, SURE) == 0.75


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("levels", [10, 10**9])
def test_the_plain_threshold_is_the_lowest_of_low_risk(seed, levels):
    wrong, confidence = answered(seed, 80, levels)
    curve = risk_coverage_curve(wrong, np.zeros(80, bool), confidence)
    for target in (0.02, 0.1, 0.3, 0.9):
        low = [value for value in confidence if wrong[confidence >= value].mean() <= target]
        found = plain_threshold(curve, target)
        if not low:
            assert found is None
        else:
            lower = confidence[confidence < min(low)]
            assert found == (0.0 if len(lower) == 0 else (min(low) + np.max(lower)) / 2)


@pytest.mark.parametrize("seed", range(8))
def test_the_risk_that_is_named_can_be_shown(seed):
    wrong, confidence = answered(seed, 120, 10**9)
    least = smallest_shown(wrong, confidence, 0.001, SURE)
    assert 0.001 < least < 1
    assert shown_threshold(wrong, confidence, least, SURE) is not None
    curve = risk_coverage_curve(wrong | (confidence > 0.9), np.zeros(120, bool), confidence)
    assert plain_threshold(curve, smallest_plain(curve)) is not None


def test_where_no_risk_can_be_shown():
    assert smallest_shown(np.ones(50, bool), np.linspace(0.5, 1, 50), 0.1, SURE) == 1.0
    assert "any risk below 1 with confidence 0.9 on 50 points" in out_of_reach(0.1, 1.0, SURE, "50 points")


@pytest.mark.parametrize(("risk", "up"), [(0.1234, 0.124), (0.05, 0.05), (1 / 101, 0.00991), (0.9999, 1.0)])
def test_risks_are_rounded_up(risk, up):
    assert rounded_up(risk) == up


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=12),
)
def test_as_many_equal_rows_are_counted_as_left(seed, kinds):
    """Kinds of equal rows, each with the number of its rows and of those that left."""
    random = np.random.default_rng(seed)
    sizes = np.array([max(size, left) for size, left in kinds])
    left = np.array([left for _, left in kinds])
    kind = random.permutation(np.repeat(np.arange(len(kinds)), sizes))
    wrong, confidence = random.random(len(kinds)) < 0.3, np.round(random.random(len(kinds)), 1)
    rows = as_many_as_left((left / sizes)[kind], wrong[kind], confidence[kind])
    assert len(set(rows.tolist())) == len(rows) == left.sum()
    assert (np.diff(rows) > 0).all()
    # Kinds with the same answer and confidence are as one.
    for key in set(zip(wrong.tolist(), confidence.tolist(), strict=True)):
        same = [k for k in range(len(kinds)) if (wrong[k], confidence[k]) == key]
        assert np.isin(kind[rows], same).sum() == left[same].sum()


def test_no_point_is_accepted_that_was_not_tested_however_close_it_is():
    sure = np.concatenate([0.9 + np.arange(1000) * 0.9e-12, 0.9 - 3e-12 * np.arange(1.0, 400.0)])
    wrong = np.concatenate([np.zeros(1000, dtype=bool), np.arange(399) % 2 == 0])
    threshold = shown_threshold(wrong, sure, 0.05, 0.9)
    assert wrong[sure >= threshold].mean() <= 0.05

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binomtest, t

from bayes_svm.metrics.intervals import proportion_interval
from bayes_svm.report.evidence import Evidence, error_of_mean, evidence_of


def evidence(part, groups):
    return evidence_of(np.asarray(part, dtype=float), np.ones(len(part)), groups)


def test_independent_rows_have_the_usual_intervals():
    shown = evidence(np.arange(50) < 7, None)
    assert_allclose(shown.interval(), proportion_interval(7, 50))
    assert_allclose(
        shown.interval(0.1, "clopper-pearson"), binomtest(7, 50).proportion_ci(0.9, method="exact")
    )


def test_copies_show_what_one_row_of_each_group_shows():
    once = np.arange(40) < 12
    shown = evidence(np.repeat(once, 6), np.repeat(np.arange(40), 6))
    assert shown.share == 0.3
    # Of the variance of 40 rows, n - 1 of which are free.
    assert shown.n == pytest.approx(39)
    assert shown.degrees == 39


def test_the_number_of_rows_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    groups, part, whole = rng.integers(0, 9, 80), (rng.random(80) < 0.4) * 1.0, rng.integers(1, 4, 80) * 1.0
    part = part * whole
    p, between = part.sum() / whole.sum(), 0.0
    for g in range(9):
        own = groups == g
        between += (part[own].sum() - p * whole[own].sum()) ** 2
    variance = 9 / 8 * between / whole.sum() ** 2
    assert evidence_of(part, whole, groups).n == pytest.approx(min(p * (1 - p) / variance, whole.sum()))


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_where_all_rows_agree_each_group_counts_once(value):
    groups = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    shown = evidence(np.full(9, value), groups)
    assert shown.n == pytest.approx(3)
    low, high = shown.interval()
    assert low <= value <= high
    assert high - low > 0.5
    # Groups of different sizes are worth less than so many equal ones.
    assert evidence(np.ones(9), np.array([0] * 7 + [1, 2])).n == pytest.approx(81 / 51)


def test_groups_with_the_same_share_count_once_each():
    assert evidence([1, 0, 1, 0, 1, 0], np.array([0, 0, 1, 1, 2, 2])).n == pytest.approx(3)


def test_rows_never_count_more_than_once():
    # The rows of each group differ more than rows of different groups do.
    part = np.tile([1, 0, 0, 1], 10)
    part[:3] = 1
    assert evidence(part, np.arange(40) // 4).n <= 40


def test_one_group_says_nothing():
    assert evidence([1, 0, 1], np.zeros(3)).interval() == (0.0, 1.0)
    assert error_of_mean(np.arange(3.0), np.zeros(3)) == 1.0


def test_few_groups_widen_the_interval():
    wide, narrow = Evidence(0.3, 20, 3).interval(), Evidence(0.3, 20).interval()
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    smaller = 20 * (1.959963984540054 / t.ppf(0.975, 3)) ** 2
    assert_allclose(wide, proportion_interval(0.3 * smaller, smaller))


@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
def test_the_interval_holds_the_share_as_often_as_it_says(alike):
    """Rows of a group share one draw with a probability, and have one of their own otherwise."""
    rng, held = np.random.default_rng(1), 0
    groups = np.repeat(np.arange(30), 8)
    for _ in range(400):
        shared, own = np.repeat(rng.random(30) < 0.3, 8), rng.random(240) < 0.3
        low, high = evidence(np.where(rng.random(240) < alike, shared, own), groups).interval()
        held += low <= 0.3 <= high
    assert held >= 0.92 * 400


def test_error_of_the_mean():
    values = np.random.default_rng(2).normal(size=60)
    assert error_of_mean(values, None) == pytest.approx(values.std(ddof=1) / math.sqrt(60))
    groups = np.arange(60) // 5
    sums = np.array([values[groups == g].mean() for g in range(12)])
    assert error_of_mean(values, groups) == pytest.approx(sums.std(ddof=1) / math.sqrt(12))

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaln
from scipy.stats import betabinom, binomtest

from bayes_svm.metrics.intervals import proportion_interval
from bayes_svm.report.evidence import error_of_mean, independent_share, share_interval


def interval(part, groups, *options):
    return share_interval(np.asarray(part, dtype=float), np.ones(len(part)), groups, *options)


def test_independent_rows_have_the_usual_intervals():
    some = np.arange(50) < 7
    assert_allclose(interval(some, None), proportion_interval(7, 50))
    exact = binomtest(7, 50).proportion_ci(0.9, method="exact")
    assert_allclose(interval(some, None, 0.1, "clopper-pearson"), exact)


@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_the_interval_is_that_of_the_definition(alpha):
    own, size = np.array([0, 3, 1, 7, 0, 2]), np.array([5, 6, 4, 8, 3, 5])
    groups = np.repeat(np.arange(6), size)
    part = np.concatenate([np.arange(n) < k for k, n in zip(own, size, strict=True)])
    # Midpoints of a much finer grid, and the distribution of SciPy.
    angle, found, most = (np.arange(4000) + 0.5) / 4000 * math.pi / 2, [], []
    for correlation in ((np.arange(40) + 0.5) / 40) ** 2:
        s = 1 / correlation - 1
        p = np.sin(angle) ** 2
        logs = sum(betabinom.logpmf(k, n, p * s, (1 - p) * s) for k, n in zip(own, size, strict=True))
        total = np.cumsum(np.exp(logs))
        found.append(np.sin(np.interp([alpha / 2, 1 - alpha / 2], total / total[-1], angle)) ** 2)
        most.append(logs.max())
    possible = np.array(found)[np.array(most) > max(most) - 1.92]
    share = own.sum() / size.sum()
    squares = sum((k - share * n) ** 2 for k, n in zip(own, size, strict=True))
    rows = share * (1 - share) * size.sum() ** 2 / squares
    low, high = proportion_interval(share * rows, rows, alpha)
    ends = min(low, possible[:, 0].min()), max(high, possible[:, 1].max())
    assert_allclose(interval(part, groups, alpha), ends, atol=1e-3)


def test_copies_show_what_one_row_of_each_group_shows():
    once = np.arange(40) < 12
    many = interval(np.repeat(once, 6), np.repeat(np.arange(40), 6))
    assert_allclose(many, proportion_interval(12, 40), atol=0.03)


def test_rows_that_belong_together_by_name_only_lose_little():
    rng = np.random.default_rng(0)
    part, groups = rng.random(600) < 0.3, np.arange(600) // 10
    low, high = interval(part, groups)
    alone = interval(part, None)
    assert low < alone[0] < alone[1] < high
    assert high - low < 1.4 * (alone[1] - alone[0])


def test_where_all_rows_agree_a_group_to_come_may_not():
    groups = np.repeat(np.arange(10), 100)
    low, high = interval(np.zeros(1000), groups)
    assert low == 0.0
    assert 0.15 < high < 0.25
    assert interval(np.ones(1000), groups) == pytest.approx((1.0 - high, 1.0))


def test_errors_say_more_if_they_are_spread_over_the_groups():
    groups, widths = np.repeat(np.arange(10), 100), []
    for together in (1, 2, 5, 10):
        part = ((np.arange(1000) % 100 < together) & (groups < 10 // together)).astype(float)
        assert part.sum() == 10
        low, high = interval(part, groups)
        widths.append(high - low)
    assert widths == sorted(widths)
    assert widths[-1] > 10 * widths[0]


def test_one_group_says_little():
    low, high = interval([1, 0, 1], np.zeros(3))
    assert high - low > 0.8
    assert interval(np.zeros(50), np.zeros(50))[1] > 0.6
    assert error_of_mean(np.arange(3.0), np.zeros(3)) == 1.0


def test_weights_count_rows_and_rows_that_count_for_nothing_do_not():
    part, whole, groups = np.array([1.0, 0, 0, 2, 0]), np.array([1.0, 1, 2, 2, 0]), np.array([0, 0, 1, 1, 2])
    copies = share_interval(np.array([1.0, 0, 0, 0, 1, 1]), np.ones(6), np.array([0, 0, 1, 1, 1, 1]))
    assert_allclose(share_interval(part, whole, groups), copies)


def test_many_different_counts_are_rounded_a_little():
    rng = np.random.default_rng(3)
    groups, weight = rng.integers(0, 400, 20_000), rng.gamma(2.0, size=20_000)
    part = weight * (rng.random(20_000) < 0.2)
    low, high = share_interval(part, weight, groups)
    share = part.sum() / weight.sum()
    assert low < share < high
    # The weights make the rows count as fewer: their mean square is 1.5 times the square of their mean.
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(1.5 * 0.16 / 20_000), rel=0.5)


@pytest.mark.parametrize("alike", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("share", [0.04, 0.3])
def test_the_interval_holds_the_share_as_often_as_it_says(alike, share):
    """Rows of a group are of a group's own share, drawn from a beta distribution of this correlation."""
    rng, held, n = np.random.default_rng(1), 0, 200
    groups = np.repeat(np.arange(30), 8)
    for _ in range(n):
        if alike in (0.0, 1.0):
            own = (rng.random(30) < share) if alike else np.full(30, share)
        else:
            own = rng.beta(share * (1 - alike) / alike, (1 - share) * (1 - alike) / alike, size=30)
        low, high = interval(rng.random(240) < np.repeat(own, 8), groups)
        held += low <= share <= high
    assert held >= 0.91 * n


def test_error_of_the_mean():
    values = np.random.default_rng(2).normal(size=60)
    assert error_of_mean(values, None) == pytest.approx(values.std(ddof=1) / math.sqrt(60))
    groups = np.arange(60) // 5
    sums = np.array([values[groups == g].mean() for g in range(12)])
    assert error_of_mean(values, groups) == pytest.approx(sums.std(ddof=1) / math.sqrt(12))


@pytest.mark.parametrize("scale", [1.0, 0.37])
def test_large_groups_and_weights_are_rounded_without_harm(scale):
    """The oracle has no rounding; each weight counts as so many rows."""
    own, size = np.array([52, 57, 21, 2, 57, 16]), np.array([136, 192, 163, 67, 198, 123])
    angle, found, most = (np.arange(3000) + 0.5) / 3000 * math.pi / 2, [], []
    p, own_sums, sums = np.sin(angle)[:, None] ** 2, scale * own, scale * size
    for correlation in ((np.arange(40) + 0.5) / 40) ** 2:
        s = 1 / correlation - 1
        logs = (betaln(p * s + own_sums, (1 - p) * s + sums - own_sums) - betaln(p * s, (1 - p) * s)).sum(
            axis=1
        )
        total = np.cumsum(np.exp(logs - logs.max()))
        found.append(np.sin(np.interp([0.025, 0.975], total / total[-1], angle)) ** 2)
        most.append(logs.max())
    possible = np.array(found)[np.array(most) > max(most) - 1.92]
    groups = np.repeat(np.arange(6), size)
    part = np.concatenate([np.arange(n) < k for k, n in zip(own, size, strict=True)])
    ends = share_interval(scale * part, np.full(len(part), scale), groups)
    assert_allclose(ends, (possible[:, 0].min(), possible[:, 1].max()), atol=0.01)


def test_the_interval_of_large_groups_holds_the_share_as_often_as_it_says():
    rng, held = np.random.default_rng(5), 0
    for _ in range(100):
        size = rng.integers(60, 200, 6)
        own = rng.beta(0.2 * 9, 0.8 * 9, size=6)
        groups = np.repeat(np.arange(6), size)
        low, high = interval(rng.random(len(groups)) < own[groups], groups)
        held += low <= 0.2 <= high
    assert held >= 92


def share_by_pairs(labels, groups, weight):
    """Of the definition, pair by pair."""
    classes = np.unique(labels)
    shares = np.array([np.average(labels == one, weights=weight) for one in classes])
    off = [(classes == one) - shares for one in labels]
    alike = most = 0.0
    for i in range(len(labels)):
        for j in range(len(labels)):
            if i != j and groups[i] == groups[j]:
                alike += weight[i] * weight[j] * (off[i] @ off[j])
                most += weight[i] * weight[j] * (off[i] @ off[i])
    correlation, total = min(max(alike / most, 0.0), 1.0), 0.0
    for group in np.unique(groups):
        own = weight[groups == group]
        if own.any():
            total += own.sum() / (1.0 + (own.sum() ** 2 / (own**2).sum() - 1.0) * correlation)
    return total / weight.sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_rows_count_as_many_independent_ones_by_the_definition(n_classes, seed, weighted):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 8, 40)
    # Half of the labels are those of the group.
    labels = np.where(rng.random(40) < 0.5, groups % n_classes, rng.integers(0, n_classes, 40))
    weight = rng.integers(0, 4, 40).astype(float) if weighted else np.ones(40)
    expected = share_by_pairs(labels, groups, weight)
    assert 0.1 < expected < 1.0
    for factor in (1.0, 1e-3, 1e160) if weighted else (1.0,):
        assert independent_share(labels, groups, factor * weight) == pytest.approx(expected)
    names = np.array(["x", "y", "z"])[labels]
    assert independent_share(names, groups.astype(str), weight) == pytest.approx(expected)


def test_a_group_of_one_class_is_one_row_and_mixed_groups_count_whole():
    groups = np.repeat(np.arange(4), [2, 3, 4, 1])
    assert independent_share(np.array(list("aabbbaaaab")), groups) == pytest.approx(0.4)
    assert independent_share(np.array(list("ababababab")), np.repeat(np.arange(5), 2)) == 1.0


def test_groups_of_one_row_change_nothing_whatever_the_weights():
    labels, weight = (
        np.array(list("aabbbaaaab")),
        np.array([0.1, 7.0, 3.3, 0.0, 1.0, 1e6, 2.0, 0.3, 5.0, 9.0]),
    )
    assert independent_share(labels, np.arange(10)) == 1.0
    assert independent_share(labels, np.arange(10), weight) == 1.0


@pytest.mark.parametrize(("heavy", "n"), [(3.0, 1000), (9.0, 500)])
def test_intervals_of_weighted_shares_hold_the_share_where_errors_go_with_the_weight(heavy, n):
    # Heavy rows, half of all, are wrong three times as often.
    random, hits = np.random.default_rng(0), 0
    for _ in range(200):
        weight = np.where(random.random(n) < 0.5, heavy, 1.0)
        wrong = random.random(n) < np.where(weight > 1.0, 0.3, 0.1)
        low, high = share_interval(wrong * weight, weight, np.arange(n))
        hits += low <= (0.1 + 0.3 * heavy) / (1.0 + heavy) <= high
    assert hits >= 180


def test_groups_of_one_row_are_rows():
    part, whole = np.arange(30) % 3 == 0, np.ones(30)
    for interval in ("wilson", "clopper-pearson"):
        assert share_interval(part, whole, np.arange(30), 0.05, interval) == pytest.approx(
            share_interval(part, whole, None, 0.05, interval)
        )


@pytest.mark.parametrize("wrong_of_small", [0.1, 0.3])
def test_intervals_hold_the_share_where_errors_go_with_the_size_of_a_group(wrong_of_small):
    random, hits = np.random.default_rng(0), 0
    for _ in range(60):
        size = np.where(random.random(200) < 0.5, 1, 9)
        mean = np.where(size == 1, wrong_of_small, 0.4 - wrong_of_small)
        groups = np.repeat(np.arange(200), size)
        wrong = random.random(len(groups)) < random.beta(4 * mean, 4 * (1 - mean))[groups]
        low, high = share_interval(wrong.astype(float), np.ones(len(groups)), groups)
        hits += low <= (wrong_of_small + 9 * (0.4 - wrong_of_small)) / 10 <= high
    assert hits >= 54

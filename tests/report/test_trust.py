import numpy as np
import pytest
from scipy.stats import binomtest

from bayes_svm.report.measures import reliability
from bayes_svm.report.trust import trust_in


def diagram(*groups):
    """A reliability diagram of (probability, rows, hits)."""
    probability = np.concatenate([np.full(n, p) for p, n, _ in groups])
    outcome = np.concatenate([np.arange(n) < hits for _, n, hits in groups])
    return reliability(probability, outcome)


def test_what_agrees_is_good_where_enough_would_be_seen():
    found = trust_in(diagram((0.15, 200, 30), (0.85, 100, 88)))
    assert found.verdict == "good"
    assert (found.n_bins, found.n) == (2, 100)
    # The interval holds for both groups together.
    low, high = binomtest(88, 100).proportion_ci(1 - 0.05 / 2, method="exact")
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.observed == pytest.approx(0.88)
    ends = binomtest(30, 200).proportion_ci(1 - 0.05 / 2, method="exact")
    assert found.visible == pytest.approx(max(0.15 - ends[0], ends[1] - 0.15))


def test_few_rows_that_agree_are_no_evidence():
    assert trust_in(diagram((0.25, 4, 1), (0.75, 4, 3))).verdict == "unclear"


def test_a_gap_that_is_shown_is_told_by_its_proven_part():
    high = trust_in(diagram((0.15, 1000, 205), (0.85, 1000, 850)))
    assert high.verdict == "slightly off"
    assert high.predicted == pytest.approx(0.15)
    assert 0.15 < high.low < 0.20
    far = trust_in(diagram((0.15, 1000, 150), (0.85, 1000, 500)))
    assert far.verdict == "off"
    assert far.predicted == pytest.approx(0.85)
    assert far.high < 0.80


def test_many_groups_do_not_find_a_gap_by_chance():
    random = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        probability = random.random(300)
        wrong += trust_in(reliability(probability, random.random(300) < probability)).verdict not in (
            "good",
            "unclear",
        )
    # At most 5 % of all draws, within chance.
    assert wrong <= 16

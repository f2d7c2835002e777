import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayes_svm.metrics.intervals import proportion_interval
from bayes_svm.report.measures import (
    MAX_POINTS,
    answered_rows,
    reliability,
    risk_coverage_points,
    scores,
    threshold_points,
)


def test_reliability_by_hand():
    probability = np.array([0.05, 0.09, 0.1, 0.3, 0.95, 1.0])
    outcome = np.array([False, False, True, True, True, True])
    result = reliability(probability, outcome)
    assert [(one.lower, one.upper, one.n, one.hits) for one in result.bins] == [
        (0.0, 0.1, 2, 0),
        (0.1, 0.2, 1, 1),
        (0.3, 0.4, 1, 1),
        (0.9, 1.0, 2, 2),
    ]
    assert_allclose([one.predicted for one in result.bins], [0.07, 0.1, 0.3, 0.975])
    assert_allclose([one.observed for one in result.bins], [0, 1, 1, 1])
    # The Clopper-Pearson interval has a closed form for 0 and for n of n.
    assert_allclose([one.low for one in result.bins], [0, 0.025, 0.025, 0.025**0.5])
    assert_allclose([one.high for one in result.bins], [1 - 0.025**0.5, 1, 1, 1])
    assert result.n_agreeing == 4


def test_reliability_counts_the_bins_that_disagree():
    probability = np.repeat([0.85, 0.15], 50)
    assert reliability(probability, np.arange(100) < 5).n_agreeing == 0


def test_reliability_interval_is_the_exact_one():
    from scipy.stats import binomtest

    (one,) = reliability(np.full(20, 0.5), np.arange(20) < 7).bins
    assert_allclose((one.low, one.high), binomtest(7, 20).proportion_ci(method="exact"))


def test_risk_coverage_keeps_ties_together():
    confidence = np.array([0.9, 0.9, 0.8, 0.6, 0.6])
    wrong = np.array([False, True, False, True, False])
    result = risk_coverage_points(confidence, wrong)
    assert result.confidence == (0.9, 0.8, 0.6)
    assert_allclose(result.coverage, [0.4, 0.6, 1.0])
    assert_allclose(result.risk, [1 / 2, 1 / 3, 2 / 5])
    assert_allclose(result.area, (2 / 2 + 1 / 3 + 2 * 2 / 5) / 5)


def test_risk_coverage_does_not_depend_on_the_order_of_the_rows():
    random = np.random.default_rng(0)
    confidence = random.integers(5, 10, 200) / 10
    wrong = random.random(200) < 0.2
    order = random.permutation(200)
    assert risk_coverage_points(confidence, wrong) == risk_coverage_points(confidence[order], wrong[order])


def test_risk_coverage_without_distinctions_is_one_point():
    result = risk_coverage_points(np.full(4, 0.7), np.array([True, False, False, False]))
    assert (result.coverage, result.risk, result.area) == ((1.0,), (0.25,), 0.25)


def test_answered_rows_by_hand():
    confidence = np.array([0.9, 0.6, 0.8, 0.8, 0.7])
    wrong = np.array([False, True, True, False, False])
    every, most, half = answered_rows(confidence, wrong, (1.0, 0.75, 0.3))
    assert (every.confidence, every.n, every.wrong, every.risk, every.share) == (0.6, 5, 2, 0.4, 1.0)
    assert (most.confidence, most.n, most.wrong) == (0.7, 4, 1)
    # Two of five rows are wanted, and the second one has an equal.
    assert (half.confidence, half.n, half.wrong) == (0.8, 3, 1)
    assert_allclose((every.low, every.high), proportion_interval(2, 5))


def test_shares_that_keep_the_same_rows_are_one():
    assert len(answered_rows(np.full(4, 0.7), np.arange(4) < 1, (1.0, 0.9, 0.5))) == 1


def test_long_curves_are_thinned_and_keep_their_ends():
    confidence = np.linspace(0.5, 1.0, 3000)
    wrong = np.random.default_rng(0).random(3000) < 0.3
    result = risk_coverage_points(confidence, wrong)
    assert len(result.coverage) <= MAX_POINTS
    assert result.coverage[0] == 1 / 3000
    assert result.coverage[-1] == 1.0
    assert_allclose(result.risk[-1], wrong.mean())
    ordered = wrong[::-1]
    assert_allclose(result.area, np.mean(np.cumsum(ordered) / np.arange(1, 3001)))


def test_thresholds_count_what_is_at_least_as_probable():
    truth = np.array([False, True, False, True])
    result = threshold_points("a", truth, np.array([0.1, 0.4, 0.6, 0.9]))
    assert (result.label, result.n, result.n_others) == ("a", 2, 2)
    assert len(result.found) == len(result.false_alarms) == 101
    for k in (0, 10, 11, 40, 41, 60, 61, 90, 91, 100):
        called = np.array([10, 40, 60, 90]) >= k
        assert result.found[k] == np.sum(called & truth)
        assert result.false_alarms[k] == np.sum(called & ~truth)
    assert_allclose([result.precision[40], result.recall[40]], [2 / 3, 1.0])
    assert np.isnan(result.precision[95])
    assert result.recall[95] == 0.0


@pytest.mark.parametrize("k", range(101))
def test_a_probability_of_the_threshold_itself_reaches_it(k):
    result = threshold_points("a", np.array([True, False]), np.array([k / 100, 0.0]))
    assert result.found[k] == 1


@pytest.mark.parametrize("classes", [["a", "b"], ["a", "b", "c"]])
def test_scores_against_the_definition(classes):
    random = np.random.default_rng(1)
    classes = np.array(classes)
    labels = np.concatenate([classes, random.choice(classes, 50)])
    probability = random.dirichlet(np.ones(len(classes)), len(labels))
    truth = (labels[:, None] == classes).astype(float)
    result = scores(labels, classes, probability)
    assert_allclose(result.log_loss, -np.mean(np.log(probability[truth == 1])))
    base = truth.mean(axis=0)
    assert_allclose(result.base_log_loss, -np.sum(base * np.log(base)))
    square = ((probability - truth) ** 2).sum(axis=1).mean()
    assert_allclose(result.brier, square / 2 if len(classes) == 2 else square)


def test_brier_is_the_one_of_scikit_learn():
    from sklearn.metrics import brier_score_loss

    random = np.random.default_rng(2)
    labels, p = np.arange(30) % 2, random.random(30)
    result = scores(labels, np.array([0, 1]), np.column_stack([1 - p, p]))
    assert_allclose(result.brier, brier_score_loss(labels, p))


def test_weights_count_as_copies_do():
    random = np.random.default_rng(0)
    y, weight = random.integers(0, 2, 80), random.integers(1, 4, 80)
    one = np.clip(0.5 + 0.3 * (y - 0.5) + 0.2 * random.normal(size=80), 0.01, 0.99)
    probability, copies = np.column_stack([1 - one, one]), np.repeat(np.arange(80), weight)
    weighted = scores(y, np.array([0, 1]), probability, None, weight.astype(float))
    repeated = scores(y[copies], np.array([0, 1]), probability[copies])
    for name in ("log_loss", "brier", "base_log_loss", "base_brier"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name))
    # Copies are no further evidence, though.
    assert weighted.gain_error > repeated.gain_error
    grouped = scores(y[copies], np.array([0, 1]), probability[copies], copies)
    assert_allclose(weighted.gain_error, grouped.gain_error)
    some = reliability(one, y == 1, None, weight.astype(float)).bins
    every = reliability(one[copies], y[copies] == 1).bins
    for a, b in zip(some, every, strict=True):
        assert_allclose((a.predicted, a.observed, a.low, a.high), (b.predicted, b.observed, b.low, b.high))


def test_rows_that_rounding_alone_tells_apart_are_kept_together():
    sure = np.repeat([0.6, 0.9], 50) + 1e-14 * np.random.default_rng(0).normal(size=100)
    found = answered_rows(sure, np.arange(100) % 5 == 0, [1.0, 0.9, 0.6, 0.5, 0.1])
    assert [one.n for one in found] == [100, 50]


def test_counts_are_as_many_rows():
    random = np.random.default_rng(0)
    labels, counts = np.arange(30) % 2, random.integers(1, 6, size=30)
    proba = random.dirichlet([2.0, 2.0], size=30)
    found = scores(labels, np.arange(2), proba, weight=counts.astype(float), counted=True)
    expected = scores(labels.repeat(counts), np.arange(2), proba.repeat(counts, axis=0))
    for name in ("log_loss", "brier", "base_log_loss", "gain_error"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name))

"""The risk-coverage curve, and the threshold whose risk is guaranteed."""

import numpy as np
import pytest
from scipy.stats import binom

from bayes_svm.metrics.risk_coverage import guaranteed_threshold, risk_coverage_curve, risk_upper_bound


def slow_curve(y, predicted, confidence, weight):
    points = []
    for threshold in sorted(set(confidence[weight > 0]), reverse=True):
        accepted = confidence >= threshold
        mass = weight[accepted].sum()
        points.append((threshold, mass / weight.sum(), weight[accepted & (y != predicted)].sum() / mass))
    return np.array(points).T


@pytest.mark.parametrize("digits", [1, 8])
def test_curve_is_that_of_a_loop(digits):
    random = np.random.default_rng(digits)
    y, predicted = random.integers(0, 3, (2, 60))
    confidence, weight = random.random(60).round(digits), random.integers(0, 3, 60).astype(float)
    curve = risk_coverage_curve(y, predicted, confidence, sample_weight=weight)
    thresholds, coverage, risk = slow_curve(y, predicted, confidence, weight)
    np.testing.assert_array_equal(curve.thresholds, thresholds)
    np.testing.assert_allclose(curve.coverage, coverage)
    np.testing.assert_allclose(curve.risk, risk)
    assert curve.at(thresholds[3]) == (curve.coverage[3], curve.risk[3])


def test_area_without_ties_is_the_mean_risk_over_counts():
    y, predicted, confidence = np.array([0, 0, 0, 0]), np.array([0, 1, 0, 1]), np.array([0.9, 0.8, 0.7, 0.6])
    assert risk_coverage_curve(y, predicted, confidence).area == pytest.approx(
        (0 + 1 / 2 + 1 / 3 + 2 / 4) / 4
    )


def test_upper_bound_inverts_the_binomial_tail():
    for errors, n, delta in [(0, 10, 0.05), (3, 50, 0.01), (49, 50, 0.1)]:
        assert binom.cdf(errors, n, risk_upper_bound(errors, n, delta)) == pytest.approx(delta)
    assert risk_upper_bound(5, 5, 0.05) == 1.0


@pytest.mark.parametrize("informative", [True, False])
@pytest.mark.parametrize("n", [100, 300])
def test_promised_risk_is_exceeded_in_at_most_delta_of_2000_runs(informative, n):
    """The confidence s is uniform on (1/2, 1), and a point is wrong with probability 1 - s.

    If the confidence is not informative, every point is wrong with a probability just above the target.
    """
    random, target, delta, runs = np.random.default_rng(0), 0.1, 0.1, 2000
    exceeded = found = 0
    for _ in range(runs):
        confidence = random.uniform(0.5, 1.0, n)
        wrong = random.random(n) < ((1 - confidence) if informative else target + 1e-9)
        threshold = guaranteed_threshold(wrong, confidence, target, delta)
        if threshold is not None:
            found += 1
            risk = (1 - threshold) / 2 if informative else target + 1e-9
            exceeded += risk > target
    assert exceeded <= delta * runs
    assert found > 20


def test_guaranteed_threshold_accepts_all_where_there_are_no_errors():
    assert guaranteed_threshold(np.zeros(500, bool), np.linspace(0.5, 1, 500), 0.05, 0.05) == 0.5
    assert guaranteed_threshold(np.ones(500, bool), np.linspace(0.5, 1, 500), 0.05, 0.05) is None
    assert guaranteed_threshold(np.zeros(9, bool), np.linspace(0.5, 1, 9), 0.05, 0.05) is None


def test_ties_are_one_threshold():
    wrong = np.r_[np.zeros(200, bool), np.ones(100, bool)]
    confidence = np.r_[np.full(200, 0.9), np.full(100, 0.6)]
    assert guaranteed_threshold(wrong, confidence, 0.1, 0.05) == 0.9

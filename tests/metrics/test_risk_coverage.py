"""The risk-coverage curve."""

import numpy as np
import pytest

from bayes_svm.metrics.risk_coverage import risk_coverage_curve


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


def test_no_points_have_no_curve():
    with pytest.raises(ValueError, match="y_true holds 0 samples"):
        risk_coverage_curve([], [], [])


def test_strings_and_numbers_are_not_compared():
    for y, predicted in ((["0", "1"], [0, 1]), ([0, 1], ["0", "1"])):
        with pytest.raises(ValueError, match="Mix of label input types"):
            risk_coverage_curve(y, predicted, [0.5, 0.6])
    mixed = np.array(["a", 1], object)
    with pytest.raises(ValueError, match="mix labels that cannot be compared"):
        risk_coverage_curve(mixed, mixed, [0.5, 0.6])
    assert risk_coverage_curve(np.array(["a", "b"], object), np.array(["a", "a"]), [0.5, 0.6]).area == 0.75


def test_small_confidences_are_as_different_as_large_ones():
    y, predicted, confidence = [0, 1, 1], [0, 0, 1], np.array([1.0, 3.0, 2.0])
    expected = risk_coverage_curve(y, predicted, confidence)
    found = risk_coverage_curve(y, predicted, confidence * 1e-15)
    np.testing.assert_array_equal(found.risk, expected.risk)
    assert set(found.thresholds) == set(confidence * 1e-15)
    zero = risk_coverage_curve(y, predicted, np.zeros(3))
    assert zero.coverage.tolist() == [1.0]

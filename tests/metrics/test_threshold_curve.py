"""The curve of all thresholds."""

import numpy as np
import pytest
from sklearn import metrics

from _data import problem
from bayes_svm import choose_threshold
from bayes_svm.metrics.threshold_curve import ThresholdCurve


def test_curve_is_scikit_learns():
    y, values, weight = problem(1, 50, 3, True)
    curve = choose_threshold(y, values, sample_weight=weight).curve
    y, values, weight = y[weight > 0], values[weight > 0], weight[weight > 0]
    precision, recall, thresholds = metrics.precision_recall_curve(y, values, sample_weight=weight)
    np.testing.assert_allclose(curve.precision, precision, atol=1e-12)
    np.testing.assert_allclose(curve.recall, recall, atol=1e-12)
    np.testing.assert_array_equal(curve.thresholds, thresholds)
    fpr, tpr, _ = metrics.roc_curve(y, values, sample_weight=weight, drop_intermediate=False)
    np.testing.assert_allclose(curve.fp[::-1] / curve.fp[0], fpr, atol=1e-12)
    np.testing.assert_allclose(curve.recall[::-1], tpr, atol=1e-12)


def test_a_threshold_between_the_largest_numbers_is_finite():
    found = choose_threshold([0, 0, 1, 1], [-1.7e308, -1.7e308, 1.7e308, 1.7e308], n_bootstrap=0)
    assert found.threshold == 0.0
    assert found.error == 0.0


def test_a_beta_that_underflows_does_not_make_the_empty_decision_the_best():
    weight = np.full(4, 1e-200)
    found = choose_threshold([0, 1, 0, 1], [0.0, 1, 2, 3], beta=1e-90, sample_weight=weight, n_bootstrap=0)
    assert found.threshold == 2.5


def test_thresholds_are_clear_of_values_that_rounding_alone_tells_apart():
    values = np.array([0.1, 0.1 + 1e-15, 0.1 - 1e-15, 0.7, 0.7 + 1e-15])
    curve = ThresholdCurve.from_decision_values(np.array([0, 1, 0, 1, 1]) > 0, values, np.ones(5))
    assert curve.thresholds.tolist() == [0.1 - 1e-15, 0.7]
    assert (curve.tp.tolist(), curve.fp.tolist()) == ([3.0, 2.0, 0.0], [2.0, 0.0, 0.0])
    assert curve.threshold_at(1) == pytest.approx(0.4)
    assert curve.threshold_at(2) > values.max()

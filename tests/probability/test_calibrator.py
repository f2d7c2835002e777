"""Calibrators of scikit-learn as links."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from _values import POSITIVE, VALUES, WEIGHT
from bayes_svm.probability.link import LinkData
from bayes_svm.probability.links import fit_links

random = np.random.default_rng(0)


def test_a_calibrator_cannot_tell_values_apart_that_rounding_did():
    """Half of the values are -1 but for rounding, of both classes: one probability, in any batch."""
    y = (np.arange(200) % 4 == 0).astype(int)
    values = np.where(np.arange(200) < 100, -1.0 + 1e-15 * random.normal(size=200), random.normal(size=200))
    [link] = fit_links(IsotonicRegression(out_of_bounds="clip"), LinkData(values, y, np.ones(200)), 0.25)
    near = link.log_odds(-1.0 + 1e-14 * random.normal(size=50))
    assert np.ptp(near) == 0.0
    assert np.ptp(link.log_odds(values[:100])) == 0.0
    assert np.all(np.isfinite(link.log_odds(np.array([-1e300, 1e300]))))


def test_a_calibrator_without_weights_is_given_whole_weights_as_rows():
    y, weight = POSITIVE.astype(int), np.tile([2.0, 4.0], 40)
    [link] = fit_links(KNeighborsClassifier(), LinkData(VALUES, y, weight), 0.25)
    rows = np.repeat(np.arange(80), np.tile([1, 2], 40))
    [repeated] = fit_links(KNeighborsClassifier(), LinkData(VALUES[rows], y[rows], np.ones(120)), 0.25)
    np.testing.assert_array_equal(link.log_odds(VALUES), repeated.log_odds(VALUES))


def test_a_calibrator_of_scikit_learn_is_a_link():
    isotonic = IsotonicRegression(out_of_bounds="clip")
    y = POSITIVE.astype(int)
    [link] = fit_links(isotonic, LinkData(VALUES, y, WEIGHT), 0.25)
    expected = clone(isotonic).fit(VALUES, y, sample_weight=WEIGHT).predict(VALUES)
    np.testing.assert_allclose(expit(link.log_odds(VALUES)), expected, atol=1e-12)
    assert not hasattr(isotonic, "X_thresholds_")
    [link] = fit_links(LinearRegression(), LinkData(VALUES, y, WEIGHT), 0.25)
    line = LinearRegression().fit(VALUES[:, None], y, sample_weight=WEIGHT).predict(VALUES[:, None])
    np.testing.assert_allclose(expit(link.log_odds(VALUES)), np.clip(line, 0, 1), atol=1e-12)
    [link] = fit_links(LogisticRegression(), LinkData(VALUES, y, WEIGHT), 0.25)
    expected = LogisticRegression().fit(VALUES[:, None], y, sample_weight=WEIGHT)
    np.testing.assert_allclose(
        expit(link.log_odds(VALUES)), expected.predict_proba(VALUES[:, None])[:, 1], rtol=1e-7
    )


def test_a_calibrator_that_cannot_is_refused():
    y = POSITIVE.astype(int)
    with pytest.raises(ValueError, match="takes no sample weights"):
        fit_links(KNeighborsClassifier(), LinkData(VALUES, y, WEIGHT + 0.3), 0.25)
    with pytest.raises(ValueError, match="classifier without predict_proba"):
        fit_links(LinearSVC(), LinkData(VALUES, y, np.ones(80)), 0.25)
    with pytest.raises(TypeError, match="link is the class IsotonicRegression: give an instance"):
        fit_links(IsotonicRegression, LinkData(VALUES, y, np.ones(80)), 0.25)
    [link] = fit_links(KNeighborsClassifier(), LinkData(VALUES, y, np.ones(80)), 0.25)
    assert np.all(np.isfinite(link.log_odds(VALUES)))
    # It would fail at the first row beyond those that it was fitted to.
    for beyond in ("nan", "raise"):
        with pytest.raises(ValueError, match=r'nothing beyond the .* Give it out_of_bounds="clip"'):
            fit_links(IsotonicRegression(out_of_bounds=beyond), LinkData(VALUES, y, np.ones(80)), 0.25)

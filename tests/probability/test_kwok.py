"""Kwok's links, beside quadrature with forty digits."""

import mpmath
import numpy as np
import pytest
from scipy.special import expit

from bayes_svm.probability.kwok import KwokLink
from bayes_svm.probability.link import LinkData
from bayes_svm.probability.links import fit_links
from bayes_svm.probability.probabilities import Calibration
from bayes_svm.probability.several import log_probabilities


def log_mean_likelihood(a, s, sign):
    """Log of the integral of ``exp(-[1 - sign t]_+)`` against the normal density, up to a constant."""

    def exponent(t):
        return -max(mpmath.mpf(0), 1 - sign * t) - ((t - a) / s) ** 2 / 2

    # The peak is at a, or where the hinge tilts it to, or at the kink.
    centres = (a, a + sign * s**2)
    cuts = sorted({c + k * s for c in centres for k in range(-40, 41, 4)} | {mpmath.mpf(sign)})
    peak = max(exponent(t) for t in cuts)  # taken out, since quadrature stops at an absolute error
    return peak + mpmath.log(mpmath.quad(lambda t: mpmath.exp(exponent(t) - peak), cuts))


def moderated_log_odds(a, s):
    """Log-odds of Kwok's equations 10 and 11, by quadrature with forty digits."""
    with mpmath.workdps(40):
        a, s = mpmath.mpf(a), mpmath.mpf(s)
        return float(log_mean_likelihood(a, s, 1) - log_mean_likelihood(a, s, -1))


A = [-1000.0, -3.0, -0.2, -1e-8, 0.0, 1e-12, 0.7, 5.0, 1000.0]


S = [1e-8, 1e-3, 1.0, 30.0, 1e4]


@pytest.mark.parametrize("s", S)
@pytest.mark.parametrize("a", A)
def test_kwoks_output_is_the_integral(a, s):
    log_odds = KwokLink().log_odds(np.array([a]), np.array([s**2]))[0]
    assert log_odds == pytest.approx(moderated_log_odds(a, s), rel=1e-10, abs=0)


@pytest.mark.parametrize("s", [0.0, *S])
def test_kwoks_output_increases_with_the_decision_value(s):
    a = np.concatenate([np.linspace(-1000, 1000, 2001), np.linspace(-3, 3, 601)])
    a.sort()
    log_odds = KwokLink().log_odds(a, np.full(len(a), s**2))
    assert np.all(np.isfinite(log_odds))
    assert np.all(np.diff(log_odds)[np.diff(a) > 0] > 0)


@pytest.mark.parametrize("s", [0.0, *S])
def test_kwoks_output_is_a_half_at_zero_and_odd(s):
    a = np.array([0.0, 0.3, -0.3, 2.0, -2.0])
    log_odds = KwokLink().log_odds(a, np.full(5, s**2))
    assert log_odds[0] == 0
    np.testing.assert_array_equal(log_odds[1::2], -log_odds[2::2])


def test_without_variance_it_is_the_unmoderated_output():
    a = np.array([-3.0, -1.0, -0.2, 0.5, 1.0, 4.0])
    hinge = np.maximum(0, 1 + a) - np.maximum(0, 1 - a)
    np.testing.assert_allclose(KwokLink().log_odds(a), hinge, atol=1e-15)
    np.testing.assert_allclose(KwokLink().log_odds(a, np.full(6, 1e-18)), hinge, atol=1e-8)


def test_more_variance_is_less_certainty():
    s = np.array([0.0, 0.1, 1.0, 3.0, 10.0, 100.0])
    log_odds = KwokLink().log_odds(np.full(6, 2.0), s**2)
    assert np.all(np.diff(log_odds) < 0)
    assert 0 < log_odds[-1] < 0.1


def test_the_hinge_link_is_the_unmoderated_estimate():
    a = np.array([-700.0, -3.0, -1.0, -0.2, 0.0, 0.5, 1.0, 4.0])
    positive, negative = np.exp(-np.maximum(0, 1 - a)), np.exp(-np.maximum(0, 1 + a))
    [link] = fit_links("hinge", LinkData(a, (a > 0).astype(int), np.ones(8)), 0.25)
    np.testing.assert_allclose(expit(link.log_odds(a)), positive / (positive + negative), rtol=1e-12)


def test_the_clipped_link_is_certain_from_the_margin_on():
    a = np.array([-2.0, -1.0, -0.5, 0.0, 0.9, 1.0, 7.0])
    [link] = fit_links("clipped", LinkData(a, (a > 0).astype(int), np.ones(7)), 0.25)
    np.testing.assert_allclose(
        np.exp(log_probabilities(link.log_odds(a)))[:, 1], [0, 0, 0.25, 0.5, 0.95, 1, 1], atol=1e-15
    )


def test_where_all_machines_say_no_rounding_makes_no_class_certain():
    values = -1.0 + 1e-13 * np.random.default_rng(0).normal(size=(20, 4))
    data = LinkData(values, np.repeat(np.arange(4), 5), np.ones(20))
    logs = Calibration("clipped", 0.25, "normalise", np.ones(4)).fit(data).logs(values, None)
    np.testing.assert_allclose(np.exp(logs), 0.25)

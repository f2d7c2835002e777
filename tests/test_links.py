import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.calibration import _SigmoidCalibration
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from bayes_svm.calibration import SigmoidLink, fit_sigmoid
from bayes_svm.links import KwokLink, ModeratedLink, Uncertainty, class_log_odds, fit_links, log_probabilities

random = np.random.default_rng(0)
POSITIVE = random.random(80) < 0.4
VALUES = np.where(POSITIVE, 1.0, -1.0) + 1.5 * random.normal(size=80)
WEIGHT = random.choice([0.0, 0.5, 1.0, 3.0], size=80)


def uncertain(variance):
    return Uncertainty(variance, np.full_like(variance, np.inf))


def targets(positive, weight, h):
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    return np.where(positive, (n_positive + h) / (n_positive + 2 * h), h / (n_negative + 2 * h))


def cross_entropy(slope, offset, values, target, weight):
    score = slope * values + offset
    return weight @ (np.logaddexp(0, score) - target * score)


@pytest.mark.parametrize("smoothing", [0.1, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_sigmoid_minimises_cross_entropy_on_the_smoothed_targets(size, smoothing):
    link = fit_sigmoid(size * VALUES, POSITIVE, WEIGHT, smoothing)
    target = targets(POSITIVE, WEIGHT, smoothing)
    best = minimize(lambda p: cross_entropy(*p, VALUES, target, WEIGHT), [0.0, 0.0], method="BFGS", tol=1e-9)
    np.testing.assert_allclose([link.slope * size, link.offset], best.x, atol=1e-5)
    assert cross_entropy(link.slope * size, link.offset, VALUES, target, WEIGHT) <= best.fun * (1 + 1e-12)


def test_smoothing_of_one_is_platts_as_in_scikit_learn():
    theirs = _SigmoidCalibration().fit(VALUES, POSITIVE.astype(int))
    ours = fit_sigmoid(VALUES, POSITIVE, np.ones(80), 1.0)
    np.testing.assert_allclose(
        [ours.slope, ours.offset], [-theirs.a_, -theirs.b_], atol=1e-3
    )  # their tolerance


@pytest.mark.parametrize("smoothing", [1e-3, 0.25, 1.0])
def test_values_that_separate_give_a_finite_slope(smoothing):
    values = np.where(POSITIVE, 1.0, -1.0)
    link = fit_sigmoid(values, POSITIVE, np.ones(80), smoothing)
    # Two values, two parameters: the targets are met
    np.testing.assert_allclose(
        expit(link.log_odds(values)), targets(POSITIVE, np.ones(80), smoothing), rtol=1e-8
    )


def test_one_far_value_does_not_break_the_fit():
    values = VALUES.copy()
    values[POSITIVE.argmax()] = 1e8
    link = fit_sigmoid(values, POSITIVE, np.ones(80), 0.5)
    assert link.slope > 0
    assert np.isfinite(link.offset)


@pytest.mark.parametrize("values", [-VALUES, np.zeros(80), np.full(80, 3.3)])
def test_values_that_do_not_separate_give_the_prior_and_a_warning(values):
    with pytest.warns(UserWarning, match="do not separate the classes: the class prior is returned"):
        link = fit_sigmoid(values, POSITIVE, WEIGHT, 0.5)
    prior = np.average(POSITIVE, weights=WEIGHT)
    assert (link.slope, link.offset) == (0.0, pytest.approx(logit(prior)))


@pytest.mark.filterwarnings("ignore:The decision values do not separate")  # they are noise
@pytest.mark.parametrize("seed", range(20))
def test_the_slope_is_never_negative(seed):
    noise = np.random.default_rng(seed).normal(size=80)
    assert fit_sigmoid(noise, POSITIVE, WEIGHT, 0.5).slope >= 0


def test_weights_are_repeated_rows():
    weight = random.integers(0, 4, size=80)
    weighted = fit_sigmoid(VALUES, POSITIVE, weight.astype(float), 0.5)
    repeated = fit_sigmoid(np.repeat(VALUES, weight), np.repeat(POSITIVE, weight), np.ones(weight.sum()), 0.5)
    np.testing.assert_allclose(
        [weighted.slope, weighted.offset], [repeated.slope, repeated.offset], rtol=1e-8
    )


def test_several_columns_get_a_sigmoid_each():
    y = random.integers(0, 3, size=80)
    values = np.eye(3)[y] + random.normal(size=(80, 3))
    links = fit_links("sigmoid", values, y, WEIGHT, 0.5)
    assert links == [fit_sigmoid(values[:, k], y == k, WEIGHT, 0.5) for k in range(3)]
    np.testing.assert_array_equal(class_log_odds(links, values, None)[:, 1], links[1].log_odds(values[:, 1]))


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
    log_odds = KwokLink().log_odds(np.array([a]), uncertain(np.array([s**2])))[0]
    assert log_odds == pytest.approx(moderated_log_odds(a, s), rel=1e-10, abs=0)


@pytest.mark.parametrize("s", [0.0, *S])
def test_kwoks_output_increases_with_the_decision_value(s):
    a = np.concatenate([np.linspace(-1000, 1000, 2001), np.linspace(-3, 3, 601)])
    a.sort()
    log_odds = KwokLink().log_odds(a, uncertain(np.full(len(a), s**2)))
    assert np.all(np.isfinite(log_odds))
    assert np.all(np.diff(log_odds)[np.diff(a) > 0] > 0)


@pytest.mark.parametrize("s", [0.0, *S])
def test_kwoks_output_is_a_half_at_zero_and_odd(s):
    a = np.array([0.0, 0.3, -0.3, 2.0, -2.0])
    log_odds = KwokLink().log_odds(a, uncertain(np.full(5, s**2)))
    assert log_odds[0] == 0
    np.testing.assert_array_equal(log_odds[1::2], -log_odds[2::2])


def test_without_variance_it_is_the_unmoderated_output():
    a = np.array([-3.0, -1.0, -0.2, 0.5, 1.0, 4.0])
    hinge = np.maximum(0, 1 + a) - np.maximum(0, 1 - a)
    np.testing.assert_allclose(KwokLink().log_odds(a), hinge, atol=1e-15)
    np.testing.assert_allclose(KwokLink().log_odds(a, uncertain(np.full(6, 1e-18))), hinge, atol=1e-8)


def test_more_variance_is_less_certainty():
    s = np.array([0.0, 0.1, 1.0, 3.0, 10.0, 100.0])
    log_odds = KwokLink().log_odds(np.full(6, 2.0), uncertain(s**2))
    assert np.all(np.diff(log_odds) < 0)
    assert 0 < log_odds[-1] < 0.1


@pytest.mark.parametrize("shape", [(5,), (5, 3)])
def test_probabilities_of_all_classes_sum_to_one(shape):
    log_odds = 400 * random.normal(size=shape)
    logs = log_probabilities(log_odds)
    assert np.all(np.isfinite(logs))
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, rtol=1e-12)
    if log_odds.ndim == 1:
        np.testing.assert_allclose(np.exp(logs[:, 1]), expit(log_odds))


def test_several_classes_share_in_proportion():
    log_odds = random.normal(size=(4, 3))
    share = expit(log_odds) / expit(log_odds).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(log_probabilities(log_odds)), share)


def test_a_fit_that_does_not_end_says_so(monkeypatch):
    monkeypatch.setattr(
        "bayes_svm.calibration.expit", lambda score: np.full_like(score, 0.1) + 0.8 * POSITIVE
    )
    with pytest.warns(ConvergenceWarning, match="did not converge: raise smoothing"):
        fit_sigmoid(VALUES, POSITIVE, np.ones(80), 0.5)


def far_and_near(reference=1.0):
    """Uncertainties whose information is 0, 1/100, 1/4, 1, 4 and infinite, at a prior variance of 2."""
    information = np.array([0.0, 0.01, 0.25, 1.0, 4.0, np.inf])
    return Uncertainty(1.0 / (information * reference + 0.5), np.full(6, 2.0))


def test_information_is_the_precision_beyond_the_priors():
    np.testing.assert_allclose(far_and_near().information, [0.0, 0.01, 0.25, 1.0, 4.0, np.inf], atol=1e-15)


def test_a_moderated_link_shrinks_log_odds_in_proportion_to_the_information():
    link = ModeratedLink(SigmoidLink(2.0, 0.5), reference=1.0)
    expected = np.array([0.0, 0.01, 0.25, 1.0, 1.0, 1.0])
    for value, log_odds in ((1.0, 2.5), (-1.0, -1.5), (-0.25, 0.0), (1e12, 2e12)):
        found = link.log_odds(np.full(6, value), far_and_near())
        np.testing.assert_allclose(found, expected * log_odds, rtol=1e-9, atol=1.001e-9)
        assert np.all(np.sign(found) == np.sign(log_odds))


def test_the_reference_is_a_fifth_of_what_all_but_a_twentieth_of_the_weight_exceed():
    information = random.permutation(np.arange(1.0, 81.0))
    left_out = Uncertainty(1.0 / (information + 0.1), np.full(80, 10.0))
    y = POSITIVE.astype(int)
    [link] = fit_links("moderated", VALUES, y, np.ones(80), 0.25, left_out)
    assert link.reference == pytest.approx(0.2 * 4.0)  # 4 of 80 are up to 4
    assert link.sigmoid == fit_sigmoid(VALUES, POSITIVE, np.ones(80), 0.25)
    enough = information >= 1.0
    np.testing.assert_array_equal(
        link.log_odds(VALUES, left_out)[enough], link.sigmoid.log_odds(VALUES)[enough]
    )
    weight = random.integers(0, 4, size=80)
    rows = np.repeat(np.arange(80), weight)
    [weighted] = fit_links("moderated", VALUES, y, weight.astype(float), 0.25, left_out)
    repeated = Uncertainty(left_out.variance[rows], left_out.prior[rows])
    [expected] = fit_links("moderated", VALUES[rows], y[rows], np.ones(len(rows)), 0.25, repeated)
    assert weighted.reference == expected.reference


def test_without_an_uncertainty_a_moderated_link_is_the_sigmoid():
    [link] = fit_links("moderated", VALUES, POSITIVE.astype(int), np.ones(80), 0.25, None)
    assert link.reference == 0.0
    np.testing.assert_array_equal(link.log_odds(VALUES, None), link.sigmoid.log_odds(VALUES))
    np.testing.assert_array_equal(
        link.log_odds(np.ones(6), far_and_near()), link.sigmoid.log_odds(np.ones(6))
    )


@pytest.mark.parametrize("variance", [0.0, 2.0], ids=["all known", "none known"])
def test_a_reference_is_never_none(variance):
    left_out = Uncertainty(np.full(80, variance), np.full(80, 2.0))
    [link] = fit_links("moderated", VALUES, POSITIVE.astype(int), np.ones(80), 0.25, left_out)
    assert link.reference == pytest.approx(0.5e-12, rel=1e-9, abs=0)
    nothing = Uncertainty(np.full(3, 2.0), np.full(3, 2.0))
    found = link.log_odds(np.array([-9.0, 1.0, 9.0]), nothing)
    assert np.all(np.abs(found) < 1.1e-9)
    assert np.all(np.diff(found) > 0)  # the order of the classes stays what it is


def test_the_hinge_link_is_the_unmoderated_estimate():
    a = np.array([-700.0, -3.0, -1.0, -0.2, 0.0, 0.5, 1.0, 4.0])
    positive, negative = np.exp(-np.maximum(0, 1 - a)), np.exp(-np.maximum(0, 1 + a))
    [link] = fit_links("hinge", a, (a > 0).astype(int), np.ones(8), 0.25)
    np.testing.assert_allclose(expit(link.log_odds(a)), positive / (positive + negative), rtol=1e-12)


def test_the_clipped_link_is_certain_from_the_margin_on():
    a = np.array([-2.0, -1.0, -0.5, 0.0, 0.9, 1.0, 7.0])
    [link] = fit_links("clipped", a, (a > 0).astype(int), np.ones(7), 0.25)
    np.testing.assert_allclose(
        np.exp(log_probabilities(link.log_odds(a)))[:, 1], [0, 0, 0.25, 0.5, 0.95, 1, 1], atol=1e-15
    )


def test_several_classes_that_are_all_ruled_out_are_equals():
    log_odds = np.array([[-np.inf, -np.inf, -np.inf], [-np.inf, np.inf, 0.0], [np.inf, np.inf, -np.inf]])
    np.testing.assert_allclose(
        np.exp(log_probabilities(log_odds)), [[1 / 3, 1 / 3, 1 / 3], [0, 2 / 3, 1 / 3], [0.5, 0.5, 0]]
    )


def test_a_calibrator_of_scikit_learn_is_a_link():
    isotonic = IsotonicRegression(out_of_bounds="clip")
    y = POSITIVE.astype(int)
    [link] = fit_links(isotonic, VALUES, y, WEIGHT, 0.25)
    expected = clone(isotonic).fit(VALUES, y, sample_weight=WEIGHT).predict(VALUES)
    np.testing.assert_allclose(expit(link.log_odds(VALUES)), expected, atol=1e-12)
    assert not hasattr(isotonic, "X_thresholds_")
    [link] = fit_links(LinearRegression(), VALUES, y, WEIGHT, 0.25)
    line = LinearRegression().fit(VALUES[:, None], y, sample_weight=WEIGHT).predict(VALUES[:, None])
    np.testing.assert_allclose(expit(link.log_odds(VALUES)), np.clip(line, 0, 1), atol=1e-12)
    [link] = fit_links(LogisticRegression(), VALUES, y, WEIGHT, 0.25)
    expected = LogisticRegression().fit(VALUES[:, None], y, sample_weight=WEIGHT)
    np.testing.assert_allclose(
        expit(link.log_odds(VALUES)), expected.predict_proba(VALUES[:, None])[:, 1], rtol=1e-9
    )


def test_a_calibrator_that_cannot_is_refused():
    y = POSITIVE.astype(int)
    with pytest.raises(ValueError, match="takes no sample weights"):
        fit_links(KNeighborsClassifier(), VALUES, y, WEIGHT, 0.25)
    for refused in (LinearSVC(), IsotonicRegression):
        with pytest.raises(ValueError, match="no regressor and no classifier with predict_proba"):
            fit_links(refused, VALUES, y, np.ones(80), 0.25)
    [link] = fit_links(KNeighborsClassifier(), VALUES, y, np.ones(80), 0.25)
    assert np.all(np.isfinite(link.log_odds(VALUES)))
    [link] = fit_links(IsotonicRegression(), VALUES, y, np.ones(80), 0.25)
    with pytest.raises(ValueError, match="out_of_bounds"):
        link.log_odds(np.array([1e3]))

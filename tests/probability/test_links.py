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

from bayes_svm.probability.calibration import fit_sigmoid
from bayes_svm.probability.kwok import KwokLink
from bayes_svm.probability.link import LinkData, Needs
from bayes_svm.probability.links import fit_links, kind_of
from bayes_svm.probability.moderated import ModeratedLink
from bayes_svm.probability.several import class_log_odds, log_probabilities, normalised_log_odds
from bayes_svm.probability.sigmoid import SigmoidLink

random = np.random.default_rng(0)
POSITIVE = random.random(80) < 0.4
VALUES = np.where(POSITIVE, 1.0, -1.0) + 1.5 * random.normal(size=80)
WEIGHT = random.choice([0.0, 0.5, 1.0, 3.0], size=80)


def targets(positive, weight, h):
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    return np.where(positive, (n_positive + h) / (n_positive + 2 * h), h / (n_negative + 2 * h))


def spread(values, weight):
    """Standard deviation of the repeated values, a twentieth on either side drawn in where beyond 2."""
    if np.all(weight == np.round(weight)):
        repeated = np.sort(np.repeat(values, weight.astype(int)))
    else:
        repeated = np.sort(np.repeat(values, np.round(2 * weight).astype(int)))
    cut = int(np.floor(0.05 * len(repeated)))
    return np.clip(repeated, min(repeated[cut], -2.0), max(repeated[-1 - cut], 2.0)).std()


def penalised(slope, offset, values, target, weight, boundary=0.0):
    score = slope * values + offset
    prior = np.log(slope * spread(values, weight)) ** 2 / (2 * np.log(2) ** 2)
    prior += 0.0 if boundary is None else np.log1p((offset - boundary) ** 2 / 4)
    return weight @ (np.logaddexp(0, score) - target * score) + prior


@pytest.mark.parametrize("boundary", [None, 0.0, -3.0, 40.0])
@pytest.mark.parametrize("smoothing", [0.1, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_sigmoid_is_the_most_probable_on_the_smoothed_targets(size, smoothing, boundary):
    link = fit_sigmoid(size * VALUES, POSITIVE, WEIGHT, smoothing, boundary)
    arguments = size * VALUES, targets(POSITIVE, WEIGHT, smoothing), WEIGHT, boundary
    best = minimize(
        lambda p: penalised(np.exp(p[0]) / size, p[1], *arguments), [0.0, 0.0], method="BFGS", tol=1e-9
    )
    np.testing.assert_allclose([link.slope * size, link.offset], [np.exp(best.x[0]), best.x[1]], atol=1e-5)
    assert penalised(link.slope, link.offset, *arguments) <= best.fun * (1 + 1e-12)


def test_beyond_the_values_it_was_fitted_to_the_sigmoid_levels_off_in_their_order():
    link = fit_sigmoid(VALUES, POSITIVE, WEIGHT, 0.1)
    used = VALUES[WEIGHT > 0]
    assert (link.low, link.high) == (used.min(), used.max())
    np.testing.assert_array_equal(link.log_odds(used), link.slope * used + link.offset)
    beyond = np.array([0.0, 1e-6, 0.1, 1.0, 10.0, 1e4])
    for end, side in ((link.high, 1.0), (link.low, -1.0)):
        rise = side * (link.log_odds(end + side * beyond / link.slope) - link.log_odds(np.array(end)))
        np.testing.assert_allclose(rise, beyond / (1.0 + beyond), atol=1e-12)
        assert (np.diff(rise) > 0).all()
    assert np.isfinite(link.log_odds(np.array([-np.inf, np.inf]))).all()


def test_values_most_of_which_are_equal_give_no_certainty():
    """Of discrete data: all others are -1, and the few that are not are the spread."""
    values = np.append(np.full(95, -1.0), [-1.0, -1.0, 0.9, -0.97, -1.02])
    positive = np.arange(100) >= 95
    link = fit_sigmoid(values, positive, np.ones(100), 0.1)
    assert link.slope < 10.0
    assert 0.05 < expit(link.log_odds(np.array([0.0])))[0] < 0.95


def test_of_two_optima_the_more_probable_one_is_found():
    """A few rows of a far boundary: near it, or where the rows are, and nowhere between."""
    values, positive = np.array([9.0, 9.5, 10.5, 11.0, 10.0, 10.1]), np.arange(6) % 2 > 0
    weight = np.full(6, 0.3)
    link = fit_sigmoid(values, positive, weight, 0.1)
    target = targets(positive, weight, 0.1)
    grid = np.stack(np.meshgrid(np.exp(np.linspace(-3, 3, 121)), np.linspace(-40, 10, 501)), -1).reshape(
        -1, 2
    )
    lowest = min(penalised(*one, values, target, weight) for one in grid)
    assert penalised(link.slope, link.offset, values, target, weight) <= lowest


def test_many_values_leave_nothing_of_the_priors():
    """Platt's own fit, as scikit-learn has it, within its tolerance."""
    values, positive = np.tile(VALUES, 2000), np.tile(POSITIVE, 2000)
    theirs = _SigmoidCalibration().fit(values, positive.astype(int))
    ours = fit_sigmoid(values, positive, np.ones(len(values)), 1.0)
    np.testing.assert_allclose([ours.slope, ours.offset], [-theirs.a_, -theirs.b_], atol=1e-3)


def test_a_machine_trained_with_costs_is_undecided_where_they_balance():
    values, y = np.tile([0.1, -0.1], 3), np.array([1, 0, 1, 1, 0, 0])
    costs, weight = np.array([1.0, 50.0]), np.full(6, 1e-3)  # so that only the priors count
    [plain] = fit_links("sigmoid", LinkData(values, y, weight), 0.1)
    [cheap] = fit_links("sigmoid", LinkData(values, y, weight), 0.1, costs)
    assert plain.offset == pytest.approx(0.0, abs=0.01)
    assert cheap.offset == pytest.approx(-np.log(50.0), abs=0.01)


@pytest.mark.parametrize("n", [6, 60, 600])
def test_values_that_separate_give_a_slope_that_grows_with_their_number(n):
    """A standard deviation is worth e^1 a priori; n values that separate are worth more the more they are."""
    values = np.tile([1.0, -1.0], n // 2)
    slopes = [fit_sigmoid(values, values > 0, np.full(n, times), 0.1).slope for times in (1.0, 10.0)]
    assert 1.0 < slopes[0] < slopes[1] < 12.0


def test_one_far_value_does_not_break_the_fit():
    values = VALUES.copy()
    values[POSITIVE.argmax()] = 1e8
    plain, link = (fit_sigmoid(one, POSITIVE, np.ones(80), 0.5) for one in (VALUES, values))
    assert link.slope == pytest.approx(plain.slope, rel=0.2)
    assert link.offset == pytest.approx(plain.offset, abs=0.2)


@pytest.mark.parametrize("values", [np.zeros(80), np.full(80, 3.3)])
def test_values_that_do_not_differ_give_the_prior_and_a_warning(values):
    with pytest.warns(
        UserWarning, match="do not separate the classes: the probabilities hardly differ from the"
    ):
        link = fit_sigmoid(values, POSITIVE, WEIGHT, 0.5)
    prior = np.average(POSITIVE, weights=WEIGHT)
    assert (link.slope, link.offset) == (0.0, pytest.approx(logit(prior)))


def test_values_that_rank_the_wrong_way_give_a_small_slope_and_a_warning():
    with pytest.warns(UserWarning, match="do not separate the classes"):
        link = fit_sigmoid(-VALUES, POSITIVE, WEIGHT, 0.5)
    assert 0.0 < link.slope * VALUES.std() < 0.3
    assert np.average(expit(link.log_odds(-VALUES)), weights=WEIGHT) == pytest.approx(
        np.average(POSITIVE, weights=WEIGHT), abs=1.0 / WEIGHT.sum()
    )


@pytest.mark.filterwarnings("ignore:The decision values do not separate")  # they are noise
@pytest.mark.parametrize("seed", range(20))
def test_the_slope_is_never_negative(seed):
    noise = np.random.default_rng(seed).normal(size=80)
    assert fit_sigmoid(noise, POSITIVE, WEIGHT, 0.5).slope > 0


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
    links = fit_links("sigmoid", LinkData(values, y, WEIGHT), 0.5)
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
        "bayes_svm.probability.calibration.expit", lambda score: np.full_like(score, 0.1) + 0.8 * POSITIVE
    )
    with pytest.warns(ConvergenceWarning, match="did not converge: raise smoothing"):
        fit_sigmoid(VALUES, POSITIVE, np.ones(80), 0.5)


INFORMATION = np.array([0.0, 0.01, 0.25, 1.0, 4.0, np.inf])


@pytest.mark.parametrize("limit", [0.0, 1.5])
def test_a_moderated_link_draws_log_odds_to_the_limit_in_proportion_to_the_information(limit):
    link = ModeratedLink(SigmoidLink(2.0, 0.5), reference=1.0, limit=limit)
    share = np.array([0.0, 0.01, 0.25, 1.0, 1.0, 1.0])
    for value, log_odds in ((1.0, 2.5), (-1.0, -1.5), (-0.25, 0.0), (1e12, 2e12)):
        found = link.log_odds(np.full(6, value), INFORMATION)
        np.testing.assert_allclose(found, share * log_odds + (1 - share) * limit, rtol=1e-9, atol=1.001e-9)
    far = link.log_odds(np.array([-9.0, 1.0, 9.0]), np.zeros(3))
    assert np.all(np.diff(far) > 0)  # the order of the decision values stays what it is


def moderated(information, weight=None, y=None):
    y = POSITIVE.astype(int) if y is None else y
    weight = np.ones(len(y)) if weight is None else weight
    return fit_links("moderated", LinkData(VALUES[: len(y)], y, weight, information), 0.25)[0]


def test_the_reference_is_a_twentieth_of_what_all_but_a_hundredth_or_one_row_have():
    information = random.permutation(np.arange(1.0, 81.0))
    link = moderated(information)
    assert link.reference == pytest.approx(0.05 * 2.0)
    outlier = np.where(information == 1.0, 1e-200, information)
    assert moderated(outlier).reference == link.reference
    hundreds = np.full(80, 5.0)  # 1 % of 400 is 4: one row and no more
    assert moderated(information, hundreds).reference == pytest.approx(0.05)
    assert link.sigmoid == fit_sigmoid(VALUES, POSITIVE, np.ones(80), 0.25)
    np.testing.assert_array_equal(link.log_odds(VALUES, information), link.sigmoid.log_odds(VALUES))
    heavy = np.where(information == 80.0, 1e4, 1.0)  # the others are less than a hundredth
    assert moderated(information, heavy).reference == pytest.approx(0.05 * 80)


@pytest.mark.filterwarnings("ignore:The decision values do not separate")  # some labels here are made up
def test_the_limit_is_laplaces_rule_on_the_five_rows_farthest_out():
    information = random.permutation(np.arange(1.0, 81.0))
    positive = int(POSITIVE[np.argsort(information)[:5]].sum())
    assert expit(moderated(information).limit) == pytest.approx((positive + 1) / 7)
    y = np.arange(80) >= 40  # the first forty, equally far, share the five places
    level = np.where(np.arange(80) % 2, 1.0, 1.0 + 1e-13)
    level[[0, 41]] = 0.5, 2.0
    expected = (1.0 + 4 * y[[k for k in range(80) if k not in (0, 41)]].mean()) / 7
    assert expit(moderated(level, y=y.astype(int)).limit) == pytest.approx(expected)
    few = moderated(np.ones(7), np.full(7, 0.5), np.array([1, 0, 0, 1, 0, 1, 0]))
    assert expit(few.limit) == pytest.approx((1.5 + 1) / (3.5 + 2))


def test_reference_and_limit_count_weights_as_repeated_rows():
    information = random.permutation(np.arange(1.0, 81.0))
    weight = random.integers(0, 4, size=80)
    rows = np.repeat(np.arange(80), weight)
    weighted = moderated(information, weight.astype(float))
    [repeated] = fit_links(
        "moderated",
        LinkData(VALUES[rows], POSITIVE[rows].astype(int), np.ones(len(rows)), information[rows]),
        0.25,
    )
    assert weighted.reference == repeated.reference
    assert weighted.limit == pytest.approx(repeated.limit)


def test_without_information_a_moderated_link_is_the_sigmoid():
    link = moderated(None)
    assert link.reference == 0.0
    np.testing.assert_array_equal(link.log_odds(VALUES, None), link.sigmoid.log_odds(VALUES))
    np.testing.assert_array_equal(link.log_odds(np.ones(6), INFORMATION), link.sigmoid.log_odds(np.ones(6)))


@pytest.mark.parametrize("level", [0.0, np.inf], ids=["none known", "all known"])
def test_information_that_tells_nothing_apart_moderates_nothing(level):
    link = moderated(np.full(80, level))
    np.testing.assert_array_equal(link.log_odds(VALUES, np.zeros(80)), link.sigmoid.log_odds(VALUES))


def test_a_few_rows_without_information_leave_the_least_there_is_as_the_reference():
    information = np.where(np.arange(80) < 4, 0.0, 2.0)
    assert moderated(information).reference == pytest.approx(0.05 * 2.0)


def test_links_say_what_they_need():
    assert [kind_of(link).needs for link in ("kwok", "moderated", "sigmoid", "hinge")] == [
        Needs.VARIANCE, Needs.INFORMATION, Needs.NOTHING, Needs.NOTHING,
    ]  # fmt: skip
    assert kind_of(IsotonicRegression()).needs is Needs.NOTHING


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_normalised_log_odds_are_those_of_the_shares_to_the_last_digit(n_classes):
    logs = 30.0 * random.normal(size=(50, n_classes))
    with mpmath.workdps(60):
        shares = [[mpmath.exp(value) for value in row] for row in logs.tolist()]
        exact = [[float(mpmath.log(one / (mpmath.fsum(row) - one))) for one in row] for row in shares]
    np.testing.assert_allclose(normalised_log_odds(logs), exact, rtol=1e-12, atol=1e-13)


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


def test_several_classes_that_are_all_ruled_out_are_equals():
    log_odds = np.array([[-np.inf, -np.inf, -np.inf], [-np.inf, np.inf, 0.0], [np.inf, np.inf, -np.inf]])
    np.testing.assert_allclose(
        np.exp(log_probabilities(log_odds)), [[1 / 3, 1 / 3, 1 / 3], [0, 2 / 3, 1 / 3], [0.5, 0.5, 0]]
    )


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
    [link] = fit_links(IsotonicRegression(), LinkData(VALUES, y, np.ones(80)), 0.25)
    with pytest.raises(ValueError, match="out_of_bounds"):
        link.log_odds(np.array([1e3]))

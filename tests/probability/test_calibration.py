"""The sigmoid's fit, beside general optimisers and scikit-learn's own; the prior of its offset."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.calibration import _SigmoidCalibration
from sklearn.exceptions import ConvergenceWarning

from _values import POSITIVE, VALUES, WEIGHT
from bayes_svm import BayesSVC
from bayes_svm._core.logistic import most_probable
from bayes_svm.probability.calibration import fit_sigmoid, offset_scale

random = np.random.default_rng(0)


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


def test_a_fit_that_does_not_end_says_so(monkeypatch):
    def unfinished(*arguments):
        log_slope, offset, _, loss = most_probable(*arguments)
        return log_slope, offset, False, loss

    monkeypatch.setattr("bayes_svm.probability.calibration.most_probable", unfinished)
    with pytest.warns(ConvergenceWarning, match="did not converge: raise smoothing"):
        fit_sigmoid(VALUES, POSITIVE, np.ones(80), 0.5)


@pytest.mark.parametrize("weight", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("seed", range(5))
def test_large_weights_are_fitted_to_the_end(weight, seed):
    """Classes that their values separate: the targets' distance from 0 and 1 is all that counts."""
    random = np.random.default_rng(seed)
    positive = np.arange(40) < 15
    values = random.normal(size=40) + 4.0 * positive
    weights = weight * random.choice([0.5, 1.0, 2.0], size=40)
    link = fit_sigmoid(values, positive, weights, 0.1)
    n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
    at = link.slope * values + link.offset
    # Without the priors, which do not count beside such weights, the score equations vanish.
    target = np.where(positive, (n_positive + 0.1) / (n_positive + 0.2), 0.1 / (n_negative + 0.2))
    pull = weights * (expit(at) - target)
    assert abs(pull.sum()) < 5.0
    assert abs(pull @ (values - values.mean())) < 20.0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("scale", [2e-3, 0.05, 2.0])
def test_no_other_sigmoid_is_more_probable(seed, scale):
    """Values far from 0 and tight priors included: the loss is that of the formula, minimised from afar."""
    random = np.random.default_rng(seed)
    positive = np.arange(30) < 10
    values = random.normal(size=30) + random.uniform(0, 3) * positive + 10.0 * random.normal()
    link = fit_sigmoid(values, positive, np.ones(30), 0.1, 0.0, scale)

    def loss(parameters):
        odds = np.exp(parameters[0]) * values + parameters[1]
        target = np.where(positive, 10.1 / 10.2, 0.1 / 20.2)
        entropy = np.sum(np.logaddexp(0.0, odds) - target * odds)
        return entropy + np.log1p((parameters[1] / scale) ** 2)

    # The prior of the slope needs the spread of the drawn in values: at a given slope the offset is tried.
    own = np.array([np.log(link.slope), link.offset])
    tried = np.concatenate([link.offset + np.linspace(-5, 5, 201), scale * np.linspace(-3, 3, 201)])
    assert loss(own) <= min(loss(np.array([own[0], offset])) for offset in tried) + 1e-9


def test_a_wide_machine_keeps_its_boundary_unless_its_bounds_move_it():
    label, alpha = np.repeat([1.0, -1.0], [10, 30]), np.repeat([0.3, 0.1], [10, 30])
    bound = np.ones(40)
    assert offset_scale(label, alpha, bound, 1.0) == 2.0  # as many rows as columns: the values decide
    assert offset_scale(label, alpha, bound, 0.1) == pytest.approx(2.0 * 2.0 * 0.3 * np.log(3.0))
    assert offset_scale(label, 1e-6 * alpha, bound, 0.1) == pytest.approx(2.0 * 0.1**2)
    assert offset_scale(label, alpha, np.where(label > 0, 3.0, 1.0), 0.0) == 2e-3  # equal costs
    assert offset_scale(label, alpha / 0.3, bound, 1e-9) == 2.0  # all bounds used up


def test_a_boundary_that_is_held_is_where_the_log_odds_change_sign_whatever_was_left_out():
    """All values left out are on one side: the line goes on to f = 0, and saturates only beyond."""
    values = np.linspace(-0.9, -0.1, 30)
    positive = (np.arange(30) > 20) | (np.arange(30) % 7 == 0)
    held = fit_sigmoid(values, positive, np.ones(30), 0.1, scale=1e-3)
    assert (held.low, held.high) == (-0.9, pytest.approx(0.0, abs=1e-4))
    assert np.all(np.sign(held.log_odds(np.array([-1.0, -0.05, 0.05, 1.0]))) == [-1, -1, 1, 1])
    free = fit_sigmoid(values, positive, np.ones(30), 0.1)
    assert (free.low, free.high) == (-0.9, -0.1)


def test_columns_that_say_nothing_leave_the_boundary_where_the_machine_has_it():
    """Of a hard margin in a wide space the answer is that of the decision value's sign."""
    random = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = random.normal(size=(40, 3000)) + 0.08 * y[:, None]
    model = BayesSVC(kernel="linear").fit(X, y)
    at_zero = model.link_.log_odds(np.zeros(1))[0]
    assert abs(at_zero) < 0.02
    narrow = BayesSVC(kernel="precomputed").fit(X @ X.T, y)  # whose columns nobody knows
    assert abs(narrow.link_.log_odds(np.zeros(1))[0]) > abs(at_zero)


def test_columns_of_zeros_are_no_columns():
    random = np.random.default_rng(2)
    X = random.normal(size=(120, 4))
    y = (X[:, 0] + 0.7 * random.normal(size=120) > 1).astype(int)
    wide = sparse.hstack([sparse.csr_matrix(X), sparse.csr_matrix((120, 5000))]).tocsr()
    model, same = (BayesSVC(gamma=0.1, class_weight="balanced").fit(one, y) for one in (X, wide))
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(wide), atol=1e-9)


def test_far_away_no_class_weight_makes_a_wide_machine_surer_than_six_to_one():
    random = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = random.normal(size=(40, 400))
    X[:, 0] += 4 * y
    model = BayesSVC(C=1000, gamma=1e-4, class_weight={0: 1, 1: 1000}).fit(X, y)
    assert model.predict_proba(np.full((1, 400), 1e4)).max() <= 6 / 7 + 1e-6


def test_weights_next_to_nothing_leave_the_priors():
    X, y = np.random.default_rng(6).normal(size=(24, 2)), np.arange(24) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = BayesSVC().fit(X, y, np.full(24, 1e-9))
    assert np.isfinite(model.predict_proba(X)).all()

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from bayes_svm import BayesSVC
from bayes_svm.probability.calibration import fit_sigmoid, offset_scale
from bayes_svm.probability.dumais import fit_dumais
from bayes_svm.probability.sigmoid import SigmoidLink

random = np.random.default_rng(1)
POSITIVE = random.random(90) < 0.3
VALUES = 40.0 + 0.01 * (np.where(POSITIVE, 1.0, -1.0) + random.normal(size=90))  # far from centred and scaled
WEIGHT = random.choice([0.5, 1.0, 2.0], size=90)


MANY = 1e5 * WEIGHT  # the prior of the slope counts for nothing


@pytest.fixture(scope="module")
def glm():
    n_positive, n_negative = MANY[POSITIVE].sum(), MANY[~POSITIVE].sum()
    target = np.where(POSITIVE, (n_positive + 0.25) / (n_positive + 0.5), 0.25 / (n_negative + 0.5))
    design = sm.add_constant((VALUES - 40.0) / 0.01)
    return sm.GLM(target, design, family=sm.families.Binomial(), var_weights=MANY).fit(tol=1e-14)


def test_standard_errors_are_those_of_a_generalised_linear_model(glm):
    link = fit_sigmoid((VALUES - 40.0) / 0.01, POSITIVE, MANY, 0.25)
    np.testing.assert_allclose([link.offset, link.slope], glm.params, rtol=1e-4)
    np.testing.assert_allclose(link.standard_errors[::-1], glm.bse, rtol=1e-4)
    assert link.covariance[1] == pytest.approx(glm.cov_params()[0, 1], rel=1e-4)


def test_the_band_is_that_of_a_generalised_linear_model_in_any_units(glm):
    link = fit_sigmoid(VALUES, POSITIVE, MANY, 0.25)
    at = np.linspace(*(np.array([link.low, link.high]) - 40.0) / 0.01, 9)
    frame = glm.get_prediction(sm.add_constant(at)).summary_frame(alpha=0.1)
    low, high = link.band(40.0 + 0.01 * at, level=0.9)
    np.testing.assert_allclose(low, frame["mean_ci_lower"], rtol=1e-4)
    np.testing.assert_allclose(high, frame["mean_ci_upper"], rtol=1e-4)


def test_the_prior_counts_in_the_standard_errors():
    """Of two values that separate nothing is known but the prior: a factor of two, up or down."""
    link = fit_sigmoid(
        np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0]), np.tile([False, True], 3), np.full(6, 1e-3), 0.1
    )
    assert link.slope == pytest.approx(1.0, rel=0.01)
    assert link.standard_errors[0] == pytest.approx(np.log(2.0), rel=0.01)


def test_more_data_make_the_band_narrower():
    once = fit_sigmoid(VALUES, POSITIVE, WEIGHT, 0.25)
    often = fit_sigmoid(VALUES, POSITIVE, 100 * WEIGHT, 0.25)
    width = [np.subtract(*link.band(VALUES)[::-1]) for link in (once, often)]
    assert np.all(width[1] < 0.2 * width[0])


def test_the_band_refuses_a_level_that_is_none():
    with pytest.raises(ValueError, match="level=95 is not between 0 and 1"):
        SigmoidLink(1.0, 0.0).band(VALUES, level=95)


def regularised_squares(slope, offset, penalty):
    return 0.5 * WEIGHT @ (expit(slope * VALUES + offset) - POSITIVE) ** 2 + penalty * slope**2


def test_dumais_sigmoid_minimises_its_squares_for_one_of_the_penalties():
    link = fit_dumais(VALUES, POSITIVE, WEIGHT)
    gaps = []
    for penalty in 10.0 ** np.arange(-6, 4):
        found = regularised_squares(link.slope, link.offset, penalty)
        best = minimize(
            lambda p, kappa=penalty: regularised_squares(p[0], p[1] - p[0] * 40.0, kappa),
            [link.slope, link.offset + link.slope * 40.0],
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000, "maxfev": 8000},
        )
        gaps.append(found - best.fun)
    assert min(gaps) < 1e-7


@pytest.mark.parametrize("members", [1, 2])
def test_dumais_sigmoid_of_a_tiny_class(members):
    positive = np.arange(30) < members
    link = fit_dumais(np.where(positive, 1.0, -1.0) + 0.1 * random.normal(size=30), positive, np.ones(30))
    assert link.slope > 0
    assert np.isfinite(link.offset)


@pytest.mark.parametrize("fit", [lambda *a: fit_sigmoid(*a, 0.25), fit_dumais], ids=["sigmoid", "dumais"])
def test_values_that_do_not_differ_give_the_prior(fit):
    with pytest.warns(UserWarning, match="hardly differ from the class prior"):
        link = fit(np.full(90, 3.0), POSITIVE, WEIGHT)
    np.testing.assert_allclose(
        expit(link.log_odds(np.array([-1e3, 0.0, 1e3]))), np.average(POSITIVE, weights=WEIGHT)
    )


def test_dumais_sigmoid_of_values_that_rank_the_wrong_way_is_the_prior():
    with pytest.warns(UserWarning, match="hardly differ from the class prior"):
        link = fit_dumais(-VALUES, POSITIVE, WEIGHT)
    assert link.slope == 0.0


def test_dumais_folds_count_weights_as_repeated_rows_in_any_order():
    weight = random.integers(0, 4, size=90)
    rows = random.permutation(np.repeat(np.arange(90), weight))
    weighted = fit_dumais(VALUES, POSITIVE, weight.astype(float))
    repeated = fit_dumais(VALUES[rows], POSITIVE[rows], np.ones(len(rows)))
    assert weighted.slope == pytest.approx(repeated.slope, rel=1e-4)
    assert weighted.offset == pytest.approx(repeated.offset, rel=1e-4)


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

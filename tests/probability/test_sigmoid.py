"""The sigmoid as a link: saturation, standard errors and band, beside a generalised linear model."""

import numpy as np
import pytest
import statsmodels.api as sm

import _values
from _values import SHIFTED_POSITIVE as POSITIVE
from _values import SHIFTED_VALUES as VALUES
from _values import SHIFTED_WEIGHT as WEIGHT
from bayes_svm.probability.calibration import fit_sigmoid
from bayes_svm.probability.sigmoid import SigmoidLink

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


def test_beyond_the_values_it_was_fitted_to_the_sigmoid_levels_off_in_their_order():
    link = fit_sigmoid(_values.VALUES, _values.POSITIVE, _values.WEIGHT, 0.1)
    used = _values.VALUES[_values.WEIGHT > 0]
    assert (link.low, link.high) == (used.min(), used.max())
    np.testing.assert_array_equal(link.log_odds(used), link.slope * used + link.offset)
    beyond = np.array([0.0, 1e-6, 0.1, 1.0, 10.0, 1e4])
    for end, side in ((link.high, 1.0), (link.low, -1.0)):
        rise = side * (link.log_odds(end + side * beyond / link.slope) - link.log_odds(np.array(end)))
        np.testing.assert_allclose(rise, beyond / (1.0 + beyond), atol=1e-12)
        assert (np.diff(rise) > 0).all()
    assert np.isfinite(link.log_odds(np.array([-np.inf, np.inf]))).all()

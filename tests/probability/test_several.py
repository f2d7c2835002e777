"""From the log-odds of several classes to their probabilities."""

import mpmath
import numpy as np
import pytest
from scipy.special import expit

from bayes_svm.probability.several import log_probabilities, normalised_log_odds

random = np.random.default_rng(0)


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


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_normalised_log_odds_are_those_of_the_shares_to_the_last_digit(n_classes):
    logs = 30.0 * random.normal(size=(50, n_classes))
    with mpmath.workdps(60):
        shares = [[mpmath.exp(value) for value in row] for row in logs.tolist()]
        exact = [[float(mpmath.log(one / (mpmath.fsum(row) - one))) for one in row] for row in shares]
    np.testing.assert_allclose(normalised_log_odds(logs), exact, rtol=1e-12, atol=1e-13)


def test_several_classes_that_are_all_ruled_out_are_equals():
    log_odds = np.array([[-np.inf, -np.inf, -np.inf], [-np.inf, np.inf, 0.0], [np.inf, np.inf, -np.inf]])
    np.testing.assert_allclose(
        np.exp(log_probabilities(log_odds)), [[1 / 3, 1 / 3, 1 / 3], [0, 2 / 3, 1 / 3], [0.5, 0.5, 0]]
    )

import numpy as np
import pytest
from scipy.optimize import minimize

from bayes_svm.mixture import stacking_weights

random = np.random.default_rng(0)


def log_likelihood(weights, likelihood, weight):
    return weight @ np.log(likelihood @ weights)


@pytest.mark.parametrize("n_models", [2, 5, 20])
def test_no_other_mixture_is_likelier(n_models):
    likelihood = random.beta(2, 1, size=(80, n_models))
    weight = random.choice([0.0, 0.5, 2.0], size=80)
    found = stacking_weights(likelihood, weight)
    assert found.sum() == pytest.approx(1.0)
    assert np.all(found >= 0)
    best = minimize(
        lambda w: -log_likelihood(np.abs(w) / np.abs(w).sum(), likelihood, weight),
        np.ones(n_models),
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    # Dropping what weighs less than a thousandth costs next to nothing.
    assert log_likelihood(found, likelihood, weight) >= -best.fun - 1e-3 * weight.sum()
    # Optimality: a model's mean share of the mixture is 1 where it has weight, at most 1 elsewhere.
    share = (weight / weight.sum() / (likelihood @ found)) @ likelihood
    np.testing.assert_allclose(share[found > 0.01], 1.0, atol=1e-3)
    assert share.max() < 1.01


def test_a_model_that_is_better_everywhere_gets_all_the_weight():
    likelihood = np.column_stack([np.full(30, 0.5), np.full(30, 0.9), np.full(30, 0.7)])
    np.testing.assert_array_equal(stacking_weights(likelihood, np.ones(30)), [0.0, 1.0, 0.0])


def test_models_that_say_the_same_share():
    likelihood = np.column_stack([np.full(30, 0.5)] * 4)
    np.testing.assert_allclose(stacking_weights(likelihood, np.ones(30)), 0.25)


def test_a_likelihood_of_almost_nothing_is_no_trouble():
    likelihood = np.array([[1e-300, 0.5], [0.5, 1e-300], [0.3, 0.6]])
    found = stacking_weights(likelihood, np.ones(3))
    assert np.all(np.isfinite(found))
    assert np.all(found > 0.1)

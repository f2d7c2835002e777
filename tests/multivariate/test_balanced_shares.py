"""Shares with equal sums, compared with random ones and with the loss of labellings."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bayes_svm.multivariate.balanced_shares import BalancedShares
from bayes_svm.multivariate.losses import loss_of


def problem(seed, n=12):
    """Labels, weights and targets of which some are equal."""
    random = np.random.default_rng(seed)
    positive = random.random(n) < random.choice([0.1, 0.5, 0.9])
    positive[:2] = [True, False]
    weight, target = random.integers(0, 4, size=n), random.normal(size=n) * random.choice([0.1, 1.0, 5.0])
    weight[:2] = np.maximum(weight[:2], 1)
    target[3:6] = target[3]
    return positive, weight.astype(float), target


@pytest.mark.parametrize("sigma", [1e-3, 0.1])
@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_shares_are_those_of_a_general_solver(seed, sigma):
    positive, weight, target = problem(seed)
    loss = loss_of("break_even", positive, weight)
    mixture = BalancedShares(loss, np.zeros(12))
    found, moving = mixture.nearest(target, sigma)
    sign = np.where(positive, 1.0, -1.0)
    assert (weight * sign) @ found == pytest.approx(0.0, abs=1e-12)
    assert np.all((found >= 0) & (found <= 1))

    def lost(z):
        return weight @ ((z - target) ** 2 / 2 - sigma * mixture.worth * positive * z)

    equal = {"type": "eq", "fun": lambda z: (weight * sign) @ z}
    other = minimize(lost, np.zeros(12), bounds=[(0, 1)] * 12, constraints=equal, method="SLSQP", tol=1e-14)
    assert lost(found) <= other.fun + 1e-9
    assert lost(found) >= other.fun - 1e-6
    step = 1e-8 * np.random.default_rng(seed).normal(size=12)
    step[np.setdiff1d(np.arange(12), moving.rows)] = 0.0
    change = mixture.nearest(target + step, sigma)[0] - found
    np.testing.assert_allclose(change[moving.rows], moving.change(step[moving.rows]), atol=1e-13)


@pytest.mark.parametrize("seed", range(10))
def test_the_plane_is_below_the_loss(seed):
    positive, weight, target = problem(seed)
    loss = loss_of("break_even", positive, weight)
    shares, _ = BalancedShares(loss, np.zeros(12)).nearest(target, 0.01)
    mixture = BalancedShares(loss, shares)
    random = np.random.default_rng(seed)
    for scores in 10.0 ** random.uniform(-2, 2, size=(50, 1)) * random.normal(size=(50, 12)):
        level, c = loss.most_violated(scores)
        value = mixture.level - loss.split.direction * shares @ scores
        assert level - c @ scores >= value - 1e-9 * (1 + np.abs(scores).sum())

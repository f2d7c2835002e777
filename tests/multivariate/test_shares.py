"""Mixtures of labellings, compared with a linear program over all labellings and a slow solver."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from bayes_svm.multivariate.losses import loss_of
from bayes_svm.multivariate.shares import FBetaShares


def problem(seed, n=8, largest=2):
    """Labels, weights, and shares of which some are 0, 1 or equal."""
    random = np.random.default_rng(seed)
    positive = random.random(n) < random.choice([0.3, 0.5, 0.8])
    positive[:2] = [True, False]
    weight = random.integers(1, largest + 1, size=n)
    shares = random.random(n) ** random.choice([1.0, 4.0])
    shares[random.random(n) < 0.2] = random.integers(0, 2)
    shares[2:4] = shares[2]
    return positive, weight, shares


def best_mixture(positive, shares, beta):
    """The largest mean loss of mixtures of all labellings with these shares, by a linear program."""
    wrong = np.array(list(itertools.product((0.0, 1.0), repeat=len(positive))))
    a, b = (1 - wrong[:, positive]).sum(axis=1), wrong[:, ~positive].sum(axis=1)
    losses = 100 * (1 - (1 + beta**2) * a / (a + b + beta**2 * positive.sum()))
    equal = np.vstack([wrong.T, np.ones(len(wrong))])
    return -linprog(-losses, A_eq=equal, b_eq=np.append(shares, 1.0)).fun


@pytest.mark.parametrize("beta", [1.0, 1.5, 4.0])
@pytest.mark.parametrize("seed", range(25))
def test_the_mixture_is_the_best_of_all(seed, beta):
    positive, weight, shares = problem(seed)
    loss = loss_of("f_beta", positive, weight.astype(float), beta=beta)
    found = FBetaShares.of(loss, shares, np.zeros(len(shares)))
    rows = np.repeat(np.arange(len(shares)), weight)
    best = best_mixture(positive[rows], shares[rows], beta)
    assert found.level <= best + 1e-9
    # False positives are shared as fractions, which the whole numbers that surround them replace.
    assert found.level >= best - 0.03
    assert np.all(np.diff(found.price) <= 1e-9)


@pytest.mark.parametrize("beta", [1.0, 3.0])
def test_the_plane_is_below_the_loss(beta):
    random = np.random.default_rng(0)
    for seed in range(30):
        positive, weight, shares = problem(seed, n=60, largest=5)
        loss = loss_of("f_beta", positive, weight.astype(float), beta=beta)
        mixture = FBetaShares.of(loss, shares, np.zeros(60))
        for scores in 10.0 ** random.uniform(-3, 1, size=(20, 1)) * random.normal(size=(20, 60)):
            level, c = loss.most_violated(scores)
            assert level - c @ scores >= mixture.level - loss.split.direction * shares @ scores - 1e-9


@pytest.mark.parametrize("sigma", [0.01, 0.3])
@pytest.mark.parametrize("seed", range(10))
def test_the_nearest_shares_are_the_maximum(seed, sigma):
    positive, weight, shares = problem(seed, n=12, largest=3)
    random = np.random.default_rng(seed)
    scores = 2 * random.normal(size=12)
    mixture = FBetaShares.of(loss_of("f1", positive, weight.astype(float)), shares, scores)
    target = shares + 0.3 * random.normal(size=12)
    found, moving = mixture.nearest(target, sigma)

    def value(z):
        gained = 0.0
        for share, copies in zip(z[~positive], weight[~positive], strict=True):
            lengths = np.clip(share - mixture.cuts[:-1], 0.0, np.diff(mixture.cuts))
            gained += copies * lengths @ mixture.price
        order = np.flatnonzero(positive)[np.argsort(-z[positive], kind="stable")]
        ends = np.append(0, np.cumsum(weight[order]))
        gained += z[order] @ np.diff(np.interp(ends, mixture.wrong, mixture.height))
        return gained - weight @ (z - target) ** 2 / (2 * sigma)

    assert np.all((found >= 0) & (found <= 1))
    for _ in range(300):
        other = np.clip(found + 10.0 ** random.uniform(-4, 0) * random.normal(size=12), 0.0, 1.0)
        assert value(other) <= value(found) + 1e-9
    still = np.setdiff1d(np.arange(12), moving.rows)
    moved = target.copy()
    moved[still] += 1e-9
    np.testing.assert_allclose(mixture.nearest(moved, sigma)[0], found, atol=1e-12)
    step = 1e-7 * random.normal(size=12)
    change = mixture.nearest(target + step, sigma)[0] - found
    np.testing.assert_allclose(change[moving.rows], moving.change(step[moving.rows]), atol=1e-11)

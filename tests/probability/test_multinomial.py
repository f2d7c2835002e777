"""Multinomial logistic regression beside its formulas, written out row by row and class by class."""

import threading

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from bayes_svm.probability import multinomial
from bayes_svm.probability.multinomial import Multinomial
from bayes_svm.utils.parallel import working_threads

N, K, FOLDS = 90, 4, 5
STRENGTH = 1.3


def problem(kind, weight="random", seed=0, n=N):
    """A problem, and the share of each row in each fold; rows of three kinds are in two folds."""
    random = np.random.default_rng(seed)
    y = random.integers(0, K, size=n)
    features = random.normal(size=(2 * K + 1, n)) + 0.7 * np.eye(2 * K + 1)[:, y]
    features[-1] = 1.0
    if kind == "all":
        columns = np.tile(np.arange(2 * K + 1), (K, 1))
    else:
        own = np.arange(K)
        columns = np.column_stack([own, own + K, np.full(K, 2 * K)])
    counts = {"random": random.integers(0, 4, size=n).astype(float), "huge": np.full(n, 1e9)}[weight]
    share = np.eye(FOLDS)[np.arange(n) % FOLDS]
    share[:9] = 0.0
    share[:9, :2] = [0.25, 0.75]
    return Multinomial(features, columns, random.normal(size=columns.shape), y, counts), share


def scores_of(model, theta):
    return np.einsum("kj,kji->ik", theta, model.features[model.columns])


def loss(model, theta, weight, strength=STRENGTH):
    logs = log_softmax(scores_of(model, theta), axis=1)[np.arange(len(model.y)), model.y]
    return strength * np.sum((theta - model.centre) ** 2) - weight @ logs


def derivatives(model, theta, weight):
    """Gradient and Hessian of minus the log-likelihood."""
    n_classes, n_own = theta.shape
    proba = softmax(scores_of(model, theta), axis=1)
    gradient, hessian = np.zeros(theta.shape), np.zeros((n_classes, n_own, n_classes, n_own))
    for i, (p, w) in enumerate(zip(proba, weight, strict=True)):
        for k in range(n_classes):
            own = model.features[model.columns[k], i]
            gradient[k] += w * (p[k] - (model.y[i] == k)) * own
            for m in range(n_classes):
                other = model.features[model.columns[m], i]
                hessian[k, :, m] += w * p[k] * ((k == m) - p[m]) * np.outer(own, other)
    return gradient, hessian.reshape(theta.size, theta.size)


def minimum(model, weight):
    found = minimize(
        lambda theta: loss(model, theta.reshape(model.centre.shape), weight), model.centre.ravel(),
        method="BFGS", options={"gtol": 1e-7},
    )  # fmt: skip
    return found.x.reshape(model.centre.shape)


@pytest.mark.parametrize("kind", ["all", "own"])
def test_the_minimum_is_that_of_a_general_optimiser(kind):
    model, share = problem(kind)
    found, reached = model.minimum(STRENGTH, model.centre)
    assert reached
    np.testing.assert_allclose(found, minimum(model, model.weight), atol=2e-5)
    gradient, _ = derivatives(model, found, model.weight)
    np.testing.assert_allclose(gradient + 2 * STRENGTH * (found - model.centre), 0.0, atol=1e-7)
    without, reached = model.minimum(STRENGTH, found, share[:, 0])
    assert reached
    np.testing.assert_allclose(without, minimum(model, model.weight * (1.0 - share[:, 0])), atol=2e-5)


@pytest.mark.parametrize("kind", ["all", "own"])
def test_the_covariance_is_the_inverse_hessian(kind):
    model, _ = problem(kind)
    theta = model.centre + 0.1
    _, hessian = derivatives(model, theta, model.weight)
    expected = np.linalg.inv(hessian + 2 * STRENGTH * np.eye(theta.size))
    np.testing.assert_allclose(model.covariance(STRENGTH, theta), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("to_the_end", [False, True])
@pytest.mark.parametrize("kind", ["all", "own"])
def test_each_row_is_told_without_its_fold(kind, to_the_end):
    model, share = problem(kind)
    theta, _ = model.minimum(STRENGTH, model.centre)
    expected = np.zeros((N, K))
    for own in share.T:
        without = model.weight * (1.0 - own)
        gradient, hessian = derivatives(model, theta, without)
        gradient += 2 * STRENGTH * (theta - model.centre)
        hessian += 2 * STRENGTH * np.eye(theta.size)
        one = theta - np.linalg.solve(hessian, gradient.ravel()).reshape(theta.shape)
        logs = log_softmax(scores_of(model, minimum(model, without) if to_the_end else one), axis=1)
        expected += own[:, None] * logs
    # Rows of several folds have means of log-probabilities, normalised.
    expected = log_softmax(expected, axis=1)
    found, ended = model.crossed(STRENGTH, theta, share, to_the_end)
    assert ended
    np.testing.assert_allclose(found, expected, atol=1e-4 if to_the_end else 1e-7)


@pytest.mark.parametrize("kind", ["all", "own"])
def test_blocks_and_threads_change_rounding_and_nothing(kind, monkeypatch):
    model, share = problem(kind, n=800)
    theta, _ = model.minimum(STRENGTH, model.centre)
    found, _ = model.crossed(STRENGTH, theta, share, to_the_end=True)
    with working_threads(3):
        again, _ = model.minimum(STRENGTH, model.centre)
        monkeypatch.setattr(multinomial, "SECONDS", 1.0)
        assert model.crossed(STRENGTH, theta, share, to_the_end=True)[0].tobytes() == found.tobytes()
        assert model.minimum(STRENGTH, model.centre)[0].tobytes() == again.tobytes() == theta.tobytes()
    monkeypatch.setattr(multinomial, "PIECE", 10)
    monkeypatch.setattr(multinomial, "BLOCK_BYTES", 8000)
    np.testing.assert_allclose(model.minimum(STRENGTH, model.centre)[0], theta, atol=1e-10)
    again, _ = model.crossed(STRENGTH, theta, share, to_the_end=True)
    np.testing.assert_allclose(again, found, atol=1e-8)


@pytest.mark.parametrize("kind", ["all", "own"])
def test_rows_that_do_not_count_and_folds_without_rows_change_nothing(kind):
    model, share = problem(kind)
    with_empty = np.column_stack([share, np.zeros(N)])
    theta, _ = model.minimum(STRENGTH, model.centre)
    np.testing.assert_array_equal(
        model.crossed(STRENGTH, theta, with_empty, to_the_end=True)[0],
        model.crossed(STRENGTH, theta, share, to_the_end=True)[0],
    )
    counts = np.flatnonzero(model.weight)
    few = Multinomial(
        model.features[:, counts], model.columns, model.centre, model.y[counts], model.weight[counts]
    )
    np.testing.assert_allclose(few.minimum(STRENGTH, model.centre)[0], theta, atol=1e-9)


@pytest.mark.parametrize("kind", ["all", "own"])
@pytest.mark.parametrize("slow", [0.0, 0.1, 0.99])
def test_a_hessian_that_serves_longer_gives_the_same_minimum(kind, slow, monkeypatch):
    model, share = problem(kind)
    theta, _ = model.minimum(STRENGTH, model.centre)
    crossed, _ = model.crossed(STRENGTH, theta, share, to_the_end=True)
    monkeypatch.setattr(multinomial, "STALE", slow)
    again, reached = model.minimum(STRENGTH, model.centre)
    assert reached
    np.testing.assert_allclose(again, theta, atol=1e-7)
    again, _ = model.crossed(STRENGTH, theta, share, to_the_end=True)
    np.testing.assert_allclose(again, crossed, atol=1e-6)


@pytest.mark.parametrize("kind", ["all", "own"])
def test_huge_weights_have_a_minimum(kind):
    model, share = problem(kind, weight="huge")
    theta, reached = model.minimum(STRENGTH, model.centre)
    assert reached
    gradient, _ = derivatives(model, theta, model.weight / 1e9)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6)
    crossed, ended = model.crossed(STRENGTH, theta, share, to_the_end=True)
    assert ended
    assert np.isfinite(crossed).all()


@pytest.mark.parametrize("kind", ["all", "own"])
def test_what_is_not_finite_is_refused(kind):
    model, _ = problem(kind)
    model.features[0, 0] = np.nan
    with pytest.raises(ValueError, match="make sample_weight smaller"):
        model.minimum(STRENGTH, model.centre)


def test_large_hessians_are_kept_one_at_a_time(monkeypatch):
    model, share = problem("own")
    theta, _ = model.minimum(STRENGTH, model.centre)
    found, _ = model.crossed(STRENGTH, theta, share, to_the_end=True)
    threads, minimum = set(), Multinomial.minimum

    def noted(*arguments):
        threads.add(threading.current_thread())
        return minimum(*arguments)

    monkeypatch.setattr(Multinomial, "minimum", noted)
    monkeypatch.setattr(multinomial, "SECONDS", 1.0)
    with working_threads(2):
        for most, here in ((2**24, False), (1000, True)):
            threads.clear()
            monkeypatch.setattr(multinomial, "THREAD_BYTES", most)
            again, _ = model.crossed(STRENGTH, theta, share, to_the_end=True)
            np.testing.assert_array_equal(again, found)
            assert (threading.current_thread() in threads) == here

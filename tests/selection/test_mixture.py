import numpy as np
import pytest
from scipy.optimize import minimize

from bayes_svm.selection.mixture import log_shares, pooled, stacking_weights

random = np.random.default_rng(0)


def models(n_models, n_classes, n=60):
    """Log-probabilities of models of different sharpness, labels and weights."""
    y = random.integers(0, n_classes, size=n)
    score = 2.0 * np.eye(n_classes)[y] + random.normal(size=(n_models, n, n_classes))
    score *= np.geomspace(0.2, 3.0, n_models)[:, None, None]
    return (
        score - np.logaddexp.reduce(score, axis=2, keepdims=True),
        y,
        random.choice([0.0, 0.5, 2.0], size=n),
    )


def objective(weights, logs, y, weight):
    """The formula, sample by sample."""
    total = np.log(weights).mean()
    for i in range(len(y)):
        pool = np.prod(np.exp(logs[:, i]) ** weights[:, None], axis=0)
        total += weight[i] * np.log(pool[y[i]] / pool.sum())
    return total


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n_models", [2, 6])
def test_no_other_weights_are_likelier(n_models, n_classes):
    logs, y, weight = models(n_models, n_classes)
    base = log_shares(y, weight, n_classes)
    found = stacking_weights(logs, y, weight, base)
    total = found.sum()
    found = found / total
    kept = np.flatnonzero(found)  # the best weights of these
    best = minimize(
        lambda w: -objective(w / w.sum(), logs[kept], y, weight),
        np.full(len(kept), 1.0 / len(kept)),
        bounds=[(1e-6, 1.0)] * len(kept),
        method="L-BFGS-B",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    assert objective(found[kept], logs[kept], y, weight) == pytest.approx(-best.fun, abs=1e-4)

    def sum_loss(s):
        own = pooled(logs, s * found, base)[np.arange(len(y)), y]
        return -weight @ own + 0.5 * (np.log(s) / 0.2) ** 2

    others = np.geomspace(0.4, 2.5, 400)
    assert sum_loss(total) <= min(sum_loss(s) for s in others) + 1e-9


def test_the_pool_is_the_normalised_product():
    logs, *_ = models(3, 4)
    base = np.log([0.1, 0.2, 0.3, 0.4])
    for weights in (np.array([0.5, 0.2, 0.3]), np.array([0.9, 0.2, 0.3])):
        product = np.prod(np.exp(logs) ** weights[:, None, None], axis=0)
        product *= np.array([0.1, 0.2, 0.3, 0.4]) ** (1.0 - weights.sum())
        np.testing.assert_allclose(
            np.exp(pooled(logs, weights, base)), product / product.sum(axis=1, keepdims=True)
        )


def test_the_shares_of_the_classes_count_weights():
    found = log_shares(np.array([0, 2, 2]), np.array([1.0, 1.0, 2.0]), 3)
    np.testing.assert_allclose(np.exp(found), [0.25, 0.0, 0.75], atol=1e-300)


def test_many_models_are_thinned_out():
    logs, y, weight = models(40, 2, n=2000)
    found = stacking_weights(logs, y, weight, log_shares(y, weight, 2))
    assert 0 < np.sum(found > 0) < 40
    assert found[found > 0].min() > 0.01


def test_models_that_say_the_same_share():
    logs, y, weight = models(1, 2)
    found = stacking_weights(np.repeat(logs, 4, axis=0), y, weight, log_shares(y, weight, 2))
    np.testing.assert_allclose(found, found[0])


def test_one_model_has_all_the_weight():
    logs, y, weight = models(1, 3)
    np.testing.assert_array_equal(stacking_weights(logs, y, weight, log_shares(y, weight, 3)), [1.0])


def test_certainty_that_is_wrong_is_no_trouble():
    logs, y, weight = models(3, 2)
    logs[0] = np.where(np.eye(2)[y] == 1, -np.inf, 0.0)
    found = stacking_weights(logs, y, weight, log_shares(y, weight, 2))
    assert np.all(np.isfinite(found))
    assert found[0] < 0.01
    assert np.all(np.isfinite(pooled(logs, found, log_shares(y, weight, 2))))

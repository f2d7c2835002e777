"""Bootstraps against plain loops."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from _compared import Nearest, X, Y
from bayes_svm import compare_estimators
from bayes_svm.selection.bootstrap import no_information_rate


def slow_632_plus(estimator, X, y, samples):
    """Efron and Tibshirani's formulas, one point at a time."""
    predicted = estimator.fit(X, y).predict(X)
    training = np.mean(predicted != y)
    losses = [[] for _ in y]
    optimism = []
    for sample in samples:
        wrong = estimator.fit(X[sample], y[sample]).predict(X) != y
        optimism.append(wrong.mean() - wrong[sample].mean())
        for i in range(len(y)):
            if i not in sample:
                losses[i].append(wrong[i])
    outside = np.mean([np.mean(each) for each in losses if each])
    chance = np.mean(y[:, None] != predicted[None, :])
    capped = min(outside, chance)
    rate = (capped - training) / (chance - training) if capped > training and chance > training else 0.0
    weight = 0.632 / (1 - 0.368 * rate)
    return (1 - weight) * training + weight * capped, training + np.mean(optimism)


@pytest.mark.parametrize("estimator", [Nearest(), LogisticRegression(C=0.01)])
def test_bootstraps_are_efrons(estimator, monkeypatch):
    seen = []
    import bayes_svm.selection.bootstrap as module

    draw = module._draw
    monkeypatch.setattr(module, "_draw", lambda y, random: seen.append(draw(y, random)) or seen[-1])
    found = compare_estimators(estimator, X, Y, methods=["632+", "bootstrap"], n_bootstrap=8)
    plus, corrected = slow_632_plus(estimator, X, Y, seen)
    assert found["632+"].value == pytest.approx(plus)
    assert found["bootstrap"].value == pytest.approx(corrected)
    assert (found["632+"].fits, found["bootstrap"].fits) == (9, 0)


def test_no_information_rate_is_over_all_pairs():
    y, predicted = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1])
    assert no_information_rate(y, predicted) == np.mean(y[:, None] != predicted[None, :])

"""Probability intervals of a search."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _data import noisy, three_classes
from _grid import GRID
from bayes_svm import BayesSVC, BayesSVCSearch
from bayes_svm.conformal.venn_abers import VennAbers


def left_out(search):
    """Probabilities of a search's mixture at the rows left out of its machines, up to a constant."""
    parts = zip(search.weights_, search.estimators_, strict=True)
    proba = np.prod([model.left_out_proba_**w for w, model in parts], axis=0)
    proba *= np.exp(search.base_) ** (1.0 - search.weights_.sum())
    return proba / proba.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("combine", ["best", "stack"])
def test_intervals_are_those_of_the_left_out_probabilities(combine):
    X, y = noisy()
    y, weight = np.where(y > 0, "a", "b"), np.random.default_rng(0).choice([0.0, 1.0, 2.0], size=60)
    search = BayesSVCSearch(BayesSVC(), GRID, combine=combine).fit(X, y, sample_weight=weight)
    assert (len(search.estimators_) > 1) == (combine == "stack")
    at = np.random.default_rng(1).normal(size=(20, 3))
    expected = VennAbers(left_out(search)[:, 1], y == "b", weight)
    found = search.predict_interval(at)
    np.testing.assert_allclose(found, expected.interval(search.predict_proba(at)[:, 1]), atol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict_interval(at), found)


def test_intervals_of_several_classes_have_a_column_each():
    X, y = three_classes()
    search = BayesSVCSearch(BayesSVC(), GRID, combine="stack").fit(X, y)
    found, proba = search.predict_interval(X), search.predict_proba(X)
    assert found.shape == (60, 3, 2)
    for k in range(3):
        one = VennAbers(left_out(search)[:, k], y == k, np.ones(60))
        np.testing.assert_allclose(found[:, k], one.interval(proba[:, k]), atol=1e-12)


def test_over_new_points_the_interval_of_a_mixture_holds_the_frequency():
    X, y = noisy(n=2000, noise=0.7)
    model = make_pipeline(StandardScaler(), BayesSVC())
    grid = {f"bayessvc__{name}": values for name, values in GRID.items()}
    search = BayesSVCSearch(model, grid, combine="stack").fit(X[:100], y[:100])
    low, high = search.predict_interval(X[100:]).mean(axis=0)
    assert low <= np.mean(y[100:] > 0) <= high
    assert high - low < 0.15


def test_without_models_there_are_no_intervals():
    X, y = noisy()
    with pytest.raises(NotFittedError, match="BayesSVCSearch instance is not fitted yet"):
        BayesSVCSearch(BayesSVC(), GRID).predict_interval(X)
    search = BayesSVCSearch(BayesSVC(), GRID, refit=False).fit(X, y)
    with pytest.raises(AttributeError, match="refit=False keeps no model"):
        search.predict_interval(X)

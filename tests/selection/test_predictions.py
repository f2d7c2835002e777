"""Probability intervals of a search."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _data import noisy, three_classes
from _grid import GRID
from bayes_svm import BayesSVC, BayesSVCSearch, leave_one_out
from bayes_svm.conformal.scores import LeftOutScores
from bayes_svm.conformal.venn_abers import VennAbers
from bayes_svm.selection.mixture import pooled


def left_out(search):
    """Probabilities of a search's mixture at the rows left out of its machines, up to a constant."""
    parts = zip(search.weights_, search.estimators_, strict=True)
    proba = np.prod([model.left_out_proba_**w for w, model in parts], axis=0)
    proba *= np.exp(search.base_) ** (1.0 - search.weights_.sum())
    return proba / proba.sum(axis=1, keepdims=True)


@pytest.fixture
def many(monkeypatch):
    """As with more rows, from which on the left-out values of the fit are read."""
    monkeypatch.setattr("bayes_svm.classifiers.predictions.TRANSDUCTIVE", 10)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("combine", ["best", "stack"])
def test_intervals_are_those_of_the_left_out_probabilities(combine):
    X, y = noisy(n=150)
    y, weight = np.where(y > 0, "a", "b"), np.random.default_rng(0).choice([0.0, 1.0, 2.0], size=150)
    search = BayesSVCSearch(BayesSVC(), GRID, combine=combine).fit(X, y, sample_weight=weight)
    assert (len(search.estimators_) > 1) == (combine == "stack")
    at = np.random.default_rng(1).normal(size=(20, 3))
    expected = VennAbers(left_out(search)[:, 1], y == "b", weight)
    found = search.predict_interval(at)
    np.testing.assert_allclose(found, expected.interval(search.predict_proba(at)[:, 1]), atol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict_interval(at), found)


@pytest.mark.usefixtures("many")
def test_intervals_of_several_classes_have_a_column_each():
    X, y = three_classes()
    search = BayesSVCSearch(BayesSVC(), GRID, combine="stack").fit(X, y)
    found, proba = search.predict_interval(X), search.predict_proba(X)
    assert found.shape == (60, 3, 2)
    for k in range(3):
        one = VennAbers(left_out(search)[:, k], y == k, np.ones(60))
        np.testing.assert_allclose(found[:, k], one.interval(proba[:, k]), atol=1e-12)


def left_out_of_bag(search, X, y, x, trial):
    """Probabilities of the mixture at all n + 1 points, each left out of every machine."""
    bag, labels, logs = np.vstack([X, x]), np.append(y, trial), []
    for model in search.estimators_:
        links = model._probabilities.unmoderated
        values = leave_one_out(clone(model), bag, labels, method="retrain").decision_values
        logs.append(links(values))
    proba = np.exp(pooled(np.stack(logs), search.weights_, search.base_))
    # Probabilities that differ by rounding errors only are tied.
    return np.round(proba, 9), labels


@pytest.mark.filterwarnings("ignore:No setting tells the classes apart")  # 30 rows hardly do
@pytest.mark.parametrize("combine", ["best", "stack"])
@pytest.mark.parametrize("make", [noisy, three_classes])
def test_with_few_rows_all_points_are_left_out_of_the_mixture_in_turn(make, combine):
    X, y = make(n=30)
    search = BayesSVCSearch(BayesSVC(), GRID, combine=combine).fit(X, y)
    new = np.random.default_rng(1).normal(size=(3, X.shape[1]))
    found = search.predict_interval(new).reshape(3, -1, 2)
    for x, intervals in zip(new, found, strict=True):
        bags = [left_out_of_bag(search, X, y, x, trial) for trial in search.classes_]
        for k, interval in zip(range(len(search.classes_))[-len(intervals) :], intervals, strict=True):
            ends = [
                IsotonicRegression().fit(proba[:, k], labels == search.classes_[k]).predict(proba[-1:, k])[0]
                for proba, labels in bags
            ]
            np.testing.assert_allclose(interval, [min(ends), max(ends)], atol=1e-9)


def test_intervals_of_a_mixture_depend_on_neither_batch_nor_storage(monkeypatch):
    X, y = noisy()
    model = make_pipeline(StandardScaler(with_mean=False), BayesSVC())
    grid = {f"bayessvc__{name}": values for name, values in GRID.items()}
    search = BayesSVCSearch(model, grid, combine="stack").fit(X, y)
    found = search.predict_interval(X[:9])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict_interval(X[:9]), found)
    np.testing.assert_allclose(search.predict_interval(sparse.csr_matrix(X[:9])), found, atol=1e-9)
    monkeypatch.setattr("bayes_svm.classifiers.predictions.AT_A_TIME", 4)
    np.testing.assert_array_equal(search.predict_interval(X[:9]), found)


def test_where_a_value_of_the_bag_is_not_exact_the_interval_of_a_mixture_is_that_of_the_fit(monkeypatch):
    X, y = noisy()
    search = BayesSVCSearch(BayesSVC(), GRID, combine="stack").fit(X, y)
    exact, find = search.predict_interval(X[:5]), LeftOutScores._values_of
    expected = exact.copy()
    expected[2] = search._venn_abers[0].interval(search.predict_proba(X[2:3])[:, 1])

    def spoilt(*args):
        values, own, statuses = find(*args)
        statuses[2, 5] = "inexact"
        return values, own, statuses

    monkeypatch.setattr(LeftOutScores, "_values_of", spoilt)
    with pytest.warns(ConvergenceWarning, match="With 1 of the 5 points") as warned:
        np.testing.assert_array_equal(search.predict_interval(X[:5]), expected)
    assert [one.filename for one in warned] == [__file__]


def test_over_new_points_the_interval_of_a_mixture_holds_the_frequency():
    X, y = noisy(n=500, noise=0.7)
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


@pytest.mark.parametrize("combine", ["best", "stack"])
def test_the_heaviest_model_explains(combine):
    X, y = noisy()
    grid = {f"bayessvc__{name}": values for name, values in GRID.items()}
    search = BayesSVCSearch(make_pipeline(StandardScaler(), BayesSVC()), grid, combine=combine).fit(X, y)
    found, model = search.explain(X[0]), search.estimators_[search.weights_.argmax()]
    expected = model[-1].explain(model[:-1].transform(X[[0]]))
    assert found.supporting == expected.supporting
    proba = search.predict_proba(X[[0]])[0, search.classes_.tolist().index(found.predicted)]
    assert found.note == "" if combine == "best" else f"probability {proba:.3f}" in found.note


@pytest.mark.parametrize("steps", [[], [StandardScaler().set_output(transform="pandas")]])
def test_intervals_take_the_frames_that_the_search_was_fitted_to(steps):
    pd = pytest.importorskip("pandas")
    X, y = noisy()
    frame = pd.DataFrame(X, columns=[f"column {k}" for k in range(X.shape[1])])
    grid = {"bayessvc__C": [0.1, 10.0]}
    search = BayesSVCSearch(make_pipeline(*steps, BayesSVC()), grid, combine="stack")
    expected = search.fit(X, y).predict_interval(X)
    np.testing.assert_array_equal(search.fit(frame, y).predict_interval(frame), expected)

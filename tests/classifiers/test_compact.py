"""Models that predict, and no more."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_classification,
)
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from _data import awkward, noisy, three_classes
from bayes_svm import BayesSVC, leave_one_out

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
CASES = [
    *({"link": link} for link in ("moderated", "sigmoid", "kwok", "clipped")),
    {"kernel": "linear", "class_weight": "balanced"},
    {"kernel": "linear", "link": "kwok"},
    {"kernel": "poly", "coef0": 1.0},
    {"multiclass": "winner"},
]


@pytest.mark.parametrize("parameters", CASES, ids=str)
@pytest.mark.parametrize("make", [noisy, awkward, three_classes])
def test_a_compact_model_predicts_the_same_bits(make, parameters):
    X, y = make(n=150)
    model = BayesSVC(**parameters).fit(X, y)
    compact = model.compact()
    at = np.vstack([X, 5.0 * X])
    for one in (compact, pickle.loads(pickle.dumps(compact)), compact.compact()):
        for method in METHODS:
            np.testing.assert_array_equal(getattr(one, method)(at), getattr(model, method)(at))
        assert one.get_params() == model.get_params()
        assert one.n_features_in_ == X.shape[1]


@pytest.mark.filterwarnings("ignore:The decision values do not separate the classes")
@pytest.mark.parametrize("parameters", CASES, ids=str)
def test_sparse_training_data(parameters):
    X, y = three_classes(n=90)
    sparsely = BayesSVC(**parameters).fit(sparse.csr_array(X), y)
    again = pickle.loads(pickle.dumps(sparsely.compact()))
    np.testing.assert_array_equal(again.predict_proba(X), sparsely.predict_proba(X))
    wide = sparse.csr_array(sparse.random(60, 5000, density=0.001, random_state=0))
    text = BayesSVC(**parameters).fit(wide, y[:60])
    again = pickle.loads(pickle.dumps(text.compact()))
    assert again.support_vectors_.nnz <= wide.nnz  # they are fewer numbers than weights would be
    np.testing.assert_array_equal(again.predict_proba(wide), text.predict_proba(wide))


def test_a_precomputed_kernel():
    X, y = noisy(n=150)
    gram = X @ X.T
    model = BayesSVC(kernel="precomputed").fit(gram, y)
    again = pickle.loads(pickle.dumps(model.compact()))
    np.testing.assert_array_equal(again.predict_proba(gram), model.predict_proba(gram))


@pytest.mark.parametrize("prepare", [scale, np.asarray], ids=["scaled", "as it is"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits, load_iris, load_wine])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_its_pickle_is_at_most_half_as_large_again_as_that_of_svc(load, kernel, prepare):
    X, y = load(return_X_y=True)
    X, y = prepare(X[:700]), y[:700]
    compact = BayesSVC(kernel=kernel, tol=0.1).fit(X, y).compact()
    assert len(pickle.dumps(compact)) <= 1.5 * len(pickle.dumps(SVC(kernel=kernel).fit(X, y)))


def easy():
    """Data of which an SVC keeps few rows."""
    apart = {"n_features": 4, "n_informative": 3, "n_redundant": 0, "n_clusters_per_class": 1}
    for n_classes in (2, 3, 4):
        yield make_classification(340, n_classes=n_classes, **apart, class_sep=3.0, random_state=0)
        for n_features in (2, 20):
            yield make_blobs(200, n_features=n_features, centers=n_classes, random_state=1)
    yield make_circles(random_state=0, noise=0.05, factor=0.5)
    X, y = load_iris(return_X_y=True)
    yield X[:, 2:], y


@pytest.mark.filterwarnings("ignore:The decision values do not separate the classes")
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_so_it_is_where_classes_are_far_apart(kernel):
    for X, y in easy():
        compact = BayesSVC(kernel=kernel).fit(X, y).compact()
        assert len(pickle.dumps(compact)) <= 1.5 * len(pickle.dumps(SVC(kernel=kernel).fit(X, y)))


def test_a_linear_machine_keeps_the_weights_of_the_features():
    X, y = three_classes(n=90)
    model = BayesSVC(kernel="linear").fit(X, y)
    compact = model.compact()
    assert not hasattr(compact, "support_vectors_")
    np.testing.assert_array_equal(compact.coef_, model.coef_)
    np.testing.assert_allclose(model.coef_, model.dual_coef_ @ model.support_vectors_)
    told = X @ model.support_vectors_.T @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(compact._margins(X), told, atol=1e-12)
    before = model.decision_function(X)
    compact.coef_[:] = 0.0  # a copy
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_a_compact_linear_machine_can_be_left_out_like_the_whole():
    X, y = noisy()
    model = BayesSVC(kernel="linear").fit(X, y)
    found = leave_one_out(model.compact(), X, y)
    np.testing.assert_allclose(found.decision_values, leave_one_out(model, X, y).decision_values, atol=1e-9)


@pytest.mark.parametrize("method", ["explain", "predict_interval", "posterior_variance"])
def test_what_it_cannot_do_it_says(method):
    X, y = noisy()
    compact = BayesSVC().fit(X, y).compact()
    with pytest.raises(
        AttributeError, match=rf"{method} is not available: compact\(\) keeps only what predict"
    ):
        getattr(compact, method)(X[:1])


@pytest.mark.parametrize(
    "name", ["left_out_", "left_out_proba_", "left_out_decision_values_", "solution_", "link_", "n_support_"]
)
def test_attributes_that_it_does_not_have_it_says(name):
    X, y = noisy()
    compact = BayesSVC().fit(X, y).compact()
    assert not hasattr(compact, name)
    with pytest.raises(AttributeError, match=rf"{name} is not available: compact\(\) keeps only"):
        getattr(compact, name)
    assert hasattr(compact.fit(X, y), name)
    assert not hasattr(compact.compact(), name)
    assert pickle.loads(pickle.dumps(compact)).explain(X[0]).predicted in (-1, 1)


def test_other_models_say_what_they_did_before():
    with pytest.raises(NotFittedError):
        BayesSVC().compact()
    with pytest.raises(AttributeError, match="'BayesSVC' object has no attribute 'left_out_'"):
        _ = BayesSVC().left_out_
    with pytest.raises(AttributeError, match="coef_ is only available when using a linear kernel"):
        _ = BayesSVC().coef_


def test_a_clone_is_a_whole_model():
    X, y = noisy()
    again = clone(BayesSVC().fit(X, y).compact()).fit(X, y)
    assert again.left_out_.error >= 0.0

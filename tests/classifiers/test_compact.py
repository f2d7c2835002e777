"""Models that predict, and no more."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from _data import awkward, noisy, three_classes
from bayes_svm import BayesSVC

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
CASES = [
    *({"link": link} for link in ("moderated", "sigmoid", "kwok", "clipped")),
    {"kernel": "linear", "class_weight": "balanced"},
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


def test_sparse_and_precomputed_training_data():
    X, y = noisy(n=150)
    sparsely = BayesSVC().fit(sparse.csr_matrix(X), y)
    again = pickle.loads(pickle.dumps(sparsely.compact()))
    np.testing.assert_array_equal(again.predict_proba(X), sparsely.predict_proba(X))
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


@pytest.mark.parametrize("method", ["explain", "predict_interval", "posterior_variance"])
def test_what_it_cannot_do_it_says(method):
    X, y = noisy()
    compact = BayesSVC().fit(X, y).compact()
    with pytest.raises(
        AttributeError, match=rf"{method} is not available: compact\(\) keeps only what predict"
    ):
        getattr(compact, method)(X[:1])


@pytest.mark.parametrize(
    "name", ["left_out_", "left_out_proba_", "left_out_decision_values_", "solution_", "link_"]
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

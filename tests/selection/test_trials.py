"""Pipelines, kernels and objects among the settings that are tried."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _data import noisy
from bayes_svm import BayesSVC, BayesSVCSearch


def test_a_pipeline_is_searched_as_one():
    X, y = noisy(n=120)
    X = 100.0 * X
    pipeline = make_pipeline(StandardScaler(), BayesSVC())
    grid = {"bayessvc__C": [0.1, 1.0], "standardscaler__with_mean": [True, False]}
    weight = np.ones(len(y))
    search = BayesSVCSearch(pipeline, grid).fit(X, y, sample_weight=weight)
    best = clone(pipeline).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.predict_proba(X), best.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    few = clone(pipeline).set_params(**search.best_params_, bayessvc__leave_out=5).fit(X, y)
    losses = [log_loss(y, one[-1].left_out_proba_) for one in (best, few)]
    np.testing.assert_allclose(search.best_score_, -np.mean(losses))
    assert not hasattr(pipeline[0], "mean_")


def test_steps_that_do_nothing_are_searched_too():
    X, y = noisy()
    pipeline = make_pipeline("passthrough", BayesSVC())
    grid = {"passthrough": [StandardScaler(), "passthrough"], "bayessvc__C": [0.1, 1.0]}
    search = BayesSVCSearch(pipeline, grid).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(X).shape == (len(X),)


def test_objects_of_a_grid_are_cloned():
    X, y = noisy(noise=0.5)
    model = BayesSVC(link="sigmoid")
    pipeline = make_pipeline(StandardScaler(), BayesSVC())
    search = BayesSVCSearch(pipeline, {"bayessvc": [model], "bayessvc__C": [0.1, 100.0]}).fit(X, y)
    assert search.best_params_["bayessvc__C"] == search.best_estimator_[-1].C
    assert not hasattr(model, "classes_")


def test_kernels_that_print_alike_are_not_one():
    X, y = noisy()
    kernels = [RBF(3.0001), RBF(3.0049)]
    together = BayesSVCSearch(BayesSVC(), {"kernel": kernels}).fit(X, y).cv_results_["mean_test_score"]
    alone = [BayesSVCSearch(BayesSVC(), {"kernel": [kernel]}).fit(X, y).best_score_ for kernel in kernels]
    np.testing.assert_array_equal(together, alone)


def test_a_pipeline_of_one_step_and_one_of_text():
    X, y = noisy()
    assert BayesSVCSearch(make_pipeline(BayesSVC()), {"bayessvc__C": [0.1, 1.0]}).fit(X, y).score(X, y) > 0.6
    texts = ["a b"] * 5 + ["b c"] * 5 + ["c d a"] * 5
    labels = np.repeat(["x", "y", "z"], 5)
    model = make_pipeline(TfidfVectorizer(token_pattern=r"\w"), BayesSVC(kernel="linear"))
    search = BayesSVCSearch(model, {"bayessvc__C": [1.0, 10.0]}).fit(texts, labels)
    assert list(search.predict(texts)) == list(labels)


@pytest.mark.filterwarnings("ignore:The solution is not exact")  # a sigmoid kernel has no optimum
def test_without_an_optimum_settings_do_not_start_from_each_other():
    X, y = noisy()
    model = BayesSVC(kernel="sigmoid", gamma=2.0)
    together = BayesSVCSearch(model, {"C": [0.1, 1.0, 10.0]}).fit(X, y).cv_results_["mean_test_score"]
    alone = [BayesSVCSearch(model, {"C": [C]}).fit(X, y).best_score_ for C in (0.1, 1.0, 10.0)]
    np.testing.assert_array_equal(together, alone)


def test_steps_get_what_they_request_by_metadata_routing():
    X, y = noisy()
    weight = np.random.default_rng(0).choice([1.0, 4.0], size=len(y))
    with config_context(enable_metadata_routing=True):
        scaler, machine = StandardScaler(), BayesSVC().set_fit_request(sample_weight=True)
        wanted = make_pipeline(clone(scaler).set_fit_request(sample_weight=True), machine)
        grid = {"bayessvc__C": [1.0]}
        search = BayesSVCSearch(wanted, grid).fit(X, y, sample_weight=weight)
        whole = clone(wanted).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(search.best_estimator_[0].mean_, whole[0].mean_)
        np.testing.assert_array_equal(search.best_estimator_.predict_proba(X), whole.predict_proba(X))
        unasked = BayesSVCSearch(make_pipeline(scaler, machine), grid).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(unasked.best_estimator_[0].mean_, X.mean(axis=0))
        refuses = BayesSVCSearch(BayesSVC().set_fit_request(sample_weight=False), {"C": [1.0]})
        with pytest.raises(ValueError, match=r"set_fit_request\(sample_weight=False\) says otherwise"):
            refuses.fit(X, y, sample_weight=weight)
        refuses.fit(X, y)

"""Criteria of a search, computed by hand."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import ParameterGrid

from _data import noisy, three_classes
from _grid import GRID
from bayes_svm import BayesSVC, BayesSVCSearch, class_similarity, log_evidence, span_estimate, xi_alpha


def criterion_by_hand(criterion, parameters, X, y):
    """The criterion of one setting from the public functions, on a fit of its own."""
    model = BayesSVC(**parameters)
    if criterion == "left_out_log_loss":
        few = clone(model).set_params(leave_out=5).fit(X, y)
        return -(log_loss(y, model.fit(X, y).left_out_proba_) + log_loss(y, few.left_out_proba_)) / 2
    if criterion == "evidence":
        return log_evidence(model, X, y).value
    if criterion == "class_similarity":
        return -class_similarity(X, y, gamma=parameters["gamma"]).value
    if criterion == "left_out_error":
        wrong = model.fit(X, y).classes_[model.left_out_proba_.argmax(axis=1)] != y
        return -float(np.mean(wrong))
    estimate = {"span": span_estimate, "xi_alpha": xi_alpha}[criterion]
    return -estimate(model, X, y).error


@pytest.mark.parametrize(
    "criterion", ["left_out_log_loss", "left_out_error", "evidence", "span", "xi_alpha", "class_similarity"]
)
@pytest.mark.parametrize("make", [noisy, three_classes])
def test_the_best_setting_is_the_one_found_by_hand(make, criterion):
    X, y = make(n=120)  # of fewer than 100 rows a fit tells what links without the row's fold say
    search = BayesSVCSearch(BayesSVC(), GRID, criterion=criterion).fit(X, y)
    expected = [criterion_by_hand(criterion, parameters, X, y) for parameters in ParameterGrid(GRID)]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-6)
    assert search.cv_results_["params"] == list(ParameterGrid(GRID))
    assert search.best_index_ == int(np.argmax(expected))
    assert search.best_params_ == list(ParameterGrid(GRID))[search.best_index_]
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    best = BayesSVC(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.predict_proba(X), best.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(search.decision_function(X), best.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(search.predict_log_proba(X), best.predict_log_proba(X), atol=1e-8)

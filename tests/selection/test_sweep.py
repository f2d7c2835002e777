"""What a search tries: grids that are filtered, and spaces with and without a gradient."""

import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import BayesSVC, BayesSVCSearch, class_similarity, log_evidence


def test_the_evidence_is_climbed_along_its_gradient():
    X, y = noisy(n=80)
    space = {"C": (1e-3, 1e3), "gamma": (1e-3, 1e2)}
    search = BayesSVCSearch(BayesSVC(), param_space=space, criterion="evidence").fit(X, y)
    grid = {"C": np.geomspace(1e-3, 1e3, 13), "gamma": np.geomspace(1e-3, 1e2, 11)}
    best = max(log_evidence(SVC(**parameters), X, y).value for parameters in ParameterGrid(grid))
    assert search.best_score_ >= best - 0.1
    assert len(search.cv_results_["params"]) <= 60
    assert 1e-3 <= search.best_params_["C"] <= 1e3
    np.testing.assert_allclose(
        search.predict_proba(X), BayesSVC(**search.best_params_).fit(X, y).predict_proba(X)
    )


@pytest.mark.parametrize("criterion", ["left_out_log_loss", "span"])
def test_other_criteria_are_searched_without_a_gradient(criterion):
    X, y = noisy(n=60)
    search = BayesSVCSearch(
        make_pipeline(StandardScaler(), BayesSVC()),
        param_space={"bayessvc__C": (0.01, 100.0), "bayessvc__gamma": (0.01, 10.0)},
        criterion=criterion,
        max_evaluations=25,
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] <= search.best_score_ == scores.max()
    assert len(scores) <= 25


def test_verbose_prints_every_setting(capsys):
    X, y = noisy()
    BayesSVCSearch(BayesSVC(), {"C": [0.1, 1.0]}, verbose=1).fit(X, y)
    assert capsys.readouterr().err.count("[BayesSVCSearch] C=") == 2


@pytest.mark.parametrize("criterion", ["left_out_log_loss", "evidence", "class_similarity"])
def test_verbose_prints_the_scores_that_are_compared(criterion, capsys):
    X, y = noisy()
    search = BayesSVCSearch(BayesSVC(), {"gamma": [0.01, 1.0]}, criterion=criterion, verbose=1).fit(X, y)
    printed = [float(line.split(": score ")[1].split()[0]) for line in capsys.readouterr().err.splitlines()]
    np.testing.assert_allclose(printed, search.cv_results_["mean_test_score"], rtol=1e-5)


def test_class_similarity_filters_the_kernels():
    X, y = noisy(n=80)
    grid = {"gamma": [1e-3, 0.01, 0.1, 1.0, 10.0, 100.0], "C": [0.1, 1.0]}
    values = {gamma: class_similarity(X, y, gamma=gamma).value for gamma in grid["gamma"]}
    best = sorted(values, key=values.get)[:2]
    search = BayesSVCSearch(BayesSVC(), grid, prefilter=0.3, combine="stack").fit(X, y)
    scores, gammas = search.cv_results_["mean_test_score"], search.cv_results_["param_gamma"]
    assert {gamma for gamma, score in zip(gammas, scores, strict=True) if np.isfinite(score)} == set(best)
    whole = BayesSVCSearch(BayesSVC(), {**grid, "gamma": best}).fit(X, y)
    assert search.best_params_ == whole.best_params_
    assert len(search.estimators_) <= 4


def test_a_search_without_a_gradient_leaves_its_start():
    X, y = noisy(n=60)
    search = BayesSVCSearch(BayesSVC(), param_space={"C": (1e-3, 1e3)}, criterion="left_out_log_loss").fit(
        X, y
    )
    tried = [parameters["C"] for parameters in search.cv_results_["params"]]
    assert max(tried) / min(tried) > 4
    grid = BayesSVCSearch(BayesSVC(), {"C": list(np.geomspace(1e-3, 1e3, 25))}).fit(X, y)
    assert search.best_score_ >= grid.best_score_ - 0.02


@pytest.mark.parametrize("cost", ["a", None])
def test_a_cost_that_is_no_number_is_refused_by_its_name(cost):
    with pytest.raises(ValueError, match="'C' parameter of BayesSVC"):
        BayesSVCSearch(BayesSVC(), {"C": [cost, 1.0]}).fit(*noisy())

"""Values of C with one kernel: while threads leave out rows for one of them, the next is solved."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _data import noisy
from bayes_svm import BayesSVC, BayesSVCSearch

GRID = {"bayessvc__C": [0.1, 1.0, 10.0, 100.0]}


@pytest.mark.parametrize("criterion", ["left_out_log_loss", "left_out_error", "evidence"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_change_no_bit(criterion, n_classes):
    X, y = make_classification(90, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0)
    one, two = (
        BayesSVCSearch(
            make_pipeline(StandardScaler(), BayesSVC()), GRID, criterion=criterion, n_jobs=jobs
        ).fit(X, y)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(one.left_out_proba_, two.left_out_proba_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert (one.cv_results_["mean_fit_time"] > 0).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_warning_about_a_solution_points_to_the_search(n_jobs):
    X, y = noisy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        BayesSVCSearch(BayesSVC(max_iter=3), {"C": [0.1, 1.0, 10.0]}, n_jobs=n_jobs).fit(X, y)
    inexact = [one for one in caught if issubclass(one.category, ConvergenceWarning)]
    assert len(inexact) >= 3
    assert {one.filename for one in inexact} == {__file__}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_one_setting_is_raised(n_jobs):
    X, y = noisy()
    grid = {"C": [0.1, 1.0, 10.0], "leave_out": [10**6]}
    with pytest.raises(ValueError, match="leave_out"):
        BayesSVCSearch(BayesSVC(), grid, n_jobs=n_jobs).fit(X, y)

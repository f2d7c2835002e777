"""Warnings name the line that led to them, through however many layers."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import (
    BayesSVC,
    BayesSVCSearch,
    PairwiseCouplingClassifier,
    RejectOptionClassifier,
    leave_one_out,
    optimize_kernel,
)

X, Y = noisy()
RANDOM_LABELS = np.random.default_rng(3).permutation(Y)
RARE = np.where(np.arange(len(Y)) < 2, 1, -1)
GRID = {"C": [0.1, 1.0]}


@pytest.mark.parametrize(
    "call",
    [
        lambda: BayesSVC().fit(X, RARE),
        lambda: BayesSVC().fit(np.ones_like(X), Y),
        lambda: BayesSVC(max_iter=1).fit(X, Y),
        lambda: BayesSVC(leave_out=20).fit(X, np.where(np.arange(len(Y)) < 5, 1, -1)),
        lambda: make_pipeline(StandardScaler(), BayesSVC()).fit(X, RARE),
        lambda: BayesSVCSearch(BayesSVC(), GRID).fit(X, RARE),
        lambda: RejectOptionClassifier(BayesSVC()).fit(X, RARE),
        lambda: PairwiseCouplingClassifier(BayesSVC()).fit(X, RARE),
        lambda: leave_one_out(SVC(max_iter=1), X, Y),
        lambda: optimize_kernel(X, RANDOM_LABELS, max_iter=1),
    ],
)
def test_a_warning_is_at_the_callers_line(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [one for one in caught if one.category in (UserWarning, ConvergenceWarning)]
    assert ours
    assert {Path(one.filename) for one in ours} == {Path(__file__)}

"""Warnings name the line that led to them, through however many layers."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import (
    BayesSVC,
    BayesSVCSearch,
    MultivariateSVC,
    PairwiseCouplingClassifier,
    RejectOptionClassifier,
    compare_estimators,
    leave_one_out,
    log_evidence,
    optimize_kernel,
)
from bayes_svm.report.content import make_report
from bayes_svm.report.model import fit_table
from bayes_svm.report.record import Settings
from bayes_svm.report.tables.table import Table

X, Y = noisy()
RANDOM_LABELS = np.random.default_rng(3).permutation(Y)
RARE = np.where(np.arange(len(Y)) < 2, 1, -1)
GRID = {"C": [0.1, 1.0]}
# Nothing is predicted positive, so that precision is 0/0.
LEFT_OUT = leave_one_out(SVC(C=1e-6), X, np.where(np.arange(len(Y)) < 5, 1, -1))


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
        lambda: MultivariateSVC(max_iter=1).fit(X, Y),
        lambda: LEFT_OUT.precision,
        lambda: compare_estimators(BayesSVC(max_iter=1), X, Y, random_state=0),
        lambda: log_evidence(SVC(max_iter=1), X, Y),
    ],
)
def test_a_warning_is_at_the_callers_line(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [
        one for one in caught if one.category in (UserWarning, ConvergenceWarning, UndefinedMetricWarning)
    ]
    assert ours
    assert {Path(one.filename) for one in ours} == {Path(__file__)}


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "posterior_variance"])
def test_a_prediction_warns_of_nothing(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BayesSVC(max_iter=1).fit(X, RARE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(model, method)(X)


def test_a_report_turns_warnings_into_notes():
    table = Table("data", "class", pd.DataFrame(X).rename(columns=str), RARE.astype(str), ())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = make_report(fit_table(table, Settings(quick=True)))
    assert any("A class has two members" in note for note in report.source.notes)

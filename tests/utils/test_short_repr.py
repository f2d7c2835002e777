"""Reprs of result objects."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import scale

from bayes_svm import (
    BayesSVC,
    choose_threshold,
    class_similarity,
    leave_one_out,
    log_evidence,
    optimize_kernel,
    span_estimate,
    xi_alpha,
)
from bayes_svm.decision import risk_coverage_curve
from bayes_svm.utils.short_repr import short_repr


@dataclass(frozen=True)
class Record:
    value: Any
    hidden: Any = field(default=None, repr=False)

    __repr__ = short_repr


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.5, "1.5"),
        ("a", "'a'"),
        (np.arange(3), "array([0, 1, 2])"),
        (np.zeros((2, 2)), "array([[0., 0.], [0., 0.]])"),
        (np.zeros((5, 4)), "<array of shape (5, 4)>"),
        ((1, np.zeros(99)), "(1, <array of shape (99,)>)"),
        ((1,), "(1,)"),
        ([Record(np.zeros(99))], "[Record(value=<array of shape (99,)>)]"),
        ([0] * 11, "<11 items>"),
    ],
)
def test_long_arrays_are_shown_by_their_size(value, shown):
    assert repr(Record(value, hidden=1)) == f"Record(value={shown})"


def test_reprs_of_all_results_are_short():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    model = BayesSVC(leave_out=5).fit(X, y)
    several, labels = load_digits(return_X_y=True)
    joint = BayesSVC(leave_out=5).fit(several[:200], labels[:200])
    proba = model.left_out_proba_
    results = [
        model.left_out_, model.solution_, model.solution_.problem, model.link_, model.kernel_,
        joint.left_out_, joint.joint_link_,
        leave_one_out(BayesSVC(), X, y, cv=3), xi_alpha(BayesSVC(), X, y), span_estimate(BayesSVC(), X, y),
        log_evidence(BayesSVC(), X, y), class_similarity(several[:200], labels[:200]),
        choose_threshold(y, model.left_out_decision_values_, "precision", at_least=0.95),
        optimize_kernel(X[:60], y[:60]), risk_coverage_curve(y, proba.argmax(axis=1), proba.max(axis=1)),
    ]  # fmt: skip
    for result in results:
        assert len(repr(result)) < 1500, type(result)
        assert type(result).__name__ in repr(result)

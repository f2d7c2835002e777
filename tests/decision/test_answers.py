"""Answers of a classifier and their confidence."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from _data import flipped
from bayes_svm.decision import neg_area_risk_coverage_scorer

X, Y = flipped()


def test_answers_without_a_probability_are_refused():
    class Strange(LogisticRegression):
        def predict(self, X):
            return np.full(len(X), 7)

    with pytest.raises(ValueError, match="predict gives 7, which is none of classes_"):
        neg_area_risk_coverage_scorer(Strange().fit(X, Y), X, Y)

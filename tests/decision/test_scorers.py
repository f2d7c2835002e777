"""Scorers of classifiers that reject."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _data import flipped
from bayes_svm import BayesSVC, RejectOptionClassifier
from bayes_svm.decision import (
    coverage_scorer,
    neg_area_risk_coverage_scorer,
    neg_selective_risk_scorer,
    selective_accuracy_scorer,
)

X, Y = flipped()


def test_scorers_in_model_selection():
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.8)
    scoring = {
        "coverage": coverage_scorer,
        "risk": neg_selective_risk_scorer,
        "area": neg_area_risk_coverage_scorer,
        "accuracy": selective_accuracy_scorer,
    }
    found = cross_validate(model, X, Y, scoring=scoring, cv=3, return_estimator=True, return_indices=True)
    for k, fitted in enumerate(found["estimator"]):
        test = found["indices"]["test"][k]
        accepted = ~fitted.rejected(X[test])
        assert found["test_coverage"][k] == pytest.approx(accepted.mean())
        errors = fitted.predict(X[test])[accepted] != Y[test][accepted]
        assert found["test_risk"][k] == pytest.approx(-errors.mean())
        assert found["test_accuracy"][k] == pytest.approx(1 - errors.mean())
        assert -0.5 < found["test_area"][k] <= 0
    search = GridSearchCV(model, {"threshold": [0.6, 0.9]}, scoring=neg_selective_risk_scorer).fit(X, Y)
    assert search.best_params_["threshold"] == 0.9
    nothing = RejectOptionClassifier(LogisticRegression(), threshold=1.0).fit(X, Y)
    assert neg_selective_risk_scorer(nothing, X, Y) == 0.0 == coverage_scorer(nothing, X, Y)
    assert selective_accuracy_scorer(nothing, X, Y) == 0.0


def test_scorers_of_weighted_points_and_of_no_rejection():
    weight = np.arange(len(Y)) % 3
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.8).fit(X, Y)
    kept, right = ~model.rejected(X), model.predict(X) == Y
    assert coverage_scorer(model, X, Y, weight) == pytest.approx(np.average(kept, weights=weight))
    accuracy = np.average(right[kept], weights=weight[kept])
    assert selective_accuracy_scorer(model, X, Y, weight) == pytest.approx(accuracy)
    every = RejectOptionClassifier(LogisticRegression()).fit(X, Y)
    assert coverage_scorer(every, X, Y) == 1.0
    assert selective_accuracy_scorer(every, X, Y) == pytest.approx(every.score(X, Y))
    assert coverage_scorer(model, X.tolist(), Y.tolist()) == coverage_scorer(model, X, Y)


def test_scorers_find_the_answers_in_pipelines_and_searches():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    bare = RejectOptionClassifier(BayesSVC(), target_coverage=0.6).fit(StandardScaler().fit_transform(X), y)
    area = neg_area_risk_coverage_scorer(bare, StandardScaler().fit_transform(X), y)
    inside = make_pipeline(StandardScaler(), RejectOptionClassifier(BayesSVC(), target_coverage=0.6))
    for labels in (y, names):
        assert neg_area_risk_coverage_scorer(inside.fit(X, labels), X, labels) == pytest.approx(area)
    search = GridSearchCV(inside, {"rejectoptionclassifier__target_coverage": [0.6]}, cv=3).fit(X, y)
    assert neg_area_risk_coverage_scorer(search, X, y) == pytest.approx(area)
    assert coverage_scorer(search, X, y) == pytest.approx(np.mean(search.predict(X) != -1))


def test_a_classifier_that_does_not_reject_is_refused():
    with pytest.raises(TypeError, match="for a RejectOptionClassifier, not for LogisticRegression"):
        coverage_scorer(LogisticRegression().fit(X, Y), X, Y)
    with pytest.raises(NotFittedError):
        coverage_scorer(RejectOptionClassifier(LogisticRegression(), threshold=0.8), X, Y)


def test_scorers_find_the_answers_in_a_search_inside_a_pipeline():
    X, y = load_iris(return_X_y=True)
    inner = GridSearchCV(RejectOptionClassifier(BayesSVC(), threshold=0.9), {"threshold": [0.9]}, cv=3)
    model = make_pipeline(StandardScaler(), inner).fit(X, y)
    assert coverage_scorer(model, X, y) == np.mean(model.predict(X) != -1)
    assert neg_area_risk_coverage_scorer(model, X, y) <= 0.0

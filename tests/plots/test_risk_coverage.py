"""The display draws the risk-coverage curve."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _figures import X, Y, plt, pytestmark  # noqa: F401
from bayes_svm import RejectOptionClassifier
from bayes_svm.decision import risk_coverage_curve
from bayes_svm.plots import RiskCoverageDisplay


def test_risk_coverage():
    model = RejectOptionClassifier(LogisticRegression(), threshold=0.8).fit(X, Y)
    display = RiskCoverageDisplay.from_estimator(model, X, Y)
    proba = model.predict_proba(X)
    curve = risk_coverage_curve(Y, proba.argmax(axis=1), proba.max(axis=1))
    np.testing.assert_array_equal(display.line_.get_xdata(), curve.coverage)
    np.testing.assert_array_equal(display.line_.get_ydata(), curve.risk)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == [f"RejectOptionClassifier (area {curve.area:.4f})", "threshold 0.800"]
    _, ax = plt.subplots()
    again = RiskCoverageDisplay.from_predictions(Y, proba.argmax(axis=1), proba.max(axis=1), ax=ax, color="r")
    assert again.ax_ is ax
    assert again.line_.get_color() == "r"


def test_the_threshold_of_a_reject_option_inside_a_pipeline_or_a_search_is_marked():
    inside = make_pipeline(StandardScaler(), RejectOptionClassifier(LogisticRegression(), threshold=0.8))
    search = GridSearchCV(inside, {"rejectoptionclassifier__threshold": [0.8]})
    for model in (inside, search):
        display = RiskCoverageDisplay.from_estimator(model.fit(X, Y), X, Y)
        assert display.ax_.get_legend().get_texts()[1].get_text() == "threshold 0.800"


def test_a_classifier_without_probabilities_is_refused():
    with pytest.raises(ValueError, match="SVC has no predict_proba: give its answers"):
        RiskCoverageDisplay.from_estimator(SVC().fit(X, Y), X, Y)

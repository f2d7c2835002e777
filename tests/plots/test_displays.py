"""The displays draw what was computed."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from _data import noisy
from bayes_svm import BayesSVC, RejectOptionClassifier, choose_threshold, leave_one_out
from bayes_svm.decision import risk_coverage_curve

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

# Matplotlib 3.8 calls names that pyparsing 3.3 deprecates.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from matplotlib import pyplot as plt

from bayes_svm.plots import (  # noqa: E402
    EstimateComparisonDisplay,
    LeaveOneOutDisplay,
    ModerationDisplay,
    RiskCoverageDisplay,
    ThresholdDisplay,
)

# Those deprecated names again.
pytestmark = pytest.mark.filterwarnings("ignore:.* deprecated - use:DeprecationWarning")

X, Y = make_classification(120, flip_y=0.2, random_state=0)
PLANE, SIDE = noisy(60, 2)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_importing_plots_does_not_import_matplotlib():
    code = "import sys, bayes_svm.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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


def test_threshold():
    model = BayesSVC().fit(X, Y)
    display = ThresholdDisplay.from_estimator(model, Y, "recall", at_least=0.9, n_bootstrap=5, random_state=0)
    chosen = choose_threshold(Y, model.left_out_decision_values_, "recall", at_least=0.9)
    assert display.threshold.threshold == chosen.threshold
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), chosen.curve.recall[:-1])
    assert len(display.ax_.get_legend().get_texts()) == 5


def test_estimate_comparison():
    methods = ["training", "k_fold", "leave_one_out"]
    display = EstimateComparisonDisplay.from_estimator(SVC(), X, Y, methods=methods)
    names = [label.get_text().split("\n")[0] for label in display.ax_.get_yticklabels()]
    assert names == methods


def test_leave_one_out():
    display = LeaveOneOutDisplay.from_estimator(SVC(), X, Y)
    result = leave_one_out(SVC(), X, Y)
    drawn = np.concatenate([points.get_offsets() for points in display.ax_.collections[:2]])
    order = np.argsort(result.y, kind="stable")
    np.testing.assert_allclose(drawn, np.c_[result.train_decision_values, result.decision_values][order])
    iris, species = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="two classes"):
        LeaveOneOutDisplay(leave_one_out(SVC(), iris, species)).plot()


def test_moderation():
    model = BayesSVC(C=10.0).fit(PLANE, SIDE)
    display = ModerationDisplay.from_estimator(model, PLANE, SIDE, grid_resolution=7, eps=0.5)
    assert display.xx0.shape == (7, 7)
    assert (display.xx0[0, 0], display.xx0[0, -1]) == (PLANE[:, 0].min() - 0.5, PLANE[:, 0].max() + 0.5)
    point = np.array([[display.xx0[2, 5], display.xx1[2, 5]]])
    assert display.decision_value[2, 5] == pytest.approx(model.decision_function(point)[0])
    assert display.standard_deviation[2, 5] == pytest.approx(model.posterior_variance(point)[0] ** 0.5)
    assert display.probability[2, 5] == pytest.approx(model.predict_proba(point)[0, 1])
    titles = [panel.get_title() for panel in display.axes_]
    assert titles == ["decision value", "posterior standard deviation", "probability of 1"]
    points = [mark for mark in display.axes_[0].collections if len(mark.get_offsets()) > 1]
    np.testing.assert_array_equal(points[0].get_offsets(), PLANE[SIDE < 0])
    np.testing.assert_array_equal(points[1].get_offsets(), PLANE[SIDE > 0])


def test_moderation_of_a_data_frame_on_given_axes():
    frame = pd.DataFrame(PLANE, columns=["age", "weight"])
    model = BayesSVC().fit(frame, np.where(SIDE > 0, "yes", "no"))
    _, axes = plt.subplots(1, 3)
    display = ModerationDisplay.from_estimator(model, frame, grid_resolution=5, ax=axes, cmap="Greys")
    assert display.axes_[2] is axes[2]
    assert axes[2].get_title() == "probability of yes"
    assert (axes[0].get_xlabel(), axes[0].get_ylabel()) == ("age", "weight")
    assert display.surfaces_[0].get_cmap().name == "Greys"
    with pytest.raises(ValueError, match="ax holds 1 axes"):
        display.plot(axes[0])


@pytest.mark.parametrize(
    ("model", "data", "labels", "message"),
    [
        (BayesSVC(), X[:, :3], Y, "two features, got 3"),
        (BayesSVC(), X[:, :2], np.arange(len(X)) % 3, "two classes, got 3"),
        (LogisticRegression(), X[:, :2], Y, "no posterior_variance"),
    ],
)
# The labels do not depend on X.
@pytest.mark.filterwarnings("ignore:The decision values do not separate")
def test_what_moderation_does_not_draw(model, data, labels, message):
    with pytest.raises(ValueError, match=message):
        ModerationDisplay.from_estimator(model.fit(data, labels), data, labels)

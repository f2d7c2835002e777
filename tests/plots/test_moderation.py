"""The display draws what moderates the probabilities of a model of two features."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from _data import noisy
from _figures import X, Y, plt, pytestmark  # noqa: F401
from bayes_svm import BayesSVC
from bayes_svm.plots import ModerationDisplay

PLANE, SIDE = noisy(60, 2)


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


def test_labels_of_another_kind_are_refused_and_those_of_one_class_are_drawn():
    model = BayesSVC().fit(PLANE, SIDE)
    with pytest.raises(ValueError, match=r"y holds 'no', which is none of the classes \[-1"):
        ModerationDisplay.from_estimator(model, PLANE, np.where(SIDE > 0, "yes", "no"))
    one = SIDE > 0
    ModerationDisplay.from_estimator(model, PLANE[one], SIDE[one], grid_resolution=5)


@pytest.mark.parametrize("grid_resolution", [1, 0, -3])
def test_a_grid_without_a_surface_is_refused(grid_resolution):
    with pytest.raises(ValueError, match=rf"grid_resolution={grid_resolution} must be at least 2"):
        ModerationDisplay.from_estimator(BayesSVC().fit(PLANE, SIDE), PLANE, grid_resolution=grid_resolution)

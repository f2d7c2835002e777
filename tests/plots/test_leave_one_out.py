"""The display draws left-out against training decision values."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from _figures import X, Y, pytestmark  # noqa: F401
from bayes_svm import BayesSVC, leave_one_out
from bayes_svm.plots import LeaveOneOutDisplay


def test_leave_one_out():
    display = LeaveOneOutDisplay.from_estimator(SVC(), X, Y)
    result = leave_one_out(SVC(), X, Y)
    drawn = np.concatenate([points.get_offsets() for points in display.ax_.collections[:2]])
    order = np.argsort(result.y, kind="stable")
    np.testing.assert_allclose(drawn, np.c_[result.train_decision_values, result.decision_values][order])
    iris, species = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="two classes"):
        LeaveOneOutDisplay(leave_one_out(SVC(), iris, species)).plot()


def test_of_a_pipeline_the_wrong_rows_are_those_of_its_last_step():
    pipeline = make_pipeline(StandardScaler(), BayesSVC(class_weight={Y[0]: 8.0}))
    fitted = pipeline.fit(X, Y)[-1].left_out_
    wrong = round(fitted.error * len(Y))
    display = LeaveOneOutDisplay.from_estimator(pipeline, X, Y)
    assert f"wrong when left out ({wrong})" in [text.get_text() for text in display.ax_.get_legend().texts]
    np.testing.assert_array_equal(display.result.decision_values, fitted.decision_values)

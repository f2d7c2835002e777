"""The display draws left-out against training decision values."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from _figures import X, Y, pytestmark  # noqa: F401
from bayes_svm import leave_one_out
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

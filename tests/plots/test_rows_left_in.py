"""Displays of a model that left only some of its rows out."""

import numpy as np
from sklearn.base import clone

from _figures import X, Y, pytestmark  # noqa: F401
from bayes_svm import BayesSVC, choose_threshold
from bayes_svm.plots import LeaveOneOutDisplay, ThresholdDisplay


def test_displays_draw_the_rows_left_out():
    model = BayesSVC(leave_out_size=40).fit(X, Y)
    rows = model.left_out_.rows
    shown = ThresholdDisplay.from_estimator(model, X, Y, sample_weight=np.ones(len(Y)))
    chosen = choose_threshold(Y[rows], model.left_out_decision_values_[rows])
    assert shown.threshold.threshold == chosen.threshold
    display = LeaveOneOutDisplay(clone(model).fit(X, Y).left_out_).plot()
    wrong = int(np.sum(model.left_out_.predicted[rows] != Y[rows]))
    assert f"wrong when left out ({wrong})" in display.ax_.get_legend_handles_labels()[1]

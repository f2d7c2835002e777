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


def test_equal_rows_of_which_some_left_count_for_those():
    random = np.random.default_rng(0)
    many, points = random.random(2400) < 0.4, random.normal(size=(2400, 2))
    points[many] = 0.7
    labels = (random.random(2400) < np.where(many, 0.99, np.where(points[:, 0] > 0, 0.7, 0.3))).astype(int)
    weight = random.choice([1.0, 3.0], size=2400)
    for given in (None, weight):
        model = BayesSVC(leave_out_size=1000).fit(points, labels, sample_weight=given)
        left, rows = model.left_out_, model.left_out_.rows
        assert len(rows) < 2400
        values = model.left_out_decision_values_[rows]
        aim = {"objective": "precision", "at_least": 0.85}
        chosen = choose_threshold(labels[rows], values, **aim, sample_weight=left.weight[rows])
        for options in ({}, {"sample_weight": np.ones(2400) if given is None else given}):
            shown = ThresholdDisplay.from_estimator(model, points, labels, **aim, **options)
            assert shown.threshold.threshold == chosen.threshold

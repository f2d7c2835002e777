"""The display draws the chosen threshold on its curve."""

import numpy as np

from _figures import X, Y, pytestmark  # noqa: F401
from bayes_svm import BayesSVC, choose_threshold
from bayes_svm.plots import ThresholdDisplay


def test_threshold():
    model = BayesSVC().fit(X, Y)
    display = ThresholdDisplay.from_estimator(model, Y, "recall", at_least=0.9, n_bootstrap=5, random_state=0)
    chosen = choose_threshold(Y, model.left_out_decision_values_, "recall", at_least=0.9)
    assert display.threshold.threshold == chosen.threshold
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), chosen.curve.recall[:-1])
    assert len(display.ax_.get_legend().get_texts()) == 5

"""The display draws one row for each estimate."""

from sklearn.svm import SVC

from _figures import X, Y, pytestmark  # noqa: F401
from bayes_svm.plots import EstimateComparisonDisplay


def test_estimate_comparison():
    methods = ["training", "k_fold", "leave_one_out"]
    display = EstimateComparisonDisplay.from_estimator(SVC(), X, Y, methods=methods)
    names = [label.get_text().split("\n")[0] for label in display.ax_.get_yticklabels()]
    assert names == methods

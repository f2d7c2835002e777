"""Figures of the results, as display classes in the manner of scikit-learn.

Matplotlib is imported when something is drawn.
"""

from bayes_svm.plots.estimate_comparison import EstimateComparisonDisplay
from bayes_svm.plots.leave_one_out import LeaveOneOutDisplay
from bayes_svm.plots.moderation import ModerationDisplay
from bayes_svm.plots.risk_coverage import RiskCoverageDisplay
from bayes_svm.plots.threshold import ThresholdDisplay

__all__ = [
    "EstimateComparisonDisplay",
    "LeaveOneOutDisplay",
    "ModerationDisplay",
    "RiskCoverageDisplay",
    "ThresholdDisplay",
]

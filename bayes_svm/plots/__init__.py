"""Figures of the results, as displays in scikit-learn's manner; matplotlib is imported when one is drawn."""

from bayes_svm.plots.displays import (
    EstimateComparisonDisplay,
    LeaveOneOutDisplay,
    RiskCoverageDisplay,
    ThresholdDisplay,
)
from bayes_svm.plots.moderation import ModerationDisplay

__all__ = [
    "EstimateComparisonDisplay",
    "LeaveOneOutDisplay",
    "ModerationDisplay",
    "RiskCoverageDisplay",
    "ThresholdDisplay",
]

"""From decision values and probabilities to decisions: thresholds and rejection."""

from bayes_svm.decision.curve import ThresholdCurve
from bayes_svm.decision.thresholds import Threshold, choose_threshold

__all__ = ["Threshold", "ThresholdCurve", "choose_threshold"]

"""Decisions from decision values and probabilities: thresholds and rejection."""

from bayes_svm.decision.rejection import RejectOptionClassifier
from bayes_svm.decision.scorers import (
    coverage_scorer,
    neg_area_risk_coverage_scorer,
    neg_selective_risk_scorer,
    selective_accuracy_scorer,
)
from bayes_svm.decision.threshold import Threshold
from bayes_svm.decision.thresholds import choose_threshold
from bayes_svm.metrics.risk_coverage import RiskCoverageCurve, risk_coverage_curve
from bayes_svm.metrics.threshold_curve import ThresholdCurve

__all__ = [
    "RejectOptionClassifier",
    "RiskCoverageCurve",
    "Threshold",
    "ThresholdCurve",
    "choose_threshold",
    "coverage_scorer",
    "neg_area_risk_coverage_scorer",
    "neg_selective_risk_scorer",
    "risk_coverage_curve",
    "selective_accuracy_scorer",
]

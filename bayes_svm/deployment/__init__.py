"""What a fitted estimator needs outside the place where it was fitted: skops files and ONNX models."""

from bayes_svm.deployment.trusted import TRUSTED_TYPES

__all__ = ["TRUSTED_TYPES"]

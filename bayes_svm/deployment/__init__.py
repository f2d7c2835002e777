"""What a fitted estimator needs outside the place where it was fitted: skops files and ONNX models."""

from typing import TYPE_CHECKING, Any

from bayes_svm.deployment.trusted import TRUSTED_TYPES

if TYPE_CHECKING:
    from bayes_svm.deployment.converters import register_onnx_converters

__all__ = ["TRUSTED_TYPES", "register_onnx_converters"]


def __getattr__(name: str) -> Any:
    # Loaded when it is used: skl2onnx comes with an extra, and takes its time.
    if name == "register_onnx_converters":
        from bayes_svm.deployment import converters

        return converters.register_onnx_converters
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

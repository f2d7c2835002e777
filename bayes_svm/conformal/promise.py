"""What conformal sets promise, in a sentence, and what makes the promise approximate."""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from bayes_svm.kernels.kernel import Kernel

__all__ = ["EXACT", "breaches", "promise"]

# What the set of each score promises, with eps short for 1 - confidence_level.
PROMISES = {
    "margin": "at least confidence_level",
    "left_out": "at least confidence_level",
    "jackknife+": "at least 1 - 2 (1 - confidence_level), and in practice about confidence_level",
    "cv+": "at least 1 - 2 (1 - confidence_level) - sqrt(2 / n), and in practice about confidence_level",
}
# Those that promise exactly the level once ties are broken at random.
EXACT = {"margin", "left_out"}


def breaches(estimator: Any) -> list[str]:
    """What was chosen from the training rows, so that a new point is not treated like one of them.

    Parameters
    ----------
    estimator : estimator
        An SVM, or a pipeline that ends in one.
    """
    found = []
    last = estimator
    if isinstance(estimator, Pipeline):
        found = [f"the step {name!r}" for name, step in estimator.steps[:-1] if _learns(step)]
        last = estimator[-1]
    if getattr(last, "gamma", None) == "scale" and Kernel(last.kernel).takes_gamma:
        found.append("gamma='scale'")
    if getattr(last, "class_weight", None) == "balanced":
        found.append("class_weight='balanced'")
    return found


def _learns(step: Any) -> bool:
    """Whether a step of a pipeline does something that it may have learned."""
    frozen = step is None or isinstance(step, str | FrozenEstimator)
    return not frozen and get_tags(step).requires_fit


def promise(score: str, class_conditional: bool, smoothed: bool, reasons: list[str]) -> str:
    """The sentence.

    Parameters
    ----------
    score : {"margin", "left_out", "jackknife+", "cv+"}
        The score.
    class_conditional : bool
        Whether a label is compared with the rows of the same label only.
    smoothed : bool
        Whether ties are broken at random.
    reasons : list of str
        Why the promise is approximate.
    """
    how_often = "confidence_level" if smoothed and score in EXACT else PROMISES[score]
    where = ", within each class" if class_conditional else ""
    if class_conditional and score == "cv+":
        where += " of n rows"
    sentence = f"The set holds the true label with probability {how_often}{where}"
    if reasons:
        return f"{sentence}; approximately, because {', and '.join(reasons)}."
    return f"{sentence}, if the new point and the training rows are exchangeable."

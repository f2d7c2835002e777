"""What is answered, how sure the answer is, and the label of a rejected point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from bayes_svm.utils.types import Array

__all__ = ["answers", "confidence_of", "default_reject_label", "labels_with_rejection"]


def answers(classifier: Any, X: Any) -> tuple[NDArray[Any], Array]:
    """What a fitted classifier predicts, and the probability it gives that.

    With class weights, or of an SVC, the answer need not be the most probable class. Of a classifier with
    a reject option these are the answers before any is rejected.

    Returns
    -------
    labels, confidence : arrays of shape (n_samples,)
    """
    classifier, X = _before_rejection(classifier, X)
    predicted = np.asarray(classifier.predict(X))
    proba = np.asarray(classifier.predict_proba(X), dtype=np.float64)
    return predicted, confidence_of(predicted, proba, np.asarray(classifier.classes_))


def confidence_of(predicted: NDArray[Any], proba: Array, classes: NDArray[Any]) -> Array:
    """Probability of the predicted class of each row."""
    column = np.searchsorted(classes, predicted)
    strange = np.flatnonzero(classes[np.minimum(column, len(classes) - 1)] != predicted)
    if len(strange):
        first = np.asarray(predicted).tolist()[strange[0]]
        raise ValueError(
            f"predict gives {first!r}, which is none of classes_: it has no probability. Use the "
            "classifier that answers, without what changes its answers."
        )
    return np.asarray(proba[np.arange(len(proba)), column])


def _before_rejection(classifier: Any, X: Any) -> tuple[Any, Any]:
    """The classifier whose answers are rejected, alone, in a pipeline or in a search, and its X."""
    if isinstance(classifier, BaseSearchCV):
        return _before_rejection(classifier.best_estimator_, X)
    if isinstance(classifier, Pipeline) and hasattr(classifier[-1], "reject_label_"):
        return classifier[-1].estimator_, classifier[:-1].transform(X)
    return (classifier.estimator_ if hasattr(classifier, "reject_label_") else classifier), X


def default_reject_label(classes: NDArray[Any], given: Any) -> Any:
    """The label given, or one that suits the classes.

    Raises
    ------
    ValueError
        If the label is one of the classes, is not of their type, or none suits them.
    """
    label = given
    if label is None:
        label = _suitable(classes)
    elif _kind(np.asarray(label)) != _kind(classes):
        raise ValueError(f"reject_label={label!r} is not of the type of y ({classes.dtype}).")
    if label in classes.tolist():
        raise ValueError(f"reject_label={label!r} is one of the classes: give another.")
    return label


def labels_with_rejection(labels: NDArray[Any], rejected: NDArray[np.bool_], label: Any) -> NDArray[Any]:
    """Labels with the reject label in place of the rejected, in a type that holds both."""
    if labels.dtype == object:
        filled = labels.copy()
        filled[rejected] = label
        return filled
    return np.where(rejected, np.asarray(label), labels)


def _kind(values: NDArray[Any]) -> str:
    if values.dtype == object:
        kinds = {_kind(np.asarray(value)) for value in values.ravel().tolist()}
        return kinds.pop() if len(kinds) == 1 else "mixed"
    return {"i": "number", "u": "number", "f": "number", "U": "text", "S": "bytes"}.get(
        values.dtype.kind, values.dtype.kind
    )


def _suitable(classes: NDArray[Any]) -> Any:
    kind = _kind(classes)
    if kind == "text":
        return "reject"
    if kind == "number":
        smallest = min(classes.tolist())
        return type(smallest)(min(0, smallest) - 1)
    raise ValueError(
        f"Labels of type {classes.dtype} leave no label for a rejected point: give reject_label, or y as "
        "numbers or strings."
    )

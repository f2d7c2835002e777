"""What a classifier answers, and how sure it is of each answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from bayes_svm.utils.metaestimators import before_last, unfrozen
from bayes_svm.utils.scikit_learn import BaseSearchCV
from bayes_svm.utils.types import Array

__all__ = ["Answers", "answers", "confidence_of", "reject_option_of"]

# Labels of shape (n_samples,), and the probability of each.
Answers = tuple[NDArray[Any], Array]


def answers(classifier: Any, X: Any) -> Answers:
    """What a fitted classifier predicts, and the probability it gives to each prediction.

    The prediction is not always the most probable class: class weights change it, and so does an SVC,
    whose probabilities are fitted separately. For a classifier with a reject option these are the
    answers before any of them is rejected.

    Parameters
    ----------
    classifier : classifier
        Fitted, with ``predict_proba``. A reject option may be inside a pipeline or a search.
    X : array or sparse matrix of shape (n_samples, n_features)
        Points to answer.

    Returns
    -------
    labels : array of shape (n_samples,)
        The predicted classes.
    confidence : array of shape (n_samples,)
        Their probabilities.

    Raises
    ------
    ValueError
        If ``predict`` gives labels that are not among the classes.
    """
    classifier, X = reject_option_of(classifier, X)
    if hasattr(classifier, "reject_label_"):
        classifier = classifier.estimator_
    predicted = np.asarray(classifier.predict(X))
    proba = np.asarray(classifier.predict_proba(X), dtype=np.float64)
    return predicted, confidence_of(predicted, proba, np.asarray(classifier.classes_))


def confidence_of(predicted: NDArray[Any], proba: Array, classes: NDArray[Any]) -> Array:
    """Probability of the predicted class of each row.

    Parameters
    ----------
    predicted : array of shape (n_samples,)
        Predicted labels.
    proba : array of shape (n_samples, n_classes)
        Probabilities of all classes.
    classes : array of shape (n_classes,)
        The classes, sorted.

    Returns
    -------
    array of shape (n_samples,)
        One probability per row.

    Raises
    ------
    ValueError
        If a label is not among the classes.
    """
    column = np.searchsorted(classes, predicted)
    unknown = np.flatnonzero(classes[np.minimum(column, len(classes) - 1)] != predicted)
    if len(unknown):
        first = np.asarray(predicted).tolist()[unknown[0]]
        raise ValueError(
            f"predict gives {first!r}, which is none of classes_ and so has no probability. Pass the "
            "classifier that gives the answers, without the wrapper that changes them."
        )
    return np.asarray(proba[np.arange(len(proba)), column])


def reject_option_of(classifier: Any, X: Any) -> tuple[Any, Any]:
    """The reject option inside a pipeline or a search, and X as it reaches it.

    Parameters
    ----------
    classifier : classifier
        Fitted.
    X : array or sparse matrix of shape (n_samples, n_features)
        Points to answer.

    Returns
    -------
    classifier
        The reject option, where there is one; any other classifier is returned as it is.
    X : array or sparse matrix
        The points, transformed by the steps of the pipeline before it.
    """
    classifier = unfrozen(classifier)
    if isinstance(classifier, BaseSearchCV):
        return reject_option_of(classifier.best_estimator_, X)
    if isinstance(classifier, Pipeline) and _rejects(classifier):
        return reject_option_of(classifier[-1], before_last(classifier, X))
    return classifier, X


def _rejects(classifier: Any) -> bool:
    """Whether a pipeline or a search ends in a reject option."""
    classifier = unfrozen(classifier)
    if isinstance(classifier, BaseSearchCV):
        return _rejects(classifier.best_estimator_)
    return (
        _rejects(classifier[-1]) if isinstance(classifier, Pipeline) else hasattr(classifier, "reject_label_")
    )

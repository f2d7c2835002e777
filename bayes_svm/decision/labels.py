"""The label of a rejected point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from bayes_svm.utils.checks import require_alike
from bayes_svm.utils.types import Array, Mask

__all__ = ["accepted_and_right", "default_reject_label", "labels_with_rejection"]


def default_reject_label(classes: NDArray[Any], given: Any, y: NDArray[Any] | None = None) -> Any:
    """The reject label given, or one that suits the classes.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        Labels of the classes.
    given : label or None
        The label that the user chose; None for a suitable one: "reject" among strings, a negative
        number among numbers.
    y : array of shape (n_samples,), optional
        Labels of rows, which may be none of the classes; the reject label is none of them either.

    Returns
    -------
    label
        A label of the type of the classes that is none of them.

    Raises
    ------
    ValueError
        If the label is one of the classes or not of their type, if no label suits them, or if y is not of
        their type.
    """
    if y is not None and _kind(y) != _kind(classes):
        raise ValueError(f"y ({y.dtype}) is not of the type of the estimator's classes ({classes.dtype}).")
    # Of the labels of y only those that are no classes, which a cast to the type of the classes could change.
    others = [] if y is None else np.setdiff1d(y, classes).tolist()
    label = given
    if np.ndim(label) > 0:
        raise ValueError(f"reject_label={label!r} is not one label: give a number or a string.")
    if label is None:
        label = _suitable(classes, others)
    elif _kind(np.asarray(label)) != _kind(classes) or not _fits(label, classes):
        raise ValueError(f"reject_label={label!r} is not of the type of y ({classes.dtype}).")
    elif classes.dtype.kind in "iu":
        label = int(label)
    if label in classes.tolist() + others:
        which = "classes" if label in classes.tolist() else "classes or of the labels of y"
        raise ValueError(f"reject_label={label!r} is one of the {which}: choose another.")
    return label


def _fits(label: Any, classes: NDArray[Any]) -> bool:
    """Whether the label is equal to itself, and a whole number of a type for all if the classes are."""
    if classes.dtype.kind not in "iu":
        return bool(label == label)
    return bool(abs(label) < np.inf and label == int(label)) and _integer(int(label), classes)


def _integer(label: int, classes: NDArray[Any]) -> bool:
    """Whether some type of integers holds both the label and all classes of this type."""
    return np.result_type(np.min_scalar_type(label), classes.dtype).kind in "iu"


def accepted_and_right(
    predicted: NDArray[Any], y: ArrayLike, classes: NDArray[Any], label: Any, weight: Array
) -> tuple[float, float]:
    """Weighted shares of all points that are accepted, and that are accepted and answered rightly.

    Parameters
    ----------
    predicted : array of shape (n_samples,)
        Predicted labels.
    y : array of shape (n_samples,)
        True labels.
    classes : array of shape (n_classes,)
        The classes, of whose type the true labels are.
    label : label or None
        The reject label; None if no point is rejected.
    weight : array of shape (n_samples,)
        Weights of the points.

    Raises
    ------
    ValueError
        If y has another length, or its labels are missing or not of the type of the classes.
    """
    y = column_or_1d(y)
    check_consistent_length(predicted, y)
    require_alike(y, classes, "y and the classes")
    accepted = np.ones(len(predicted), dtype=bool) if label is None else predicted != label
    right = accepted & (predicted == y)
    return float(weight @ accepted / weight.sum()), float(weight @ right / weight.sum())


def labels_with_rejection(labels: NDArray[Any], rejected: Mask, label: Any) -> NDArray[Any]:
    """Replace the labels of rejected points; the result has a type that holds the reject label too.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Predicted labels.
    rejected : array of bool of shape (n_samples,)
        Whether each point is rejected.
    label : label
        The reject label.

    Returns
    -------
    array of shape (n_samples,)
        A new array.
    """
    if labels.dtype == object:
        filled = labels.copy()
        filled[rejected] = label
        return filled
    # A whole number is of the smallest type: no type of integers holds both int64 and uint64.
    whole = labels.dtype.kind in "iu"
    return np.where(rejected, np.asarray(label, dtype=np.min_scalar_type(label) if whole else None), labels)


def _kind(values: NDArray[Any]) -> str:
    """What the labels are: "number", "text", "bytes", "mixed", or numpy's letter for anything else."""
    if values.dtype == object and values.ndim == 0:
        return "number" if isinstance(values.item(), int) else "mixed"  # an integer of no type of NumPy's
    if values.dtype == object:
        kinds = {_kind(np.asarray(value)) for value in values.ravel().tolist()}
        return kinds.pop() if len(kinds) == 1 else "mixed"
    return {"i": "number", "u": "number", "f": "number", "U": "text", "S": "bytes"}.get(
        values.dtype.kind, values.dtype.kind
    )


def _suitable(classes: NDArray[Any], others: list[Any]) -> Any:
    kind = _kind(classes)
    if kind == "text":
        return "reject"
    if kind == "number":
        known = classes.tolist() + others
        smallest, largest = min(known), max(known)
        if classes.dtype.kind in "iu":
            smallest, largest = math.floor(smallest), math.ceil(largest)
        label = type(smallest)(min(0, smallest) - 1)
        if classes.dtype.kind not in "iu" or _integer(label, classes):
            return label
        # No type of integers holds -1 and the largest ones without a sign.
        if classes.dtype.kind == "u" and _integer(largest + 1, classes):
            return largest + 1
    advice = "use numbers or strings for y" if kind == "b" else "set reject_label, or use other labels for y"
    raise ValueError(
        f"There is no label for a rejected point among labels of type {classes.dtype}: {advice}."
    )

"""Checks of the data that estimators are given; labels and weights as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.scikit_learn import check_sample_weight
from bayes_svm.utils.types import Array, Indices
from bayes_svm.utils.warn import warn

__all__ = [
    "check_members",
    "checked_labels",
    "checked_square",
    "checked_weights",
    "class_weights",
    "encode_classes",
    "require_alike",
    "require_classes",
    "require_comparable",
    "require_known",
    "row_bounds",
    "summed_entries",
    "with_narrow_indices",
]

# As scikit-learn says it, which does so at a line of its own.
COLUMN = (
    "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
    "(n_samples, ), for example using ravel()."
)
# The smallest upper bound that a row's coefficient may have.
SMALLEST_BOUND = float(np.finfo(float).tiny)
# The sum of these upper bounds, and that of the sample weights, must be below this.
LARGEST_TOTAL = 1e303


def summed_entries(X: Any) -> Any:
    """A sparse matrix in which repeated entries are added up, since their squares would be wrong."""
    if not sparse.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def with_narrow_indices(X: Any) -> Any:
    """A sparse matrix as CSR, without repeated entries, with 32-bit indices if they suffice.

    Dense arrays are returned as they are.
    """
    if not sparse.issparse(X):
        return X
    X = summed_entries(X.tocsr())
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) < np.iinfo(np.int32).max:
        X = X.copy()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def checked_labels(y: ArrayLike) -> NDArray[Any]:
    """Labels as an array of shape (n_samples,).

    Raises
    ------
    ValueError
        If y is None, or has another shape.
    """
    if y is None:
        raise ValueError(
            "This requires y to be passed, but the target y is None: give the labels, one for each row of X."
        )
    # What is one array already, such as the y that scikit-learn has checked, needs no second check.
    if type(y) is np.ndarray and y.ndim == 1:
        return y
    labels = np.asarray(column_or_1d(y))
    if len(np.shape(y) if isinstance(y, list | tuple) else getattr(y, "shape", ())) == 2:
        warn(COLUMN, DataConversionWarning)
    return labels


def require_comparable(labels: NDArray[Any], name: str) -> None:
    """Refuse labels of which some are missing, or which cannot be sorted.

    Parameters
    ----------
    labels : array of dtype object
        The labels.
    name : str
        Name of the parameter, for messages.

    Raises
    ------
    ValueError
        If a label is None, NaN or NA, or if the labels cannot be sorted.
    """
    for row, label in enumerate(labels):
        if label is None or type(label).__name__ == "NAType" or label != label:
            raise ValueError(f"{name} holds {label} (row {row}): give every row one, or leave the row out.")
    try:
        np.unique(labels)
    except TypeError:
        kinds = {"number" if isinstance(one, Number) else type(one).__name__ for one in labels}
        raise ValueError(
            f"{name} mixes labels of type {', '.join(sorted(kinds))}: give all as strings, or all as numbers."
        ) from None


def require_alike(labels: ArrayLike, others: ArrayLike, names: str) -> None:
    """Refuse labels that are not those of classes, or that equal none of the others because of their type.

    Parameters
    ----------
    labels, others : array
        The labels, and those that they are compared with.
    names : str
        What the two are, for messages.

    Raises
    ------
    ValueError
        If labels are missing or not those of classes, or if strings and numbers are mixed.
    """
    try:
        with np.errstate(invalid="ignore"):  # a NaN, which is refused, has no integer
            unique_labels(labels, others)
    except ValueError as error:
        raise ValueError(f"{names}: {error}") from None
    except TypeError:
        raise ValueError(f"{names} mix labels that cannot be compared, such as 'a' and 1.") from None


def require_known(y: NDArray[Any], classes: NDArray[Any]) -> None:
    """Raise ValueError if y holds a label that is none of the classes."""
    unknown = set(y.tolist()) - set(classes.tolist())
    if unknown:
        first = sorted(unknown, key=str)[0]
        raise ValueError(f"y holds {first!r}, which is none of the classes {classes.tolist()}.")


def require_classes(labels: NDArray[Any]) -> None:
    """Raise ValueError for labels that are missing, cannot be sorted, or are no classes."""
    if labels.dtype.kind == "O":
        require_comparable(labels, "y")
    else:
        assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)


def encode_classes(y: ArrayLike, weight: Array) -> tuple[NDArray[Any], Indices]:
    """Sorted classes of the rows of positive weight, and the class number of every row.

    Rows of weight zero are ignored. One whose label no other row has gets the number -1.

    Raises
    ------
    ValueError
        If y is not a classification target, holds a single class, or has rows without a label.
    """
    labels = checked_labels(y)
    # Whole numbers and strings are classes; whether others are, takes a while to find out.
    if labels.dtype.kind not in "biuU":
        if labels.dtype.kind == "O":
            require_comparable(labels, "y")
        with np.errstate(invalid="ignore"):  # NaN is refused afterwards
            check_classification_targets(labels)
    classes = np.unique(labels[weight > 0])
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only ({classes.tolist()[0]!r}, among rows of positive weight): a classifier "
            "needs at least 2 classes."
        )
    numbers = np.searchsorted(classes, labels)
    known = numbers < len(classes)
    known[known] = classes[numbers[known]] == labels[known]
    return classes, np.where(known, numbers, -1)


def class_weights(
    given: Mapping[Any, float] | str | None, classes: NDArray[Any], y: Indices, weight: Array
) -> Array:
    """Weight of every class, 1 where none is given.

    "balanced" is ``total weight / (n_classes * weight of the class)``, so that a row of weight 2
    counts as the row given twice.

    Raises
    ------
    ValueError
        If a class weight is not a finite number above 0, or if ``given`` names a class that y does not
        hold while a class that y holds is missing.
    """
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str):
        mass = np.bincount(y[weight > 0], weights=weight[weight > 0])
        return np.asarray(mass.sum() / (len(classes) * mass))
    names = classes.tolist()
    unknown = set(given) - set(names)
    # As in scikit-learn, a dict that weights every class may weight others too: those of other folds.
    if unknown and not set(names) <= set(given):
        raise ValueError(f"class_weight names classes that y does not hold: {sorted(map(str, unknown))}.")
    for label, factor in given.items():
        if not (isinstance(factor, Real) and 0 < factor < np.inf):
            raise ValueError(
                f"class_weight[{label!r}]={factor!r} is not a weight: give a finite number above 0."
            )
    return np.array([float(given.get(label, 1.0)) for label in names])


def row_bounds(C: float, class_weight: Array, y: Indices, weight: Array) -> Array:
    """Upper bound ``C * sample_weight * class_weight`` of every row.

    Raises
    ------
    ValueError
        If C is not finite, a bound underflows, or the sum of the bounds overflows.
    """
    if not np.isfinite(C):
        raise ValueError(f"C={C} is not finite: for a hard margin choose a large number such as 1e6.")
    with np.errstate(over="ignore", under="ignore"):
        bounds = np.asarray(C * (weight * class_weight[y]))
        total = float(bounds.sum())
    least = float(bounds[weight > 0].min())
    if least < SMALLEST_BOUND or not total < LARGEST_TOTAL:
        raise ValueError(
            f"C * sample_weight * class_weight is {least:.3g} for one row and {total:.3g} in all, with "
            f"C={C:g}: double precision needs it to be at least {SMALLEST_BOUND:.3g} for each row, and less "
            f"than {LARGEST_TOTAL:g} in all. Choose C, sample_weight and class_weight nearer to 1."
        )
    return bounds


def checked_weights(sample_weight: ArrayLike | None, X: Any) -> Array:
    """Sample weights as floats.

    Raises
    ------
    ValueError
        If a weight is not finite or negative, if all are zero, if their sum is too large, or if there is not
        one for each row of X.
    """
    if sample_weight is None:
        return np.ones(X.shape[0])
    weight = np.asarray(check_sample_weight(sample_weight, X, dtype=np.float64))
    if np.any(weight < 0):
        raise ValueError("sample_weight holds negative values: weights must be at least 0.")
    if not np.any(weight > 0):
        raise ValueError("sample_weight is zero for every row: at least one must be positive.")
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not total < LARGEST_TOTAL:
        raise ValueError(
            f"sample_weight sums to {total:.3g}: double precision needs less than {LARGEST_TOTAL:g}. Choose "
            "smaller weights; only their ratios matter for measures, and C can make up for them in a fit."
        )
    return weight


def check_members(classes: NDArray[Any], y: Indices, weight: Array) -> None:
    """Raise ValueError unless every class has two members; a row of weight 2 counts as two."""
    used = weight > 0
    members = np.bincount(y[used], weights=copies_of_weight(weight[used]))
    if members.min() < 2:
        raise ValueError(
            f"Class {classes.tolist()[members.argmin()]!r} has 1 member: every class needs at least 2, "
            "one to leave out and one to learn from. Merge or drop the class, or add rows of it."
        )


def checked_square(X: Any, n_features: int) -> None:
    """Raise ValueError unless a precomputed training kernel is square."""
    if X.shape[0] != n_features:
        raise ValueError(
            f"kernel='precomputed' needs the square matrix of kernel values between the training "
            f"points, got shape {X.shape[0], n_features}."
        )

"""From labels to problems between two classes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from bayes_svm.utils.checks import encode_classes
from bayes_svm.utils.types import Array

__all__ = ["Task", "check_dask", "named", "task_of", "threshold"]


@dataclass(frozen=True)
class Task:
    """The labels of a fit, one problem per column of ``positive``.

    Parameters
    ----------
    numbers : array of shape (n_samples,) or None
        Class numbers; None for several labels.
    classes : array of shape (n_classes,)
        For several labels their column numbers.
    positive : array of bool of shape (n_samples, n_problems)
    names : list of str
        What messages add about each problem.
    """

    numbers: NDArray[np.intp] | None
    classes: NDArray[Any]
    positive: NDArray[np.bool_]
    names: list[str]

    def rows(self, chosen: NDArray[np.intp]) -> Task:
        """The same problems on some rows."""
        numbers = None if self.numbers is None else self.numbers[chosen]
        return Task(numbers, self.classes, self.positive[chosen], self.names)


def task_of(y: Any, weight: Array) -> Task:
    """One problem for two classes, otherwise one per class or label.

    Raises
    ------
    ValueError
        If y is not a classification target, or holds a single class.
    """
    if np.ndim(y) == 2 and type_of_target(y) == "multilabel-indicator":
        positive = np.asarray(y) > 0
        columns = np.arange(positive.shape[1])
        return Task(None, columns, positive, [f" for label {j}" for j in columns])
    classes, numbers = encode_classes(y, weight)
    if len(classes) == 2:
        return Task(numbers, classes, (numbers == 1)[:, None], [""])
    each = np.arange(len(classes))
    return Task(numbers, classes, numbers[:, None] == each, [f" for class {label!r}" for label in classes])


@contextmanager
def named(name: str) -> Iterator[None]:
    """Add to a ValueError which problem it is about."""
    try:
        yield
    except ValueError as error:
        if not name:
            raise
        raise ValueError(f"{error} This is{name}.") from error


def threshold(scores: Array, weight: Array, k: int) -> float:
    """Middle between the k-th highest score and the next, rows counted by their weights."""
    order = np.argsort(-scores, kind="stable")
    reached = np.cumsum(weight[order])
    last = min(int(np.searchsorted(reached, k)), len(order) - 1)
    following = min(last + 1, len(order) - 1)
    return float(scores[order[last]] + scores[order[following]]) / 2


def check_dask(X: Any) -> None:
    """Raise ValueError unless a dask array is a finite matrix of numbers."""
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"X must be a dask array of numbers with 2 dimensions, got {X.ndim} of {X.dtype}.")
    if X.dtype.kind == "f" and not np.isfinite(np.asarray(X.sum(axis=0))).all():
        raise ValueError("X holds NaN or infinity.")

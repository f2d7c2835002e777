"""The problems between two classes that the labels pose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from bayes_svm.utils.checks import encode_classes
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["Task", "named", "task_of"]


@dataclass(frozen=True)
class Task:
    """The labels of a fit as one or several problems between two classes.

    Parameters
    ----------
    multilabel : bool
        Whether a row may have several labels.
    classes : array of shape (n_classes,)
        The classes, or the column numbers of several labels.
    positive : array of bool of shape (n_samples, n_problems)
        Which rows are positive in each problem.
    names : list of str
        What to add to messages about each problem.
    """

    multilabel: bool
    classes: NDArray[Any]
    positive: Mask
    names: list[str]

    def rows(self, chosen: Indices) -> Task:
        """The same problems on some of the rows."""
        return replace(self, positive=self.positive[chosen])


def task_of(y: Any, weight: Array) -> Task:
    """One problem for two classes, otherwise one for each class or label.

    Parameters
    ----------
    y : array of shape (n_samples,) or (n_samples, n_labels)
        The labels.
    weight : array of shape (n_samples,)
        Weights of the rows; a class without a row of positive weight does not count.

    Returns
    -------
    Task
        The problems.

    Raises
    ------
    ValueError
        If y is not a classification target, or holds a single class.
    """
    if np.ndim(y) == 2 and type_of_target(y) == "multilabel-indicator":
        if not np.isin(y, (0, 1)).all():
            raise ValueError(
                f"y has columns that hold {np.unique(y).tolist()}: columns of labels hold 0 and 1, as"
                " (y > 0).astype(int)."
            )
        positive = np.asarray(y) > 0
        columns = np.arange(positive.shape[1])
        return Task(True, columns, positive, [f" for label {j}" for j in columns])
    classes, numbers = encode_classes(y, weight)
    if len(classes) == 2:
        return Task(False, classes, (numbers == 1)[:, None], [""])
    each = np.arange(len(classes))
    names = [f" for class {label!r}" for label in classes.tolist()]
    return Task(False, classes, numbers[:, None] == each, names)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Add the name of the problem to a ValueError raised inside."""
    try:
        yield
    except ValueError as error:
        if not name:
            raise
        raise ValueError(f"{error} This is{name}.") from error

"""What a link is, and what it is fitted to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["OFFSET", "Link", "LinkData", "Needs", "Sample"]

# Scale of the offset's prior where the values alone decide: see offset_scale.
OFFSET = 2.0


class Needs(Enum):
    """What a link needs of the posterior of the decision values."""

    NOTHING = "nothing"
    # The information that the data add to the prior's, of which a sketch of the posterior knows enough.
    INFORMATION = "information"
    # The posterior variance itself.
    VARIANCE = "variance"


class Link(ABC):
    """Log-odds of the positive class, from a decision value and from what the posterior says of it."""

    @abstractmethod
    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Log-odds of the positive class.

        Parameters
        ----------
        values : array of shape (n_samples,)
            Decision values.
        reading : array of shape (n_samples,), optional
            What the link needs of the posterior.
        """

    @property
    def unmoderated(self) -> Link:
        """The link without what it reads of the posterior, where it can do without."""
        return self

    def moderated(self, log_odds: Array, reading: Array | None) -> Array:
        """Log-odds from elsewhere, moderated as this link moderates its own."""
        return log_odds


@dataclass(frozen=True)
class Sample:
    """Decision values that one link is fitted to.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Decision values of points that the machine has not seen.
    positive : array of bool of shape (n_samples,)
        Which points are of the positive class.
    weight : array of shape (n_samples,)
        How often each point counts.
    reading : array of shape (n_samples,), optional
        What the link needs of the posterior, without what the points say themselves.
    boundary : float
        Log-odds where the machine is undecided: 0, or by the ratio of the classes' costs.
    scale : float
        How far the log-odds at f = 0 may be from the boundary: see
        :func:`bayes_svm.probability.calibration.offset_scale`.
    """

    values: Array
    positive: Mask
    weight: Array
    reading: Array | None = None
    boundary: float = 0.0
    scale: float = OFFSET


@dataclass(frozen=True)
class LinkData:
    """Left-out decision values of all classes, with what belongs to them.

    Parameters
    ----------
    values : array of shape (n_samples,) or (n_samples, n_classes)
        Decision values of points that the machines have not seen.
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
        How often each point counts.
    reading : array like ``values``, optional
        What the links need of the posterior.
    scales : sequence of float, optional
        Of each machine, :func:`bayes_svm.probability.calibration.offset_scale`.
    folds : array of shape (n_samples, n_folds), optional
        How much of each point is in each fold, by which a joint link of several classes is judged.
    """

    values: Array
    y: Indices
    weight: Array
    reading: Array | None = None
    scales: list[float] | None = None
    folds: Array | None = None

    def weighted(self, weight: Array) -> LinkData:
        """The same with other weights."""
        return replace(self, weight=weight)

    def samples(self, class_weight: Array | None = None) -> Iterator[Sample]:
        """What the link of each machine is fitted to: one of two classes, else one for each class.

        Parameters
        ----------
        class_weight : array of shape (n_classes,), optional
            Costs of the classes that the machines were trained with, which say where they are undecided.
        """
        for place, k in enumerate([1] if self.values.ndim == 1 else range(self.values.shape[1])):
            own = self.y == k
            boundary = 0.0
            if class_weight is not None:
                rest = np.average(class_weight[self.y[~own]], weights=self.weight[~own])
                boundary = float(np.log(rest / class_weight[k]))
            yield Sample(
                column(self.values, k),
                own,
                self.weight,
                None if self.reading is None else column(self.reading, k),
                boundary,
                OFFSET if self.scales is None else self.scales[place],
            )


def column(values: Array, k: int) -> Array:
    """The values of machine k, or all of them where there is one machine."""
    return values if values.ndim == 1 else values[:, k]

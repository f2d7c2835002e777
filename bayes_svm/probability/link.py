"""Links from decision values to log-odds, and the data that they are fitted to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["OFFSET_SCALE", "Link", "LinkData", "Needs", "Sample"]

# Scale of the prior of the sigmoid's offset where the data, not the prior, are to decide: see offset_scale.
OFFSET_SCALE = 2.0


class Needs(Enum):
    """What a link needs to know of the posterior of the decision values."""

    NOTHING = "nothing"
    # The precision that the data add to the prior's; a posterior from a few hundred points is enough.
    INFORMATION = "information"
    # The posterior variance.
    VARIANCE = "variance"


class Link(ABC):
    """Function from a decision value, and its posterior if needed, to the log-odds of the positive class."""

    @abstractmethod
    def log_odds(self, values: Array, reading: Array | None = None) -> Array:
        """Log-odds of the positive class.

        Parameters
        ----------
        values : array of shape (n_samples,)
            Decision values.
        reading : array of shape (n_samples,), optional
            What the link needs of the posterior at these points: see :class:`Needs`.

        Returns
        -------
        array of shape (n_samples,)
            Log-odds of the positive class.
        """

    @property
    def unmoderated(self) -> Link:
        """The link that ignores the posterior, if there is one; otherwise the link itself."""
        return self

    def moderated(self, log_odds: Array, reading: Array | None) -> Array:
        """Log-odds from another source, moderated as this link moderates its own."""
        return log_odds

    def moderation(self, reading: Array) -> Array | None:
        """How far the log-odds are moderated, 0 for not at all and 1 for wholly; None if they never are."""
        return None


@dataclass(frozen=True)
class Sample:
    """Decision values that one link is fitted to.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Decision values of points that the machine was not trained on.
    positive : array of bool of shape (n_samples,)
        Which points belong to the positive class.
    weight : array of shape (n_samples,)
        How often each point counts.
    reading : array of shape (n_samples,), optional
        What the link needs of the posterior at each point, the point itself left out.
    boundary : float, default=0.0
        Log-odds where the machine is undecided: 0, or the logarithm of the ratio of the classes' costs.
    scale : float, default=2.0
        How far the log-odds at f = 0 may be from ``boundary``: see
        :func:`bayes_svm.probability.calibration.offset_scale`.
    """

    values: Array
    positive: Mask
    weight: Array
    reading: Array | None = None
    boundary: float = 0.0
    scale: float = OFFSET_SCALE


@dataclass(frozen=True)
class LinkData:
    """Left-out decision values of all machines, with labels and weights: what the links are fitted to.

    Parameters
    ----------
    values : array of shape (n_samples,) or (n_samples, n_classes)
        Decision values of points that the machines were not trained on.
    y : array of shape (n_samples,)
        Class number of each point.
    weight : array of shape (n_samples,)
        How often each point counts.
    reading : array like ``values``, optional
        What the links need of the posterior.
    scales : list of float, optional
        :func:`bayes_svm.probability.calibration.offset_scale` of each machine.
    folds : array of shape (n_samples, n_folds), optional
        Share of each point in each of the folds by which the joint link of several classes, or the link of
        rows in groups or of few rows, is cross-validated.
    """

    values: Array
    y: Indices
    weight: Array
    reading: Array | None = None
    scales: list[float] | None = None
    folds: Array | None = None

    def weighted(self, weight: Array) -> LinkData:
        """The same values with other weights."""
        return replace(self, weight=weight)

    def samples(self, class_weight: Array | None = None) -> Iterator[Sample]:
        """What the link of each machine is fitted to.

        Parameters
        ----------
        class_weight : array of shape (n_classes,), optional
            Costs of the classes that the machines were trained with. They say where a machine is undecided.

        Yields
        ------
        Sample
            One for two classes, otherwise one per class.
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
                OFFSET_SCALE if self.scales is None else self.scales[place],
            )


def column(values: Array, k: int) -> Array:
    """Column k, or the values themselves if there is only one machine."""
    return values if values.ndim == 1 else values[:, k]

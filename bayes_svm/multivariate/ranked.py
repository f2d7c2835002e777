"""Rows of one class in the order in which they are labelled wrong, as runs of equal values.

A row of weight W stands for W equal rows. Only its weight enters the sums, so that no row is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_svm.multivariate.ties import TIE
from bayes_svm.utils.types import Array

__all__ = ["Ranked", "sums", "turning"]


@dataclass(frozen=True)
class Ranked:
    """Rows sorted by a value; rows of equal value are one run, or each its own if they count once.

    Parameters
    ----------
    values : array of shape (n_runs,)
        The values in ascending order.
    ends : array of shape (n_runs + 1,)
        Number of rows before each run, and of all rows.
    sums : array of shape (n_runs + 1,)
        Sum of the values before each run, and of all values.
    """

    values: Array
    ends: Array
    sums: Array

    @classmethod
    def of(cls, values: Array, counts: Array | None) -> Ranked:
        """Rows with these values, which count as often as ``counts`` says; None if each counts once."""
        if counts is None:
            ordered = np.sort(values)
            return cls(ordered, np.arange(len(values) + 1.0), sums(ordered))
        order = np.argsort(values)
        ordered, reached = values[order], np.cumsum(counts[order])
        last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        ends = np.append(0.0, reached[last])
        return cls(ordered[last], ends, sums(np.diff(ends) * ordered[last]))

    @property
    def single(self) -> bool:
        """Whether each run is one row, so that every number of rows ends a run."""
        return len(self.values) == self.ends[-1]

    def run(self, number: Array) -> Array:
        """The run of the row after the first ``number``; the last run if there is none."""
        if self.single:
            return np.minimum(number, len(self.values) - 1).astype(np.intp)
        return np.asarray(np.searchsorted(self.ends[1:-1], number, side="right"))

    def total(self, number: Array) -> Array:
        """Sum of the ``number`` lowest values."""
        run = self.run(number)
        return np.asarray(self.sums[run] + (number - self.ends[run]) * self.values[run])

    def among_lowest(self, values: Array, number: float) -> Array:
        """1 for rows among the ``number`` lowest and 0 for others; ties at the border share equally."""
        if number == 0:
            return np.zeros(len(values))
        border = self.values[int(np.searchsorted(self.ends, number)) - 1]
        below = self.ends[np.searchsorted(self.values, border, side="left")]
        share = (number - below) / (self.ends[np.searchsorted(self.values, border, side="right")] - below)
        return np.where(values == border, share, values < border)


def sums(values: Array) -> Array:
    """Sums of the first 0, 1, ..., n values."""
    found = np.zeros(len(values) + 1)
    np.cumsum(values, out=found[1:])
    return found


def turning(strength: Array, offset: Array | float, slope: Array, low: Array, high: Array) -> Array:
    """The whole number x from ``low`` to ``high`` with the largest ``slope * x - strength / (x + offset)``.

    For a strength of at least 0 the function is concave. It rises from x to x + 1 while
    ``(x + offset) * (x + offset + 1)`` is below ``strength / -slope``.
    """
    ratio = np.where(np.maximum(strength, slope) > 0, np.inf, 0.0)
    np.divide(strength, -slope, out=ratio, where=slope < 0)
    # Without the tolerance, rounding would decide whether a whole number is rounded up.
    return np.clip(np.ceil((np.sqrt(ratio + 0.25) - 0.5) * (1.0 - TIE) - offset), low, high)

"""How shares change with their targets: what is left of the change of the rows whose shares move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_svm.utils.types import Array, Indices

__all__ = ["Balanced", "Pooled"]


@dataclass(frozen=True)
class Pooled:
    """Rows that move together within each pool.

    Parameters
    ----------
    rows : array of shape (n_moving,)
        Row numbers.
    pool : array of shape (n_moving,)
        Number of the pool of each row.
    weight : array of shape (n_moving,)
        How often each row counts.
    """

    rows: Indices
    pool: Indices
    weight: Array

    def change(self, values: Array) -> Array:
        """Each row gets the mean change of its pool."""
        total = np.bincount(self.pool, self.weight)
        moved = np.bincount(self.pool, self.weight * values) / np.maximum(total, 1.0)
        return np.asarray(moved[self.pool])


@dataclass(frozen=True)
class Balanced:
    """Rows of both classes, of which the shares of one sum to those of the other.

    Parameters
    ----------
    rows : array of shape (n_moving,)
        Row numbers.
    sign : array of shape (n_moving,)
        1 for a positive, -1 for a negative.
    weight : array of shape (n_moving,)
        How often each row counts.
    """

    rows: Indices
    sign: Array
    weight: Array

    def change(self, values: Array) -> Array:
        """The change less the part that would make the sums differ."""
        mean = float(self.weight @ (self.sign * values)) / max(float(self.weight.sum()), 1.0)
        return values - mean * self.sign

"""Rows with classes and weights, and the weights of the pairs they form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["LabelledRows", "PairMasses"]

# The total weight of the pairs of two classes is above this, and below its inverse.
SMALLEST_MASS = 1e-290
# A difference below this share of its terms is rounding.
CANCELLED = 1e-12


@dataclass(frozen=True)
class LabelledRows:
    """Rows with their class numbers and weights.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The points.
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
        Weights of the rows, above 0.
    n_classes : int
        Number of classes.
    unbiased : bool
        Whether the pair of a row with itself is left out.
    own_share : array of shape (n_samples,), optional
        Of a sample, how much of the pairs of each row with itself counts that counts otherwise: a row is
        drawn more often than two rows together. All of it by default.
    """

    X: Any
    y: Indices
    weight: Array
    n_classes: int
    unbiased: bool
    own_share: Array | None = None

    @property
    def own(self) -> Array:
        """Weight of the pairs of every row with itself that are left out, shape (n_samples,).

        A row of weight w stands for ``max(1, floor(w))`` equal copies, as in leave-one-out. The
        pair of each copy with itself is left out; pairs of different copies count.
        """
        square = self.weight**2
        own = np.asarray(square / copies_of_weight(self.weight) * float(self.unbiased))
        return own if self.own_share is None else own + (1.0 - self.own_share) * (square - own)

    @property
    def by_class(self) -> Array:
        """Weights of shape (n_samples, n_classes), each in the column of its class."""
        spread = np.zeros((len(self.y), self.n_classes))
        spread[np.arange(len(self.y)), self.y] = self.weight
        return spread

    def masses(self) -> PairMasses:
        """Total weight of the pairs of every two classes."""
        mass = self.by_class.sum(axis=0)
        own = np.bincount(self.y, weights=self.own, minlength=self.n_classes)
        return PairMasses(np.outer(mass, mass) - np.diag(own))

    def require_pairs(self, classes: NDArray[Any]) -> None:
        """Raise ValueError if a class has no pair of different rows, or none that double precision can weigh.

        With ``unbiased=False`` the pairs of a row with itself count too.
        """
        copies = np.bincount(self.y, weights=copies_of_weight(self.weight), minlength=self.n_classes)
        if self.unbiased and copies.min() < 2:
            raise ValueError(
                f"Class {classes.tolist()[copies.argmin()]!r} has 1 member, and so no pair of different "
                "members: merge or drop the class, add members, or count pairs of a row with itself "
                "(unbiased=False)."
            )
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            mass, total = self.masses().mass, self.by_class.sum(axis=0)
            # What is left of a class's pairs without those of a row with itself must not be rounding.
            known = (mass > CANCELLED * np.outer(total, total)) & (mass > SMALLEST_MASS)
        if not np.all(known & (mass < 1.0 / SMALLEST_MASS)):
            raise ValueError(
                "sample_weight is too large, too small or too uneven: products of the weights of different "
                "rows vanish or overflow in double precision. Choose weights nearer to 1."
            )

    def sampled(self, n: int, random_state: Any) -> tuple[LabelledRows, Indices]:
        """About ``n`` rows, from each class its share but at least 2, and their row numbers."""
        random = check_random_state(random_state)
        chosen, share = [], np.ones(len(self.y))
        for number in range(self.n_classes):
            members = np.flatnonzero(self.y == number)
            size = min(len(members), max(2, round(n * len(members) / len(self.y))))
            if size < len(members):
                share[members] = (size - 1) / (len(members) - 1)
            chosen.append(random.choice(members, size, replace=False))
        rows = np.sort(np.concatenate(chosen))
        return replace(self.take(rows, self.X[rows]), own_share=share[rows]), rows

    def take(self, rows: Any, X: Any) -> LabelledRows:
        """The labels and weights of some rows, with the points ``X``."""
        share = None if self.own_share is None else self.own_share[rows]
        return LabelledRows(X, self.y[rows], self.weight[rows], self.n_classes, self.unbiased, share)


@dataclass(frozen=True)
class PairMasses:
    """Total weight of the pairs of every two classes, of shape (n_classes, n_classes)."""

    mass: Array

    @property
    def same(self) -> float:
        """Total weight of the pairs of the same class."""
        return float(np.trace(self.mass))

    @property
    def different(self) -> float:
        """Total weight of the pairs of different classes."""
        return float(self.mass[self.apart].sum())

    @property
    def apart(self) -> Mask:
        """Mask of the entries that belong to different classes, shape (n_classes, n_classes)."""
        return ~np.eye(len(self.mass), dtype=bool)

    def means(self, average: Array) -> tuple[float, float]:
        """W and B, clipped to [-1, 1] since they are cosines."""
        products = self.mass * average
        within = np.trace(products) / self.same
        between = products[self.apart].sum() / self.different
        return float(np.clip(within, -1.0, 1.0)), float(np.clip(between, -1.0, 1.0))

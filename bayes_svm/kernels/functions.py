"""The kernels that have a name, one class for each, and the table of the names.

A new kernel is one more class with its formula, and its name in ``FORMULAS``. If it has a
parameter that the others do not have, :class:`~bayes_svm.kernels.kernel.Kernel` needs that too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import blas
from sklearn.metrics import pairwise

from bayes_svm._core.matrix import minus_distances, mirror_lower, transpose
from bayes_svm.kernels.arrays import TILE, largest_entry, squared_lengths
from bayes_svm.utils.parallel import in_threads
from bayes_svm.utils.types import Array, Indices

__all__ = ["FORMULAS", "KERNEL_NAMES", "SECONDS", "FeatureFormula", "Features", "Formula"]

# If only some values of a kernel matrix are needed, they are computed in tiles of this many rows and columns.
ROWS, COLUMNS = 512, 256
# Roughly how many seconds a value takes.
SECONDS = 4e-9
# Numbers up to this size do not overflow where a few of them are added or doubled.
SMALL = 1e300
# Where gamma times a squared length may exceed FAR, rounding errors of the length may matter. Columns are
# moved if this makes most squared lengths so many times SHORTER, of about so many rows LOOKED_AT.
FAR, SHORTER, LOOKED_AT = 1e4, 100.0, 200
# A multiple of the number of rows or columns that any BLAS works on at once.
GROUP = 64


def _padded(points: Indices) -> Indices:
    """The points, some of them repeated so that no BLAS has an incomplete group of rows at the end.

    BLAS may round differently there; the bits of a value must not depend on the others.
    """
    lacking = -len(points) % GROUP
    return np.resize(points, len(points) + lacking) if lacking else points


def _same_points(rows: Indices, columns: Indices) -> tuple[Indices, Indices]:
    """Places among the rows, ascending, and among the columns of which the points are the same."""
    order = np.argsort(columns, kind="stable")
    first, last = (np.searchsorted(columns[order], rows, side) for side in ("left", "right"))
    number = last - first
    row = np.repeat(np.arange(len(rows)), number)
    within = np.arange(len(row)) - np.repeat(np.cumsum(number) - number, number)
    return row, order[first[row] + within]


class Features(NamedTuple):
    """The points of a kernel matrix, with what their kernel values are computed from.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_points, n_features)
        The points.
    lengths : array of shape (n_points,)
        Squared lengths, or zeros if the kernel does not depend on them.
    diagonal : array of shape (n_points,)
        ``k(x, x)``.
    small : bool
        Whether they are so small that the values between them are finite.
    """

    X: Any
    lengths: Array
    diagonal: Array
    small: bool


class Formula(ABC):
    """Computes the values of one kernel.

    Values may be infinite or NaN here: :class:`~bayes_svm.kernels.kernel.Kernel` refuses them.

    Attributes
    ----------
    parameters : tuple of str
        Names of the parameters that the formula contains.
    linear : bool
        Whether the kernel is ``x'z``.
    tells_distance : bool
        Whether the kernel values of a point show how far it is from the data.
    """

    parameters: ClassVar[tuple[str, ...]] = ()
    linear: ClassVar[bool] = False
    tells_distance: ClassVar[bool] = True

    @property
    def positive_semidefinite(self) -> bool:
        """Whether every kernel matrix is known to be positive semi-definite."""
        return False

    @abstractmethod
    def evaluate(self, X: Any, Z: Any) -> Any:
        """Kernel values between the rows of X and of Z."""

    @abstractmethod
    def diagonal(self, X: Any) -> Array:
        """``k(x, x)`` for every row of X."""

    @abstractmethod
    def gram(self, X: Any, n_null: int) -> Array:
        """Symmetric kernel matrix of X, with ``n_null`` rows and columns of zeros added."""

    def derivatives(self, X: Any) -> dict[str, Array]:
        """Derivatives of the kernel matrix of X by the parameters, one array for each name."""
        return {}

    def largest_value(self, largest: Array, largest_row: float, n_features: int) -> Array:
        """Upper bound of the kernel values, and of the numbers they are computed from.

        Parameters
        ----------
        largest : array of shape (n_points,)
            Largest absolute feature of each point.
        largest_row : float
            Largest absolute feature of the training points.
        n_features : int
            Number of features.

        Returns
        -------
        array of shape (n_points,)
            A bound for the values of each point with itself and with the training points.
        """
        return n_features * largest * np.maximum(largest, largest_row)


@dataclass(frozen=True)
class NamedFormula(Formula):
    """A formula with scikit-learn's kernel parameters, of which it may use some or none."""

    gamma: float
    degree: float
    coef0: float


class FeatureFormula(NamedFormula):
    """A kernel ``g(u)`` of one number u, which is computed from ``x'z``, ``x'x`` and ``z'z``."""

    @abstractmethod
    def values(self, u: Array) -> Array:
        """``g(u)``, the kernel values; u may be overwritten."""

    def evaluate(self, X: Any, Z: Any) -> Array:
        """Kernel values between the rows of X and of Z."""
        return self.values(pairwise.linear_kernel(X, Z))

    def diagonal(self, X: Any) -> Array:
        """``k(x, x)`` for every row of X."""
        return self.values(squared_lengths(X))

    def lengths(self, X: Any) -> Array:
        """Squared length of every row if u depends on it, otherwise zeros."""
        return np.zeros(X.shape[0])

    def argument(self, inner: Array, left: Array, right: Array) -> Array:
        """u, from squared lengths and from inner products, which may be overwritten."""
        return inner

    def gram(self, X: Any, n_null: int) -> Array:
        """Symmetric kernel matrix of X, with ``n_null`` rows and columns of zeros added.

        Only one half is computed.
        """
        size = X.shape[0]
        gram = np.empty((size + n_null, size + n_null))
        gram[size:] = gram[:, size:] = 0.0
        lengths = self.lengths(X)

        def fill(start: int) -> None:
            rows = slice(start, min(start + TILE, size))
            left = X[rows]
            for first in range(0, start + 1, TILE):
                columns = slice(first, min(first + TILE, size))
                right = left if first == start else X[columns]
                with np.errstate(over="ignore", invalid="ignore"):
                    gram[rows, columns] = self._tile(left, right, lengths[rows], lengths[columns])
                # As long as the tile is in the CPU's cache.
                if first == start:
                    mirror_lower(gram[rows, rows])
                else:
                    transpose(gram[rows, columns], gram[columns, rows])

        # The longest first, so that no thread is left with one of them at the end.
        in_threads(fill, range(0, size, TILE)[::-1], SECONDS * size**2 / 2)
        return gram

    def features(self, X: Any) -> Features:
        """The points with what their kernel values are computed from."""
        if sparse.issparse(X) and not X.has_canonical_format:
            # A product adds up in the order in which the left row is stored: it must be the same for all.
            X = X.copy()
            X.sum_duplicates()
        return Features(X, self.lengths(X), self.diagonal(X), self.small(X))

    def small(self, X: Any) -> bool:
        """Whether features are so small that the kernel values between them must be finite."""
        if not self.positive_semidefinite:
            return False
        largest = max(largest_entry(X), 1.0)
        bound = float(self.largest_value(np.array([largest]), largest, X.shape[1])[0])
        return bound * max(1.0, abs(self.gamma)) <= SMALL

    def tiles(
        self, points: Features, rows: Indices, columns: Indices
    ) -> Iterator[tuple[slice, slice, Array]]:
        """Kernel values between some points and others, one tile after the other."""
        X, lengths, diagonal, _ = points
        row, column = _same_points(rows, columns)
        for start in range(0, len(rows), ROWS):
            own = rows[start : start + ROWS]
            chosen = _padded(own)
            left, left_lengths = X[chosen], lengths[chosen]
            here = slice(*np.searchsorted(row, [start, start + len(own)]))
            for first in range(0, len(columns), COLUMNS):
                others = columns[first : first + COLUMNS]
                padded = _padded(others)
                tile = self._tile(left, X[padded], left_lengths, lengths[padded])[: len(own), : len(others)]
                same = (column[here] >= first) & (column[here] < first + len(others))
                i, j = row[here][same], column[here][same]
                tile[i - start, j - first] = diagonal[rows[i]]
                yield slice(start, start + len(own)), slice(first, first + len(others)), tile

    def _tile(self, left: Any, right: Any, left_lengths: Array, right_lengths: Array) -> Array:
        """Kernel values between two blocks of rows, given their squared lengths.

        Of a block with itself only the values on and below the diagonal are right.
        """
        if sparse.issparse(left):
            inner = (left @ right.T).toarray()
        elif right is left:
            inner = blas.dsyrk(1.0, left.T, trans=1).T
        else:
            inner = left @ right.T
        return self.values(self.argument(inner, left_lengths, right_lengths))


class Linear(FeatureFormula):
    """``x'z``."""

    linear = True
    tells_distance = False
    positive_semidefinite = True

    def values(self, u: Array) -> Array:
        return u


class Gaussian(FeatureFormula):
    """``exp(u)`` with ``u = -gamma |x - z|^2``.

    Dense features far from 0, such as times in seconds, are moved to 0 first: their squared lengths, of which
    the squared distance is a difference, would have no digits left for it.
    """

    parameters = ("gamma",)
    positive_semidefinite = True

    def _middle(self, X: Any) -> Array | None:
        """The median of each column, if X is dense and so far from 0 that digits would be lost."""
        if sparse.issparse(X) or not X.size:
            return None
        largest = largest_entry(X)
        if not self.gamma * X.shape[1] * (largest * largest) > FAR:
            return None
        with np.errstate(over="ignore"):  # what overflows is refused later
            some = X[:: -(-len(X) // LOOKED_AT)]
            middle = np.median(some, axis=0)
            width = np.median(np.abs(some - middle), axis=0)
            # Moving columns that are wide rather than far away would gain little.
            return middle if SHORTER * (width @ width) < middle @ middle else None

    def values(self, u: Array) -> Array:
        return np.exp(u, out=u)

    def evaluate(self, X: Any, Z: Any) -> Array:
        if (middle := self._middle(Z)) is not None:
            X, Z = (X.toarray() if sparse.issparse(X) else X) - middle, Z - middle
        u = pairwise.euclidean_distances(X, Z, squared=True)
        u *= -self.gamma
        return self.values(u)

    def diagonal(self, X: Any) -> Array:
        return np.ones(X.shape[0])

    def gram(self, X: Any, n_null: int) -> Array:
        return super().gram(self._moved(X), n_null)

    def features(self, X: Any) -> Features:
        return super().features(self._moved(X))

    def _moved(self, X: Any) -> Any:
        """The points, near 0."""
        middle = self._middle(X)
        return X if middle is None else X - middle

    def lengths(self, X: Any) -> Array:
        return squared_lengths(X)

    def argument(self, inner: Array, left: Array, right: Array) -> Array:
        minus_distances(inner, 2.0 * self.gamma, self.gamma * left, self.gamma * right)
        return inner

    def derivatives(self, X: Any) -> dict[str, Array]:
        values = self.evaluate(X, X)
        return {"gamma": (values * np.log(np.maximum(values, np.finfo(float).tiny)))[None]}


class _Affine(FeatureFormula):
    """A kernel ``h(gamma x'z + coef0)``."""

    @abstractmethod
    def h(self, v: Array) -> Array:
        """Kernel values, from ``v = gamma x'z + coef0``."""

    @abstractmethod
    def slope(self, v: Array) -> Array:
        """Derivative of h at v."""

    def values(self, u: Array) -> Array:
        return self.h(self.gamma * u + self.coef0)

    def derivatives(self, X: Any) -> dict[str, Array]:
        product = self.gamma * pairwise.linear_kernel(X, X)
        slope = self.slope(product + self.coef0)
        return {"gamma": (slope * product)[None], "coef0": slope[None]}


class Polynomial(_Affine):
    """``(gamma x'z + coef0) ** degree``."""

    parameters = ("gamma", "degree", "coef0")

    @property
    def positive_semidefinite(self) -> bool:
        return self.coef0 >= 0 and float(self.degree).is_integer()

    def h(self, v: Array) -> Array:
        return np.asarray(v**self.degree)

    def slope(self, v: Array) -> Array:
        return np.asarray(self.degree * v ** (self.degree - 1.0))

    def largest_value(self, largest: Array, largest_row: float, n_features: int) -> Array:
        inner = super().largest_value(largest, largest_row, n_features)
        return np.asarray((abs(self.gamma) * inner + abs(self.coef0)) ** self.degree)


class Sigmoid(_Affine):
    """``tanh(gamma x'z + coef0)``."""

    parameters = ("gamma", "coef0")

    def h(self, v: Array) -> Array:
        return np.tanh(v)

    def slope(self, v: Array) -> Array:
        return np.asarray(1.0 - np.tanh(v) ** 2)


class Precomputed(NamedFormula):
    """X holds kernel values, not features: there is nothing to compute."""

    tells_distance = False

    def evaluate(self, X: Any, Z: Any) -> Array:
        raise ValueError(
            "A precomputed kernel has no formula: values between new points cannot be computed. Use a "
            "kernel by name or a callable."
        )

    def diagonal(self, X: Any) -> Array:
        raise ValueError(
            "A precomputed kernel holds no k(x, x) of new points, which the posterior variance needs: use a "
            "kernel by name or a callable."
        )

    def gram(self, X: Any, n_null: int) -> Array:
        return self.evaluate(X, X)


FORMULAS: dict[str, type[NamedFormula]] = {
    "linear": Linear,
    "poly": Polynomial,
    "rbf": Gaussian,
    "sigmoid": Sigmoid,
    "precomputed": Precomputed,
}
KERNEL_NAMES = tuple(FORMULAS)

"""The kernels that have a name, one class for each, and the table of the names.

A new kernel is one more class with its formula, and its name in ``FORMULAS``. If it has a
parameter that the others do not have, :class:`~bayes_svm.kernels.kernel.Kernel` needs that too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise

from bayes_svm._core.matrix import minus_distances, mirror_lower
from bayes_svm.kernels.arrays import TILE, squared_lengths
from bayes_svm.utils.types import Array, Indices

__all__ = ["FORMULAS", "KERNEL_NAMES", "FeatureFormula", "Formula"]

# If only some rows of a kernel matrix are needed, they are computed this many at a time. It is a multiple
# of the number of rows that any BLAS works on at once.
ROWS = 64


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
        for start in range(0, size, TILE):
            rows = slice(start, min(start + TILE, size))
            for first in range(start, size, TILE):
                columns = slice(first, min(first + TILE, size))
                tile = self._tile(X[rows], X[columns], lengths[rows], lengths[columns])
                if first == start:
                    mirror_lower(tile, len(tile))
                else:
                    gram[columns, rows] = tile.T
                gram[rows, columns] = tile
        return gram

    def rows(self, X: Any, points: Indices, out: Array) -> None:
        """Write the rows of the kernel matrix of X that belong to ``points`` into ``out``."""
        lengths, size = self.lengths(X), X.shape[0]
        for start in range(0, len(points), ROWS):
            # BLAS may round differently at the end of a block that is not full. Every block is
            # filled by repeating rows, so that the bits of a row do not depend on the others.
            chosen = np.resize(points[start : start + ROWS], ROWS)
            left, n_new = X[chosen], min(ROWS, len(points) - start)
            for first in range(0, size, TILE):
                full = first + TILE <= size
                columns = slice(first, first + TILE) if full else np.resize(np.arange(first, size), TILE)
                tile = self._tile(left, X[columns], lengths[chosen], lengths[columns])
                out[start : start + n_new, first : first + TILE] = tile[:n_new, : size - first]

    def _tile(self, left: Any, right: Any, left_lengths: Array, right_lengths: Array) -> Array:
        """Kernel values between two blocks of rows, given their squared lengths."""
        inner = left @ right.T
        inner = inner.toarray() if sparse.issparse(inner) else inner
        return self.values(self.argument(inner, left_lengths, right_lengths))


class Linear(FeatureFormula):
    """``x'z``."""

    linear = True
    tells_distance = False
    positive_semidefinite = True

    def values(self, u: Array) -> Array:
        return u


class Gaussian(FeatureFormula):
    """``exp(u)`` with ``u = -gamma |x - z|^2``."""

    parameters = ("gamma",)
    positive_semidefinite = True

    def values(self, u: Array) -> Array:
        return np.exp(u, out=u)

    def evaluate(self, X: Any, Z: Any) -> Array:
        u = pairwise.euclidean_distances(X, Z, squared=True)
        u *= -self.gamma
        return self.values(u)

    def diagonal(self, X: Any) -> Array:
        return np.ones(X.shape[0])

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

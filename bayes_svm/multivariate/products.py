"""Training data in memory, and the two products in which a cutting-plane method uses it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse

from bayes_svm.kernels.arrays import largest_entry
from bayes_svm.utils.types import Array, Indices

__all__ = [
    "FeatureProducts", "KernelProducts", "LinearProducts", "Products", "refuse_huge", "refuse_huge_penalty",
]  # fmt: skip

# Products of features up to this size are finite, with room for sums of many of them.
LARGEST_FEATURE = 1e100

# C times the size of the rows' products up to which the sums over planes keep enough digits. From a hundred
# times as much on, with columns of unequal sizes, weights were seen to be zero, or not found at all.
LARGEST_PENALTY = 1e18
# A sum over fewer than this share of the rows of a CSR matrix is faster with these rows taken out.
FEW = 0.1


def refuse_huge(X: Any) -> None:
    """Raise ValueError if a feature is too large to compute with in double precision."""
    largest = largest_entry(X)
    if largest > LARGEST_FEATURE:
        raise ValueError(
            f"The largest feature in X is {largest:.3g}, which is too large to compute with in double "
            "precision. Scale the features, for example with sklearn.preprocessing.StandardScaler."
        )


def refuse_huge_penalty(C: float, products: Products) -> None:
    """Raise ValueError if C is too large for the size of the rows."""
    largest = products.size()
    if C * largest > LARGEST_PENALTY:
        raise ValueError(
            f"C={C:g} is too large to compute with in double precision: with these rows it can be at most "
            f"{LARGEST_PENALTY / largest:.2g}. Lower C, or scale the features."
        )


class Products(Protocol):
    """Training data: scores of the rows for given weights, and sums of the rows."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def n_weights(self) -> int:
        """Number of weights, the length of w."""
        ...

    @property
    def sparse(self) -> bool:
        """Whether a sum of a few rows is mostly zeros."""
        ...

    def scores(self, w: Array) -> Array:
        """``X w``: score of every row, shape (n_rows,)."""
        ...

    def combined(self, c: Array) -> Array:
        """``X'c``: sum of the rows with coefficients c, shape (n_weights,)."""
        ...

    def dual(self, w: Array, scores: Array | None = None) -> Array:
        """Vector d such that ``d @ u`` is the inner product of w and u, shape (n_weights,).

        ``scores`` are those of w; they are computed if they are needed and not given.
        """
        ...

    def size(self) -> float:
        """Size of the products of two rows."""
        ...


class FeatureProducts(ABC):
    """Rows of features, with one more feature that has the same value, ``constant``, in all rows.

    It gives the intercept, and is left out if the constant is 0.
    """

    constant: float

    @property
    @abstractmethod
    def n_weights(self) -> int:
        """Number of weights: one for each feature, and one for the constant feature if it is not 0."""

    def scores(self, w: Array) -> Array:
        """``X w``: score of every row, shape (n_rows,)."""
        values = self._rows_times(w[: self.n_weights - 1] if self.constant else w)
        return values + self.constant * w[-1] if self.constant else values

    def combined(self, c: Array) -> Array:
        """``X'c``: sum of the rows with coefficients c, shape (n_weights,)."""
        sums = self._transposed_times(c)
        return np.append(sums, self.constant * c.sum()) if self.constant else sums

    def dual(self, w: Array, scores: Array | None = None) -> Array:
        """The weights themselves."""
        return w

    def size(self) -> float:
        """Square of the largest feature, the constant one among them."""
        return max(self._largest_feature(), abs(self.constant)) ** 2

    @abstractmethod
    def _largest_feature(self) -> float:
        """Largest absolute feature, without the constant one."""

    @abstractmethod
    def _rows_times(self, w: Array) -> Array:
        """Score of every row, without the constant feature."""

    @abstractmethod
    def _transposed_times(self, c: Array) -> Array:
        """Sum of the rows with coefficients c, without the constant feature."""


@dataclass(frozen=True)
class LinearProducts(FeatureProducts):
    """Rows of a dense array or a scipy.sparse matrix.

    Parameters
    ----------
    X : array or CSR or CSC matrix of shape (n_rows, n_features)
        The rows.
    constant : float
        Value of the constant feature; 0 for none.
    """

    X: Any
    constant: float = 1.0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_weights(self) -> int:
        """Number of weights: one for each feature, and one for the constant feature if it is not 0."""
        return int(self.X.shape[1]) + (self.constant != 0)

    @property
    def sparse(self) -> bool:
        """Whether X is sparse."""
        return bool(issparse(self.X))

    def part(self, rows: Indices) -> LinearProducts:
        """The products of some of the rows."""
        return LinearProducts(self.X[rows], self.constant)

    def _largest_feature(self) -> float:
        return largest_entry(self.X)

    def _rows_times(self, w: Array) -> Array:
        return np.asarray(self.X @ w)

    def _transposed_times(self, c: Array) -> Array:
        rows = np.flatnonzero(c)
        if len(rows) < FEW * len(c) and getattr(self.X, "format", None) == "csr":
            return np.asarray(self.X[rows].T @ c[rows])
        return np.asarray(self.X.T @ c)


@dataclass(frozen=True)
class KernelProducts:
    """Rows of which only the kernel matrix is known; the weights are coefficients of the rows.

    Parameters
    ----------
    gram : array of shape (n_rows, n_rows)
        Kernel matrix, with the square of the constant feature added to every entry.
    """

    gram: Array
    sparse = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.gram)

    @property
    def n_weights(self) -> int:
        """Number of weights: one for each row."""
        return len(self.gram)

    def scores(self, w: Array) -> Array:
        """Kernel matrix times the coefficients, shape (n_rows,)."""
        return np.asarray(self.gram @ w)

    def combined(self, c: Array) -> Array:
        """The coefficients themselves."""
        return c

    def dual(self, w: Array, scores: Array | None = None) -> Array:
        """The scores of w, since the inner product of u and w is ``u'Kw``."""
        return self.scores(w) if scores is None else scores

    def size(self) -> float:
        """Largest kernel value of a row with itself."""
        return float(self.gram.diagonal().max())

"""Matrices that grow row by row, dense and sparse, and the two products with them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from bayes_svm.utils.types import Array, Indices

__all__ = ["DenseRows", "Rows", "SparseRows"]

# Rows in a full block of a sparse matrix. A new row is added by copying the last block.
BLOCK = 64


class Rows(Protocol):
    """A matrix M that grows by rows."""

    def append(self, row: Array) -> None:
        """Add a row at the end."""
        ...

    def times(self, u: Array) -> Array:
        """``M u``."""
        ...

    def combined(self, alpha: Array) -> Array:
        """``M'alpha``."""
        ...

    def keep(self, kept: Indices) -> None:
        """Forget all other rows."""
        ...


class DenseRows:
    """A dense matrix in an array that doubles in length when it is full."""

    def __init__(self, n_columns: int) -> None:
        self._size = 0
        self._array = np.empty((16, n_columns))

    def append(self, row: Array) -> None:
        """Add a row at the end."""
        if self._size == len(self._array):
            self._array = np.concatenate([self._array, np.empty_like(self._array)])
        self._array[self._size] = row
        self._size += 1

    def times(self, u: Array) -> Array:
        """``M u``."""
        return np.asarray(self._array[: self._size] @ u)

    def combined(self, alpha: Array) -> Array:
        """``M'alpha``."""
        return np.asarray(alpha @ self._array[: self._size])

    def keep(self, kept: Indices) -> None:
        """Forget all other rows."""
        self._size = len(kept)
        self._array[: self._size] = self._array[kept]


class SparseRows:
    """A sparse matrix in CSR blocks, of which only the last one grows."""

    def __init__(self, n_columns: int) -> None:
        self._blocks: list[Any] = [sparse.csr_matrix((0, n_columns))]

    def append(self, row: Array) -> None:
        """Add a row at the end."""
        grown = sparse.csr_matrix(row[None, :])
        if self._blocks[-1].shape[0] < BLOCK:
            grown = sparse.vstack([self._blocks.pop(), grown], format="csr")
        self._blocks.append(grown)

    def times(self, u: Array) -> Array:
        """``M u``."""
        return np.concatenate([block @ u for block in self._blocks])

    def combined(self, alpha: Array) -> Array:
        """``M'alpha``."""
        ends = np.cumsum([block.shape[0] for block in self._blocks])[:-1]
        parts = zip(self._blocks, np.split(alpha, ends), strict=True)
        return np.asarray(sum(block.T @ part for block, part in parts))

    def keep(self, kept: Indices) -> None:
        """Forget all other rows."""
        self._blocks = [sparse.vstack(self._blocks, format="csr")[kept]]

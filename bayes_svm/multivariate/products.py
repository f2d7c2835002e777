"""The two products through which a cutting-plane method sees its data, for every kind of data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse

from bayes_svm.utils.types import Array

__all__ = ["DaskProducts", "KernelProducts", "LinearProducts", "Products", "is_dask_array"]


FEW = 0.1  # share of the rows below which they are worth to be taken out of a CSR matrix


class Products(Protocol):
    """Scores of weights, and the sum of rows with coefficients."""

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        ...

    @property
    def n_weights(self) -> int:
        """Length of the weights w."""
        ...

    @property
    def sparse(self) -> bool:
        """Whether a sum of few rows is mostly zeros."""
        ...

    def scores(self, w: Array) -> Array:
        """``X w``, shape (n_rows,)."""
        ...

    def combined(self, c: Array) -> Array:
        """``X'c``, shape (n_weights,)."""
        ...

    def dual(self, w: Array, scores: Array | None = None) -> Array:
        """Vector whose ordinary product with weights u is their inner product with w."""
        ...


class _Primal(ABC):
    """Weights of features, the last of them of a constant feature unless that is 0."""

    constant: float

    @property
    @abstractmethod
    def n_weights(self) -> int:
        """Length of the weights w."""

    def scores(self, w: Array) -> Array:
        values = self._rows_times(w[: self.n_weights - 1] if self.constant else w)
        return values + self.constant * w[-1] if self.constant else values

    def combined(self, c: Array) -> Array:
        sums = self._transposed_times(c)
        return np.append(sums, self.constant * c.sum()) if self.constant else sums

    def dual(self, w: Array, scores: Array | None = None) -> Array:
        return w

    @abstractmethod
    def _rows_times(self, w: Array) -> Array:
        """The rows times the weights of the features."""

    @abstractmethod
    def _transposed_times(self, c: Array) -> Array:
        """The sum of the rows, each ``c_i`` times."""


@dataclass(frozen=True)
class LinearProducts(_Primal):
    """Dense array or scipy.sparse matrix in memory, with a constant feature.

    Parameters
    ----------
    X : array or CSR or CSC matrix of shape (n_rows, n_features)
    constant : float
        Value of the constant feature; 0 for none.
    """

    X: Any
    constant: float = 1.0

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return int(self.X.shape[0])

    @property
    def n_weights(self) -> int:
        """Features, and the constant one."""
        return int(self.X.shape[1]) + (self.constant != 0)

    @property
    def sparse(self) -> bool:
        """Whether X is."""
        return bool(issparse(self.X))

    def _rows_times(self, w: Array) -> Array:
        return np.asarray(self.X @ w)

    def _transposed_times(self, c: Array) -> Array:
        rows = np.flatnonzero(c)
        if len(rows) < FEW * len(c) and getattr(self.X, "format", None) == "csr":
            return np.asarray(self.X[rows].T @ c[rows])
        return np.asarray(self.X.T @ c)


@dataclass(frozen=True)
class KernelProducts:
    """Kernel matrix of the rows: the weights are coefficients of the rows' images.

    Parameters
    ----------
    gram : array of shape (n_rows, n_rows)
        The square of the constant feature added to it.
    """

    gram: Array
    sparse = False

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return len(self.gram)

    @property
    def n_weights(self) -> int:
        """One coefficient a row."""
        return len(self.gram)

    def scores(self, w: Array) -> Array:
        """Kernel matrix times coefficients."""
        return np.asarray(self.gram @ w)

    def combined(self, c: Array) -> Array:
        """The coefficients themselves."""
        return c

    def dual(self, w: Array, scores: Array | None = None) -> Array:
        """Scores: the inner product of u and w is ``u'Kw``."""
        return self.scores(w) if scores is None else scores


def is_dask_array(X: Any) -> bool:
    """Whether X is a dask array; dask is not imported to find out."""
    return type(X).__module__.startswith("dask.array")


class DaskProducts(_Primal):
    """Dask array in blocks of rows: only scores, and one sum of rows a block, travel.

    Parameters
    ----------
    X : dask array of shape (n_rows, n_features)
        Blocks may be dense or scipy.sparse. They are computed anew for every product unless X is
        persisted.
    constant : float
    """

    sparse = False

    def __init__(self, X: Any, constant: float = 1.0) -> None:
        if any(np.isnan(size) for size in X.chunks[0]):
            X = X.compute_chunk_sizes()
        X = X.rechunk({1: -1})
        self.constant = constant
        self._shape = X.shape
        self._blocks = X.to_delayed()[:, 0].tolist()
        self._ends = np.cumsum(X.chunks[0])[:-1]

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return int(self._shape[0])

    @property
    def n_weights(self) -> int:
        """Features, and the constant one."""
        return int(self._shape[1]) + (self.constant != 0)

    def _rows_times(self, w: Array) -> Array:
        return np.concatenate(self._each(_block_scores, [w] * len(self._blocks)))

    def _transposed_times(self, c: Array) -> Array:
        return np.sum(self._each(_block_sum, np.split(c, self._ends)), axis=0)

    def _each(self, function: Any, arguments: list[Array]) -> list[Array]:
        import dask

        task = dask.delayed(function, pure=False)
        vectors = {id(vector): dask.delayed(vector) for vector in arguments}
        calls = [
            task(block, vectors[id(vector)]) for block, vector in zip(self._blocks, arguments, strict=True)
        ]
        # A vector of a million numbers is what has to be sent.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return list(dask.compute(*calls))


def _block_scores(block: Any, w: Array) -> Array:
    return np.asarray(block @ w, dtype=np.float64)


def _block_sum(block: Any, c: Array) -> Array:
    return np.asarray(block.T @ c, dtype=np.float64)

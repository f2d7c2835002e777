"""Dask arrays as training data: checks, and products that the workers compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_svm.kernels.arrays import largest_entry
from bayes_svm.multivariate.products import FeatureProducts
from bayes_svm.utils.types import Array

__all__ = ["DaskProducts", "check_dask", "is_dask_array"]


def is_dask_array(X: Any) -> bool:
    """Whether X is a dask array, found out without importing dask."""
    return type(X).__module__.startswith("dask.array")


def check_dask(X: Any, *, finite: bool = True) -> Any:
    """A dask array with blocks of known sizes; ValueError unless it is a matrix of numbers, and finite."""
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"X must be a dask array of numbers with 2 dimensions, got {X.ndim} of {X.dtype}.")
    if finite and X.dtype.kind == "f" and not np.isfinite(np.asarray(X.sum(axis=0))).all():
        raise ValueError("X holds NaN or infinity.")
    return X.compute_chunk_sizes() if any(np.isnan(size) for size in X.chunks[0]) else X


class DaskProducts(FeatureProducts):
    """Blocks of rows of a dask array; workers send back only scores and one sum of rows per block.

    Parameters
    ----------
    X : dask array of shape (n_rows, n_features)
        The rows, in dense or scipy.sparse blocks. Blocks are computed again for every product
        unless X is persisted.
    constant : float
        Value of the constant feature; 0 for none.
    """

    sparse = False

    def __init__(self, X: Any, constant: float = 1.0) -> None:
        X = X.rechunk({1: -1})
        self.constant = constant
        self._shape = X.shape
        self._blocks = X.to_delayed()[:, 0].tolist()
        self._ends = np.cumsum(X.chunks[0])[:-1]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._shape[0])

    @property
    def n_weights(self) -> int:
        """Number of weights: one for each feature, and one for the constant feature if it is not 0."""
        return int(self._shape[1]) + (self.constant != 0)

    def _largest_feature(self) -> float:
        nothing = np.empty(0)
        return float(max(self._each(_block_largest, [nothing] * len(self._blocks))))

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
        # Dask would warn that the graph is large, but vectors of a million numbers have to be sent.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return list(dask.compute(*calls))


def _block_largest(block: Any, _: Array) -> float:
    return largest_entry(block)


def _block_scores(block: Any, w: Array) -> Array:
    return np.asarray(block @ w, dtype=np.float64)


def _block_sum(block: Any, c: Array) -> Array:
    return np.asarray(block.T @ c, dtype=np.float64)

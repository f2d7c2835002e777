"""A kernel matrix whose values are computed each time they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.matrix import mirror_lower, transpose
from bayes_svm.kernels.functions import SECONDS
from bayes_svm.kernels.gram import KernelMatrix, Real
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils.parallel import in_threads
from bayes_svm.utils.types import Array, Indices

__all__ = ["Recomputed"]


# So many rows or columns are the work of one thread at a time.
PIECE = 1024
# So many rows of half a block are: with few, little of the other half is computed too.
FEW_ROWS = 256


class Recomputed(KernelMatrix):
    """Kernel values between points, none of which is stored.

    A tile of values that stays in the CPU's cache is made, used and forgotten. With few features this takes
    less time than to fetch memory for the values from the system, and about as much as to read them back
    twice.

    Parameters
    ----------
    kernel : Kernel
        A kernel of features by name.
    X : array or CSR matrix of shape (n_samples, n_features)
        The points.
    n_null : int
        Number of null points, for which rows and columns of zeros are added at the end.
    """

    def __init__(self, kernel: Kernel, X: Any, n_null: int = 0) -> None:
        self.n_null = n_null
        self.source = (kernel, X)
        self._kernel, self._features = kernel, kernel.features(X)
        self.diagonal = np.append(self._features.diagonal, np.zeros(n_null))

    def block_into(self, out: NDArray[Real], rows: Indices, columns: Indices) -> NDArray[Real]:
        """Kernel values between some points and others, written into ``out``; returns it."""
        n_real = len(self) - self.n_null
        if self.n_null and not ((rows < n_real).all() and (columns < n_real).all()):
            own, others = np.flatnonzero(rows < n_real), np.flatnonzero(columns < n_real)
            real = rows[own]
            # The same array twice is computed in half.
            to = real if rows is columns else columns[others]
            out[:] = 0.0
            out[np.ix_(own, others)] = self.block_into(np.empty((len(own), len(others)), out.dtype), real, to)
            return out
        # Half of a block between the same points follows by symmetry.
        half = rows is columns
        height = FEW_ROWS if half else PIECE

        def fill(start: int) -> None:
            own = rows[start : start + height]
            strip = out[start : start + len(own)]
            with np.errstate(over="ignore"):
                for some, these, tile in self._kernel.tiles(
                    self._features, own, columns[:start] if half else columns
                ):
                    strip[some, these] = tile
                    if half:
                        # As long as the tile is in the CPU's cache.
                        transpose(strip[some, these], out[these, start : start + len(own)][:, some])
                if half:
                    square = strip[:, start : start + len(own)]
                    for some, these, tile in self._kernel.tiles(self._features, own, own):
                        square[some, these] = tile
                    mirror_lower(square)

        in_threads(fill, range(0, len(rows), height)[::-1], SECONDS * out.size)
        return out

    def product(self, weights: Array) -> Array:
        """The matrix times a vector; only the rows of nonzero weights are needed."""
        return self._sum(weights, False)

    def largest_sum(self, weights: Array) -> float:
        """``max(abs(matrix) @ abs(weights))``."""
        return float(self._sum(weights, True).max(initial=0.0))

    def _sum(self, weights: Array, absolute: bool) -> Array:
        """The matrix times the weights, or its absolute values times theirs."""
        n_real = len(self) - self.n_null
        used, total = np.flatnonzero(weights[:n_real]), np.zeros(len(self))
        given = np.abs(weights[used]) if absolute else weights[used]

        def add(start: int) -> None:
            part = total[start : min(start + PIECE, n_real)]
            others = np.arange(start, start + len(part))
            for rows, columns, tile in self._kernel.tiles(self._features, used, others):
                part[columns] += given[rows] @ (np.abs(tile) if absolute else tile)

        in_threads(add, range(0, n_real, PIECE), SECONDS * len(used) * n_real)
        return total

    def whole(self) -> Array:
        """The whole matrix, shape (n_points, n_points)."""
        everything = np.arange(len(self))
        return self.block(everything, everything)

    def _smallest_of(self, points: Indices) -> Array:
        n_real = len(self) - self.n_null
        smallest = np.full(len(points), 0.0 if self.n_null else np.inf)
        real = np.flatnonzero(points < n_real)
        for rows, _, tile in self._kernel.tiles(self._features, points[real], np.arange(n_real)):
            smallest[real[rows]] = np.minimum(smallest[real[rows]], tile.min(axis=1))
        return smallest

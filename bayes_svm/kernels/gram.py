"""The kernel matrix of a problem, and the plainest of its forms: all values in one array."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core import matrix
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.parallel import in_threads
from bayes_svm.utils.types import Array, Indices

__all__ = ["FEWER_POINTS", "KernelMatrix", "WholeMatrix"]

# Advice in errors about memory.
FEWER_POINTS = "Fit on fewer points: a stratified subsample, or the rows that matter most."

Real = TypeVar("Real", np.float32, np.float64)

# So many rows of a stored matrix are the work of one thread at a time, and roughly how many seconds a value
# takes.
PIECE, SECONDS = 512, 1e-9


class KernelMatrix(ABC):
    """Kernel values between the points of a problem: a symmetric matrix.

    Each form of it stores or computes the values in its own way. The bits of a value never depend on the way,
    on when it is asked for, or on what it is asked for with.

    Attributes
    ----------
    positive_semidefinite : bool
        Whether the matrix is known to be positive semi-definite, as all are that are computed on demand.
    diagonal : array of shape (n_points,)
        ``k(x, x)`` of each point.
    n_null : int
        Number of null points, the last ones: points at the origin of feature space, whose rows and columns
        are 0.
    source : tuple of Kernel and array, or None
        The kernel and the points, where values are computed when they are asked for.
    """

    on_demand: ClassVar[bool] = True
    positive_semidefinite: bool = True
    diagonal: Array
    n_null: int
    source: tuple[Kernel, Any] | None = None

    def __len__(self) -> int:
        return len(self.diagonal)

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Kernel values between some points and others, shape (n_rows, n_columns).

        Raises
        ------
        MemoryError
            If they do not fit into memory.
        """
        return self.block_into(self._room(rows, columns, np.float64), rows, columns)

    def single_block(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        """The same in single precision. Values beyond it become infinite."""
        return self.block_into(self._room(rows, columns, np.float32), rows, columns)

    def _room(self, rows: Indices, columns: Indices, precision: type[Real]) -> NDArray[Real]:
        needed = np.dtype(precision).itemsize * len(rows) * len(columns)
        require_bytes(needed, f"Kernel values between {len(rows)} points and {len(columns)}", FEWER_POINTS)
        return np.empty((len(rows), len(columns)), dtype=precision)

    @abstractmethod
    def block_into(self, out: NDArray[Real], rows: Indices, columns: Indices) -> NDArray[Real]:
        """The same written into ``out``, in its precision; returns it."""

    @abstractmethod
    def product(self, weights: Array) -> Array:
        """The matrix times a vector; only the rows of nonzero weights are needed."""

    @abstractmethod
    def largest_sum(self, weights: Array) -> float:
        """``max(abs(matrix) @ abs(weights))``, which scales the rounding errors of ``matrix @ weights``."""

    @abstractmethod
    def whole(self) -> Array:
        """The whole matrix, shape (n_points, n_points).

        Raises
        ------
        MemoryError
            If it does not fit into memory.
        """

    @abstractmethod
    def _smallest_of(self, points: Indices) -> Array:
        """Smallest value in the row of each point, shape (n_rows,)."""

    def rows(self, points: Indices) -> Array:
        """Kernel values between some points and all points, shape (n_rows, n_points)."""
        return self.block(points, np.arange(len(self)))

    def smallest_of(self, points: Indices) -> Array:
        """Smallest value in the row of each point, shape (n_rows,); stored for later calls."""
        known = self._smallest_values
        new = points[np.isnan(known[points])]
        if len(new):
            known[new] = self._smallest_of(new)
        return np.asarray(known[points])

    @cached_property
    def _smallest_values(self) -> Array:
        return np.full(len(self), np.nan)

    @property
    def smallest(self) -> float:
        """The smallest kernel value."""
        return float(self.smallest_of(np.arange(len(self))).min())


class WholeMatrix(KernelMatrix):
    """A matrix of given values, which must be exactly symmetric.

    Parameters
    ----------
    values : array of shape (n_points, n_points)
        The values.
    n_null : int
        Number of null points, whose values are among them.
    positive_semidefinite : bool
        Whether the matrix is known to be positive semi-definite.
    """

    on_demand = False

    def __init__(self, values: Array, n_null: int = 0, positive_semidefinite: bool = False) -> None:
        self.positive_semidefinite = positive_semidefinite
        self.diagonal = np.diagonal(values).copy()
        self.n_null = n_null
        self._values = values

    def block_into(self, out: NDArray[Real], rows: Indices, columns: Indices) -> NDArray[Real]:
        """Kernel values between some points and others, written into ``out``; returns it."""

        def fill(first: int) -> None:
            matrix.block(self._values, rows[first : first + PIECE], columns, out[first : first + PIECE])

        in_threads(fill, range(0, len(rows), PIECE), SECONDS * out.size)
        return out

    def product(self, weights: Array) -> Array:
        """The matrix times a vector; only the rows of nonzero weights are needed."""
        used = weights.nonzero()[0]
        product: Array = matrix.sum_of_rows(self._values, used, weights[used])
        return product

    def largest_sum(self, weights: Array) -> float:
        """``max(abs(matrix) @ abs(weights))``."""
        used = weights.nonzero()[0]
        return float(matrix.largest_sum(self._values, used, weights[used]))

    def whole(self) -> Array:
        """The whole matrix, shape (n_points, n_points)."""
        return self._values

    def rows(self, points: Indices) -> Array:
        """Kernel values between some points and all points, shape (n_rows, n_points)."""
        return np.asarray(self._values[points])

    def _smallest_of(self, points: Indices) -> Array:
        smallest: Array = matrix.smallest_of_rows(self._values, points)
        return smallest

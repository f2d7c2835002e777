"""A kernel matrix whose rows are computed when they are first needed, and kept."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core import matrix
from bayes_svm.kernels.gram import FEWER_POINTS, KernelMatrix, Real
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils.memory import available_bytes, require_bytes
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["KeptRows"]


# So many rows are reserved where the system does not say how much memory is free.
MODERATE = 3000


class KeptRows(KernelMatrix):
    """Kernel values between points, by rows that are kept.

    A machine needs the rows of its support vectors and of the points near its margin. If there
    are many points, these are often few of them. Rows are stored in the order in which they were
    first needed. Memory is reserved for many rows, but the system only provides it as rows are
    written.

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
        size = X.shape[0] + n_null
        self.n_null = n_null
        self.source = (kernel, X)
        self._kernel = kernel
        self._features = kernel.features(X)
        self.diagonal = np.append(self._features.diagonal, np.zeros(n_null))
        self._place = np.full(size, -1)
        self._values = np.empty((self._reserved(2), size))
        self._values[:n_null] = 0.0
        self._place[size - n_null :] = np.arange(n_null)
        self._n_known = n_null
        self._sent: Array | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            # The same array is returned each time: joblib recognises an array that it has already sent
            # to another process by its identity.
            if self._sent is None or len(self._sent) != self._n_known:
                whole = self._n_known == len(self._values)
                self._sent = self._values if whole else self._values[: self._n_known]
            state = {**self.__dict__, "_values": self._sent, "_place": self._place.copy(), "_sent": None}
        del state["_lock"]
        state.pop("_smallest_values", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # joblib may hand over large arrays as read-only memory maps.
        self._place = np.array(self._place)
        self._lock = Lock()

    @property
    def known(self) -> Mask:
        """Which rows have been computed."""
        return np.asarray(self._place >= 0)

    def require(self, points: Indices) -> tuple[Array, Indices]:
        """Compute the rows of some points, unless they are known.

        Parameters
        ----------
        points : array of shape (n_rows,)
            Numbers of the points.

        Returns
        -------
        values : array of shape (n_reserved, n_points)
            The rows in the order of their computation, for compiled loops to read. Those that are
            not yet computed are not filled.
        place : array of shape (n_rows,)
            Where in ``values`` the row of each point is.

        Raises
        ------
        MemoryError
            If the rows do not fit into memory.
        """
        if (self._place[points] < 0).any():
            with self._lock:
                self._compute(np.unique(points[self._place[points] < 0]))
        return self._values, self._place[points]

    def _compute(self, points: Indices) -> None:
        last, size = self._n_known + len(points), len(self)
        fits = last <= len(self._values)
        require_bytes(
            8 * size * (len(points) if fits else last),
            f"The kernel matrix of {size} points, {last} rows of which are needed,",
            f"{FEWER_POINTS} A lower C may need fewer rows.",
        )
        # An array sent by another process has no rows reserved, and little memory may have left too few.
        if not fits:
            values = np.empty((max(last, min(2 * last, self._reserved(1))), size))
            values[: self._n_known] = self._values[: self._n_known]
            self._values = values
        new, n_real = self._values[self._n_known : last], size - self.n_null
        for rows, columns, tile in self._kernel.tiles(self._features, points, np.arange(n_real)):
            new[rows, columns] = tile
        new[:, n_real:] = 0.0
        # Other threads look up the place before they read the row, so the place is written last.
        self._place[points] = np.arange(self._n_known, last)
        self._n_known = last

    def _reserved(self, share: int) -> int:
        """Number of rows to reserve: at most all, and at most what ``1 / share`` of the free memory holds."""
        size, available = len(self._place), available_bytes()
        rows = MODERATE if available is None else available // (8 * share * size)
        return min(size, max(1, rows))

    def block_into(self, out: NDArray[Real], rows: Indices, columns: Indices) -> NDArray[Real]:
        """Kernel values between some points and others, written into ``out``; returns it."""
        values, place = self.require(rows)
        matrix.block(values, place, columns, out)
        return out

    def product(self, weights: Array) -> Array:
        """The matrix times a vector; only the rows of nonzero weights are needed."""
        used = np.flatnonzero(weights)
        values, place = self.require(used)
        product: Array = matrix.sum_of_rows(values, place, weights[used])
        return product

    def largest_sum(self, weights: Array) -> float:
        """``max(abs(matrix) @ abs(weights))``."""
        used = np.flatnonzero(weights)
        values, place = self.require(used)
        return float(matrix.largest_sum(values, place, weights[used]))

    def whole(self) -> Array:
        """The whole matrix, shape (n_points, n_points)."""
        return self.rows(np.arange(len(self)))

    def _smallest_of(self, points: Indices) -> Array:
        values, place = self.require(points)
        smallest: Array = matrix.smallest_of_rows(values, place)
        return smallest

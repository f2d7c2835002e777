"""The kernel matrix of a problem, of which rows are computed when they are first asked for."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from bayes_svm._core import matrix
from bayes_svm.kernels.functions import Kernel
from bayes_svm.utils.memory import available_bytes, require_bytes
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["FEWER_POINTS", "KernelMatrix"]


FEWER_POINTS = "Fit on fewer points: a stratified subsample, or the rows that matter most."
ALL_AT_ONCE = 3000  # up to this many points all rows are computed at once, which takes half the work


class KernelMatrix:
    """Kernel values between the points of a problem: a symmetric matrix, computed in part.

    A machine needs the rows of its support vectors and of the points near its margin, of many
    points often a small share. Rows are stored in the order in which they were asked for, in an
    array whose memory the system provides as it is written to. The bits of a row do not depend
    on when it was computed, nor with which others.

    Small matrices, and those of kernels that are not positive semi-definite by construction, are
    computed as a whole.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR matrix of shape (n_samples, n_features)
    n_null : int
        Points at the origin of feature space to add at the end: rows and columns of zeros.

    Raises
    ------
    MemoryError
        If the whole matrix is needed, and does not fit.
    ValueError
        If a value is not finite, or the kernel is not symmetric.
    """

    def __init__(self, kernel: Kernel, X: Any, n_null: int = 0) -> None:
        size = X.shape[0] + n_null
        if size <= ALL_AT_ONCE or not kernel.positive_semidefinite:
            # An eighth more, to work in.
            require_bytes(9 * size**2, f"An exact SVM on {size} different training points", FEWER_POINTS)
            self._take_whole(kernel.gram(X, n_null))
            return
        self._source: tuple[Kernel, Any] | None = (kernel, X)
        self.diagonal: Array = np.append(kernel.diagonal(X), np.zeros(n_null))
        self._place = np.full(size, -1)
        self._values = np.empty((self._room(2), size))
        self._values[:n_null] = 0.0
        self._place[size - n_null :] = np.arange(n_null)
        self._n_known = n_null
        self._sent: Array | None = None
        self._smallest = np.full(size, np.nan)
        self._lock = Lock()

    @classmethod
    def of(cls, values: Array) -> KernelMatrix:
        """The matrix of these values, exactly symmetric."""
        matrix = cls.__new__(cls)
        matrix._take_whole(values)
        return matrix

    def _take_whole(self, values: Array) -> None:
        self._source = None
        self.diagonal = np.diagonal(values).copy()
        self._values = values
        self._place = np.arange(len(values))
        self._n_known = len(values)
        self._sent = None
        self._smallest = np.full(len(values), np.nan)
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._place)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            # The same array each time: what is sent to several processes is told by its identity.
            if self._sent is None or len(self._sent) != self._n_known:
                whole = self._n_known == len(self._values)
                self._sent = self._values if whole else self._values[: self._n_known]
            state = {**self.__dict__, "_values": self._sent, "_place": self._place.copy(), "_sent": None}
            state["_smallest"] = self._smallest.copy()
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # joblib may hand over large arrays as read-only files
        self._place, self._smallest = np.array(self._place), np.array(self._smallest)
        self._lock = Lock()

    @property
    def on_demand(self) -> bool:
        """Whether rows are computed when asked for."""
        return self._source is not None

    @property
    def known(self) -> Mask:
        """Which rows have been computed."""
        return np.asarray(self._place >= 0)

    def require(self, points: Indices) -> tuple[Array, Indices]:
        """Compute the rows of some points where that has not been done.

        Raises
        ------
        MemoryError
            If they do not fit.

        Returns
        -------
        values : array of shape (n_known, n_points)
            Rows in the order of their computation, for compiled loops to read.
        place : array of shape (n_points,)
            Where the row of each point is, -1 for rows that are not known.
        """
        if (self._place[points] < 0).any():
            with self._lock:
                self._compute(np.unique(points[self._place[points] < 0]))
        return self._values, self._place

    def _compute(self, points: Indices) -> None:
        assert self._source is not None  # else all rows are known
        (kernel, X), last, size = self._source, self._n_known + len(points), len(self)
        fits = last <= len(self._values)
        require_bytes(
            8 * size * (len(points) if fits else last),
            f"The kernel matrix of {size} points, {last} rows of which are needed,",
            f"{FEWER_POINTS} A lower C may need fewer rows.",
        )
        if not fits:  # what another process has sent has no room; or memory was short
            values = np.empty((max(last, min(2 * last, self._room(1))), size))
            values[: self._n_known] = self._values[: self._n_known]
            self._values = values
        rows = self._values[self._n_known : last]
        kernel.rows(X, points, rows[:, : X.shape[0]])
        rows[:, X.shape[0] :] = 0.0
        rows[np.arange(len(points)), points] = self.diagonal[points]
        # Readers in other threads look up the place first: it is written last.
        self._place[points] = np.arange(self._n_known, last)
        self._n_known = last

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest value; computes all rows."""
        everything = self.require(np.arange(len(self)))[0][: len(self)]
        return float(everything.min()), float(everything.max())

    def _room(self, share: int) -> int:
        """Rows to reserve: all, or as many as a share of the memory holds, or a few where none knows of it.

        Most systems provide memory as it is written to.
        """
        size, available = len(self), available_bytes()
        rows = ALL_AT_ONCE if available is None else available // (8 * share * size)
        return min(size, max(1, rows))

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Values between some points and others, shape (n_rows, n_columns)."""
        values, place = self.require(rows)
        out: Array = matrix.block(values, place[rows], columns)
        return out

    def rows(self, points: Indices) -> Array:
        """Values between some points and all, shape (n_rows, n_points)."""
        values, place = self.require(points)
        return np.asarray(values[place[points]])

    def whole(self) -> Array:
        """All values, shape (n_points, n_points): all rows are computed, and put in order.

        Raises
        ------
        MemoryError
            If they do not fit.
        """
        if self.on_demand:
            self.require(np.arange(len(self)))
            with self._lock:
                self._put_in_order()
        return self._values[: len(self)]

    def _put_in_order(self) -> None:
        """Every row to the place of its own number, without a second matrix."""
        point = np.argsort(self._place)  # whose row is at each place
        for place in range(len(point)):
            while point[place] != place:
                other = point[place]
                self._values[[place, other]] = self._values[[other, place]]
                point[place], point[other] = point[other], other
        self._place[:] = point

    def take(self, points: Indices, n_null: int = 0) -> KernelMatrix:
        """The matrix of some of the points, the last ``n_null`` of them null points.

        Raises
        ------
        MemoryError
            If it does not fit.
        """
        if self._source is None:
            require_bytes(8 * len(points) ** 2, f"The kernel matrix of {len(points)} points", FEWER_POINTS)
            return KernelMatrix.of(self.block(points, points))
        kernel, X = self._source
        return KernelMatrix(kernel, X[points[: len(points) - n_null]], n_null)

    def product(self, weights: Array) -> Array:
        """The matrix times a vector, from the rows whose weight is not 0."""
        used = np.flatnonzero(weights)
        values, place = self.require(used)
        product: Array = matrix.sum_of_rows(values, place[used], weights[used])
        return product

    def largest_sum(self, weights: Array) -> float:
        """``max(abs(matrix) @ abs(weights))``: what sums over the matrix round at."""
        used = np.flatnonzero(weights)
        values, place = self.require(used)
        return float(matrix.largest_sum(values, place[used], weights[used]))

    def smallest_of(self, points: Indices) -> Array:
        """Smallest value of the row of each point, shape (n_rows,); it is kept."""
        new = points[np.isnan(self._smallest[points])]
        if len(new):
            values, place = self.require(new)
            self._smallest[new] = matrix.smallest_of_rows(values, place[new])
        return np.asarray(self._smallest[points])

    def sums_of(self, points: Indices) -> Array:
        """Sum of the row of each point, shape (n_rows,)."""
        values, place = self.require(points)
        sums: Array = matrix.sums_of_rows(values, place[points])
        return sums

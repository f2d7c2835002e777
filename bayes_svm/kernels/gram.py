"""The kernel matrix of a problem, whose rows are computed when they are first needed."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from bayes_svm._core import matrix
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils.memory import available_bytes, require_bytes
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["FEWER_POINTS", "KernelMatrix"]

# Advice in errors about memory.
FEWER_POINTS = "Fit on fewer points: a stratified subsample, or the rows that matter most."
# The kernel matrix of up to this many points is computed as a whole: symmetry halves the work.
ALL_AT_ONCE = 3000


class KernelMatrix:
    """Kernel values between the points of a problem: a symmetric matrix whose rows are computed on demand.

    A machine needs the rows of its support vectors and of the points near its margin. If there
    are many points, these are often few of them. Rows are stored in the order in which they were
    first needed. Memory is reserved for many rows, but the system only provides it as rows are
    written. The bits of a row depend neither on when it was computed nor on which rows were
    computed with it.

    A small matrix is computed as a whole. So is the matrix of a kernel that is not known to be
    positive semi-definite.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : array or CSR matrix of shape (n_samples, n_features)
        The points.
    n_null : int
        Number of null points: points at the origin of feature space, for which rows and columns of zeros are
        added at the end.

    Raises
    ------
    MemoryError
        If the whole matrix is needed and does not fit into memory.
    ValueError
        If a value is not finite, or the kernel is not symmetric.
    """

    def __init__(self, kernel: Kernel, X: Any, n_null: int = 0) -> None:
        size = X.shape[0] + n_null
        self.n_null = n_null
        if size <= ALL_AT_ONCE or not kernel.positive_semidefinite:
            # Besides the values, which take 8 bytes each, one byte each to work in.
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
        """The matrix of given values, which must be exactly symmetric."""
        matrix = cls.__new__(cls)
        matrix.n_null = 0
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
            # The same array is returned each time: joblib recognises an array that it has already sent
            # to another process by its identity.
            if self._sent is None or len(self._sent) != self._n_known:
                whole = self._n_known == len(self._values)
                self._sent = self._values if whole else self._values[: self._n_known]
            state = {**self.__dict__, "_values": self._sent, "_place": self._place.copy(), "_sent": None}
            state["_smallest"] = self._smallest.copy()
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # joblib may hand over large arrays as read-only memory maps.
        self._place, self._smallest = np.array(self._place), np.array(self._smallest)
        self._lock = Lock()

    @property
    def on_demand(self) -> bool:
        """Whether rows are computed when they are first needed."""
        return self._source is not None

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
        place : array of shape (n_points,)
            Where in ``values`` the row of each point is; -1 for a row that is not known.

        Raises
        ------
        MemoryError
            If the rows do not fit into memory.
        """
        if self.on_demand and (self._place[points] < 0).any():
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
        # An array sent by another process has no rows reserved, and little memory may have left too few.
        if not fits:
            values = np.empty((max(last, min(2 * last, self._room(1))), size))
            values[: self._n_known] = self._values[: self._n_known]
            self._values = values
        rows = self._values[self._n_known : last]
        kernel.rows(X, points, rows[:, : X.shape[0]])
        rows[:, X.shape[0] :] = 0.0
        rows[np.arange(len(points)), points] = self.diagonal[points]
        # Other threads look up the place before they read the row, so the place is written last.
        self._place[points] = np.arange(self._n_known, last)
        self._n_known = last

    @cached_property
    def smallest(self) -> float:
        """The smallest kernel value; all rows are computed for it."""
        return float(self.require(np.arange(len(self)))[0][: len(self)].min())

    @cached_property
    def largest(self) -> float:
        """The largest kernel value; all rows are computed for it."""
        return float(self.require(np.arange(len(self)))[0][: len(self)].max())

    def _room(self, share: int) -> int:
        """Number of rows to reserve: at most all, and at most what ``1 / share`` of the free memory holds.

        Most systems only provide the memory as it is written. Where the free memory is not known,
        a moderate number is reserved.
        """
        size, available = len(self), available_bytes()
        rows = ALL_AT_ONCE if available is None else available // (8 * share * size)
        return min(size, max(1, rows))

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Kernel values between some points and others, shape (n_rows, n_columns)."""
        values, place = self.require(rows)
        out: Array = matrix.block(values, place[rows], columns)
        return out

    def rows(self, points: Indices) -> Array:
        """Kernel values between some points and all points, shape (n_rows, n_points)."""
        values, place = self.require(points)
        return np.asarray(values[place[points]])

    def whole(self) -> Array:
        """The whole matrix, shape (n_points, n_points), with all rows computed and in order.

        Raises
        ------
        MemoryError
            If it does not fit into memory.
        """
        if self.on_demand:
            self.require(np.arange(len(self)))
            with self._lock:
                self._put_in_order()
        return self._values[: len(self)]

    def _put_in_order(self) -> None:
        """Sort the rows by the numbers of their points, in place."""
        point = np.argsort(self._place)  # point[k] is the number of the point whose row is at place k
        for place in range(len(point)):
            while point[place] != place:
                other = point[place]
                self._values[[place, other]] = self._values[[other, place]]
                point[place], point[other] = point[other], other
        self._place[:] = point

    def take(self, points: Indices) -> KernelMatrix:
        """Kernel matrix of some of the points, followed by the null points.

        Raises
        ------
        MemoryError
            If it does not fit into memory.
        """
        if self._source is not None:
            kernel, X = self._source
            return KernelMatrix(kernel, X[points], self.n_null)
        points = np.append(points, np.arange(len(self) - self.n_null, len(self)))
        require_bytes(8 * len(points) ** 2, f"The kernel matrix of {len(points)} points", FEWER_POINTS)
        taken = KernelMatrix.of(self.block(points, points))
        taken.n_null = self.n_null
        return taken

    def product(self, weights: Array) -> Array:
        """The matrix times a vector; only the rows of nonzero weights are needed."""
        used = np.flatnonzero(weights)
        values, place = self.require(used)
        product: Array = matrix.sum_of_rows(values, place[used], weights[used])
        return product

    def largest_sum(self, weights: Array) -> float:
        """``max(abs(matrix) @ abs(weights))``, which scales the rounding errors of ``matrix @ weights``."""
        used = np.flatnonzero(weights)
        values, place = self.require(used)
        return float(matrix.largest_sum(values, place[used], weights[used]))

    def smallest_of(self, points: Indices) -> Array:
        """Smallest value in the row of each point, shape (n_rows,); stored for later calls."""
        new = points[np.isnan(self._smallest[points])]
        if len(new):
            values, place = self.require(new)
            self._smallest[new] = matrix.smallest_of_rows(values, place[new])
        return np.asarray(self._smallest[points])

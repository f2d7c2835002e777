"""Kernel functions by scikit-learn's names, callables and precomputed matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise

from bayes_svm.utils.checks import summed_entries
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array

__all__ = [
    "KERNEL_NAMES",
    "Kernel",
    "largest_entry",
    "make_symmetric",
    "resolve_gamma",
    "squared_lengths",
]

KernelFunction = Callable[[Any, Any], Any]

TILE = 256  # rows and columns of a kernel matrix computed at a time: they stay in the cache
ROWS = 64  # rows computed at a time where not all are: a multiple of what any BLAS takes at once
FEW = 16  # rows whose kernel matrix is computed for its diagonal: a call costs more than the rest of it
TINY = float(np.finfo(float).tiny)
REACH = 1e120  # kernel values whose squares are still numbers, with room for sums of them
FAR_OUT = 1e30  # features that a callable is asked about before its values are trusted
STEP, MOST_STEPS = 2.0**-16, 70  # by which far rows are moved until their kernel values are within reach
EVALUATED = 2**20  # kernel values looked at a time on the way
KERNEL_NAMES = ("linear", "poly", "rbf", "sigmoid", "precomputed")


def squared_lengths(X: Any) -> Array:
    """``x'x`` of every row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def largest_entry(X: Any) -> float:
    """Largest absolute entry."""
    values = X.data if sparse.issparse(X) else X
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _scaled_rows(X: Any, scale: Array) -> Any:
    return X.multiply(scale[:, None]).tocsr() if sparse.issparse(X) else X * scale[:, None]


def make_symmetric(gram: Array, kernel: str) -> None:
    """Average out, in place, the rounding differences between the halves of a kernel matrix.

    Raises
    ------
    ValueError
        If they differ by more than rounding; ``kernel`` is named.
    """
    size = len(gram)
    tolerance = 1e-8 * max(float(gram.max(initial=0.0)), -float(gram.min(initial=0.0)))
    for i in range(0, size, TILE):
        for j in range(i, size, TILE):
            upper, lower = gram[i : i + TILE, j : j + TILE], gram[j : j + TILE, i : i + TILE]
            mirrored = np.ascontiguousarray(lower.T)
            difference = float(np.abs(upper - mirrored).max())
            if difference > tolerance:
                raise ValueError(
                    f"The kernel {kernel} is not symmetric: k(x, z) and k(z, x) differ by up to "
                    f"{difference:.3g}."
                )
            if difference > 0:
                mirrored += upper
                mirrored /= 2
                upper[...] = mirrored
                lower[...] = mirrored.T


def resolve_gamma(gamma: str | float, X: Any, sample_weight: Array | None = None) -> float:
    """Value of the kernel coefficient ``gamma``.

    ``"scale"`` is ``1 / (n_features * Var(X))`` over all entries of X, each row counted
    with its weight, so that a row of weight 2 equals the same row given twice;
    ``"auto"`` is ``1 / n_features``; a number is itself. Where X does not vary,
    ``"scale"`` is 1, as in :class:`sklearn.svm.SVC`.

    Raises
    ------
    ValueError
        If the variance leaves double precision.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float
    X : array or sparse matrix of shape (n_samples, n_features)
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    float
    """
    n_features = X.shape[1]
    if gamma == "auto":
        return 1.0 / n_features
    if gamma != "scale":
        return float(gamma)
    X = summed_entries(X)
    largest = largest_entry(X)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.float64(largest) ** 2 * X.shape[0] * n_features
    if largest > 0.0 and not TINY < squares < np.inf:
        raise ValueError(
            f"X holds features of up to {largest:.3g}: their variance, which gamma='scale' and a kernel by "
            "default are read off, leaves double precision. Scale them, with "
            "sklearn.preprocessing.StandardScaler say."
        )
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    total = weight.sum() * n_features
    mean = float(weight @ np.asarray(X.sum(axis=1)).ravel()) / total
    if sparse.issparse(X):
        # Centred entry by entry, the zeros counted apart: squares minus a squared mean cancel.
        counts = np.diff(X.indptr)
        centred = np.repeat(weight, counts) @ np.square(X.data - mean)
        variance = float(centred + weight @ (n_features - counts) * mean**2) / total
    else:
        variance = float(weight @ np.square(X - mean).sum(axis=1)) / total
    return 1.0 / (n_features * variance) if variance > 0 else 1.0


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters resolved: ``kernel(X, Z)[i, j] = k(X[i], Z[j])``.

    ===========  =========================================
    linear       ``x'z``
    poly         ``(gamma x'z + coef0) ** degree``
    rbf          ``exp(-gamma |x - z|^2)``
    sigmoid      ``tanh(gamma x'z + coef0)``
    callable     whatever ``function(X, Z)`` returns
    precomputed  X itself: ``X[i, j]`` between row i and training row j
    ===========  =========================================

    Parameters
    ----------
    function : str or callable
    gamma, coef0 : float
    degree : float
    """

    function: str | KernelFunction
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0

    @classmethod
    def of(cls, parameters: Any, X: Any, sample_weight: Array | None = None) -> Kernel:
        """The kernel that an estimator's parameters of SVC's names mean on training data."""
        named = isinstance(parameters.kernel, str) and parameters.kernel in ("rbf", "poly", "sigmoid")
        gamma = resolve_gamma(parameters.gamma, X, sample_weight) if named else 1.0
        return cls(parameters.kernel, gamma=gamma, degree=parameters.degree, coef0=parameters.coef0)

    @property
    def precomputed(self) -> bool:
        """Whether X holds kernel values instead of features."""
        return isinstance(self.function, str) and self.function == "precomputed"

    @property
    def positive_semidefinite(self) -> bool:
        """Whether every kernel matrix is so by construction; False where it has to be looked at."""
        if self.function == "poly":
            return self.coef0 >= 0 and float(self.degree).is_integer()
        return isinstance(self.function, str) and self.function in ("linear", "rbf")

    def __str__(self) -> str:
        if callable(self.function):
            return f"callable {getattr(self.function, '__name__', self.function)!r}"
        parameters = {
            "poly": f"gamma={self.gamma:.6g}, degree={self.degree}, coef0={self.coef0:.6g}",
            "rbf": f"gamma={self.gamma:.6g}",
            "sigmoid": f"gamma={self.gamma:.6g}, coef0={self.coef0:.6g}",
        }.get(self.function, "")
        return f"{self.function}({parameters})"

    def __call__(self, X: Any, Z: Any) -> Array:
        """Kernel matrix of shape (len(X), len(Z)).

        Raises
        ------
        ValueError
            If a value is not finite, or a callable returns another shape or no real numbers.
        """
        if sparse.issparse(X) and hasattr(self.function, "theta"):
            raise ValueError(
                f"The kernel {self}, of sklearn.gaussian_process, takes no sparse X: give X.toarray(), or "
                'name the kernel, kernel="rbf" say.'
            )
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._evaluate(X, Z)
        expected = (X.shape[0], Z.shape[0])
        if sparse.issparse(values) or np.iscomplexobj(values):
            kind = "a sparse matrix" if sparse.issparse(values) else "complex numbers"
            raise ValueError(
                f"The kernel {self} returned {kind}, expected a dense array of real numbers of shape "
                f"{expected}."
            )
        values = np.asarray(values, dtype=np.float64)
        if values.shape != expected:
            raise ValueError(f"The kernel {self} returned shape {values.shape}, expected {expected}.")
        return self._finite(values)

    def within_reach(self, X: Any, rows: Any) -> Any:
        """X, in which rows so far out that kernel values overflow are moved towards the origin.

        Far from the data all that a kernel machine says follows from the direction: what it says
        where numbers are still numbers is the limit.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        rows : array or CSR matrix of shape (n_points, n_features)
            Training points.

        Returns
        -------
        array or CSR matrix of shape (n_samples, n_features)
            X itself where nothing is that far.
        """
        if self.precomputed or X.shape[0] == 0:
            return X
        among = max(largest_entry(rows), 1.0)
        if self._in_range(np.array([largest_entry(X)]), among, X.shape[1]).all():
            return X
        sizes = abs(X).max(axis=1)
        sizes = sizes.toarray().ravel() if sparse.issparse(sizes) else sizes
        far = np.flatnonzero(~self._in_range(sizes, among, X.shape[1]))
        scale = np.ones(X.shape[0])
        for _ in range(MOST_STEPS):
            far = far[~self._near(_scaled_rows(X[far], scale[far]), rows)]
            if len(far) == 0:
                return _scaled_rows(X, scale)
            scale[far] *= STEP
        return X  # the kernel is not finite anywhere on the way: evaluating it will say so

    def _in_range(self, largest: Array, largest_row: float, n_features: int) -> NDArray[np.bool_]:
        """Whether no kernel value of features of this size can be out of reach."""
        if callable(self.function):
            return largest <= FAR_OUT
        with np.errstate(over="ignore"):
            inner = n_features * largest * np.maximum(largest, largest_row)
            if self.function == "poly":
                inner = (abs(self.gamma) * inner + abs(self.coef0)) ** self.degree
        return np.asarray(inner <= REACH)

    def _near(self, X: Any, rows: Any) -> NDArray[np.bool_]:
        """Whether the kernel values of rows with themselves and with the training points are within reach."""
        near, step = np.empty(X.shape[0], dtype=bool), max(1, EVALUATED // max(1, rows.shape[0]))
        for start in range(0, X.shape[0], step):
            part = X[start : start + step]
            with np.errstate(over="ignore", invalid="ignore"):
                if callable(self.function):
                    each = (part[[k]] for k in range(part.shape[0]))
                    lengths = np.array([np.asarray(self._evaluate(one, one)).item() for one in each])
                elif self.function == "rbf":
                    lengths = np.ones(part.shape[0])
                else:
                    lengths = self._of_inner_products(squared_lengths(part))
                inside = np.abs(lengths) <= REACH  # NaN is not
                if rows.shape[0]:
                    inside &= (np.abs(np.asarray(self._evaluate(part, rows))) <= REACH).all(axis=1)
            near[start : start + step] = inside
        return near

    def gram(self, X: Any, n_null: int = 0) -> Array:
        """Kernel matrix of X with itself, exactly symmetric, of which one half is computed.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        n_null : int
            Points at the origin of feature space to add at the end: rows and columns of zeros.

        Raises
        ------
        ValueError
            If a value is not finite, or the kernel is not symmetric.
        """
        if callable(self.function):
            values = self(X, X).copy()  # it may be the caller's own
            make_symmetric(values, str(self))
            if hasattr(self.function, "diag") and not np.allclose(np.diagonal(values), self.diagonal(X)):
                raise ValueError(
                    f"The kernel {self} has values k(x, x) that differ from its diag(X): noise, as a "
                    "WhiteKernel adds, is no kernel between points. Leave it out."
                )
            return np.pad(values, (0, n_null))
        size = X.shape[0]
        gram = np.empty((size + n_null, size + n_null))
        gram[size:] = gram[:, size:] = 0.0
        lengths = self._lengths(X)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, size, TILE):
                rows = slice(start, min(start + TILE, size))
                for first in range(start, size, TILE):
                    columns = slice(first, min(first + TILE, size))
                    tile = self._tile(X[rows], X[columns], lengths[rows], lengths[columns])
                    if first == start:
                        tile = np.triu(tile) + np.triu(tile, 1).T
                    gram[rows, columns] = tile
                    gram[columns, rows] = tile.T
        return self._finite(gram)

    def rows(self, X: Any, points: NDArray[np.intp], out: Array) -> None:
        """Write the kernel values between some of the points of X and all of them to ``out``.

        The bits of a row do not depend on the others, and k(x, z) is k(z, x): a product of matrices may
        round otherwise at the end of a block that is not full, so that each is.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        points : array of shape (n_points,)
        out : array of shape (n_points, n_samples)

        Raises
        ------
        ValueError
            If a value is not finite.
        """
        lengths, size = self._lengths(X), X.shape[0]
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(points), ROWS):
                chosen = np.resize(points[start : start + ROWS], ROWS)
                left, n_new = X[chosen], min(ROWS, len(points) - start)
                for first in range(0, size, TILE):
                    full = first + TILE <= size
                    columns = slice(first, first + TILE) if full else np.resize(np.arange(first, size), TILE)
                    tile = self._tile(left, X[columns], lengths[chosen], lengths[columns])
                    out[start : start + n_new, first : first + TILE] = tile[:n_new, : size - first]
                self._finite(out[start : start + n_new])

    def _lengths(self, X: Any) -> Array:
        """Squared lengths where the kernel is of distances."""
        return squared_lengths(X) if self.function == "rbf" else np.zeros(X.shape[0])

    def _tile(self, left: Any, right: Any, left_lengths: Array, right_lengths: Array) -> Array:
        """Kernel values between two blocks of rows, given their squared lengths."""
        tile = left @ right.T
        tile = tile.toarray() if sparse.issparse(tile) else tile
        self._from_inner_products(tile, left_lengths, right_lengths)
        return tile

    def _from_inner_products(self, tile: Array, left: Array, right: Array) -> None:
        """Turn inner products into kernel values in place, given the squared lengths."""
        if self.function != "rbf":
            tile[...] = self._of_inner_products(tile)
            return
        tile *= 2.0 * self.gamma
        tile -= np.add.outer(self.gamma * left, self.gamma * right)  # one sum: k(x, z) is k(z, x) to the bit
        np.minimum(tile, 0.0, out=tile)
        np.exp(tile, out=tile)

    def _finite(self, values: Array) -> Array:
        # A sum over finite values can itself overflow, so that only a bad sum is looked into.
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(values.sum())
        if suspicious and not np.isfinite(values).all():
            raise ValueError(
                f"The kernel {self} returned NaN or infinity. Scale the features, or choose "
                "smaller values of its parameters."
            )
        return values

    def _evaluate(self, X: Any, Z: Any) -> Any:
        if callable(self.function):
            return self.function(X, Z)
        if self.function == "rbf":
            return pairwise.rbf_kernel(X, Z, gamma=self.gamma)
        if self.function in ("linear", "poly", "sigmoid"):
            return self._of_inner_products(pairwise.linear_kernel(X, Z))
        raise ValueError(f"Unknown kernel {self.function!r}: use one of {KERNEL_NAMES} or a callable.")

    def to_training(self, X: Any, rows: Any, numbers: NDArray[np.intp]) -> Array:
        """Kernel values between X and some training points.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            For a precomputed kernel of shape (n_samples, n_train).
        rows : array or CSR matrix of shape (n_points, n_features)
            The training points; not used for a precomputed kernel.
        numbers : array of shape (n_points,)
            Their row numbers, for a precomputed kernel.
        """
        return np.ascontiguousarray(X[:, numbers]) if self.precomputed else self(X, rows)

    def blocks(
        self, X: Any, rows: Any, numbers: NDArray[np.intp], max_bytes: int = 2**26
    ) -> Iterator[tuple[slice, Array]]:
        """Values of :meth:`to_training` in turn, no block larger than about ``max_bytes``.

        Yields
        ------
        (slice, array)
            The rows of X, and their kernel values with all the training points.
        """
        step = max(1, max_bytes // (8 * max(1, len(numbers))))
        for start in range(0, X.shape[0], step):
            block = slice(start, min(start + step, X.shape[0]))
            yield block, self.to_training(X[block], rows, numbers)

    def diagonal(self, X: Any) -> Array:
        """``k(x, x)`` for every row of X.

        Raises
        ------
        ValueError
            For a precomputed kernel: the diagonal of new points is not in X.
        """
        if self.precomputed:
            raise ValueError(
                "A precomputed kernel holds no k(x, x) of new points, which the posterior variance "
                "needs: use a kernel by name or a callable."
            )
        if self.function == "rbf":
            return np.ones(X.shape[0])
        if callable(self.function):
            if hasattr(self.function, "diag"):  # as the kernels of sklearn.gaussian_process have
                return self._finite(np.asarray(self.function.diag(X), dtype=np.float64))
            parts = [X[start : start + FEW] for start in range(0, X.shape[0], FEW)]
            return np.concatenate([np.empty(0), *(np.diagonal(self(part, part)) for part in parts)])
        with np.errstate(over="ignore", invalid="ignore"):
            return self._finite(self._of_inner_products(squared_lengths(X)))

    def derivatives(self, X: Any) -> dict[str, Array]:
        """Derivatives of the kernel matrix of X with itself by the kernel's parameters.

        Returns
        -------
        dict of arrays of shape (n_parameters, n_samples, n_samples)
            By the logarithm of ``"gamma"``, by ``"coef0"`` itself; by ``"theta"``, logarithms of
            all parameters, for a kernel of :mod:`sklearn.gaussian_process`. Others have none.
        """
        if callable(self.function):
            function: Any = self.function
            if not hasattr(function, "theta"):
                return {}
            size = X.shape[0]
            require_bytes(
                16 * size**2 * max(1, len(function.theta)),
                f"The derivatives of the kernel {self}",
                "Fit on fewer points, or fix some of its parameters.",
            )
            return {"theta": np.moveaxis(function(X, eval_gradient=True)[1], -1, 0)}
        if self.function == "linear":
            return {}
        if self.function == "rbf":
            values = self(X, X)
            return {"gamma": (values * np.log(np.maximum(values, np.finfo(float).tiny)))[None]}
        product = self.gamma * pairwise.linear_kernel(X, X)
        if self.function == "poly":
            slope = self.degree * (product + self.coef0) ** (self.degree - 1.0)
        else:
            slope = 1.0 - np.tanh(product + self.coef0) ** 2
        return {"gamma": (slope * product)[None], "coef0": slope[None]}

    def _of_inner_products(self, inner: Array) -> Array:
        if self.function == "poly":
            return np.asarray((self.gamma * inner + self.coef0) ** self.degree)
        if self.function == "sigmoid":
            return np.asarray(np.tanh(self.gamma * inner + self.coef0))
        return np.asarray(inner)

"""A kernel with its parameters: kernel values by name, by a callable, or given as a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_svm.kernels.arrays import require_finite
from bayes_svm.kernels.callables import CallableFormula, KernelFunction
from bayes_svm.kernels.functions import (
    FORMULAS,
    KERNEL_NAMES,
    FeatureFormula,
    Features,
    Formula,
    Precomputed,
)
from bayes_svm.kernels.gamma import resolve_gamma
from bayes_svm.utils.types import Array, Indices

__all__ = ["Kernel"]


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
        Name of the kernel, or a function ``function(X, Z)`` that returns the kernel matrix.
    gamma, coef0 : float
        Coefficient and constant, as in the table.
    degree : float
        Degree of "poly".
    """

    function: str | KernelFunction
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0

    @classmethod
    def of(cls, estimator: Any, X: Any, sample_weight: Array | None = None) -> Kernel:
        """The kernel of an estimator that has the kernel parameters of SVC.

        Parameters
        ----------
        estimator : object
            Anything with the attributes ``kernel``, ``gamma``, ``degree`` and ``coef0``.
        X : array or CSR matrix of shape (n_samples, n_features)
            Training data, for ``gamma="scale"`` and ``gamma="auto"``.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows, for ``gamma="scale"``; 1 by default.

        Returns
        -------
        Kernel
            The kernel, its gamma a number.
        """
        # A kernel with parameters may be given others after the fit.
        function = estimator.kernel
        if hasattr(function, "get_params"):
            try:
                function = deepcopy(function)
            except Exception:  # it holds something that has no copy, which any error may say
                function = estimator.kernel
        gamma = resolve_gamma(estimator.gamma, X, sample_weight) if cls(function).takes_gamma else 1.0
        return cls(function, gamma=gamma, degree=estimator.degree, coef0=estimator.coef0)

    @property
    def _kind(self) -> type[Formula]:
        """Class of the formula; :class:`Formula` itself for an unknown name."""
        if isinstance(self.function, str):
            return FORMULAS.get(self.function, Formula)
        return CallableFormula

    @property
    def formula(self) -> Formula:
        """The formula with the parameters filled in.

        Raises
        ------
        ValueError
            If the name is unknown.
        """
        if not isinstance(self.function, str):
            return CallableFormula(self.function)
        if self.function not in FORMULAS:
            raise ValueError(f"Unknown kernel {self.function!r}: use one of {KERNEL_NAMES} or a callable.")
        return FORMULAS[self.function](self.gamma, self.degree, self.coef0)

    @property
    def precomputed(self) -> bool:
        """Whether X holds kernel values instead of features."""
        return self._kind is Precomputed

    @property
    def is_linear(self) -> bool:
        """Whether the kernel is ``x'z``."""
        return self._kind.linear

    @property
    def is_callable(self) -> bool:
        """Whether the kernel is a function that the user gave."""
        return self._kind is CallableFormula

    @property
    def takes_gamma(self) -> bool:
        """Whether gamma matters."""
        return "gamma" in self._kind.parameters

    @property
    def tells_distance(self) -> bool:
        """Whether the kernel values of a point show how far it is from the data."""
        return self._kind.tells_distance

    @property
    def positive_semidefinite(self) -> bool:
        """Whether every kernel matrix is known to be positive semi-definite, without looking at it."""
        return self.formula.positive_semidefinite

    def __str__(self) -> str:
        if self.is_callable:
            return str(self.formula)
        parameters = ", ".join(f"{name}={getattr(self, name):.6g}" for name in self._kind.parameters)
        return f"{self.function}({parameters})"

    def __call__(self, X: Any, Z: Any) -> Array:
        """Kernel matrix of shape (len(X), len(Z)).

        Raises
        ------
        ValueError
            If a value is not finite, or a callable returns another shape or no real numbers.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(self.formula.evaluate(X, Z), dtype=np.float64)
        return require_finite(values, self)

    def gram(self, X: Any, n_null: int = 0) -> Array:
        """Kernel matrix of X with itself, exactly symmetric.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The points.
        n_null : int
            Number of points at the origin of feature space, for which rows and columns of zeros
            are added at the end.

        Returns
        -------
        array of shape (n_samples + n_null, n_samples + n_null)
            The kernel matrix.

        Raises
        ------
        ValueError
            If a value is not finite, or the kernel is not symmetric.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            gram = self.formula.gram(X, n_null)
        return require_finite(gram, self)

    def features(self, X: Any) -> Features:
        """The points of a kernel matrix, for :meth:`tiles`; the kernel is one of features by name.

        Raises
        ------
        ValueError
            If ``k(x, x)`` is not finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            points = self._of_features.features(X)
        require_finite(points.diagonal, self)
        return points

    def tiles(
        self, points: Features, rows: Indices, columns: Indices
    ) -> Iterator[tuple[slice, slice, Array]]:
        """Kernel values between some points and others, in tiles that stay in the CPU's cache.

        The bits of a value do not depend on which others are computed, and k(x, z) has the same
        bits as k(z, x).

        Parameters
        ----------
        points : Features
            All points.
        rows, columns : arrays of shape (n_rows,) and (n_columns,)
            Numbers of the points between which the values are.

        Yields
        ------
        slice, slice
            Places among the rows and among the columns.
        array
            The kernel values there.

        Raises
        ------
        ValueError
            If a value is not finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            for some, others, tile in self._of_features.tiles(points, rows, columns):
                yield some, others, tile if points.small else require_finite(tile, self)

    @property
    def _of_features(self) -> FeatureFormula:
        formula = self.formula
        assert isinstance(formula, FeatureFormula)  # matrices of the other kernels are never computed in part
        return formula

    def to_training(self, X: Any, rows: Any, numbers: Indices) -> Array:
        """Kernel values between X and some training points.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The points; for a precomputed kernel their kernel values, of shape (n_samples, n_train).
        rows : array or CSR matrix of shape (n_points, n_features)
            The training points; not used for a precomputed kernel.
        numbers : array of shape (n_points,)
            Row numbers of the training points, which a precomputed kernel needs.

        Returns
        -------
        array of shape (n_samples, n_points)
            The kernel values.
        """
        return np.ascontiguousarray(X[:, numbers]) if self.precomputed else self(X, rows)

    def blocks(
        self, X: Any, rows: Any, numbers: Indices, max_bytes: int = 2**26
    ) -> Iterator[tuple[slice, Array]]:
        """The values of :meth:`to_training` in blocks of rows, none larger than about ``max_bytes``.

        Yields
        ------
        slice
            Rows of X.
        array
            Kernel values of these rows with all the training points.
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
            If a value is not finite, or the kernel is precomputed: X does not hold k(x, x) of new points.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return require_finite(self.formula.diagonal(X), self)

    def derivatives(self, X: Any) -> dict[str, Array]:
        """Derivatives of the kernel matrix of X with itself by the kernel's parameters.

        Returns
        -------
        dict of arrays of shape (n_parameters, n_samples, n_samples)
            Under ``"gamma"`` the derivative by the logarithm of gamma, under ``"coef0"`` that by
            coef0. For a kernel of :mod:`sklearn.gaussian_process`, under ``"theta"`` those by the
            logarithms of all its parameters. Other kernels have none.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self.formula.derivatives(X)

"""Kernels that the user gives as a function ``k(X, Z)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from bayes_svm.kernels.arrays import make_symmetric, require_finite
from bayes_svm.kernels.functions import Formula
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array

__all__ = ["CallableFormula", "KernelFunction"]

KernelFunction = Callable[[Any, Any], Any]

# Without a diag method, the diagonal is taken from kernel matrices of this many rows. Fewer rows would need
# more calls, which cost more than the values beside the diagonal.
FEW = 16
# Features up to this size are taken to be safe. Beyond it, the values of a callable are looked at first.
FAR_OUT = 1e30


# Equality is by identity: a callable may hold arrays, which do not compare to a single truth value.
@dataclass(frozen=True, eq=False)
class CallableFormula(Formula):
    """What ``function(X, Z)`` returns.

    The kernels of :mod:`sklearn.gaussian_process` are recognised by their ``diag`` and ``theta``.

    Parameters
    ----------
    function : callable
        Maps two arrays of points to their kernel matrix.
    """

    function: KernelFunction

    def __str__(self) -> str:
        return f"callable {getattr(self.function, '__name__', self.function)!r}"

    def evaluate(self, X: Any, Z: Any) -> Array:
        """Kernel values between the rows of X and of Z.

        Raises
        ------
        ValueError
            If the callable returns no dense array of real numbers of shape (len(X), len(Z)).
        """
        if sparse.issparse(X) and hasattr(self.function, "theta"):
            raise ValueError(
                f"The kernel {self} is from sklearn.gaussian_process and takes no sparse X: give "
                'X.toarray(), or a kernel by name, for example kernel="rbf".'
            )
        values, expected = self.function(X, Z), (X.shape[0], Z.shape[0])
        if sparse.issparse(values) or np.iscomplexobj(values):
            kind = "a sparse matrix" if sparse.issparse(values) else "complex numbers"
            raise ValueError(
                f"The kernel {self} returned {kind}, expected a dense array of real numbers of shape "
                f"{expected}."
            )
        values = np.asarray(values, dtype=np.float64)
        if values.shape != expected:
            raise ValueError(f"The kernel {self} returned shape {values.shape}, expected {expected}.")
        return values

    def diagonal(self, X: Any) -> Array:
        """``k(x, x)`` for every row of X."""
        if hasattr(self.function, "diag"):
            return np.asarray(self.function.diag(X), dtype=np.float64)
        parts = [X[start : start + FEW] for start in range(0, X.shape[0], FEW)]
        return np.concatenate([np.empty(0), *(np.diagonal(self.evaluate(part, part)) for part in parts)])

    def gram(self, X: Any, n_null: int) -> Array:
        """Symmetric kernel matrix of X, with ``n_null`` rows and columns of zeros added.

        Raises
        ------
        ValueError
            If the matrix is not finite or not symmetric, or its diagonal is not what ``diag`` returns.
        """
        # The callable may have returned an array of the user's, which must stay as it is.
        gram = require_finite(self.evaluate(X, X), str(self)).copy()
        make_symmetric(gram, str(self))
        if hasattr(self.function, "diag") and not np.allclose(np.diagonal(gram), self.diagonal(X)):
            raise ValueError(
                f"The kernel {self} has values k(x, x) that differ from its diag(X): it adds noise, as a "
                "WhiteKernel does, and so is not a function of two points. Leave the noise out."
            )
        return np.pad(gram, (0, n_null))

    def derivatives(self, X: Any) -> dict[str, Array]:
        """Derivatives by the logarithms of all parameters, under the name ``"theta"``."""
        function: Any = self.function
        if not hasattr(function, "theta"):
            return {}
        require_bytes(
            16 * X.shape[0] ** 2 * max(1, len(function.theta)),
            f"The derivatives of the kernel {self}",
            "Fit on fewer points, or fix some of its parameters.",
        )
        return {"theta": np.moveaxis(function(X, eval_gradient=True)[1], -1, 0)}

    def largest_value(self, largest: Array, largest_row: float, n_features: int) -> Array:
        """0 for features up to the size at which a callable is trusted, infinity beyond."""
        return np.where(largest <= FAR_OUT, 0.0, np.inf)

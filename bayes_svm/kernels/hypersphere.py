"""Kernels whose feature map sends every point to the unit sphere."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_array

from bayes_svm.kernels.callables import KernelFunction
from bayes_svm.kernels.gamma import resolve_gamma
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils.checks import with_narrow_indices
from bayes_svm.utils.types import Array

__all__ = ["GaussianKernel", "HypersphereKernel", "inverse_lengths"]


def inverse_lengths(diagonal: Array, kernel: object) -> Array:
    """``1 / sqrt(k(x, x))``, and 0 where k(x, x) is 0.

    Parameters
    ----------
    diagonal : array of shape (n_samples,)
        The values k(x, x).
    kernel : object
        The kernel, whose ``str`` is part of the error message.

    Returns
    -------
    array of shape (n_samples,)
        Inverse lengths of the points in feature space.

    Raises
    ------
    ValueError
        If a value is negative.
    """
    if diagonal.min(initial=0.0) < 0:
        raise ValueError(
            f"The kernel {kernel} is not positive semi-definite: k(x, x) = {diagonal.min():.6g} is a squared "
            "length, which cannot be negative. Choose other parameters, or another kernel."
        )
    lengths = np.sqrt(diagonal)
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


# Equality is by identity: a parameter may hold arrays, which do not compare to a single truth value.
@dataclass(frozen=True, eq=False)
class HypersphereKernel:
    r"""The induced hypersphere form of a kernel, for ``SVC(kernel=...)``.

    .. math:: H(x, z) = \frac{k(x, z)}{\sqrt{k(x, x)\, k(z, z)}}, \qquad 0 \text{ where a diagonal is } 0

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid"} or callable, default="linear"
        The kernel k.
    gamma : float or "auto", default="auto"
        Coefficient of "poly", "rbf" and "sigmoid"; "auto" is ``1 / n_features``. "scale" is not
        possible: it needs the training set, and a callable only gets the points of one call.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".

    References
    ----------
    Pardi, "Category similarity as a predictor for SVM learning performance".

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_svm import HypersphereKernel
    >>> X = np.array([[3.0, 4.0], [1.0, 0.0]])
    >>> HypersphereKernel("linear")(X, X).round(2).tolist()
    [[1.0, 0.6], [0.6, 1.0]]
    """

    kernel: str | KernelFunction = "linear"
    gamma: float | str = "auto"
    degree: float = 3
    coef0: float = 0.0

    def __call__(self, X: Any, Z: Any) -> Array:
        """Values of H.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples_X, n_features)
            Points.
        Z : array or sparse matrix of shape (n_samples_Z, n_features)
            Other points.

        Returns
        -------
        array of shape (n_samples_X, n_samples_Z)
            The kernel values.

        Raises
        ------
        ValueError
            If k(x, x) is negative or a value is not finite, or if gamma is "scale" or otherwise no
            coefficient, or the kernel "precomputed".
        """
        if self.gamma == "scale" or Kernel(self.kernel).precomputed:
            name = "gamma='scale'" if self.gamma == "scale" else "kernel='precomputed'"
            raise ValueError(
                f"HypersphereKernel({name}) needs more than the points of one call: give gamma as a number "
                "or 'auto', and the kernel by a name other than 'precomputed' or as a callable."
            )
        if not (self.gamma == "auto" or (isinstance(self.gamma, Real) and self.gamma >= 0.0)):
            raise ValueError(f"gamma must be 'auto' or a number that is at least 0, and is {self.gamma!r}.")
        if not callable(self.kernel):
            X, Z = _points_of(X, Z)
        kernel = Kernel(self.kernel, resolve_gamma(self.gamma, X), self.degree, self.coef0)
        left = inverse_lengths(kernel.diagonal(X), kernel)
        right = left if Z is X else inverse_lengths(kernel.diagonal(Z), kernel)
        return kernel(X, Z) * left[:, None] * right


# Equality is by identity: the length scale may be an array, which does not compare to a single truth value.
@dataclass(frozen=True, eq=False)
class GaussianKernel:
    r"""The Gaussian kernel with one length scale, or one for each feature.

    .. math:: k(x, z) = \exp\Bigl(-\tfrac{1}{2} \sum_k (x_k - z_k)^2 / \ell_k^2\Bigr)

    Parameters
    ----------
    length_scale : float or array of shape (n_features,), default=1.0
        The length scale of all features, or one for each feature; above 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from bayes_svm import GaussianKernel
    >>> X, y = load_iris(return_X_y=True)
    >>> round(SVC(kernel=GaussianKernel([2.0, 2.0, 1.0, 0.5])).fit(X, y).score(X, y), 2)
    0.97
    """

    length_scale: float | ArrayLike = 1.0

    @property
    def gamma(self) -> float | Array:
        r""":math:`1 / (2 \ell^2)`, the coefficient in scikit-learn's form of the kernel."""
        gamma = 0.5 / np.square(np.asarray(self.length_scale, dtype=np.float64))
        return float(gamma) if gamma.ndim == 0 else np.asarray(gamma)

    def scaled(self, X: Any) -> Any:
        r"""X with every column divided by its length scale.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points.

        Returns
        -------
        array or CSR matrix of shape (n_samples, n_features)
            The scaled points.

        Raises
        ------
        ValueError
            If a length scale is not finite and above 0, or their number is not that of the features.
        """
        scale = np.asarray(self.length_scale, dtype=np.float64)
        if scale.ndim > 1 or (scale.ndim == 1 and len(scale) != X.shape[1]):
            raise ValueError(
                f"length_scale has shape {scale.shape}, but X has {X.shape[1]} features: give one number, or "
                "one for each feature."
            )
        if not (np.isfinite(scale).all() and np.all(scale > 0)):
            raise ValueError(f"length_scale={self.length_scale!r} must be finite and above 0.")
        if sparse.issparse(X):
            return sparse.csr_matrix(X.multiply(1.0 / scale))
        return np.asarray(X, dtype=np.float64) / scale

    def __call__(self, X: Any, Z: Any) -> Array:
        """Kernel values.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples_X, n_features)
            Points.
        Z : array or sparse matrix of shape (n_samples_Z, n_features)
            Other points.

        Returns
        -------
        array of shape (n_samples_X, n_samples_Z)
            The kernel values.

        Raises
        ------
        ValueError
            If the length scales are not valid, or so small that a value is not finite.
        """
        left, right = _points_of(X, Z)
        left_scaled = self.scaled(left)
        right_scaled = left_scaled if right is left else self.scaled(right)
        return Kernel("rbf", 0.5)(left_scaled, right_scaled)


def _points_of(X: Any, Z: Any) -> tuple[Any, Any]:
    """Two sets of points as arrays, or as sparse matrices of which no entry is given in parts."""
    left = _checked(X)
    return left, left if Z is X else _checked(Z)


def _checked(X: Any) -> Any:
    points = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False)
    return with_narrow_indices(points)

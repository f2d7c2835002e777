"""The eigensystem of Kwok's Hessian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, eigvalsh

from bayes_svm.utils.interrupts import aside
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array

__all__ = ["INDEFINITE", "Eigensystem", "is_definite"]

# A negative eigenvalue larger than this share of the largest one is more than rounding.
INDEFINITE = 1e-8
# Up to so many points SciPy is called directly; it holds the interpreter while it works.
SMALL = 500


@dataclass(frozen=True, eq=False)
class Eigensystem:
    r"""Eigensystem of the Hessian :math:`A = \lambda I + \sum_i r_i z_i z_i'` (Kwok, eq. 12 to 15).

    .. math:: v_l = c_l \sum_i \mu_{li} z_i, \qquad \rho_l \mu_l = \tilde K \mu_l, \qquad
              \tilde K_{ij} = r_i K_{ij}, \qquad c_l = \left( \rho_l \sum_i \mu_{li}^2 / r_i \right)^{-1/2}

    It is computed from the similar symmetric matrix ``D K D`` with ``D = R^(1/2)``.

    Parameters
    ----------
    values : array of shape (n_kept,)
        Eigenvalues rho, in descending order.
    directions : array of shape (n_active, n_kept)
        Vectors ``c_l mu_l``: ``k_a(x) @ directions`` are the coordinates ``v_l' z(x)`` of a point x.
    lam : float
        Precision lambda of the prior.
    error : float
        Upper bound of the relative error of a variance due to the eigenvalues that were left out.
    rounding : float, default=0.0
        Eigenvalues up to this size cannot be told from rounding errors.
    """

    values: Array
    directions: Array
    lam: float
    error: float
    rounding: float = 0.0

    @classmethod
    def of(cls, gram: Array, curvature: Array, lam: float, tolerance: float = 0.0) -> Eigensystem:
        """Compute the eigenvalues above ``tolerance * lam``, and above rounding.

        Parameters
        ----------
        gram : array of shape (n_active, n_active)
            Kernel values between the active points.
        curvature : array of shape (n_active,)
            Curvature r of each active point, above 0.
        lam : float
            Precision lambda of the prior.
        tolerance : float, default=0.0
            Largest relative error of a variance: leaving out the eigenvalue rho changes one by at most the
            share ``rho / lambda``.

        Returns
        -------
        Eigensystem
            The eigenvalues that are kept, with their directions.

        Raises
        ------
        MemoryError
            If the matrices do not fit.
        """
        require_bytes(
            5 * gram.nbytes, f"The eigensystem of {len(gram)} points", "Raise C, or fit on fewer points."
        )
        # LAPACK refuses an empty matrix, which occurs if no point is near the margin.
        if len(gram) == 0:
            return cls(np.empty(0), np.empty((0, 0)), lam, 0.0)
        root = np.sqrt(curvature)
        values, vectors = _eigh(root[:, None] * gram * root)
        rounding = len(values) * np.finfo(float).eps * max(float(values[-1]), 0.0)
        kept = np.flatnonzero(values > max(tolerance * lam, rounding))[::-1]
        dropped = float(values[: len(values) - len(kept)].max(initial=0.0))
        directions = root[:, None] * vectors[:, kept] / np.sqrt(values[kept])
        return cls(values[kept], directions, lam, max(dropped, 0.0) / lam, rounding)

    @property
    def n_parameters(self) -> float:
        """Effective number of parameters, ``gamma = sum rho / (lambda + rho)``."""
        return float(np.sum(self.values / (self.lam + self.values)))

    def variance(self, diagonal: Array, cross: Array, spanned_only: bool = False) -> Array:
        """Posterior variance of the decision value; Kwok's equation 15 is its part in the span of the data.

        Parameters
        ----------
        diagonal : array of shape (n_samples,)
            Kernel value ``k(x, x)`` of each point.
        cross : array of shape (n_samples, n_active)
            Kernel values with the active points.
        spanned_only : bool, default=False
            Leave out the part of ``z(x)`` outside the span of the data, as the paper does. The variance of
            an rbf kernel then tends to 0, certainty, far from the data: use it for reproduction only.

        Returns
        -------
        array of shape (n_samples,)
            The variances.
        """
        coordinates = np.square(cross @ self.directions)
        variance = (coordinates / (self.lam + self.values)).sum(axis=1)
        if not spanned_only:
            variance += np.maximum(0.0, diagonal - coordinates.sum(axis=1)) / self.lam
        return np.asarray(variance)


def _eigh(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of a symmetric matrix."""
    if len(matrix) <= SMALL:
        values, vectors = eigh(matrix, check_finite=False)
    else:
        values, vectors = aside(np.linalg.eigh, matrix)
    return values, vectors


def is_definite(gram: Array) -> bool:
    """Whether a kernel matrix is positive semi-definite up to rounding."""
    values = eigvalsh(gram, check_finite=False) if len(gram) <= SMALL else aside(np.linalg.eigvalsh, gram)
    return bool(values[0] >= -INDEFINITE * values[-1])

"""Posterior variance of the decision value (Kwok's evidence framework, level 1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit

from bayes_svm.kernels import Kernel
from bayes_svm.machine import Machine
from bayes_svm.problem import DualProblem, copies_of_weight
from bayes_svm.solution import DualSolution

__all__ = ["Posterior", "hinge_curvature", "left_out_variance", "posterior_of"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SHARPNESS = 3.0  # eta: the hinge is smoothed over about 1 / eta of the margin
NEGLIGIBLE = 1e-10  # curvature, relative to the largest, below which a point tells nothing


def hinge_curvature(margin: Array, sharpness: float = SHARPNESS) -> Array:
    r"""Second derivative of the softplus hinge at ``u = 1 - y f``.

    .. math:: r(u) = \eta \, \sigma(\eta u) (1 - \sigma(\eta u))

    The softplus :math:`\frac{1}{\eta} \log(1 + e^{\eta u})` is convex everywhere; the smoothing
    :math:`u \sigma(\eta u)` of the paper has negative curvature beyond ``eta |u| = 2.4``.

    Parameters
    ----------
    margin : array
        ``y f``.
    sharpness : float
        eta.
    """
    s = expit(sharpness * (1.0 - margin))
    return np.asarray(sharpness * s * (1.0 - s))


@dataclass(frozen=True)
class Posterior:
    r"""Gaussian approximation of the posterior of the weight vector.

    .. math:: A = \lambda I + \sum_i r_i z_i z_i', \qquad s^2(x) = z(x)' A^{-1} z(x)
              = \frac{1}{\lambda} \left( k(x, x) - k_a' (\lambda R^{-1} + K_{aa})^{-1} k_a \right)

    with :math:`\lambda = 1/C` and a the points with curvature r > 0. This is the full form:
    far from the data it tends to the prior's ``C k(x, x)``, where the truncated form of the
    paper (equation 15) tends to 0, certainty.

    Parameters
    ----------
    kernel : Kernel
    rows : array or CSR matrix of shape (n_active, n_features)
        The active points.
    numbers : array of shape (n_active,)
        Their row numbers in the training data, for a precomputed kernel.
    curvature : array of shape (n_active,)
        r, the points' weights multiplied in.
    lam : float
        lambda.
    """

    kernel: Kernel
    rows: Any
    numbers: Indices
    curvature: Array
    lam: float

    @cached_property
    def _factor(self) -> Array:
        """Cholesky factor of ``lambda I + D K_aa D``, ``D = R^(1/2)``."""
        root = np.sqrt(self.curvature)
        scaled = root[:, None] * self.kernel(self.rows, self.rows) * root
        scaled[np.diag_indices_from(scaled)] += self.lam
        return np.asarray(cholesky(scaled, lower=True, overwrite_a=True, check_finite=False))

    def _variance(self, diagonal: Array, cross: Array) -> Array:
        half = solve_triangular(
            self._factor, np.sqrt(self.curvature)[:, None] * cross.T, lower=True, check_finite=False
        )
        return np.asarray(np.maximum(0.0, diagonal - np.square(half).sum(axis=0)) / self.lam)

    def variance(self, X: Any) -> Array:
        """Variance of the decision value at every row of X, in blocks of bounded memory.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        diagonal = self.kernel.diagonal(X)
        result = np.empty(X.shape[0])
        for block, cross in self.kernel.blocks(X, self.rows, self.numbers):
            result[block] = self._variance(diagonal[block], cross)
        return result

    def variance_without_own_row(self, X: Any, curvature: Array) -> Array:
        """Variance at rows of the training data, each without itself: ``s^2 / (1 - r s^2)``.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        curvature : array of shape (n_samples,)
            The part of the curvature that goes with the row.

        Returns
        -------
        array of shape (n_samples,)
        """
        variance = self.variance(X)
        left = np.maximum(1.0 - curvature * variance, np.finfo(float).eps)
        return np.asarray(np.minimum(variance / left, self.kernel.diagonal(X) / self.lam))


def posterior_of(machine: Machine, problem: DualProblem, solution: DualSolution, C: float) -> Posterior:
    """Posterior at a solution; points of negligible curvature are left out.

    Parameters
    ----------
    machine : Machine
    problem : DualProblem
    solution : DualSolution
    C : float
        ``lambda = 1 / C``; points count with ``bound / C``, their weight.
    """
    curvature = solution.bound / C * hinge_curvature(solution.label * solution.values)
    active = np.flatnonzero(curvature > NEGLIGIBLE * curvature.max())
    first_row = np.full(len(curvature), -1, dtype=np.intp)
    rows = np.flatnonzero(problem.group >= 0)[::-1]
    first_row[problem.group[rows]] = rows
    numbers = first_row[active]
    return Posterior(
        kernel=machine.kernel,
        rows=np.empty((0, 0)) if machine.kernel.precomputed else machine.X[numbers],
        numbers=numbers,
        curvature=curvature[active],
        lam=1.0 / C,
    )


def left_out_variance(
    machine: Machine, posteriors: list[Posterior], solutions: list[DualSolution], C: float
) -> Array:
    """Posterior variance at every training row without one copy of the row itself.

    Returns
    -------
    array of shape (n_samples,) or (n_samples, n_classes)
    """
    unit = machine.row_bound / (C * copies_of_weight(machine.weight))
    columns = []
    for k, solution in enumerate(solutions):
        side = np.where(machine.y == (1 if len(solutions) == 1 else k), 1.0, -1.0)
        curvature = unit * hinge_curvature(side * machine.values_on_rows(solution))
        columns.append(posteriors[k].variance_without_own_row(machine.X, curvature))
    return columns[0] if len(columns) == 1 else np.column_stack(columns)

"""Posterior variance of the decision value (Kwok's evidence framework, level 1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh, qr

from bayes_svm._core.informative import most_informative
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.kernels.gram import KernelMatrix
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.probability.curvature import SHARPNESS, hinge_curvature
from bayes_svm.probability.eigensystem import INDEFINITE, Eigensystem, is_definite
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.triangular import cholesky, half_solved
from bayes_svm.utils.types import Array, Indices

__all__ = ["Posterior", "information_from", "posterior_of"]

# A sketch is chosen from so many points at a time.
AT_A_TIME = 256
# A point whose curvature is below this share of the largest does not change the posterior.
NEGLIGIBLE_CURVATURE = 1e-10


@dataclass(frozen=True, eq=False)
class Posterior:
    r"""Gaussian approximation of the posterior distribution of the weight vector.

    .. math:: A = \lambda I + \sum_i r_i z_i z_i', \qquad s^2(x) = z(x)' A^{-1} z(x)
              = \frac{1}{\lambda} \left( k(x, x) - k_a' (\lambda R^{-1} + K_{aa})^{-1} k_a \right)

    with :math:`\lambda = 1/C`. The index a stands for the active points, those with curvature r > 0.

    This is the full variance. Far from the data it tends to that of the prior, ``C k(x, x)``. The paper's
    equation 15 is only the part in the span of the data, which tends to 0, certainty, with an rbf kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the machine.
    rows : array or CSR matrix of shape (n_active, n_features)
        The active points; empty for a precomputed kernel.
    points : array of shape (n_active,)
        Their numbers among the points of the dual problem.
    numbers : array of shape (n_active,)
        Their row numbers in the training data, which a precomputed kernel needs.
    curvature : array of shape (n_active,)
        Curvature r of each, multiplied by the point's weight.
    lam : float
        Precision lambda of the prior.
    """

    kernel: Kernel
    rows: Any
    points: Indices
    numbers: Indices
    curvature: Array
    lam: float

    __repr__ = short_repr

    @cached_property
    def _factor(self) -> Array:
        """Cholesky factor of ``lambda I + D K_aa D``, ``D = R^(1/2)``."""
        if not self.definite:
            raise ValueError(self._indefinite)
        require_bytes(
            24 * len(self.curvature) ** 2,
            f"The posterior of {len(self.curvature)} points near the margin",
            "Raise C, so that fewer points are near the margin, or fit on fewer points.",
        )
        # Whoever asks first, the fit or a prediction of a model that was loaded, gets the same bits.
        with one_blas_thread():
            return self.factor_of(self.kernel(self.rows, self.rows))

    def factor_of(self, gram: Array) -> Array:
        """The same, given ``K_aa``."""
        root = np.sqrt(self.curvature)
        scaled = gram.T * root  # in the order of LAPACK
        scaled *= root[:, None]
        scaled.flat[:: len(root) + 1] += self.lam
        factor, info = cholesky(scaled)
        if info == 0:
            return factor
        # Lambda is smaller than the rounding errors of D K D. The exact eigenvalues are at least lambda.
        values, vectors = eigh(scaled, check_finite=False)
        if values[0] < -INDEFINITE * values[-1]:
            raise ValueError(self._indefinite)
        half = vectors * np.sqrt(np.maximum(values, self.lam))
        return np.asarray(qr(half.T, mode="r", check_finite=False)[0][: len(half)].T)

    @property
    def _indefinite(self) -> str:
        return (
            f"The kernel {self.kernel} is not positive semi-definite on the training points: it has no "
            "posterior variance. Choose another kernel."
        )

    def __getstate__(self) -> dict[str, Any]:
        """State to pickle, without the Cholesky factor: it is computed again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_factor"}

    @property
    def definite(self) -> bool:
        """Whether the kernel is positive semi-definite on the active points, up to rounding."""
        if self.kernel.positive_semidefinite or len(self.points) == 0:
            return True
        return is_definite(self.kernel(self.rows, self.rows))

    def sketch(self, machine: Machine, gram: KernelMatrix, most: int) -> Posterior:
        r"""The posterior from so many of the active points, or the posterior itself if it has no more.

        One after the other that point is chosen from which most is learned, the one with the largest
        :math:`r_i s_i^2` given those before; of many points, first among some hundred at a time. What the
        others would add is therefore small. The order of the rows does not matter. A small change of the
        data changes what is known about a point little, unless the data are symmetric. The variance of a
        sketch is larger.

        Parameters
        ----------
        machine : Machine
            The training data.
        gram : KernelMatrix
            Kernel values of the points of the dual problem.
        most : int
            The number of points.
        """
        if len(self.points) <= most:
            return self
        places = np.argsort(machine.radial_rank[machine.row_of[self.numbers]], kind="stable")
        curvature, at_a_time = self.curvature.copy(), max(AT_A_TIME, 4 * most)
        while len(places) > at_a_time:
            heats = [places[start : start + at_a_time] for start in range(0, len(places), at_a_time)]
            places = np.concatenate([self._informative(gram, heat, curvature, most) for heat in heats])
        kept = np.sort(self._informative(gram, places, curvature, most))
        return self._of(kept, curvature[kept])

    def _informative(self, gram: KernelMatrix, places: Indices, curvature: Array, most: int) -> Indices:
        """The most informative of some active points, in the order in which they are given.

        All on the margin say equally much at first: of these it is the one nearest to the mean of the data.
        Of points that are nearly the same the first gets the curvature of all.
        """
        points, own = self.points[places], curvature[places]
        chosen = np.empty(min(most, len(places)), dtype=np.int64)
        factor, score = np.empty((len(chosen), len(places))), np.empty(len(places))
        found = most_informative(gram.block(points, points), own, self.lam, factor, score, chosen)
        curvature[places] = own
        return places[np.sort(chosen[:found])]

    def sharing(self, share: Array) -> Posterior:
        """The posterior if this share of each active point's curvature counts."""
        curvature = self.curvature * share
        kept = (curvature > NEGLIGIBLE_CURVATURE * curvature.max(initial=0.0)).nonzero()[0]
        return self._of(kept, curvature[kept])

    def _of(self, kept: Indices, curvature: Array) -> Posterior:
        """The posterior of some of the active points."""
        rows = self.rows if self.kernel.precomputed else self.rows[kept]
        return Posterior(self.kernel, rows, self.points[kept], self.numbers[kept], curvature, self.lam)

    def explained(self, cross: Array, factor: Array | None = None) -> Array:
        """Part of ``k(x, x)`` that the data explain, ``k_a' (lambda R^-1 + K_aa)^-1 k_a``.

        Parameters
        ----------
        cross : array of shape (n_samples, n_active)
            Kernel values with the active points.
        factor : array of shape (n_active, n_active), optional
            What :meth:`factor_of` returned, if it is known already.

        Returns
        -------
        array of shape (n_samples,)
            The explained part for each point, between 0 and ``k(x, x)``.

        Raises
        ------
        ValueError
            If the kernel is not positive semi-definite on the active points.
        MemoryError
            If the matrix of the active points does not fit.
        """
        half = self.half_of(cross, factor)
        return np.asarray(np.einsum("ij,ij->j", half, half))

    def half_of(self, cross: Array, factor: Array | None = None) -> Array:
        """Vectors whose squared lengths are :meth:`explained`, as columns: shape (n_active, n_samples)."""
        if cross.shape[1] == 0:
            return np.zeros((0, len(cross)))
        factor = self._factor if factor is None else factor
        scaled = np.sqrt(self.curvature)[:, None] * cross.T
        return half_solved(factor, scaled)

    def variance(self, X: Any, diagonal: Array | None = None) -> Array:
        """Posterior variance of the decision value at each row of X, computed in blocks of bounded memory.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Points to compute the variance at.
        diagonal : array of shape (n_samples,), optional
            ``k(x, x)`` of each, if it is known already.

        Returns
        -------
        array of shape (n_samples,)
            The variances, between 0 and ``C k(x, x)``.
        """
        diagonal = self.kernel.diagonal(X) if diagonal is None else diagonal
        return np.asarray(np.maximum(0.0, diagonal - self._explained_at(X)) / self.lam)

    def truncated_variance(self, X: Any, tolerance: float, diagonal: Array | None = None) -> Array:
        """Posterior variance from the leading eigenvalues of Kwok's Hessian.

        After one eigendecomposition a point costs the number of these eigenvalues times the number of active
        points, instead of the square of the latter.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Points to compute the variance at.
        tolerance : float
            Upper bound of the relative error: eigenvalues up to ``tolerance * lam`` are left out.
        diagonal : array of shape (n_samples,), optional
            ``k(x, x)`` of each, if it is known already.

        Returns
        -------
        array of shape (n_samples,)
            The variances; never smaller than the exact ones, except by rounding.

        Raises
        ------
        ValueError
            If the kernel is not positive semi-definite on the active points.
        MemoryError
            If the eigensystem does not fit.
        """
        if not self.definite:
            raise ValueError(self._indefinite)
        gram = self.kernel(self.rows, self.rows) if len(self.points) else np.empty((0, 0))
        system = Eigensystem.of(gram, self.curvature, self.lam, tolerance)
        diagonal = self.kernel.diagonal(X) if diagonal is None else diagonal
        result: Array = diagonal / self.lam
        if len(self.points):
            for part, cross in self.kernel.blocks(X, self.rows, self.numbers):
                result[part] = system.variance(diagonal[part], cross)
        return result

    def information(self, X: Any, diagonal: Array | None = None) -> Array:
        """Precision of the decision value that the data add to the prior's, at each row of X.

        Parameters
        ----------
        X, diagonal
            As in :meth:`variance`.

        Returns
        -------
        array of shape (n_samples,)
            The information; infinite where the posterior variance is 0.
        """
        diagonal = self.kernel.diagonal(X) if diagonal is None else diagonal
        return information_from(self._explained_at(X), diagonal, self.lam)

    def _explained_at(self, X: Any) -> Array:
        result = np.zeros(X.shape[0])
        if len(self.points):
            for part, cross in self.kernel.blocks(X, self.rows, self.numbers):
                result[part] = self.explained(cross)
        return result


def information_from(explained: Array, diagonal: Array, lam: float) -> Array:
    r"""Information about decision values: the precision that the data add to the prior's.

    .. math:: \frac{1}{s^2} - \frac{\lambda}{k} = \frac{\lambda e}{k (k - e)}

    with k = k(x, x) and e the part of it that the data explain. Unlike the difference of the precisions,
    the right-hand side has no cancellation where e is small.

    Parameters
    ----------
    explained : array of shape (n_samples,)
        Explained part e of each point's ``k(x, x)``: see :meth:`Posterior.explained`.
    diagonal : array of shape (n_samples,)
        Kernel value ``k(x, x)`` of each point.
    lam : float
        Precision lambda of the prior.

    Returns
    -------
    array of shape (n_samples,)
        The information; infinite where the posterior variance is 0.
    """
    left = np.maximum(diagonal - explained, 0.0)
    known = (left <= 0.0) | (diagonal <= 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        information = lam * (explained / diagonal) / left
    return np.asarray(np.where(known, np.inf, information))


def posterior_of(
    machine: Machine,
    solution: DualSolution,
    C: float,
    *,
    smoothing: str = "swish",
    sharpness: float = SHARPNESS,
    max_rows: int | None = None,
) -> Posterior:
    """Posterior of the weight vector at a solution, from the points whose curvature is not negligible.

    Parameters
    ----------
    machine : Machine
        Training data and kernel.
    solution : DualSolution
        Solution of one of the machine's problems.
    C : float
        Penalty of the slack: ``lambda = 1 / C``, and ``bound / C`` is the weight of a point.
    smoothing : {"swish", "softplus"}, default="swish"
        How the hinge is smoothed: see :func:`~bayes_svm.probability.curvature.hinge_curvature`.
    sharpness : float, default=3.0
        How sharply: see there.
    max_rows : int, optional
        Largest number of active points: see :meth:`Posterior.sketch`.

    Returns
    -------
    Posterior
        The posterior, of lambda and the active points.
    """
    problem = solution.problem
    curvature = problem.bound / C * hinge_curvature(problem.label * solution.values, smoothing, sharpness)
    active = (curvature > NEGLIGIBLE_CURVATURE * curvature.max()).nonzero()[0]
    numbers = problem.first_row[active]
    whole = Posterior(
        kernel=machine.kernel,
        rows=np.empty((0, 0)) if machine.kernel.precomputed else machine.X[numbers],
        points=active,
        numbers=numbers,
        curvature=curvature[active],
        lam=1.0 / C,
    )
    return whole if max_rows is None else whole.sketch(machine, problem.gram, max_rows)

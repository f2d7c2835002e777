"""Posterior variance of the decision value (Kwok's evidence framework, level 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, eigh, eigvalsh, qr, solve_triangular
from scipy.special import expit

from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solution import DualSolution
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.leave_one_out.order import content_rank
from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices

__all__ = [
    "Eigensystem",
    "Posterior",
    "curvature_slope",
    "hinge_curvature",
    "information_across",
    "information_from",
    "is_definite",
    "leave_one_out_variance",
    "left_out_variance",
    "posterior_of",
]


SHARPNESS = 3.0  # eta: the hinge is smoothed over about 1 / eta of the margin
SMOOTHINGS = ("swish", "softplus")
BLOCK_BYTES = 2**26
INDEFINITE = 1e-8  # negative eigenvalue, relative to the largest, that is more than rounding
NEGLIGIBLE = 1e-10  # curvature, relative to the largest, below which a point tells nothing


def hinge_curvature(margin: Array, smoothing: str = "swish", sharpness: float = SHARPNESS) -> Array:
    r"""Curvature of the smoothed hinge at ``u = 1 - y f``, never below 0.

    .. math:: \text{swish: } \; u \sigma(\eta u), \quad
              r(u) = \max(0, \; u \sigma''(\eta u) + 2 \sigma'(\eta u)); \qquad
              \text{softplus: } \; \tfrac{1}{\eta} \log(1 + e^{\eta u}), \quad
              r(u) = \eta \, \sigma (1 - \sigma)

    with :math:`\sigma(u) = 1 / (1 + e^{-\eta u})`. The first is Kwok's (below his equation 12),
    negative where ``eta |u| > 2.4`` and cut there: only points near the margin carry curvature,
    so that its cost follows their number. The second is positive everywhere.

    Parameters
    ----------
    margin : array
        ``y f``.
    smoothing : {"swish", "softplus"}, default="swish"
    sharpness : float
        eta.
    """
    u = sharpness * (1.0 - margin)
    s = expit(u)
    slope = sharpness * s * (1.0 - s)
    if smoothing == "softplus":
        return np.asarray(slope)
    return np.asarray(np.maximum(0.0, slope * (2.0 - u * np.tanh(u / 2.0))))


def curvature_slope(margin: Array, sharpness: float = SHARPNESS) -> Array:
    """Derivative of the swish's :func:`hinge_curvature` by the margin ``y f``.

    Parameters
    ----------
    margin : array
    sharpness : float
        eta.
    """
    u = sharpness * (1.0 - margin)
    s, bend = expit(u), np.tanh(u / 2.0)
    slope = sharpness**2 * s * (1.0 - s) * (3.0 * bend + 0.5 * u - 1.5 * u * bend**2)
    return np.asarray(np.where(u * bend < 2.0, slope, 0.0))


@dataclass(frozen=True, eq=False)
class Eigensystem:
    r"""Eigensystem of the Hessian :math:`A = \lambda I + \sum_i r_i z_i z_i'` (Kwok, eq. 12 to 15).

    .. math:: v_l = c_l \sum_i \mu_{li} z_i, \qquad \rho_l \mu_l = \tilde K \mu_l, \qquad
              \tilde K_{ij} = r_i K_{ij}, \qquad c_l = \left( \rho_l \sum_i \mu_{li}^2 / r_i \right)^{-1/2}

    Solved in the similar symmetric form ``D K D``, ``D = R^(1/2)``.

    Parameters
    ----------
    values : array of shape (n_kept,)
        Eigenvalues rho, descending.
    directions : array of shape (n_active, n_kept)
        ``c_l mu_l``: ``k_a(x) @ directions`` are the coordinates ``v_l' z(x)``.
    lam : float
        lambda.
    error : float
        Largest relative error of a variance due to the eigenvalues left out.
    """

    values: Array
    directions: Array
    lam: float
    error: float

    @classmethod
    def of(cls, gram: Array, curvature: Array, lam: float, tolerance: float = 0.0) -> Eigensystem:
        """Eigenvalues above ``tolerance * lam``, and above rounding.

        Parameters
        ----------
        gram : array of shape (n_active, n_active)
        curvature : array of shape (n_active,)
            r, above 0.
        lam : float
        tolerance : float
            Relative error that may be made in a variance: leaving out the eigenvalue rho makes
            one of at most ``rho / lambda``.

        Raises
        ------
        MemoryError
            If it does not fit.
        """
        require_bytes(
            3 * gram.nbytes, f"The eigensystem of {len(gram)} points", "Raise C, or fit on fewer points."
        )
        root = np.sqrt(curvature)
        values, vectors = eigh(root[:, None] * gram * root, check_finite=False)
        rounding = len(values) * np.finfo(float).eps * max(float(values[-1]), 0.0) if len(values) else 0.0
        kept = np.flatnonzero(values > max(tolerance * lam, rounding))[::-1]
        dropped = float(values[: len(values) - len(kept)].max(initial=0.0))
        directions = root[:, None] * vectors[:, kept] / np.sqrt(values[kept])
        return cls(values[kept], directions, lam, max(dropped, 0.0) / lam)

    @property
    def n_parameters(self) -> float:
        """Effective number of parameters, ``gamma = sum rho / (lambda + rho)``."""
        return float(np.sum(self.values / (self.lam + self.values)))

    def variance(self, diagonal: Array, cross: Array, spanned_only: bool = False) -> Array:
        """Variance of the decision value, of which Kwok's equation 15 is the spanned part.

        Parameters
        ----------
        diagonal : array of shape (n_samples,)
            ``k(x, x)``.
        cross : array of shape (n_samples, n_active)
        spanned_only : bool
            Leave out the part of ``z(x)`` outside the span of the data. Far from the data an
            rbf kernel's variance is then 0, which says certainty: for reproduction only.
        """
        coordinates = np.square(cross @ self.directions)
        variance = (coordinates / (self.lam + self.values)).sum(axis=1)
        if not spanned_only:
            variance += np.maximum(0.0, diagonal - coordinates.sum(axis=1)) / self.lam
        return np.asarray(variance)


def is_definite(gram: Array) -> bool:
    """Whether a kernel matrix is positive semi-definite up to rounding."""
    values = eigvalsh(gram, check_finite=False)
    return bool(values[0] >= -INDEFINITE * values[-1])


@dataclass(frozen=True, eq=False)
class Posterior:
    r"""Gaussian approximation of the posterior of the weight vector.

    .. math:: A = \lambda I + \sum_i r_i z_i z_i', \qquad s^2(x) = z(x)' A^{-1} z(x)
              = \frac{1}{\lambda} \left( k(x, x) - k_a' (\lambda R^{-1} + K_{aa})^{-1} k_a \right)

    with :math:`\lambda = 1/C` and a the points with curvature r > 0. This is the full form:
    far from the data it tends to the prior's ``C k(x, x)``, where the spanned form of the
    paper (equation 15) tends to 0, certainty.

    Parameters
    ----------
    kernel : Kernel
    rows : array or CSR matrix of shape (n_active, n_features)
        The active points.
    points : array of shape (n_active,)
        Their numbers among the points of the dual problem.
    numbers : array of shape (n_active,)
        Their row numbers in the training data, for a precomputed kernel.
    curvature : array of shape (n_active,)
        r, the points' weights multiplied in.
    lam : float
        lambda.
    """

    kernel: Kernel
    rows: Any
    points: Indices
    numbers: Indices
    curvature: Array
    lam: float

    @cached_property
    def _factor(self) -> Array:
        """Cholesky factor of ``lambda I + D K_aa D``, ``D = R^(1/2)``."""
        if not self.definite:
            raise ValueError(self._indefinite)
        n_active = len(self.curvature)
        require_bytes(
            16 * n_active**2,
            f"The posterior of {n_active} points near the margin",
            "Raise C, so that fewer are, or fit on fewer points.",
        )
        root = np.sqrt(self.curvature)
        scaled = self.kernel(self.rows, self.rows)
        scaled *= root
        scaled *= root[:, None]
        scaled[np.diag_indices_from(scaled)] += self.lam
        try:
            return np.asarray(cholesky(scaled, lower=True, check_finite=False))
        except np.linalg.LinAlgError:
            # A lambda below the rounding of the kernel's part: its eigenvalues are at least lambda.
            values, vectors = eigh(scaled, check_finite=False)
            if values[0] < -INDEFINITE * values[-1]:
                raise ValueError(self._indefinite) from None
            half = vectors * np.sqrt(np.maximum(values, self.lam))
            return np.asarray(qr(half.T, mode="r", check_finite=False)[0][: len(half)].T)

    @property
    def _indefinite(self) -> str:
        return (
            f"The kernel {self.kernel} is not positive semi-definite on the training points: it has no "
            "posterior variance. Choose another kernel."
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without the factor, which is made again where it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_factor"}

    @property
    def definite(self) -> bool:
        """Whether the kernel is positive semi-definite on the active points, up to rounding."""
        if self.kernel.positive_semidefinite or len(self.points) == 0:
            return True
        return is_definite(self.kernel(self.rows, self.rows))

    def explained(self, cross: Array) -> Array:
        """``k_a' (lambda R^-1 + K_aa)^-1 k_a``: the part of ``k(x, x)`` that the data explain.

        Parameters
        ----------
        cross : array of shape (n_samples, n_active)
            Kernel values with the active points.

        Returns
        -------
        array of shape (n_samples,)
        """
        half = self.half_of(cross)
        return np.asarray(np.einsum("ij,ij->j", half, half))

    def half_of(self, cross: Array) -> Array:
        """The vectors whose squared lengths are :meth:`explained`, shape (n_active, n_samples)."""
        if cross.shape[1] == 0:
            return np.zeros((0, len(cross)))
        scaled = np.sqrt(self.curvature)[:, None] * cross.T
        return np.asarray(solve_triangular(self._factor, scaled, lower=True, check_finite=False))

    def variance(self, X: Any, diagonal: Array | None = None) -> Array:
        """Variance of the decision value at every row of X, in blocks of bounded memory.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        diagonal : array of shape (n_samples,), optional
            ``k(x, x)``, if known.

        Returns
        -------
        array of shape (n_samples,)
        """
        diagonal = self.kernel.diagonal(X) if diagonal is None else diagonal
        return np.asarray(np.maximum(0.0, diagonal - self._explained_at(X)) / self.lam)

    def information(self, X: Any, diagonal: Array | None = None) -> Array:
        """Precision of the decision value at every row of X that the data add to the prior's.

        Parameters
        ----------
        X, diagonal
            As in :meth:`variance`.

        Returns
        -------
        array of shape (n_samples,)
            Infinite where the decision value is known.
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
    r"""Information about decision values.

    .. math:: \frac{1}{s^2} - \frac{\lambda}{k} = \frac{\lambda e}{k (k - e)}

    with e the part of k(x, x) that the data explain. Unlike the difference of the precisions this
    has no cancellation where e is small.

    Parameters
    ----------
    explained, diagonal : arrays of shape (n_samples,)
    lam : float
    """
    left = np.maximum(diagonal - explained, 0.0)
    known = (left <= 0.0) | (diagonal <= 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        information = lam * (explained / diagonal) / left
    return np.asarray(np.where(known, np.inf, information))


def posterior_of(
    machine: Machine,
    problem: DualProblem,
    solution: DualSolution,
    C: float,
    *,
    smoothing: str = "swish",
    sharpness: float = SHARPNESS,
    max_rows: int | None = None,
    bound: Array | None = None,
) -> Posterior:
    """Posterior at a solution; points of negligible curvature are left out.

    Parameters
    ----------
    machine : Machine
    problem : DualProblem
    solution : DualSolution
    C : float
        ``lambda = 1 / C``; points count with ``bound / C``, their weight.
    smoothing : {"swish", "softplus"}
    sharpness : float
        As in :func:`hinge_curvature`.
    max_rows : int, optional
        Keep this many of the active points at most, evenly spaced in the order of
        :func:`~bayes_svm.leave_one_out.order.content_rank`: a sketch, which knows less.
    bound : array of shape (n_points,), optional
        The part of the points' bounds that counts, by default all of them.
    """
    bound = solution.bound if bound is None else bound
    curvature = bound / C * hinge_curvature(solution.label * solution.values, smoothing, sharpness)
    active = np.flatnonzero(curvature > NEGLIGIBLE * curvature.max())
    first_row = np.full(len(curvature), -1, dtype=np.intp)
    rows = np.flatnonzero(problem.group >= 0)[::-1]
    first_row[problem.group[rows]] = rows
    if max_rows is not None and len(active) > max_rows:
        # By what the points hold, not in the order of the rows, which is to change nothing.
        rank = content_rank(machine)[machine.row_of[first_row[active]]]
        active = active[np.argsort(rank, kind="stable")]
        active = np.sort(active[np.linspace(0, len(active) - 1, max_rows).round().astype(np.intp)])
    numbers = first_row[active]
    return Posterior(
        kernel=machine.kernel,
        rows=np.empty((0, 0)) if machine.kernel.precomputed else machine.X[numbers],
        points=active,
        numbers=numbers,
        curvature=curvature[active],
        lam=1.0 / C,
    )


def left_out_variance(
    machine: Machine, problem: DualProblem, posterior: Posterior, case: Indices, row: Indices, removed: Array
) -> Array:
    r"""Posterior variance at rows without what leaves together with them.

    .. math:: s_{(-S)}^2(x_i) = V_{ii} + V_{iS} \left( R_S^{-1} - V_{SS} \right)^{-1} V_{Si}

    with V the posterior covariance of the decision values; of a single row :math:`s^2 / (1 - r s^2)`.
    The curvature of the others is that of the whole solution. Rows that are none of the
    posterior's points have nothing to take along.

    Parameters
    ----------
    machine : Machine
    problem : DualProblem
        One of the machine's.
    posterior : Posterior
        At its solution.
    case, row : arrays of shape (n_parts,)
        What leaves together has the same case, in ascending order.
    removed : array of shape (n_parts,)
        Upper bound that leaves with the row.

    Returns
    -------
    array of shape (n_parts,)
    """
    point = problem.group[row]
    variance, present, absent = np.empty(len(row)), np.flatnonzero(point >= 0), np.flatnonzero(point < 0)
    if len(absent):
        variance[absent] = posterior.variance(machine.X[row[absent]])
    place = np.full(len(problem.label), -1)
    place[posterior.points] = np.arange(len(posterior.points))
    most = max(1, BLOCK_BYTES // (8 * max(1, len(posterior.points))))
    for block in _whole_cases(case[present], most):
        parts = present[block]
        points, active = point[parts], place[point[parts]]
        cross = problem.gram.block(posterior.points, points).T
        half, diagonal = posterior.half_of(cross), problem.gram.diagonal[points]
        found = np.maximum(0.0, diagonal - np.einsum("ij,ij->j", half, half)) / posterior.lam
        # The curvature that leaves is in proportion to the bound.
        gone = removed[parts] / problem.bound[points] * np.append(posterior.curvature, 0.0)[active]
        for one in _whole_cases(case[parts], 1):
            leaving = one.start + np.flatnonzero(gone[one] > 0.0)
            if len(leaving):
                covariance = (
                    cross[one][:, active[leaving]] - half[:, one].T @ half[:, leaving]
                ) / posterior.lam
                found[one] += _without(covariance, leaving - one.start, np.sqrt(gone[leaving]))
        variance[parts] = np.minimum(found, diagonal / posterior.lam)
    return variance


def _whole_cases(case: Indices, most: int) -> Iterator[slice]:
    """Slices of ascending case numbers that cut no case in two, of up to ``most`` parts where that goes."""
    ends = (
        np.append(np.flatnonzero(np.diff(case)) + 1, len(case)) if len(case) else np.empty(0, dtype=np.intp)
    )
    first, start = 0, 0
    while first < len(ends):
        first = max(first + 1, int(np.searchsorted(ends, start + most, side="right")))
        yield slice(start, int(ends[first - 1]))
        start = int(ends[first - 1])


def _without(covariance: Array, leaving: Indices, root: Array) -> Array:
    """What the variances of some values grow by when those that ``leaving`` names say nothing any more.

    Parameters
    ----------
    covariance : array of shape (n_values, n_leaving)
    leaving : array of shape (n_leaving,)
    root : array of shape (n_leaving,)
        Square roots of their curvatures.
    """
    scaled = covariance * root
    values, vectors = eigh(root[:, None] * scaled[leaving], check_finite=False)
    rotated = scaled @ vectors
    return np.asarray(np.square(rotated) @ (1.0 / np.maximum(1.0 - values, np.finfo(float).eps)))


def information_across(
    machine: Machine,
    problem: DualProblem,
    solution: DualSolution,
    C: float,
    *,
    half: Indices,
    row: Indices,
    counted: Array,
    max_rows: int,
) -> Array | None:
    """Information about the rows of each of two halves under the posterior of the other half.

    What one half of the data says of the other is what all of them say of new points, if anything
    less. Leaving single rows out does not do: after centring, each of few rows in many dimensions
    is minus the sum of the others, and known by them.

    Parameters
    ----------
    machine : Machine
    problem : DualProblem
    solution : DualSolution
    C : float
    half, row : arrays of shape (n_parts,)
        A half, 0 or 1, and a row that is in it, wholly or in part.
    counted : array of shape (n_parts,)
        Upper bound of what of the row is in the half.
    max_rows : int
        Of each half's posterior, as in :func:`posterior_of`.

    Returns
    -------
    array of shape (n_parts,), or None
        None for a kernel that is not positive semi-definite.
    """
    point, found = problem.group[row], np.empty(len(row))
    present = point >= 0  # rows of weight 0 are points of their own, of which nothing is known
    for one in (0, 1):
        own, other = np.flatnonzero((half == one) & present), np.flatnonzero((half != one) & present)
        unweighted = np.flatnonzero((half != one) & ~present)
        bound: Array = np.bincount(point[own], weights=counted[own], minlength=len(problem.label)).astype(
            float
        )
        posterior = posterior_of(machine, problem, solution, C, max_rows=max_rows, bound=bound)
        if not posterior.definite:
            return None
        step = max(1, BLOCK_BYTES // (8 * max(1, len(posterior.points))))
        for start in range(0, len(other), step):
            part = other[start : start + step]
            explained = posterior.explained(problem.gram.block(posterior.points, point[part]).T)
            found[part] = information_from(explained, problem.gram.diagonal[point[part]], posterior.lam)
        if len(unweighted):
            found[unweighted] = posterior.information(machine.X[row[unweighted]])
    return found


def leave_one_out_variance(
    estimator: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> Array:
    r"""Posterior variance of every training point's decision value without the point itself.

    .. math:: s_{(-i)}^2 = \frac{s_i^2}{1 - r_i s_i^2}

    The curvature of the others is that of the whole solution.

    Parameters
    ----------
    estimator : SVC or BayesSVC, fitted or not
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array of shape (n_samples,)
    sample_weight : array of shape (n_samples,), optional
        Of a row that stands for several, one copy is left out.

    Returns
    -------
    array of shape (n_samples,) or (n_samples, n_classes)

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import SVC
    >>> from bayes_svm.probability.posterior import leave_one_out_variance
    >>> X, y = make_classification(100, random_state=0)
    >>> leave_one_out_variance(SVC(), X, y).shape
    (100,)
    """
    with one_blas_thread():
        machine, solutions = machine_of(estimator, X, y, sample_weight)
        C = float(estimator.C)
        columns = []
        for k, solution in enumerate(solutions):
            problem = machine.problem(k)
            posterior = posterior_of(machine, problem, solution, C)
            rows = np.arange(len(machine.y))
            removed = problem.row_bound / copies_of_weight(machine.weight)
            columns.append(left_out_variance(machine, problem, posterior, rows, rows, removed))
    return columns[0] if len(columns) == 1 else np.column_stack(columns)

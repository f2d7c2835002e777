"""Evidence of C and the kernel's parameters (Kwok's evidence framework, levels 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.problem import DualProblem, bound_slack
from bayes_svm.dual.solution import DualSolution, warn_if_inexact
from bayes_svm.probability.curvature import curvature_slope
from bayes_svm.probability.eigensystem import Eigensystem, is_definite
from bayes_svm.probability.posterior import posterior_of
from bayes_svm.utils.interrupts import slices
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices

__all__ = ["Evidence", "evidence_of", "log_evidence"]

Gradient = dict[str, Any]

UNRESOLVED = (
    "No evidence in double precision with C={C:g}: {what}, by rounding. Lower C, or scale the features, so "
    "that C times the kernel values is smaller."
)


@dataclass(frozen=True)
class Evidence:
    r"""Log evidence of one setting of C and the kernel.

    Parameters
    ----------
    value : float
        The log evidence, up to a constant.
    gradient : dict
        Its derivatives with respect to the logarithms of ``"C"`` and, if the kernel has it, ``"gamma"``;
        with respect to ``"coef0"`` itself; and, for a kernel of :mod:`sklearn.gaussian_process`, an array of
        those with respect to its ``"theta"``.
    n_parameters : float
        Effective number of parameters, :math:`\gamma = \sum_l \rho_l / (\lambda + \rho_l)`.
    weight_norm : float
        Half the squared length of the weight vector, :math:`E_W = |w|^2 / 2`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC, log_evidence
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = log_evidence(BayesSVC(), scale(X), y)
    >>> round(found.value, 1), round(found.n_parameters, 1)
    (-109.1, 62.9)
    """

    value: float
    gradient: Gradient
    n_parameters: float
    weight_norm: float

    @property
    def fixed_point(self) -> float:
        r"""Next C of the fixed-point iteration for :math:`2 \lambda E_W = \gamma`, the level-2 optimum.

        It is the optimum if the Hessian did not change with C. 0 if the effective number of parameters is 0.
        """
        return 2.0 * self.weight_norm / self.n_parameters if self.n_parameters > 0.0 else 0.0


def log_evidence(estimator: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Evidence:
    r"""Log evidence of an SVM's C and kernel, with its gradient.

    .. math:: \log p(D | \lambda, \mathcal{H}) = -\lambda E_W - \sum_i \xi_i
              - \tfrac{1}{2} \sum_l \log \left( 1 + \rho_l / \lambda \right), \qquad \lambda = 1/C

    where :math:`\rho_l` are the eigenvalues of :math:`\sum_i r_i z_i z_i'` at the optimum. The constant
    normaliser of the hinge likelihood is left out. With more than two classes, each against the rest, the
    log evidence is the sum over the machines.

    Parameters
    ----------
    estimator : SVC or BayesSVC
        The machine, fitted or not.
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data; the kernel matrix for a precomputed kernel.
    y : array of shape (n_samples,)
        Labels.
    sample_weight : array of shape (n_samples,), optional
        How often each row counts.

    Returns
    -------
    Evidence
        Log evidence, gradient and effective number of parameters.

    Raises
    ------
    ValueError
        For a kernel that is not positive semi-definite, for LinearSVC, and if C times the kernel values is
        too large for double precision.
    TypeError
        If the estimator is not an SVC or a BayesSVC. Of a pipeline give the last step, and the transformed X.
    MemoryError
        If the matrices do not fit.

    Warns
    -----
    ConvergenceWarning
        If the solution is not exact.

    Notes
    -----
    The gradient takes into account how the solution itself changes while the set of free support vectors
    stays the same. The evidence is continuous, but its gradient jumps where that set changes.

    References
    ----------
    Kwok, "The evidence framework applied to support vector machines", IEEE Transactions on
    Neural Networks 11(5), 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.svm import SVC
    >>> from bayes_svm import log_evidence
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> for C in (0.1, 1.0, 10.0):
    ...     print(round(log_evidence(SVC(C=C), scale(X), y).value, 1))
    -173.7
    -109.1
    -164.7
    """
    with one_blas_thread():
        machine, solutions = machine_of(estimator, X, y, sample_weight)
        if machine.gram.n_null:
            raise ValueError(
                f"{type(estimator).__name__} has no evidence here: use SVC(kernel='linear') instead."
            )
        return evidence_of(machine, solutions, float(estimator.C))


def evidence_of(machine: Machine, solutions: Iterable[DualSolution], C: float) -> Evidence:
    """Evidence of a machine, given the solutions of its problems.

    Parameters
    ----------
    machine : Machine
        Training data and kernel.
    solutions : iterable of DualSolution
        One for each of the machine's problems.
    C : float
        Penalty of the slack, ``1 / lambda``.

    Returns
    -------
    Evidence
        The sum over the problems.

    Raises
    ------
    ValueError
        As :func:`log_evidence`.
    """
    parts = []
    for solution in solutions:
        warn_if_inexact(solution)
        parts.append(_of_solution(machine, solution, C))
    return Evidence(
        value=sum(part.value for part in parts),
        gradient={name: sum(part.gradient[name] for part in parts) for name in parts[0].gradient},
        n_parameters=sum(part.n_parameters for part in parts),
        weight_norm=sum(part.weight_norm for part in parts),
    )


def _of_solution(machine: Machine, solution: DualSolution, C: float) -> Evidence:
    problem = solution.problem
    determinant = _Determinant(machine, solution, C)
    beta, lam = solution.beta, 1.0 / C
    norm = float(beta @ (solution.values - solution.intercept)) / 2.0
    slack = float(problem.bound @ solution.slack) / C
    pins = _pins(solution, C)
    used = np.unique(np.concatenate([determinant.points, np.flatnonzero(beta), pins]))
    # Derivative of beta by log C: those at a bound grow with it. What depends on the free ones may stay.
    held = solution.between.copy()
    held[solution.free] = True
    moves = np.where(held, 0.0, beta)
    bounded = np.flatnonzero(moves)
    push = problem.gram.block(used, bounded) @ moves[bounded]
    change = _change(solution, used, pins, push, -float(moves.sum()))
    gradient: Gradient = {
        "C": lam * norm
        - determinant.n_parameters / 2.0
        - determinant.half_change(change[np.searchsorted(used, determinant.points)])
    }
    place = np.searchsorted(used, determinant.points)
    for name, derivatives in _kernel_derivatives(machine, problem, used).items():
        found = []
        for derivative in derivatives:
            push = derivative @ beta[used]
            change = _change(solution, used, pins, push, 0.0)
            found.append(
                lam * float(beta[used] @ push) / 2.0
                - determinant.half_change(change[place], derivative[np.ix_(place, place)])
            )
        gradient[name] = np.array(found) if name == "theta" else found[0]
    value = -lam * norm - slack - determinant.logarithm / 2.0
    return Evidence(value, gradient, determinant.n_parameters, norm)


class _Determinant:
    """``log det(I + D K D / lambda)``, ``D = R^(1/2)``, over the points with curvature; its derivatives."""

    def __init__(self, machine: Machine, solution: DualSolution, C: float) -> None:
        posterior, problem = posterior_of(machine, solution, C), solution.problem
        self.points, curvature = posterior.points, posterior.curvature
        size, lam = len(curvature), 1.0 / C
        require_bytes(40 * size**2, f"The evidence of {size} points near the margin", "Fit on fewer points.")
        gram = problem.gram.block(self.points, self.points)
        if not (machine.convex and (machine.kernel.positive_semidefinite or size == 0 or is_definite(gram))):
            raise ValueError(
                f"The kernel {machine.kernel} is not positive semi-definite on the training points: it has "
                "no evidence. Choose another kernel."
            )
        system = Eigensystem.of(gram, curvature, lam)
        if system.rounding > lam:
            raise ValueError(UNRESOLVED.format(C=C, what="the Hessian is singular"))
        self.logarithm = float(np.log1p(system.values / lam).sum())
        self.n_parameters = system.n_parameters
        # Half the derivatives with respect to the kernel values and to the decision values.
        spanned = system.directions * np.sqrt(system.values)
        shares = system.values / (lam + system.values)
        self._by_kernel = np.empty((size, size))
        for first, last in slices(size, size * len(shares) // 8):
            self._by_kernel[first:last] = (spanned[first:last] * shares) @ spanned.T / (-2.0 * lam)
        self._by_kernel[np.diag_indices(size)] += curvature / (2.0 * lam)
        label, bound = problem.label[self.points], problem.bound[self.points]
        slope = bound / C * curvature_slope(label * solution.values[self.points]) * label
        self._by_value = np.square(spanned) @ shares / curvature**2 / 2.0 * slope

    def half_change(self, values: Array, gram: Array | None = None) -> float:
        """Half the change of the log determinant for given changes of decision values and kernel matrix."""
        change = float(self._by_value @ values)
        return change if gram is None else change + float(np.sum(self._by_kernel * gram))


def _pins(solution: DualSolution, C: float) -> Indices:
    """The free points; without any, the two points that limit the interval of optimal intercepts.

    Raises
    ------
    ValueError
        If the free points are linearly dependent, or could not be told from the bounded ones.
    """
    problem = solution.problem
    if solution.n_free:
        dependent = UNRESOLVED.format(C=C, what="the free support vectors depend on each other")
        if len(solution.free) == 0:
            raise ValueError(dependent)
        try:
            problem.free_system(solution.free)
        except np.linalg.LinAlgError:
            raise ValueError(dependent) from None
        return solution.free
    slack = bound_slack(solution.beta, problem.bound)
    residual = problem.label - (solution.values - solution.intercept)
    rising = np.where(solution.beta < problem.upper - slack, residual, -np.inf)
    falling = np.where(solution.beta > problem.lower + slack, residual, np.inf)
    return np.array([rising.argmax(), falling.argmin()], dtype=np.intp)


def _change(solution: DualSolution, used: Indices, pins: Indices, push: Array, total: float) -> Array:
    """Change of the decision values of ``used`` points when ``push`` is added to ``K beta``.

    The free points stay on the margin, and the sum of their coefficients changes by ``total``. Without free
    points the intercept stays in the middle of its interval.
    """
    if not solution.n_free:
        return push - push[np.searchsorted(used, pins)].mean()
    problem = solution.problem
    system = problem.free_system(pins)
    beta, intercept = system.solve(-push[np.searchsorted(used, pins)], total)
    return np.asarray(push + problem.gram.block(used, pins) @ beta + intercept)


def _kernel_derivatives(machine: Machine, problem: DualProblem, used: Indices) -> dict[str, Array]:
    """Derivatives of the kernel matrix of the used points, each of shape (n_parameters, n_used, n_used)."""
    if machine.kernel.precomputed:
        return {}
    return machine.kernel.derivatives(machine.X[problem.first_row[used]])

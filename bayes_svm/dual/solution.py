"""The exact dual solution of one SVM: made once, read by everything else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayes_svm.dual.polish import optimality_violation
from bayes_svm.dual.problem import DualProblem, bound_slack, interval_of_movable, movable, snapped
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.types import Array, Indices, Mask
from bayes_svm.utils.warn import warn

__all__ = ["DualSolution", "assembled", "is_final", "off_margin", "warn_if_inexact"]


# A solution is exact if its KKT residual is at most this multiple of its scale, and its relative duality
# gap is at most EXACT_GAP.
EXACT_RESIDUAL = 1e-9
EXACT_GAP = 1e-9
# The gap does not matter if the residual is at most this multiple of the scale: a huge C turns rounding
# into a gap.
ROUNDING_RESIDUAL = 1e-12
# An interval of optimal intercepts of at most this length is a point, up to rounding.
UNIQUE = 1e-8
# A residual of at most this multiple of its rounding error is no more than rounding.
ROUNDING_FACTOR = 10.0
# Decision values that differ by no more than this multiple of the rounding error are equal. Left-out values
# were seen to be up to 10 apart where all should be -1, and at least 10,000 where a machine tells rows apart.
RESOLUTION_FACTOR = 64.0
EPSILON, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)
# A scale may be raised to this share of the summands, and up to MOST_ROUNDING times: see DualSolution.scale.
ROUNDING_SHARE, MOST_ROUNDING = 1e-5, 100.0


INEXACT = (
    "a KKT residual of {kkt:.2g} and a relative duality gap of {gap:.2g} are the best that double "
    "precision gives here: scale X (put a StandardScaler before the classifier), or lower C"
)


@dataclass(frozen=True)
class DualSolution:
    r"""Optimum of the SVM dual, with what is needed to judge how exact it is.

    .. math:: f(x) = \sum_g \beta_g k(x_g, x) + b, \qquad \beta_g = y_g \alpha_g,
              \quad 0 \le \alpha_g \le C_g

    Parameters
    ----------
    problem : DualProblem
        The problem that it solves.
    beta : array of shape (n_points,)
        Signed dual coefficients of the merged points.
    intercept : float
        Intercept b of the decision function.
    values : array of shape (n_points,)
        ``f(x_g)``.
    free : array of shape (n_free,)
        Points with ``0 < alpha < C``, which lie on the margin; they are independent. Only where no such
        solution is exact to double precision, others with ``0 < alpha < C`` depend on them.
    kkt_residual : float
        Largest violation of the optimality conditions, in units of the decision value.
    scale : float
        Size of the numbers in the residual: the larger of 1 and ``max |f|``. Where the rounding of large
        sums keeps the residual from being exact on that scale, it is 1e-5 of the largest ``sum |beta k|``,
        up to 100 times as large.
    rounding : float
        Rounding error of the largest ``sum |beta k|``. No residual is known better.
    primal, dual : float
        Objective values ``|w|^2 / 2 + sum C xi`` and ``sum alpha - |w|^2 / 2``.
    smo_steps, pivots : int
        Pair updates of the first solver, and exchanges of the polish.
    reason : str or None
        None for an exact solution; otherwise why it is not.
    polished : bool
        Whether the polish was tried. If it was, a solution that is not exact is the best that double
        precision gives.
    stable : bool
        False if the intercept is not unique. All coefficients are then at bounds, and the intercept is the
        middle of its interval, as in LIBSVM.
    tie_break : float
        Relative change of the margin targets under which ``free`` was found. 0 if the polish did not end and
        ``free`` comes from the first solver, or if without the change free points leave the margin.
    """

    problem: DualProblem
    beta: Array
    intercept: float
    values: Array
    free: Indices
    kkt_residual: float
    scale: float
    rounding: float
    primal: float
    dual: float
    smo_steps: int
    pivots: int
    reason: str | None
    polished: bool
    stable: bool
    tie_break: float

    __repr__ = short_repr

    @property
    def exact(self) -> bool:
        """Whether the KKT residual and the relative gap are at most 1e-9, or rounding."""
        return self.reason is None

    @property
    def resolution(self) -> float:
        """Decision values that differ by no more than this are equal."""
        return max(RESOLUTION_FACTOR * self.rounding, EXACT_RESIDUAL * self.scale)

    @property
    def relative_gap(self) -> float:
        """Duality gap divided by the dual objective."""
        return _relative_gap(self.primal, self.dual)

    @property
    def gradient(self) -> Array:
        """``K beta - label`` at the merged points: the residual without the intercept."""
        return self.values - self.intercept - self.problem.label

    @property
    def alpha(self) -> Array:
        """Dual coefficients of the merged points, at least 0."""
        return np.abs(self.beta)

    @property
    def slack(self) -> Array:
        """``xi_g = max(0, 1 - y_g f(x_g))`` of the merged points."""
        return np.maximum(0.0, 1.0 - self.problem.label * self.values)

    @cached_property
    def between(self) -> Mask:
        """Which points are strictly between their bounds, a null point included."""
        can_rise, can_fall = movable(self.beta, self.problem.lower, self.problem.upper)
        return can_rise & can_fall

    @property
    def n_free(self) -> int:
        """Number of points strictly between their bounds."""
        return int(np.count_nonzero(self.between))

    @property
    def shared(self) -> bool:
        """Whether points between their bounds depend on ``free``: all on the margin share what they carry."""
        return self.n_free > len(self.free)

    @property
    def n_bounded(self) -> int:
        """Number of points at their upper bound."""
        bound = self.problem.bound
        return int(np.sum(self.alpha >= bound - bound_slack(self.beta, bound)))

    @property
    def row_beta(self) -> Array:
        """Signed dual coefficients of the rows. Merged rows share that of their point like their bounds."""
        problem = self.problem
        used = problem.group >= 0
        beta = np.zeros(len(problem.group))
        points = problem.group[used]
        # The share comes first: a product of two large numbers might overflow.
        beta[used] = self.beta[points] * (problem.row_bound[used] / problem.bound[points])
        return beta

    def detached(self) -> DualSolution:
        """The same solution without the kernel matrix, as a fitted estimator stores it."""
        return replace(self, problem=self.problem.detached())


def warn_if_inexact(solution: DualSolution) -> None:
    """Warn, with the reason and the gap, if the solution is not exact."""
    if not solution.exact:
        warn(
            f"The solution is not exact: {solution.reason} (KKT residual {solution.kkt_residual:.2g}, "
            f"relative duality gap {solution.relative_gap:.2g}).",
            ConvergenceWarning,
        )


def is_final(solution: DualSolution) -> bool:
    """Whether a solution is exact, and its residual and those of its free points no more than rounding."""
    residual = max(solution.kkt_residual, off_margin(solution))
    return solution.exact and residual <= ROUNDING_FACTOR * solution.rounding


def off_margin(solution: DualSolution) -> float:
    """Largest residual of a point that is free at the perturbed targets, but perhaps not without them."""
    free = solution.free
    return float(np.abs(solution.values[free] - solution.problem.label[free]).max(initial=0.0))


def assembled(
    problem: DualProblem,
    beta: Array,
    free: Indices,
    steps: int,
    pivots: int = 0,
    tie_break: float = 0.0,
    of_fixed: Array | None = None,
) -> DualSolution:
    """The solution with these coefficients: its intercept, its values, and how exact it is.

    ``of_fixed`` is ``K beta`` of the points that are not free, if it is known.
    """
    if of_fixed is None:
        kernel_part = problem.gram.product(beta)
    else:
        of_free = np.zeros(len(beta))
        of_free[free] = beta[free]
        kernel_part = of_fixed + problem.gram.product(of_free)
    can_rise, can_fall = movable(beta, problem.lower, problem.upper)
    low, high = interval_of_movable(kernel_part - problem.label, can_rise, can_fall)
    # One end is infinite where rounding leaves coefficients whose sum is not 0: none can rise, or none fall.
    ends = [end for end in (low, high) if np.isfinite(end)]
    intercept = sum(ends) / max(len(ends), 1)
    values = kernel_part + intercept
    kkt, scale, rounding, negligible = _measured(problem, beta, values)
    primal, dual = problem.objectives(beta, values, intercept)
    gap = abs(_relative_gap(primal, dual))
    exact = kkt <= EXACT_RESIDUAL * scale and (gap <= EXACT_GAP or negligible)
    return DualSolution(
        problem=problem,
        beta=beta,
        intercept=intercept,
        values=values,
        free=free,
        kkt_residual=kkt,
        scale=scale,
        rounding=rounding,
        primal=primal,
        dual=dual,
        smo_steps=steps,
        pivots=pivots,
        reason=None if exact else INEXACT.format(kkt=kkt, gap=gap),
        polished=True,
        stable=bool(np.any(can_rise & can_fall)) or high - low <= UNIQUE,
        tie_break=tie_break,
    )


def _measured(problem: DualProblem, beta: Array, values: Array) -> tuple[float, float, float, bool]:
    """KKT residual, its scale, its rounding error, and whether it is so small that no gap matters.

    The residual is the largest violation by a point or by the sum of beta, in units of the decision value.
    The ends of paths are measured by :mod:`bayes_svm._core.optimality`, many at a time and without snapping.
    """
    lower, upper = problem.lower, problem.upper
    violation = optimality_violation(snapped(beta, lower, upper), values - problem.label, lower, upper)
    total = abs(float(beta.sum()))
    kkt = max(float(violation.max()), total, total / max(float(np.abs(beta).max()), TINY))
    scale, summands = max(1.0, float(np.abs(values).max())), problem.gram.largest_sum(beta)
    rounding = EPSILON * max(scale, summands)
    negligible = kkt <= ROUNDING_RESIDUAL * scale
    # Large summands leave values on a coarse grid, where a residual of zero means nothing.
    kkt = max(kkt, rounding)
    if EXACT_RESIDUAL * scale < kkt <= EXACT_RESIDUAL * MOST_ROUNDING * scale:
        scale = min(max(scale, ROUNDING_SHARE * summands), MOST_ROUNDING * scale)
    return kkt, scale, rounding, negligible


def _relative_gap(primal: float, dual: float) -> float:
    """Duality gap divided by the dual objective."""
    return (primal - dual) / max(abs(dual), TINY)

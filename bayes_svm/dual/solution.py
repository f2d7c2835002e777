"""The exact dual solution of one SVM: made once, read by everything else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayes_svm.dual.polish import coefficients_of_partition, margin_targets, optimality_violation, polish
from bayes_svm.dual.problem import DualProblem, bound_slack, snapped
from bayes_svm.dual.working_set import descend
from bayes_svm.utils.types import Array, Indices
from bayes_svm.utils.warn import warn

__all__ = ["DualSolution", "intercept_interval", "pinning_points", "solve", "warn_if_inexact"]


EXACT_RESIDUAL = 1e-9  # a solution is exact below this multiple of its scale
EXACT_GAP = 1e-9  # and its relative duality gap below this,
ROUNDING_RESIDUAL = 1e-12  # or its residual below this: a huge C makes a gap even of rounding
UNIQUE = 1e-8  # length of the interval of optimal intercepts that is a point, up to rounding
TIE_BREAKS = (1e-7, 1e-9, 1e-11, 1e-13)  # tried in turn until the unperturbed solution is exact to rounding:
SETTLED = 10.0  # up to this multiple of it
EPSILON, TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)
ROUNDING_SHARE, MOST_ROUNDING = 1e-5, 100.0  # see DualSolution.scale


NOT_CONVEX = (
    "the kernel is not positive semi-definite, so this is a stationary point, not the optimum: choose "
    "another kernel or other parameters"
)
STOPPED = (
    "stopped after max_iter={max_iter} steps with a violation of {violation:.2g}: raise max_iter, scale "
    "the features, or lower C"
)
INEXACT = (
    "a KKT residual of {kkt:.2g} and a relative duality gap of {gap:.2g} are the best that double "
    "precision gives here: scale the features, or lower C"
)


@dataclass(frozen=True)
class DualSolution:
    r"""Optimum of the SVM dual, with what is needed to judge how exact it is.

    .. math:: f(x) = \sum_g \beta_g k(x_g, x) + b, \qquad \beta_g = y_g \alpha_g,
              \quad 0 \le \alpha_g \le C_g

    Parameters
    ----------
    problem : DualProblem
        What it is the optimum of.
    beta : array of shape (n_points,)
        Signed dual coefficients of the merged points.
    intercept : float
    values : array of shape (n_points,)
        ``f(x_g)``.
    free : array of shape (n_free,)
        Points with ``0 < alpha < C``: an independent set on the margin.
    kkt_residual : float
        Largest violation of the optimality conditions, in units of the decision value.
    scale : float
        Size of the numbers the residual is made of: the larger of 1 and ``max |f|``; or, up to
        100 times that, 1e-5 of the largest ``sum |beta k|``, whose rounding no solver can undo.
    rounding : float
        Rounding of that largest ``sum |beta k|``: no residual is known better.
    primal, dual : float
        Objective values ``|w|^2 / 2 + sum C xi`` and ``sum alpha - |w|^2 / 2``.
    smo_steps, pivots : int
        Work done: pair updates of the first solve, exchanges of the polish.
    reason : str or None
        None for an exact solution; otherwise why it is not.
    stable : bool
        False if the intercept is not unique, which needs all coefficients to be at bounds. The
        middle of its interval is then taken, as in LIBSVM.
    tie_break : float
        Relative change of the margin targets under which ``free`` was found; 0 if the polish
        did not end, and ``free`` is what the first solver left.
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
    stable: bool
    tie_break: float

    @property
    def exact(self) -> bool:
        """Whether the KKT residual and the relative gap are at most 1e-9, or rounding."""
        return self.reason is None

    @property
    def relative_gap(self) -> float:
        """Duality gap divided by the dual objective."""
        return (self.primal - self.dual) / max(abs(self.dual), TINY)

    @property
    def alpha(self) -> Array:
        """Dual coefficients of the merged points, at least 0."""
        return np.abs(self.beta)

    @property
    def slack(self) -> Array:
        """``xi_g = max(0, 1 - y_g f(x_g))`` of the merged points."""
        return np.maximum(0.0, 1.0 - self.problem.label * self.values)

    @cached_property
    def n_free(self) -> int:
        """Number of points strictly between their bounds, a null point included."""
        bound = self.problem.bound
        margin = bound_slack(self.beta, bound)
        inside = (self.alpha > margin) & (self.alpha < bound - margin)
        return int(np.sum(inside | (self.problem.label == 0)))

    @property
    def n_bounded(self) -> int:
        """Number of points at their upper bound."""
        bound = self.problem.bound
        return int(np.sum(self.alpha >= bound - bound_slack(self.beta, bound)))

    @property
    def row_beta(self) -> Array:
        """Signed dual coefficients of the rows; equal rows share their point's in proportion."""
        problem = self.problem
        used = problem.group >= 0
        beta = np.zeros(len(problem.group))
        points = problem.group[used]
        beta[used] = self.beta[points] * problem.row_bound[used] / problem.bound[points]
        return beta

    def detached(self) -> DualSolution:
        """The same solution without the kernel matrix, as a fitted estimator stores it."""
        return replace(self, problem=self.problem.detached())


def warn_if_inexact(solution: DualSolution) -> None:
    """Warn with the reason and the gap if the solution is not exact."""
    if not solution.exact:
        warn(
            f"The solution is not exact: {solution.reason} (KKT residual {solution.kkt_residual:.2g}, "
            f"relative duality gap {solution.relative_gap:.2g}).",
            ConvergenceWarning,
        )


def intercept_interval(beta: Array, gradient: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """Ends of the interval of optimal intercepts; ``gradient = K beta - label``."""
    slack = bound_slack(beta, upper - lower)
    at_least = -gradient[beta < upper - slack]
    at_most = -gradient[beta > lower + slack]
    return (
        float(at_least.max()) if len(at_least) else -np.inf,
        float(at_most.min()) if len(at_most) else np.inf,
    )


def pinning_points(solution: DualSolution) -> Indices:
    """The free points, or, where there is none, the one that pins the lowest optimal intercept."""
    if len(solution.free):
        return solution.free
    gradient = solution.values - solution.intercept - solution.problem.label
    rising = solution.beta < solution.problem.upper
    return np.array([np.where(rising, -gradient, -np.inf).argmax()], dtype=np.intp)


def solve(
    problem: DualProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    start: Array | None = None,
) -> DualSolution:
    """Solve a problem: sequential minimal optimisation, then an exact polish.

    Parameters
    ----------
    problem : DualProblem
    tol : float
        Violation of optimality at which the first solver hands over to the polish; what is left
        of it where the kernel is not positive semi-definite, and nothing can be polished.
    max_iter : int
        Limit on pair updates plus pivots; -1 for ``max(20000, 100 n)`` pair updates and
        as many pivots as it takes.
    start : array of shape (n_points,), optional
        Feasible signed coefficients to start from.

    Returns
    -------
    DualSolution
        With ``reason`` set where it is not exact.
    """
    lower, upper = problem.lower, problem.upper
    beta = np.zeros(len(problem.label)) if start is None else start.copy()
    gradient = problem.gram.product(beta) - problem.label
    budget = max(20_000, 100 * len(beta)) if max_iter < 0 else max_iter
    violation, steps = descend(problem, beta, gradient, tol, budget)
    unpolished = beta, np.flatnonzero((beta > lower) & (beta < upper))
    if not problem.convex:
        return replace(_assemble(problem, *unpolished, steps), reason=NOT_CONVEX)
    if 0 <= max_iter <= steps and violation > tol:
        reason = STOPPED.format(max_iter=max_iter, violation=violation)
        return replace(_assemble(problem, *unpolished, steps), reason=reason)
    attempts: list[DualSolution] = []
    pivots = 0
    for tie_break in TIE_BREAKS:
        polished = polish(problem, margin_targets(problem.label, tie_break), beta, violation)
        found = polished.reason is None
        beta, free = polished.beta, polished.free
        pivots += polished.pivots
        work = (free, steps, pivots, tie_break if found else 0.0)
        if found and len(free):
            unperturbed, _ = coefficients_of_partition(problem, problem.label, beta, free)
            attempts.append(_assemble(problem, unperturbed, *work))
        if not (attempts and attempts[-1].exact):
            # Where the free points nearly depend on each other, the perturbed optimum is the better one:
            # at the exact targets its coefficients may leave their bounds, or not even sum to 0.
            attempts.append(_assemble(problem, beta, *work))
        if attempts[-1].exact and attempts[-1].kkt_residual <= SETTLED * attempts[-1].rounding:
            return attempts[-1]
        violation = attempts[-1].kkt_residual
        if not found:
            break
    if not any(attempt.exact for attempt in attempts):
        attempts.append(_assemble(problem, *unpolished, steps))
    return min(attempts, key=lambda attempt: (not attempt.exact, attempt.kkt_residual))


def _assemble(
    problem: DualProblem,
    beta: Array,
    free: Indices,
    steps: int,
    pivots: int = 0,
    tie_break: float = 0.0,
) -> DualSolution:
    """Intercept, values, and how exact they are, for given coefficients."""
    lower, upper = problem.lower, problem.upper
    kernel_part = problem.gram.product(beta)
    low, high = intercept_interval(beta, kernel_part - problem.label, lower, upper)
    intercept = (low + high) / 2
    margin = bound_slack(beta, problem.bound)
    any_free = bool(np.any((beta > lower + margin) & (beta < upper - margin)))
    values = kernel_part + intercept
    residual = optimality_violation(snapped(beta, lower, upper), values - problem.label, lower, upper)
    total = abs(float(beta.sum()))
    kkt = max(float(residual.max()), total, total / max(float(np.abs(beta).max()), TINY))
    scale = max(1.0, float(np.abs(values).max()))
    summands = problem.gram.largest_sum(beta)
    rounding = EPSILON * max(scale, summands)
    all_rounding = kkt <= ROUNDING_RESIDUAL * scale
    # Large summands leave values on a coarse grid, where a residual of zero means nothing.
    kkt = max(kkt, rounding)
    if EXACT_RESIDUAL * scale < kkt <= EXACT_RESIDUAL * MOST_ROUNDING * scale:
        scale = min(max(scale, ROUNDING_SHARE * summands), MOST_ROUNDING * scale)
    primal, dual = problem.objectives(beta, values, intercept)
    gap = abs(primal - dual) / max(abs(dual), TINY)
    exact = kkt <= EXACT_RESIDUAL * scale and (gap <= EXACT_GAP or all_rounding)
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
        stable=any_free or high - low <= UNIQUE,
        tie_break=tie_break,
    )

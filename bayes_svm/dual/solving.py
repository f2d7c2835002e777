"""Solving the dual: sequential minimal optimisation, then an exact polish, or all points on the margin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayes_svm.dual.low_rank import low_rank_start
from bayes_svm.dual.polish import (
    MAX_ROUNDS,
    Polished,
    at_exact_targets,
    exchanged,
    margin_targets,
    polish,
)
from bayes_svm.dual.problem import DualProblem, intercept_interval
from bayes_svm.dual.solution import (
    EXACT_RESIDUAL,
    ROUNDING_RESIDUAL,
    TINY,
    DualSolution,
    assembled,
    is_final,
    off_margin,
)
from bayes_svm.dual.tableau import FreeSystem, independent_points
from bayes_svm.dual.working_set import lower_violation
from bayes_svm.utils.types import Array

__all__ = ["RIDGE", "solve", "solve_on_margin"]


# These perturbations of the targets are tried in turn, until the solution at the exact targets is exact to
# rounding.
TIE_BREAKS = (1e-7, 1e-9, 1e-11, 1e-13)
# After the first, a polish may take so many tableaux, and one more for so many free points.
FEW_ROUNDS, FREE_PER_ROUND = 8, 16
# After so many pair updates per point a start by the rank of the kernel is tried. It is taken if it violates
# optimality by at most NEAR_ENOUGH.
FEW_UPDATES, NEAR_ENOUGH = 5, 0.01
# A point whose residual is at most ON_MARGIN may be on the margin. Of at most so many such points
# coefficients are sought that all share, with this ridge.
ON_MARGIN, MOST_ON_MARGIN, RIDGE = 1e-6, 1000, 1e-12


NOT_CONVEX = (
    "the kernel is not positive semi-definite, so this is a stationary point, not the optimum: choose "
    "another kernel or other parameters, or compute the values in double precision if they are rounded"
)
STOPPED = (
    "stopped after max_iter={max_iter} steps with a violation of {violation:.2g}: raise max_iter, scale "
    "the features, or lower C"
)


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused
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
        The problem to solve.
    tol : float
        Violation of optimality at which the first solver hands over to the polish. It remains where the
        kernel is not positive semi-definite, since such a problem cannot be polished.
    max_iter : int
        Limit on the pair updates; the solution is not polished if they end at it above ``tol``. -1 for
        ``max(20000, 100 n)`` pair updates, and a polish in any case.
    start : array of shape (n_points,), optional
        Feasible signed coefficients to start from.

    Returns
    -------
    DualSolution
        The solution; ``reason`` says why if it is not exact.

    Raises
    ------
    ValueError
        If its decision values overflow.
    """
    lower, upper = problem.lower, problem.upper
    if start is not None and (near := _settled(problem, start)) is not None:
        return near
    beta = np.zeros(len(problem.label)) if start is None else start.copy()
    beta, violation, steps = _approximate(problem, beta, tol, max_iter)
    unpolished = beta, ((beta > lower) & (beta < upper)).nonzero()[0]
    if not problem.convex:
        return replace(assembled(problem, *unpolished, steps), reason=NOT_CONVEX, polished=False)
    if 0 <= max_iter <= steps and violation > tol:
        reason = STOPPED.format(max_iter=max_iter, violation=violation)
        return replace(assembled(problem, *unpolished, steps), reason=reason, polished=False)
    attempts: list[DualSolution] = []
    pivots, rounds, least = 0, MAX_ROUNDS, np.inf
    for tie_break in TIE_BREAKS:
        polished = polish(problem, margin_targets(problem.label, tie_break), beta, violation, rounds)
        found = polished.reason is None
        beta, free = polished.beta, polished.free
        pivots += polished.pivots
        work = (free, steps, pivots, tie_break if found else 0.0)
        if found and len(free):
            attempts.append(_unperturbed(problem, polished, steps, pivots, tie_break))
        if not (attempts and attempts[-1].exact):
            # Where free points nearly depend on each other, the optimum at the perturbed targets may be the
            # better one: at the exact targets coefficients may leave their bounds, or not even sum to 0.
            attempts.append(assembled(problem, beta, *work))
        if is_final(attempts[-1]):
            return attempts[-1]
        violation = attempts[-1].kkt_residual
        # Where rounding decides which points are free, smaller perturbations do not help any more, and
        # exchanges go on for ever. The next targets are near these.
        if not found or violation > least / 2:
            break
        if attempts[-1].exact:
            least = violation
        rounds = min(MAX_ROUNDS, FEW_ROUNDS + len(free) // FREE_PER_ROUND)
    if not any(attempt.exact for attempt in attempts):
        least_off = min(attempts, key=lambda attempt: attempt.kkt_residual)
        shared = solve_on_margin(problem, least_off.beta, least_off.gradient + least_off.intercept)
        if shared is not None:
            free = independent_points(problem.gram, shared.free, problem.shift)
            return replace(shared, free=free, smo_steps=steps, pivots=pivots)
        attempts.append(assembled(problem, *unpolished, steps))
    best = min(attempts, key=lambda attempt: (not attempt.exact, attempt.kkt_residual, off_margin(attempt)))
    if best.exact and off_margin(best) > EXACT_RESIDUAL * best.scale:
        return replace(best, tie_break=0.0)
    return best


def solve_on_margin(
    problem: DualProblem, beta: Array, residual: Array, n_free: int = 0
) -> DualSolution | None:
    """The solution, if points near the margin are those that are on it, dependent or not.

    Of points on a circle that are all on the margin many sets of coefficients are optimal, and rounding
    decides which of the points can be free alone. Here all are, as long as they stay within their bounds.

    Parameters
    ----------
    problem : DualProblem
        A convex problem.
    beta : array of shape (n_points,)
        Coefficients within their bounds; of those near the margin only the sum in each class matters.
    residual : array of shape (n_points,)
        Residuals, which tell what is near the margin.
    n_free : int, default=0
        Nothing is tried if no more points than this are near the margin.

    Returns
    -------
    DualSolution or None
        The solution, whose free points may be dependent; None if this is none, to rounding.
    """
    lower, upper, beta = problem.lower, problem.upper, beta.copy()
    free = ((np.abs(residual) <= ON_MARGIN) & (upper > lower)).nonzero()[0]
    if len(free) <= n_free:
        return None
    for label in (-1.0, 1.0):
        own = free[problem.label[free] == label]
        # All with the same share of their bounds.
        beta[own] = problem.bound[own] * (beta[own].sum() / max(problem.bound[own].sum(), TINY))
    while 0 < len(free) <= MOST_ON_MARGIN:
        try:
            system = FreeSystem(problem.gram, free, problem.shift, RIDGE)
        except np.linalg.LinAlgError:
            return None
        wanted = problem.label[free] - problem.gram.product(beta)[free]
        moved = beta[free] + system.solve(wanted, -float(beta.sum()))[0]
        beta[free] = np.clip(moved, lower[free], upper[free])
        within = beta[free] == moved
        if within.all():
            solution = assembled(problem, beta, free, 0)
            residual_left = max(solution.kkt_residual, off_margin(solution))
            settled = solution.exact and residual_left <= ROUNDING_RESIDUAL * solution.scale
            return solution if settled else None
        free = free[within]
    return None


def _approximate(problem: DualProblem, beta: Array, tol: float, max_iter: int) -> tuple[Array, float, int]:
    """Coefficients from which the polish starts, their violation of optimality, and the pair updates."""
    gradient = problem.gram.product(beta) - problem.label
    most = max(20_000, 100 * len(beta)) if max_iter < 0 else max_iter
    few = FEW_UPDATES * len(beta) if max_iter < 0 and problem.convex else most
    violation, steps = lower_violation(problem, beta, gradient, tol, min(few, most))
    if violation <= tol or steps >= most:
        return beta, violation, steps
    # Pair updates converge slowly here. If that is because the rank is low, there is a better way.
    start = low_rank_start(problem)
    if start is not None:
        ends = intercept_interval(
            start, problem.gram.product(start) - problem.label, problem.lower, problem.upper
        )
        if ends[0] - ends[1] <= min(violation, NEAR_ENOUGH):
            return start, max(0.0, ends[0] - ends[1]), steps
    violation, more = lower_violation(problem, beta, gradient, tol, most - steps)
    return beta, violation, steps + more


def _settled(problem: DualProblem, start: Array) -> DualSolution | None:
    """The solution, if a few exchanges lead there from ``start``."""
    if not problem.convex:
        return None
    polished = exchanged(problem, margin_targets(problem.label, TIE_BREAKS[0]), start)
    if polished is None:
        return None
    solution = _unperturbed(problem, polished, 0, polished.pivots, TIE_BREAKS[0])
    return solution if is_final(solution) else None


def _unperturbed(
    problem: DualProblem, polished: Polished, steps: int, pivots: int, tie_break: float
) -> DualSolution:
    """The solution at the exact targets with the free points of the polish."""
    free, of_fixed = polished.free, polished.of_fixed
    beta = at_exact_targets(problem, polished.beta, free, of_fixed)
    return assembled(problem, beta, free, steps, pivots, tie_break, of_fixed)

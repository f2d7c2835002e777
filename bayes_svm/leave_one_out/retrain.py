"""Leaving out by solving the remaining problem: the reference method, and the last resort of the paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayes_svm._core.removals import Removals
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solution import DualSolution
from bayes_svm.dual.solving import solve, solve_on_margin
from bayes_svm.leave_one_out.outcomes import Outcomes, Remainders
from bayes_svm.leave_one_out.start import Origin
from bayes_svm.utils.types import Array

__all__ = ["end_solved", "retrain"]


# The first solver hands over to the polish at this violation of optimality.
TIGHT = 1e-4
# Where there is no polish, it stops at SVC's default tolerance.
LOOSE = 1e-3


def retrain(
    problem: DualProblem,
    case: Removals,
    *,
    start: DualSolution | None = None,
    max_iter: int = -1,
) -> Outcomes:
    """Solve the problem with the upper bounds of one case's points lowered.

    Parameters
    ----------
    problem : DualProblem
        The whole problem.
    case : Removals
        A single case.
    start : DualSolution, optional
        Solution of the whole problem to start from. By default the solver starts from zero.
    max_iter : int
        As in :func:`bayes_svm.dual.solving.solve`.

    Returns
    -------
    Outcomes
        What is known of the case.
    """
    remaining = replace(problem, bound=case.bounds(problem.bound, 0))
    if start is not None and problem.convex:
        # All points on the margin may stay there.
        kept = np.clip(start.beta, remaining.lower, remaining.upper)
        shared = solve_on_margin(remaining, kept, start.values - problem.label, len(start.free))
        if shared is not None:
            return _outcome_of(shared, case, _status_of(shared), events=0)
    tol = TIGHT if problem.convex else LOOSE
    seeds = [None] if start is None else [_seeded(remaining, start), None]
    # If the start at the whole solution does not lead to an exact one, start from zero.
    for seed in seeds:
        solution = solve(remaining, tol=tol, max_iter=max_iter, start=seed)
        if solution.exact or not problem.convex:
            break
    return _outcome_of(solution, case, _status_of(solution), events=solution.pivots)


def _status_of(solution: DualSolution) -> str:
    return "inexact" if not solution.exact else "re-trained" if solution.stable else "unstable"


def end_solved(
    origin: Origin, remaining: DualProblem, case: Removals, beta: Array, status: str, *, events: int
) -> Outcomes | None:
    """Solve a case's remaining problem from the end of its path, near which its solution is.

    Parameters
    ----------
    origin : Origin
        The solution from which the path started.
    remaining : DualProblem
        The problem without the case.
    case : Removals
        The single case.
    beta : array of shape (n_points,)
        Signed coefficients at the end of the path.
    status : str
        Status of the case, unless its intercept is not unique.
    events : int
        Number of events on the path.

    Returns
    -------
    Outcomes or None
        What is known of the case; None if the solution is not exact.
    """
    lower, upper = remaining.lower, remaining.upper
    kept, n_free = np.clip(origin.exact_beta, lower, upper), len(origin.system.free)
    solution = solve_on_margin(remaining, kept, origin.exact_residual, n_free)
    if solution is None:
        solution = solve(remaining, start=np.clip(beta, lower, upper))
    if not solution.exact:
        return None
    status = status if solution.stable else "unstable"
    return _outcome_of(solution, case, status, events=events + solution.pivots)


def _outcome_of(solution: DualSolution, case: Removals, status: str, *, events: int) -> Outcomes:
    """What is known of a case whose remaining problem has been solved.

    Parameters
    ----------
    solution : DualSolution
        Solution of the remaining problem.
    case : Removals
        A single case.
    status : str
        As in :class:`bayes_svm.LeaveOneOut`.
    events : int
        Number of changes of the partition.
    """
    outcome = Outcomes.open(case, remainders=True)
    outcome.set_values(slice(None), solution.values[case.points])
    outcome.status[0], outcome.events[0] = status, events
    outcome.kkt_residual[0], outcome.gap[0] = solution.kkt_residual, solution.relative_gap
    outcome.keep(Remainders.equal(np.zeros(1, dtype=np.intp), solution.beta, solution.intercept))
    return outcome


def _seeded(remaining: DualProblem, start: DualSolution) -> Array:
    """Feasible coefficients near ``start``: what the points lose goes to points near the margin.

    If the free points can take it, each takes its share of that, and all remain free.
    """
    lower, upper = remaining.lower, remaining.upper
    beta = np.clip(start.beta, lower, upper)
    missing = float((start.beta - beta).sum())
    room = np.maximum(0.0, upper - beta if missing > 0 else beta - lower)
    room[beta != start.beta] = 0.0
    of_free = float(room[start.free].sum())
    if abs(missing) < of_free:
        beta[start.free] += room[start.free] * (missing / of_free)
        return np.clip(beta, lower, upper)
    order = np.argsort(np.abs(start.values - remaining.label), kind="stable")
    filled = np.minimum(np.cumsum(room[order]), abs(missing))
    beta[order] += np.sign(missing) * np.diff(filled, prepend=0.0)
    return np.clip(beta, lower, upper)

"""Leave-one-out by solving the remaining problem: the reference, and the fallback."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayes_svm.problem import DualProblem
from bayes_svm.solution import DualSolution, solve

__all__ = ["LeftOut", "retrain"]

Array = NDArray[np.float64]

TIGHT = 1e-4  # violation of optimality at which the first solver hands over to the polish
LOOSE = 1e-3  # the same where there is no polish: an SVC's own tolerance


@dataclass(frozen=True)
class LeftOut:
    """Outcome for one point of the problem, with part of its weight removed.

    Parameters
    ----------
    value : float
        Decision value at the point.
    status : str
        "path", "re-trained", "unstable" or "inexact".
    events : int
        Changes of the partition on the way.
    kkt_residual, gap : float
        Largest violation of the optimality conditions of the remaining problem over all its
        points, and its relative duality gap.
    """

    value: float
    status: str
    events: int
    kkt_residual: float
    gap: float


def retrain(
    problem: DualProblem,
    point: int,
    rest: float,
    *,
    start: DualSolution | None = None,
    max_iter: int = -1,
) -> LeftOut:
    """Solve the problem with one point's upper bound lowered to ``rest``.

    Parameters
    ----------
    problem : DualProblem
    point : int
    rest : float
        What is left of the point's bound; 0 leaves it out.
    start : DualSolution, optional
        Solution of the whole problem to start from; without it, from zero.
    max_iter : int
        As in :func:`bayes_svm.solution.solve`.
    """
    bound = problem.bound.copy()
    bound[point] = rest
    remaining = replace(problem, bound=bound)
    seed = None if start is None else _seeded(remaining, start, point)
    solution = solve(remaining, tol=TIGHT if problem.convex else LOOSE, max_iter=max_iter, start=seed)
    status = "inexact" if not solution.exact else "re-trained" if solution.stable else "unstable"
    return LeftOut(
        value=float(solution.values[point]),
        status=status,
        events=solution.pivots,
        kkt_residual=solution.kkt_residual,
        gap=solution.relative_gap,
    )


def _seeded(remaining: DualProblem, start: DualSolution, point: int) -> Array:
    """Feasible coefficients near ``start``: what the point loses goes to points near the margin."""
    lower, upper = remaining.lower, remaining.upper
    beta = np.clip(start.beta, lower, upper)
    missing = float(start.beta[point] - beta[point])
    room = np.maximum(0.0, upper - beta if missing > 0 else beta - lower)
    room[point] = 0.0
    order = np.argsort(np.abs(start.values - start.label), kind="stable")
    filled = np.minimum(np.cumsum(room[order]), abs(missing))
    beta[order] += np.sign(missing) * np.diff(filled, prepend=0.0)
    return np.clip(beta, lower, upper)

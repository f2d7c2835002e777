"""One case with many points, followed on tableaus of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayes_svm._core.follow import DONE, TOO_MANY_CHANGES, Base, Motion, follow
from bayes_svm._core.removals import Removals
from bayes_svm.dual.polish import (
    MAX_CHANGES,
    beta_at,
    margin_targets,
    scratch,
    state_at,
)
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solution import solve
from bayes_svm.dual.tableau import Tableau, columns_outside, flat_curvature
from bayes_svm.leave_one_out.outcomes import Outcomes
from bayes_svm.leave_one_out.retrain import outcome_of
from bayes_svm.leave_one_out.start import PathBase
from bayes_svm.utils.types import Array, Indices

__all__ = ["follow_anew"]


MAX_TABLEAUS = 200
EVENTS = 20  # per row of the tableau
FAR = 3.0  # residual from which on a point is not expected to take part; the end is checked on all


def follow_anew(base: PathBase, case: Removals) -> Outcomes | None:
    """Move all points of one case along a common parameter, with a new tableau when it pays.

    The points of the case are no rows of the tableau: only what they do to the others is.
    Where the path ends, the remaining problem is polished like any other, which also lets
    go of points that would use less than the part of their bound they keep.

    Returns None if the path could not be followed to its end.
    """
    remaining = replace(base.problem, bound=case.bounds(base.problem.bound, 0))
    beta, events, time = base.beta.copy(), 0, 0.0
    moved = case.points[np.abs(beta[case.points]) > remaining.bound[case.points]]
    goal = remaining.label[moved] * remaining.bound[moved]
    targets = margin_targets(remaining.label, base.tie_break)
    for _ in range(MAX_TABLEAUS):
        try:
            beta, used, passed = _stretch(remaining, targets, beta, moved, goal, 1.0 - time)
        except np.linalg.LinAlgError:
            return None
        events, time = events + used, time + passed
        if passed == 0.0 or time >= 1.0:
            break
    if time < 1.0:
        return None
    beta[moved] = goal
    solution = solve(remaining, start=np.clip(beta, remaining.lower, remaining.upper))
    if not solution.exact:
        return None
    status = "path" if solution.stable else "unstable"
    return outcome_of(solution, case, status, events=events + solution.pivots)


def _stretch(
    problem: DualProblem, targets: Array, beta: Array, moved: Indices, goal: Array, time: float
) -> tuple[Array, int, float]:
    """Follow the path from ``beta`` for ``time``, or until another tableau is due.

    Returns
    -------
    (beta, events, time passed)
        No time where there is no way on.
    """
    lower, upper = problem.lower, problem.upper
    still = np.zeros(len(beta), dtype=bool)
    still[moved] = True
    free = np.flatnonzero((beta > lower) & (beta < upper) & ~still)
    if len(free) == 0:
        return beta, 0, 0.0
    system = problem.free_system(free)
    residual = problem.gram.product(beta) - targets
    residual -= residual[free].mean()
    residual[free] = 0.0
    others = ~still & (upper > lower) & (np.abs(residual) <= FAR)
    others[free] = False
    tableau = Tableau.sweep(problem.gram, system, np.flatnonzero(others))
    rows, rest = tableau.rows, tableau.rows[len(free) :]
    speed = (goal - beta[moved]) / time
    loop = Base(
        tableau.W,
        tableau.base_in,
        lower[rows],
        upper[rows],
        flat_curvature(problem.gram, rows, problem.shift),
    )
    motion = Motion(
        direction=speed @ columns_outside(problem.gram, system, rest, moved, problem.gram.block(free, rest)),
        goal=np.zeros(len(rows) + 1),
        drift=np.zeros(len(rows)),
        needed=-float(speed.sum()),
        watched=-1,
        sign=0.0,
        steepest=0.0,
        margin=0.0,
    )
    state = state_at(beta[rows], residual[rows], tableau.base_in, lower[rows], upper[rows], MAX_CHANGES)
    _, events, outcome, passed = follow(
        loop, motion, state, 0, time, EVENTS * len(rows) + 1000, scratch(len(rows), MAX_CHANGES)
    )
    if outcome not in (DONE, TOO_MANY_CHANGES):
        return beta, events, 0.0
    beta = beta.copy()
    beta[rows] = beta_at(state, lower[rows], upper[rows])
    beta[moved] += passed * speed
    return beta, events, time if outcome == DONE else passed

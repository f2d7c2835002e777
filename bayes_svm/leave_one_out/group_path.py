"""One case with many points, followed on tableaus of its own: see ``docs/explanation/leave_one_out.md``."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayes_svm._core.records import DONE, TOO_MANY_CHANGES, Motion
from bayes_svm._core.removals import Removals
from bayes_svm.dual.polish import margin_targets
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.tableau import Tableau
from bayes_svm.dual.tableau_path import follow_on, motion_of
from bayes_svm.leave_one_out.outcomes import Outcomes
from bayes_svm.leave_one_out.retrain import end_solved
from bayes_svm.leave_one_out.start import Origin
from bayes_svm.utils.types import Array, Indices

__all__ = ["follow_anew"]


MAX_TABLEAUS = 200
# A point with a larger residual is not expected to have an event.
FAR_FROM_MARGIN = 3.0


@dataclass(frozen=True)
class _GroupPath:
    """The path of one case.

    Parameters
    ----------
    problem : DualProblem
        The problem without the case.
    targets : array of shape (n_points,)
        Margin targets.
    moved : array of shape (n_moved,)
        Points whose coefficients the path moves.
    goal : array of shape (n_moved,)
        Where these coefficients end.
    """

    problem: DualProblem
    targets: Array
    moved: Indices
    goal: Array


def follow_anew(origin: Origin, case: Removals) -> Outcomes | None:
    """Move all points of one case along one parameter, with a new tableau whenever that costs less.

    The points of the case are no rows of the tableau; they only give the other points their rates. At the
    end of the path the remaining problem is polished like any other. That also frees points that would use
    less than the part of their bound that they keep.

    Parameters
    ----------
    origin : Origin
        The solution from which the path starts.
    case : Removals
        The points that leave: a single case.

    Returns
    -------
    Outcomes or None
        What is known of the case; None if the path could not be followed to its end.
    """
    remaining = replace(origin.problem, bound=case.bounds(origin.problem.bound, 0))
    beta, events, time = origin.beta.copy(), 0, 0.0
    moved = case.points[np.abs(beta[case.points]) > remaining.bound[case.points]]
    goal = remaining.label[moved] * remaining.bound[moved]
    path = _GroupPath(remaining, margin_targets(remaining.label, origin.tie_break), moved, goal)
    for _ in range(MAX_TABLEAUS):
        try:
            found = _follow_once(path, beta, 1.0 - time)
        except np.linalg.LinAlgError:
            return None
        if found is None:
            return None
        beta, used, passed = found
        events, time = events + used, time + passed
        if passed == 0.0 or time >= 1.0:
            break
    if time < 1.0:
        return None
    beta[moved] = goal
    return end_solved(origin, remaining, case, beta, "path", events=events)


def _follow_once(path: _GroupPath, beta: Array, time: float) -> tuple[Array, int, float] | None:
    """Follow the path from ``beta`` for ``time``, or until another tableau is due.

    Returns
    -------
    (beta, events, time passed), or None
        Where the path has come to; None if there is no way on.
    """
    problem, moved = path.problem, path.moved
    free = _free_of(path, beta)
    if len(free) == 0:
        return None
    residual = problem.gram.product(beta) - path.targets
    residual -= residual[free].mean()
    residual[free] = 0.0
    tableau = Tableau.sweep(problem.gram, problem.free_system(free), _expected(path, residual, free))
    speed = (path.goal - beta[moved]) / time
    motion = _motion(problem, tableau, moved, speed)
    stretch = follow_on(problem, tableau, motion, beta, residual[tableau.rows], time)
    if stretch.outcome not in (DONE, TOO_MANY_CHANGES):
        return None
    passed = time if stretch.outcome == DONE else stretch.time
    stretch.beta[moved] += stretch.time * speed
    return stretch.beta, stretch.events, passed


def _free_of(path: _GroupPath, beta: Array) -> Indices:
    """Points strictly between their bounds, without those that the path moves."""
    free = (beta > path.problem.lower) & (beta < path.problem.upper)
    free[path.moved] = False
    return free.nonzero()[0]


def _expected(path: _GroupPath, residual: Array, free: Indices) -> Indices:
    """Points outside ``free`` that may have an event; the end of the path is checked on all points."""
    others = (path.problem.upper > path.problem.lower) & (np.abs(residual) <= FAR_FROM_MARGIN)
    others[path.moved] = False
    others[free] = False
    return others.nonzero()[0]


def _motion(problem: DualProblem, tableau: Tableau, moved: Indices, speed: Array) -> Motion:
    """What the moved points, which are no rows of the tableau, do to its rows."""
    free, others = tableau.rows[: tableau.n_free], tableau.rows[tableau.n_free :]
    system, between = problem.free_system(free), problem.gram.block(free, others)
    direction = speed @ tableau.columns_outside(problem.gram, system, moved, between)
    return motion_of(direction, np.zeros(len(tableau.rows)), -float(speed.sum()))

"""Signs of leave-one-out values that are known before the end of a path."""

from __future__ import annotations

import numpy as np

from bayes_svm._core.follow import NEVER
from bayes_svm._core.removals import Removals
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.certified import keep_their_sign
from bayes_svm.leave_one_out.outcomes import Outcomes
from bayes_svm.utils.types import Array, Indices

__all__ = ["MARGIN", "settle_at_once", "steepest_fall"]


MARGIN = 1e-5  # what a value must be clear of 0: more than the perturbation of the targets
WORTH_A_CHECK = 150  # cases from which on checks save more paths than they cost
MANY_FREE = 10  # free points with which one is sure to be left when a single point goes


def settle_at_once(solution: DualSolution, removals: Removals, outcomes: Outcomes) -> None:
    """Settle the open cases of single points whose sign no path can change.

    ``y_r f(x_r)`` never rises along the path of r: a point on the wrong side stays there. And it
    cannot fall faster than :func:`steepest_fall`. Of what is left, where it is worth a look, the
    sufficiency check of ``method="certified"`` may prove the sign.
    """
    problem = solution.problem
    cases = np.flatnonzero((outcomes.status == "") & (np.diff(removals.start) == 1))
    members = removals.start[cases]
    points, rest = removals.points[members], removals.rest[members]
    label, clear = problem.label[points], MARGIN * solution.scale
    ahead = label * solution.values[points]
    lost = np.maximum(0.0, solution.alpha[points] - rest)
    fall = steepest_fall(problem, points, lost, len(solution.free))
    settled = (ahead < -clear) | (ahead - fall > clear)
    left = np.flatnonzero(~settled)
    checkable = problem.convex and problem.label[-1] != 0 and not problem.gram.on_demand
    if checkable and len(left) >= WORTH_A_CHECK:
        settled[left] = keep_their_sign(solution, points[left], rest[left])
    chosen = cases[settled]
    outcomes.signs[members[settled]] = np.sign(solution.values[points[settled]])
    outcomes.status[chosen] = "settled"
    outcomes.kkt_residual[chosen], outcomes.gap[chosen] = solution.kkt_residual, solution.relative_gap


def steepest_fall(problem: DualProblem, points: Indices, lost: Array, n_free: int) -> Array:
    """Most that ``y f`` of each point can fall while its alpha loses ``lost``.

    Per unit of alpha it falls by the squared distance of the point from the affine hull of the
    free points, at most ``max_j |phi_r - phi_j|^2``, as long as there are any. With equal bounds
    some point is always free before the end, since all beta sum to 0. A null point is free
    always, and at the origin.
    """
    diagonal, bound = problem.gram.diagonal, problem.bound
    if problem.label[-1] == 0:
        return np.asarray(diagonal[points] * lost)
    if n_free < MANY_FREE or np.ptp(bound) > 0:
        return np.full(len(points), NEVER)
    fall, losing = np.zeros(len(points)), np.flatnonzero(lost)
    losers = points[losing]
    farthest = diagonal[losers] + diagonal.max() - 2.0 * problem.gram.smallest_of(losers)
    fall[losing] = np.maximum(farthest, 0.0) * lost[losing]
    return fall

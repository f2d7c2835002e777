"""Signs of leave-one-out values that are known before the end of a path."""

from __future__ import annotations

import numpy as np

from bayes_svm._core.records import NEVER
from bayes_svm._core.removals import Removals
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.certified import keep_their_sign
from bayes_svm.leave_one_out.outcomes import Outcomes
from bayes_svm.utils.types import Array, Indices

__all__ = ["MARGIN", "settle_at_once", "steepest_fall"]


# A sign is settled if the value is farther from 0 than this multiple of the scale, which is more than the
# targets are perturbed by.
MARGIN = 1e-5
# For at least so many cases the sufficiency checks save more time than they take.
WORTH_A_CHECK = 150
# With so many free points, one is sure to be left when a single point leaves.
MANY_FREE = 10


def settle_at_once(solution: DualSolution, removals: Removals, outcomes: Outcomes) -> None:
    """Settle the open cases of single points whose sign no path can change.

    ``y_r f(x_r)`` never rises along the path of r, so a point on the wrong side stays there. It falls by at
    most :func:`steepest_fall`, so a point far on the right side stays there too. If many cases are left,
    the sufficiency check of ``method="certified"`` may prove their signs.

    Parameters
    ----------
    solution : DualSolution
        Solution of the whole problem.
    removals : Removals
        The cases.
    outcomes : Outcomes
        What is known of them; the settled cases are written to it.
    """
    problem = solution.problem
    cases = ((outcomes.status == "") & (removals.sizes == 1)).nonzero()[0]
    members = removals.start[cases]
    points, rest = removals.points[members], removals.rest[members]
    label, clear = problem.label[points], MARGIN * solution.scale
    ahead = label * solution.values[points]
    lost = np.maximum(0.0, solution.alpha[points] - rest)
    fall = steepest_fall(problem, points, lost, len(solution.free))
    settled = (ahead < -clear) | (ahead - fall > clear)
    left = (~settled).nonzero()[0]
    checkable = problem.convex and problem.label[-1] != 0 and not problem.gram.on_demand
    if checkable and len(left) >= WORTH_A_CHECK:
        settled[left] = keep_their_sign(solution, points[left], rest[left])
    chosen = cases[settled]
    outcomes.signs[members[settled]] = np.sign(solution.values[points[settled]])
    outcomes.status[chosen] = "settled"
    outcomes.kkt_residual[chosen], outcomes.gap[chosen] = solution.kkt_residual, solution.relative_gap


def steepest_fall(problem: DualProblem, points: Indices, lost: Array, n_free: int) -> Array:
    """Most that ``y f`` of each point can fall while its alpha loses ``lost``.

    Per unit of alpha it falls by the squared distance of the point from the affine hull of the free points.
    As long as there is a free point, that is at most ``max_j |phi_r - phi_j|^2``. With equal bounds some
    point is free until the end, since all beta sum to 0. A null point is always free, and lies at the
    origin.

    Parameters
    ----------
    problem : DualProblem
        The whole problem.
    points : array of shape (n_cases,)
        The point of each case.
    lost : array of shape (n_cases,)
        What the point's alpha loses.
    n_free : int
        Number of free points of the whole solution.

    Returns
    -------
    array of shape (n_cases,)
        The bounds; ``NEVER`` where there is none.
    """
    diagonal, bound = problem.gram.diagonal, problem.bound
    if problem.label[-1] == 0:
        return np.asarray(diagonal[points] * lost)
    if n_free < MANY_FREE or np.ptp(bound) > 0:
        return np.full(len(points), NEVER)
    fall, losing = np.zeros(len(points)), lost.nonzero()[0]
    losers = points[losing]
    farthest = diagonal[losers] + diagonal.max() - 2.0 * problem.gram.smallest_of(losers)
    fall[losing] = np.maximum(farthest, 0.0) * lost[losing]
    return fall

"""A posterior of fewer points: those that are much alike are one."""

from __future__ import annotations

import numpy as np

from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.probability.posterior import Posterior
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["merged"]

# Points are alike if the cosine of the angle between their feature vectors is at least this. With 0.6 the
# log loss hardly grew on the data sets that it was chosen on.
ALIKE = 0.6
# Decimals of the cosines; one that exceeds 1 by more than the other number is no cosine.
DIGITS, IMPOSSIBLE = 9, 1e-6
# A point whose margin y f exceeds 1 by no more than this counts as a support vector.
SLACK = 1e-6


def merged(posterior: Posterior, machine: Machine, solution: DualSolution) -> Posterior:
    r"""The posterior with its active points moved onto others that are alike.

    .. math:: \frac{k(x_i, x_j)}{\sqrt{k(x_i, x_i) k(x_j, x_j)}} \ge 0.6

    A point moves to the support vector that it is most like. Points that are like none move to one another:
    first all that are like one of them, chosen so that these are many, and so on. The curvature goes with a
    point, times :math:`k(x_i, x_i) / k(x_j, x_j)`. This keeps the order of magnitude of the information
    about new points, and most rows that it is read from are support vectors, which predictions need anyway.

    Parameters
    ----------
    posterior : Posterior
        The posterior, of few active points.
    machine : Machine
        Training data, of a kernel that is not precomputed.
    solution : DualSolution
        The solution that it is the posterior at.

    Returns
    -------
    Posterior
        The posterior of the points that are left.
    """
    problem = solution.problem

    def in_order(some: Indices) -> Indices:
        """Places of points in an order that is not that of the rows."""
        rank = machine.radial_rank[machine.row_of[problem.first_row[some]]]
        return np.argsort(rank, kind="stable")

    order = in_order(posterior.points)
    points, curvature = posterior.points[order], posterior.curvature[order]
    # By their values, which are unique where coefficients are not.
    support = np.flatnonzero(problem.label * solution.values <= 1.0 + SLACK)
    support = support[in_order(support)]
    if len(points) == 0 or len(support) == 0:
        return posterior
    length = np.sqrt(np.maximum(problem.gram.diagonal, 0.0))

    def cosines(some: Indices, others: Indices) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found: Array = problem.gram.block(some, others) / length[some, None] / length[others]
        # A feature vector that is 0 up to rounding is like none.
        possible = np.abs(found) <= 1.0 + IMPOSSIBLE
        return np.where(possible, found, -1.0).round(DIGITS)  # ties despite rounding

    to_support = cosines(points, support)
    nearest = to_support.argmax(axis=1)
    moves = to_support[np.arange(len(points)), nearest] >= ALIKE
    target = np.where(moves, support[nearest], points)
    rest = points[~moves]
    if len(rest) > 1:
        target[~moves] = rest[_hubs(cosines(rest, rest) >= ALIKE)]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.square(length[points] / length[target])
    moved = (target != points) & np.isfinite(ratio) & (ratio > 0.0)
    target = np.where(moved, target, points)
    curvature = np.where(moved, curvature * ratio, curvature)
    left, place = np.unique(target, return_inverse=True)
    numbers = problem.first_row[left]
    return Posterior(
        kernel=posterior.kernel,
        rows=machine.X[numbers],
        points=left,
        numbers=numbers,
        curvature=np.asarray(np.bincount(place.ravel(), weights=curvature), dtype=np.float64),
        lam=posterior.lam,
    )


def _hubs(alike: Mask) -> Indices:
    """For each point the one that it moves to: first those that are like the most that have not moved."""
    hub = np.arange(len(alike))
    still = alike.sum(axis=1) > 1
    while still.any():
        best = int(np.argmax(np.where(still, (alike & still).sum(axis=1), -1)))
        taken = alike[best] & still
        taken[best] = True
        hub[taken] = best
        still &= ~taken
    return hub

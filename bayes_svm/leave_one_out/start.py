"""What all paths of one solution start from, and the tableau that they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.check_records import Tolerance
from bayes_svm._core.records import Base, BaseState
from bayes_svm.dual.polish import margin_targets
from bayes_svm.dual.problem import AT_BOUND, movable
from bayes_svm.dual.solution import EXACT_RESIDUAL, DualSolution
from bayes_svm.dual.tableau import Tableau, independent_points
from bayes_svm.dual.tableau_path import base_of, state_at
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["End", "Origin", "SharedTableau", "pinning_points"]


End = Literal["lowest", "highest"]

# Rounding error of a coefficient that the tableau gives, times k(x, x).
TABLEAU_ROUNDING = 1e-13
# So many points tell how much kernel values differ.
SAMPLED = 100
FEWER = "Fit on fewer points, or lower C."


class Origin:
    """The solution from which all paths start, at perturbed and at exact targets. It is read-only.

    Parameters
    ----------
    solution : DualSolution
        The solution of the whole problem.
    tie_break : float
        Perturbation of the targets, at most that of the solution. The free points of the solution are
        optimal for its perturbation and for none, and so for any between.
    remainders : bool
        Whether the machines at the ends of the paths are asked for.
    end : {"lowest", "highest"}, optional
        Without a free point: which end of the interval of optimal intercepts to start from, as if all points
        near it were free. At the lowest, coefficients can rise; at the highest, fall. By default the lowest,
        with one point.

    Attributes
    ----------
    problem : DualProblem
        The whole problem.
    lower, upper : arrays of shape (n_points,)
        Bounds of beta.
    system : FreeSystem
        The factorised system of the free points.
    beta, residual : arrays of shape (n_points,)
        Coefficients and residuals at the perturbed targets.
    exact_beta, exact_residual : arrays of shape (n_points,)
        Coefficients and residuals at the exact targets.
    intercept, perturbed_intercept : float
        Intercepts at the exact and at the perturbed targets.
    side : array of shape (n_points,)
        Sign that the residual of each point has at an optimum with its coefficient at the bound where it is.
    norm : float
        Squared norm of the kernel part of f, which the intercept does not change.
    mass : float
        Sum of all alpha.
    scale, rounding : float
        Size of the decision values, and rounding error of the largest of the sums in them.
    exact : bool
        Whether the solution is exact.
    permitted : float
        Largest residual with which the solution counts as exact.
    total_bound : float
        Sum of the upper bounds of alpha, without the null point.
    tolerance : Tolerance
        When a coefficient counts as being at a bound.
    """

    def __init__(
        self, solution: DualSolution, tie_break: float, remainders: bool, end: End | None = None
    ) -> None:
        self.remainders = remainders
        self.problem = problem = solution.problem
        self.lower, self.upper = problem.lower, problem.upper
        given_way, free = np.zeros(len(problem.label)), pinning_points(solution)
        if end and len(solution.free) == 0:
            given_way, free = _at_end(solution, end)
        # Where the intercept is not unique, the solution has the middle of its interval. The tableau needs
        # a free point: it has the end of the interval at which points at a bound have residual zero.
        shift = float(problem.label[free[0]] - solution.values[free[0]])
        self.intercept = solution.intercept + shift
        self.exact_beta = solution.beta
        self.exact_residual = solution.values + shift - problem.label
        self.norm = float(solution.beta @ (solution.values - solution.intercept))
        moves = margin_targets(problem.label, tie_break) - problem.label
        missed = -self.exact_residual[free]
        self.exact_residual[free] = 0.0
        self.tie_break = tie_break
        self.system = problem.free_system(free)
        self.beta, self.residual = solution.beta, self.exact_residual - moves
        self.perturbed_intercept = self.intercept
        if len(solution.free):
            # So small a change needs no refinement: the ends of the paths are solved at the exact targets.
            change = np.zeros(len(moves))
            change[free], intercept = self.system.solve(moves[free] + missed, 0.0, refinements=0)
            self.beta = np.clip(solution.beta + change, self.lower, self.upper)
            self.residual += problem.gram.product(change) + intercept
            self.perturbed_intercept += intercept
        elif len(free) > 1:
            self.exact_beta = solution.beta + given_way
            moved = problem.gram.product(given_way)
            self.exact_residual += moved + (missed[0] - moved[free[0]])
            self.exact_residual[free] = 0.0
            self.intercept += float(missed[0] - moved[free[0]])
            self.norm = float(self.exact_beta @ (self.exact_residual + problem.label - self.intercept))
            self.residual = self.exact_residual - moves
            self.perturbed_intercept = self.intercept
            self.beta = np.clip(self.exact_beta, self.lower, self.upper)
        self.residual[free] = 0.0
        self.side = np.where(self.exact_residual > 0, 1.0, -1.0)
        if len(solution.free) == 0:
            # Where points near the margin count as free, others near it may be on the wrong side at first.
            can_rise, can_fall = movable(solution.beta, self.lower, self.upper)
            self.side[can_rise], self.side[can_fall] = 1.0, -1.0
        self.mass = float(problem.label @ self.exact_beta)
        self.scale = max(1.0, float(np.abs(solution.values).max()))
        self.rounding = solution.rounding
        self.exact, self.permitted = solution.exact, EXACT_RESIDUAL * solution.scale
        self.total_bound = float(problem.bound[problem.label != 0].sum())
        self.tolerance = Tolerance(AT_BOUND, TABLEAU_ROUNDING / problem.shift)


def pinning_points(solution: DualSolution) -> Indices:
    """The free points, or, where there is none, the point that determines the lowest optimal intercept."""
    if len(solution.free):
        return solution.free
    can_rise = solution.beta < solution.problem.upper
    return np.array([np.where(can_rise, -solution.gradient, -np.inf).argmax()], dtype=np.intp)


def _at_end(solution: DualSolution, end: End) -> tuple[Array, Indices]:
    """Points that count as free at one end of the interval of optimal intercepts, though they are at a bound.

    Returns
    -------
    given_way : array of shape (n_points,)
        Changes of the coefficients that put all of these points on the margin. Some go beyond their bounds:
        on the way they come inside, and where one does not, it is exchanged at the end.
    free : array
        The points, which are independent.
    """
    problem, near = solution.problem, _near_end(solution, end)
    if len(near) == 0:
        return np.zeros(len(problem.label)), pinning_points(solution)
    while True:
        require_bytes(24 * len(near) ** 2, f"The kernel matrix of {len(near)} points near the margin", FEWER)
        free = np.sort(near) if len(near) == 1 else independent_points(problem.gram, near, problem.shift)
        given_way = np.zeros(len(problem.label))
        if len(free) > 1:
            missed = -solution.gradient[free]
            given_way[free], _ = problem.free_system(free).solve(missed - missed.mean(), 0.0)
        # So much is made good on the way.
        if len(free) == 1 or bool(np.all(np.abs(given_way[free]) <= 0.5 * problem.bound[free])):
            return given_way, free
        near = near[: len(near) // 2]


def _near_end(solution: DualSolution, end: End) -> Indices:
    r"""Points that may become free on the way from an end of the interval of intercepts, nearest first.

    They take up what a case loses, more of them the less their decision values differ. If it lost L, and the
    kernel between them were diagonal, these would be the points whose distance d from the nearest one is
    below the level :math:`\theta` that

    .. math:: \sum_i \max(0, \theta - d_i) = L k

    has. L is the mean bound, and k is how much the diagonal exceeds the other kernel values, which only move
    the intercept.
    """
    problem, wanted = solution.problem, -solution.gradient
    can_rise, can_fall = movable(solution.beta, problem.lower, problem.upper)
    beyond = np.where(can_rise, -wanted, np.inf) if end == "lowest" else np.where(can_fall, wanted, np.inf)
    order = np.argsort(beyond, kind="stable")[: np.count_nonzero(np.isfinite(beyond))]
    if len(order) == 0:
        return order  # no coefficient can move that way
    distance = beyond[order] - beyond[order[0]]
    block = problem.gram.block(order[:SAMPLED], order[:SAMPLED])
    curvature = float(np.diagonal(block).mean() - block.mean())
    taken_up = np.arange(1, len(order) + 1) * distance - np.cumsum(distance)
    room = float(problem.bound[order].mean()) * max(curvature, 0.0)
    return order[: max(1, int(np.searchsorted(taken_up, room, side="right")))]


@dataclass(frozen=True, eq=False)
class SharedTableau:
    """The tableau that the paths of a solution share, and their start in the order of its rows.

    Parameters
    ----------
    tableau : Tableau
        The tableau, over the free points and some others.
    position : array of shape (n_points,)
        Row of each point of the problem, -1 for a point outside the tableau.
    outside : array of shape (n_outside,)
        The points outside the first tableau, those nearest to the margin first. An extended tableau covers
        some of them.
    distance : array of shape (n_outside,)
        Their distances from the margin, negative on the wrong side.
    free_rest : array of shape (n_free, n_other)
        Kernel values between the free points and the other rows; empty if no point is outside.
    first_outside : array of shape (n_first, n_outside)
        Kernel values between the rows of the first tableau and the points outside, in single precision for a
        first check.
    base : Base
        The tableau and the bounds of its rows, as the loops take them.
    base_state : BaseState
        Positions of the rows at the origin.
    """

    tableau: Tableau
    position: Indices
    outside: Indices
    distance: Array
    free_rest: Array
    first_outside: NDArray[np.float32]
    base: Base
    base_state: BaseState

    @classmethod
    def sweep(cls, origin: Origin, rows: Mask) -> SharedTableau:
        """Tableau over the free points and some others.

        Parameters
        ----------
        origin : Origin
            The solution from which the paths start.
        rows : array of bool of shape (n_points,)
            The points to cover; the free points are covered in any case.

        Raises
        ------
        MemoryError
            If it does not fit.
        """
        rows = rows.copy()
        rows[origin.system.free] = False
        others = rows.nonzero()[0]
        _require_memory(origin, len(others))
        return cls.on(origin, Tableau.sweep(origin.problem.gram, origin.system, others))

    def extended(self, origin: Origin, points: Indices) -> SharedTableau:
        """The same tableau with some more points, in a fraction of the time that a new one takes.

        Parameters
        ----------
        origin : Origin
            The solution from which the paths start.
        points : array of shape (n_points,)
            Points outside the tableau.

        Raises
        ------
        MemoryError
            If it does not fit.
        """
        _require_memory(origin, len(self.tableau.rows) - self.tableau.n_free + len(points))
        tableau = self.tableau.extended(origin.problem.gram, origin.system, points, self.free_rest)
        return self.on(origin, tableau, self)

    @classmethod
    def on(cls, origin: Origin, tableau: Tableau, known: SharedTableau | None = None) -> SharedTableau:
        """A tableau with an origin, whose targets may be others than when the tableau was swept.

        What does not change is that of ``known``, a tableau of the same solution that covered some of the
        points.
        """
        problem, free, chosen, is_in = origin.problem, origin.system.free, tableau.rows, tableau.base_in
        others = chosen[tableau.n_free :]
        position = np.full(len(problem.label), -1)
        position[chosen] = np.arange(len(chosen))
        lower, upper = origin.lower[chosen], origin.upper[chosen]
        state = state_at(origin.beta[chosen], origin.residual[chosen], is_in, lower, upper, 0)
        base_state = BaseState(
            state.position, state.low, state.high, state.at_upper, origin.exact_beta[chosen],
            origin.exact_residual[chosen],
        )  # fmt: skip
        if known is None:
            outside = (position < 0).nonzero()[0]
            distance = origin.side[outside] * origin.exact_residual[outside]
            order = np.argsort(distance, kind="stable")
            outside, distance = outside[order], distance[order]
            # Values beyond single precision become infinite: the first check is then not clear, and a second
            # one follows.
            first_outside = problem.gram.single_block(chosen, outside)
        else:
            outside, distance, first_outside = known.outside, known.distance, known.first_outside
        return cls(
            tableau=tableau,
            position=position,
            outside=outside,
            distance=distance,
            free_rest=problem.gram.block(free, others if len(outside) else outside),
            first_outside=first_outside,
            base=base_of(problem, tableau),
            base_state=base_state,
        )


def _require_memory(origin: Origin, n_other: int) -> None:
    """Raise MemoryError if the tableau of the free points and so many others does not fit."""
    n_free = len(origin.system.free)
    size = n_free + n_other + 1
    require_bytes(
        8 * size * (size + 3 * n_free) + 4 * size * len(origin.problem.label),
        f"The leave-one-out tableau of {size - 1} points",
        FEWER,
    )

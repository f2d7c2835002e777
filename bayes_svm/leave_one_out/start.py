"""What all paths of one solution start from, and the tableaus they run on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.follow import Base
from bayes_svm._core.optimality import Tolerance
from bayes_svm._core.shrink import Start
from bayes_svm.dual.polish import margin_targets, state_at
from bayes_svm.dual.problem import AT_BOUND
from bayes_svm.dual.solution import DualSolution, pinning_points
from bayes_svm.dual.tableau import Tableau, flat_curvature
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["PathBase", "Rows"]


ROUNDING = 1e-13  # error of a coefficient times k(x, x), from the tableau


class PathBase:
    """One solution as all its paths see it, at perturbed and at exact targets. Read-only.

    Parameters
    ----------
    solution : DualSolution
    tie_break : float
        Perturbation of the targets, at most that of the solution. Its free points, optimal for
        the targets of both ends, are so for all between.
    remainders : bool
        Whether the machines that the paths end at are asked for.
    """

    def __init__(self, solution: DualSolution, tie_break: float, remainders: bool) -> None:
        self.remainders = remainders
        self.problem = problem = solution.problem
        self.lower, self.upper = problem.lower, problem.upper
        free = pinning_points(solution)
        # Where the intercept is not unique, the solution has the middle of its interval, and
        # the tableau the end at which its free point, itself at a bound, has residual zero.
        shift = float(problem.label[free[0]] - solution.values[free[0]])
        self.intercept = solution.intercept + shift
        self.exact_beta = solution.beta
        self.exact_residual = solution.values + shift - problem.label
        moves = margin_targets(problem.label, tie_break) - problem.label
        wanted = moves[free] - self.exact_residual[free]
        self.exact_residual[free] = 0.0
        self.tie_break = tie_break
        self.system = problem.free_system(free)
        self.beta, self.residual = solution.beta, self.exact_residual - moves
        if len(solution.free):
            # So small a change needs no refinement; the ends of the paths are solved at the exact targets.
            change = np.zeros(len(moves))
            change[free], intercept = self.system.solve(wanted, 0.0, refinements=0)
            self.beta = np.clip(solution.beta + change, self.lower, self.upper)
            self.residual += problem.gram.product(change) + intercept
        self.residual[free] = 0.0
        # Of the kernel part of f, which the intercept does not move.
        self.norm = float(solution.beta @ (solution.values - solution.intercept))
        self.mass = float(problem.label @ solution.beta)
        self.scale = max(1.0, float(np.abs(solution.values).max()))
        self.rounding = solution.rounding
        self.total_bound = float(problem.bound[problem.label != 0].sum())
        self.tolerance = Tolerance(AT_BOUND, ROUNDING / problem.shift)


@dataclass(frozen=True, eq=False)
class Rows:
    """The tableau over some points of a solution, and the base in its order."""

    tableau: Tableau
    position: Indices  # of each point of the problem among the rows, -1 for none
    outside: Indices  # points that are no rows, the nearest to the margin first
    distance: Array  # their distances from it
    free_rest: Array  # kernel values between the free points and the other rows, where points are outside
    free_outside: NDArray[np.float32]  # the same with the points outside, for a first check
    loop: Base
    start: Start

    @classmethod
    def sweep(cls, base: PathBase, rows: Mask) -> Rows:
        """Tableau over the free points and those that ``rows`` holds for.

        Raises
        ------
        MemoryError
            If it does not fit.
        """
        rows = rows.copy()
        rows[base.system.free] = False
        others = np.flatnonzero(rows)
        _require_memory(base, len(others))
        return cls.on(base, Tableau.sweep(base.problem.gram, base.system, others))

    def extended(self, base: PathBase, points: Indices) -> Rows:
        """The same with some more points, at a fraction of the price.

        Raises
        ------
        MemoryError
            If it does not fit.
        """
        _require_memory(base, len(self.tableau.rows) - self.tableau.n_free + len(points))
        return self.on(base, self.tableau.extended(base.problem.gram, base.system, points, self.free_rest))

    @classmethod
    def on(cls, base: PathBase, tableau: Tableau) -> Rows:
        """A tableau with the base, which may differ from that it was swept for by its targets."""
        problem, free, chosen, is_in = base.problem, base.system.free, tableau.rows, tableau.base_in
        others = chosen[tableau.n_free :]
        position = np.full(len(problem.label), -1)
        position[chosen] = np.arange(len(chosen))
        lower, upper = base.lower[chosen], base.upper[chosen]
        state = state_at(base.beta[chosen], base.residual[chosen], is_in, lower, upper, 0)
        start = Start(
            state.position, state.low, state.high, state.at_upper, base.exact_beta[chosen],
            base.exact_residual[chosen],
        )  # fmt: skip
        flat = flat_curvature(problem.gram, chosen, problem.shift)
        outside = np.flatnonzero(position < 0)
        distance = np.abs(base.exact_residual[outside])
        order = np.argsort(distance, kind="stable")
        outside = outside[order]
        with np.errstate(over="ignore"):  # a first check beyond single precision leaves it to the second
            free_outside = problem.gram.block(free, outside).astype(np.float32)
        return cls(
            tableau=tableau,
            position=position,
            outside=outside,
            distance=distance[order],
            free_rest=problem.gram.block(free, others if len(outside) else outside),
            free_outside=free_outside,
            loop=Base(tableau.W, is_in, lower, upper, flat),
            start=start,
        )


def _require_memory(base: PathBase, n_other: int) -> None:
    """The tableau of the free points and others, and room to make it."""
    n_free = len(base.system.free)
    size = n_free + n_other + 1
    require_bytes(
        8 * (size * (size + 3 * n_free) + n_free * len(base.problem.label)),
        f"The leave-one-out tableau of {size - 1} points",
        "Fit on fewer points, or lower C.",
    )

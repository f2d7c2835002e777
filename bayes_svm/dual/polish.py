"""From an approximate dual solution to the exact one, by following a path of exact optima.

The approximate solution is the exact optimum of a problem with slightly other margin
targets. Those targets are moved to the wanted ones on a straight line, and the optimum is
followed from event to event (a parametric active-set method). Nothing has to be guessed,
and no step can go uphill.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bayes_svm._core.follow import DONE, NEVER, NO_WAY_ON, Base, Motion, Scratch, State, enter_each, follow
from bayes_svm.dual.problem import DualProblem, snapped
from bayes_svm.dual.tableau import Tableau, flat_curvature, independent_points
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = [
    "Polished",
    "beta_at",
    "margin_targets",
    "optimality_violation",
    "polish",
    "scratch",
    "state_at",
]


MAX_ROUNDS = 100
MAX_CHANGES = 64  # changes of the partition after which a new tableau is cheaper
ROUNDING = 1e-12  # violation, relative to the residuals, that is no violation
INDEFINITE = 1e3  # negative curvature, in units of what counts as flat, that is not rounding


def margin_targets(label: Array, tie_break: float) -> Array:
    """Targets ``y (1 + delta)`` with distinct, fixed, tiny delta.

    On grids and categorical data dozens of points can lie exactly on the margin. Distinct
    targets leave at most rank + 1 of them there, and no event of length zero.
    """
    return np.asarray(label * (1.0 + _distinct(len(label)) * tie_break))


@lru_cache(maxsize=4)  # the polish and the paths of one problem ask for the same
def _distinct(number: int) -> Array:
    return np.random.default_rng(0).uniform(0.5, 1.0, number)


def optimality_violation(beta: Array, residual: Array, lower: Array, upper: Array) -> Array:
    """How far each point's residual is on the wrong side, given where its beta is."""
    too_low = np.where(beta < upper, np.maximum(0.0, -residual), 0.0)
    too_high = np.where(beta > lower, np.maximum(0.0, residual), 0.0)
    return np.asarray(np.maximum(too_low, too_high))


@dataclass(frozen=True)
class Polished:
    """Coefficients, an independent set of free points, pivots made, and why it failed or None."""

    beta: Array
    free: Indices
    pivots: int
    reason: str | None


def scratch(n_rows: int, capacity: int) -> Scratch:
    """Scratch memory of the compiled loops, for a number of rows and of changes."""
    return Scratch(
        rate=np.empty(n_rows + 1),
        wait=np.empty(n_rows),
        A=np.empty((capacity, capacity)),
        pivots=np.empty(capacity, dtype=np.int64),
        weights=np.empty(capacity),
        factored=np.full(capacity + 1, -1),
    )


def state_at(beta: Array, residual: Array, is_in: Mask, lower: Array, upper: Array, capacity: int) -> State:
    """Where a path starts: which points are in, what beta and residual all have."""
    at_upper = ~is_in & (beta != lower)
    return State(
        position=np.where(is_in, beta, residual),
        low=np.where(is_in, lower, np.where(at_upper, -NEVER, 0.0)),
        high=np.where(is_in, upper, np.where(at_upper, 0.0, NEVER)),
        is_in=is_in.copy(),
        at_upper=at_upper,
        changed=np.empty(capacity, dtype=np.int64),
    )


def beta_at(state: State, lower: Array, upper: Array) -> Array:
    """Coefficients of the points at a state of a path."""
    return np.where(state.is_in, state.position, np.where(state.at_upper, upper, lower))


def polish(problem: DualProblem, targets: Array, beta: Array, violation: float) -> Polished:
    """Exact optimum for ``targets``, from coefficients that violate it by ``violation``.

    Parameters
    ----------
    problem : DualProblem
    targets : array of shape (n_points,)
        Signed margin targets, usually :func:`margin_targets` of the labels.
    beta : array of shape (n_points,)
        Feasible coefficients.
    violation : float
        Their violation of optimality, which sets how wide to look for events.

    Returns
    -------
    Polished
    """
    gram, lower, upper = problem.gram, problem.lower, problem.upper
    pivots, best, free = 0, np.inf, np.empty(0, dtype=np.intp)
    beta = snapped(beta, lower, upper)
    try:
        for _ in range(MAX_ROUNDS):
            beta, free = _independent_free(problem, beta)
            gradient = gram.product(beta) - targets
            if len(free) == 0:
                free = _first_to_move(beta, gradient, lower, upper)
                if len(free) == 0:
                    return Polished(beta, free, pivots, None)
            else:
                exact = _if_optimal(problem, targets, beta, free)
                if exact is not None:
                    return Polished(exact, free, pivots, None)
            beta, free, events, outcome = _round(problem, targets, beta, gradient, free, violation)
            pivots += events
            if outcome == NO_WAY_ON:
                break
            if outcome == DONE:
                beta, residual = _resolved(problem, targets, beta, free) if len(free) else (beta, gradient)
                worst = float(optimality_violation(beta, residual, lower, upper).max())
                if worst <= ROUNDING * max(1.0, float(np.abs(residual).max())) or worst >= best / 2:
                    return Polished(beta, free, pivots, None)
                best = worst
                violation = max(violation, worst)
    except np.linalg.LinAlgError as error:
        return Polished(beta, free, pivots, str(error))
    return Polished(beta, free, pivots, f"the polish did not end in {pivots} pivots")


def _independent_free(problem: DualProblem, beta: Array) -> tuple[Array, Indices]:
    """Move dependent free points to a bound without changing any decision value."""
    for _ in range(MAX_ROUNDS):
        candidates = np.flatnonzero((beta > problem.lower) & (beta < problem.upper))
        if len(candidates) == 0:
            return beta, candidates
        free = independent_points(problem.gram, candidates, problem.shift)
        if len(free) == len(candidates):
            return beta, free
        beta = _exchanged(problem, beta, free, np.setdiff1d(candidates, free))
    raise np.linalg.LinAlgError("the free points stay dependent")


def _exchanged(problem: DualProblem, beta: Array, free: Indices, dependent: Indices) -> Array:
    """One exchange for each dependent point; the last ones can be lost in the rounding of the first."""
    lower, upper = problem.lower, problem.upper
    tableau = Tableau.sweep(problem.gram, problem.free_system(free), dependent)
    flat = flat_curvature(problem.gram, tableau.rows, problem.shift)
    if np.any(tableau.W.diagonal()[len(free) : -1] < -INDEFINITE * flat[len(free) :]):
        raise np.linalg.LinAlgError("the kernel is not positive semi-definite")
    rows, capacity = tableau.rows, 2 * len(free) + 4
    base = Base(tableau.W, tableau.base_in, lower[rows], upper[rows], flat)
    state = state_at(beta[rows], np.zeros(len(rows)), tableau.base_in, lower[rows], upper[rows], capacity)
    enter_each(base, np.arange(len(free), len(rows)), beta[rows], state, scratch(len(rows), capacity))
    beta = beta.copy()
    beta[rows] = beta_at(state, lower[rows], upper[rows])
    return beta


def _first_to_move(beta: Array, gradient: Array, lower: Array, upper: Array) -> Indices:
    """With no free point: the one that most wants to leave its bound, none at an optimum."""
    rising = np.where(beta < upper, -gradient, -np.inf)
    falling = np.where(beta > lower, -gradient, np.inf)
    if rising.max() <= falling.min():
        return np.empty(0, dtype=np.intp)
    return np.array([int(rising.argmax())], dtype=np.intp)


def _round(
    problem: DualProblem, targets: Array, beta: Array, gradient: Array, free: Indices, violation: float
) -> tuple[Array, Indices, int, int]:
    """Follow the optimum from the targets that ``beta`` is optimal for to the wanted ones."""
    lower, upper = problem.lower, problem.upper
    residual = gradient - gradient[free].mean()
    violated = optimality_violation(beta, residual, lower, upper) > 0
    violated[free] = False
    # A violated point starts a little on the right side of its own first target.
    stretch = 1.0 + _distinct(len(beta))
    drift = np.where(violated, -stretch * residual, 0.0)
    drift[free] = -residual[free]
    near = violated | (np.abs(residual) <= max(0.1, 20 * violation))
    near[free] = False
    near &= upper > lower
    system = problem.free_system(free)
    tableau = Tableau.sweep(problem.gram, system, np.flatnonzero(near))
    rows, n_free = tableau.rows, tableau.n_free
    # What the clipping of an earlier round took; rounding is not worth an event.
    lacking = -float(beta.sum())
    if abs(lacking) <= ROUNDING * float(np.abs(beta).max(initial=0.0)):
        lacking = 0.0
    drift = drift[rows]
    start = residual[rows] + drift
    start[:n_free] = 0.0
    flat = flat_curvature(problem.gram, rows, problem.shift)
    base = Base(tableau.W, tableau.base_in, lower[rows], upper[rows], flat)
    direction = drift[:n_free] @ tableau.W[:n_free] + lacking * tableau.W[-1]
    direction[n_free:-1] -= drift[n_free:]
    motion = Motion(
        direction=direction,
        goal=np.zeros(len(rows) + 1),
        drift=drift,
        needed=lacking,
        watched=-1,
        sign=0.0,
        steepest=0.0,
        margin=0.0,
    )
    state = state_at(beta[rows], start, tableau.base_in, lower[rows], upper[rows], MAX_CHANGES)
    _, events, outcome, _ = follow(
        base, motion, state, 0, 1.0, 20 * len(rows) + 1000, scratch(len(rows), MAX_CHANGES)
    )
    beta = beta.copy()
    beta[rows] = beta_at(state, lower[rows], upper[rows])
    return beta, np.sort(rows[state.is_in]), events, outcome


def _resolved(problem: DualProblem, targets: Array, beta: Array, free: Indices) -> tuple[Array, Array]:
    """Coefficients of the free points solved anew, and the residual of every point."""
    beta, intercept = coefficients_of_partition(problem, targets, beta, free)
    return beta, problem.gram.product(beta) + intercept - targets


def _if_optimal(problem: DualProblem, targets: Array, beta: Array, free: Indices) -> Array | None:
    """The exact coefficients of the present partition, if they are the optimum already."""
    exact, residual = _resolved(problem, targets, beta, free)
    inside = (exact[free] > problem.lower[free]) & (exact[free] < problem.upper[free])
    worst = optimality_violation(exact, residual, problem.lower, problem.upper).max()
    good = bool(inside.all()) and worst <= ROUNDING * max(1.0, float(np.abs(residual).max()))
    return exact if good else None


def coefficients_of_partition(
    problem: DualProblem, targets: Array, beta: Array, free: Indices
) -> tuple[Array, float]:
    """Coefficients and intercept with residual zero on ``free``, the other points left where they are."""
    system = problem.free_system(free)
    beta = beta.copy()
    beta[free] = 0.0
    fixed = np.flatnonzero(beta)
    rest = targets[free] - problem.gram.block(free, fixed) @ beta[fixed]
    beta[free], intercept = system.solve(rest, -beta.sum())
    return np.clip(beta, problem.lower, problem.upper), intercept

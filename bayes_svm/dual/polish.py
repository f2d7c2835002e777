"""From an approximate dual solution to the exact one, by following a path of exact optima.

The approximate solution is the exact optimum of a problem with slightly different margin
targets. These targets are moved to the wanted ones on a straight line, and the optimum is
followed from event to event (a parametric active-set method). Nothing has to be guessed,
and no step can go uphill. ``docs/explanation/leave_one_out.md`` defines the words.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from bayes_svm._core.follow import enter_each
from bayes_svm._core.records import DONE, NO_WAY_ON, TOO_MANY_EVENTS
from bayes_svm.dual.problem import DualProblem, snapped
from bayes_svm.dual.tableau import Tableau, independent_points
from bayes_svm.dual.tableau_path import Stretch, base_of, beta_at, follow_on, motion_of, scratch, state_at
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = [
    "MAX_ROUNDS",
    "Polished",
    "at_exact_targets",
    "coefficients_of_partition",
    "exchanged",
    "margin_targets",
    "optimality_violation",
    "polish",
]

# Most tableaux of a polish, and most of them on which exchanges may go on for ever: one may be bad luck.
MAX_ROUNDS, MAX_CIRCLES = 100, 2
# A tableau covers about so many points at a bound at most, and so many times as many where that does not do.
MOST_EXPECTED, WIDER = 2000, 4
# Exchanges go on as long as each time at most this share of the ones before is needed.
FEWER = 0.75
# A violation of at most this multiple of the largest residual, or coefficient, is rounding.
NO_VIOLATION = 1e-12
# A curvature below minus this multiple of what counts as flat is not rounding: the kernel is indefinite.
INDEFINITE_CURVATURE = 1e3


def margin_targets(label: Array, tie_break: float) -> Array:
    """Targets ``y (1 + delta)`` with distinct, fixed, tiny delta.

    On grids and categorical data dozens of points can lie exactly on the margin. With distinct targets at
    most rank + 1 of them stay there, and no two events coincide.

    Parameters
    ----------
    label : array of shape (n_points,)
        -1 or +1; 0 for a null point.
    tie_break : float
        Largest delta.

    Returns
    -------
    array of shape (n_points,)
        The targets.
    """
    return np.asarray(label * (1.0 + _distinct(len(label)) * tie_break))


# The polish and the paths of one problem ask for the same numbers.
@lru_cache(maxsize=4)
def _distinct(number: int) -> Array:
    """So many fixed numbers between 1/2 and 1."""
    return np.random.default_rng(0).uniform(0.5, 1.0, number)


def optimality_violation(beta: Array, residual: Array, lower: Array, upper: Array) -> Array:
    """How far each point's residual is on the wrong side, given where its beta is.

    Bounds are compared exactly here: ``beta`` is :func:`~bayes_svm.dual.problem.snapped`, or from a path.

    Parameters
    ----------
    beta : array of shape (n_points,)
        Signed coefficients, exactly at a bound or between.
    residual : array of shape (n_points,)
        Decision values minus targets.
    lower, upper : arrays of shape (n_points,)
        Bounds of beta.

    Returns
    -------
    array of shape (n_points,)
        The violation of each point, at least 0.
    """
    too_low = np.where(beta < upper, np.maximum(0.0, -residual), 0.0)
    too_high = np.where(beta > lower, np.maximum(0.0, residual), 0.0)
    return np.asarray(np.maximum(too_low, too_high))


@dataclass(frozen=True)
class Polished:
    """What the polish ended with.

    Parameters
    ----------
    beta : array of shape (n_points,)
        Signed coefficients.
    free : array of shape (n_free,)
        An independent set of free points.
    pivots : int
        Number of exchanges made.
    reason : str or None
        Why the polish failed, or None.
    of_fixed : array of shape (n_points,), optional
        ``K beta`` of the points that are not free, where it is known.
    """

    beta: Array
    free: Indices
    pivots: int
    reason: str | None
    of_fixed: Array | None = None


def polish(
    problem: DualProblem, targets: Array, beta: Array, violation: float, rounds: int = MAX_ROUNDS
) -> Polished:
    """Exact optimum for ``targets``, from coefficients that violate its conditions by ``violation``.

    Parameters
    ----------
    problem : DualProblem
        A convex problem.
    targets : array of shape (n_points,)
        Signed margin targets, usually :func:`margin_targets` of the labels.
    beta : array of shape (n_points,)
        Feasible coefficients.
    violation : float
        Violation of optimality: the larger it is, the more points the tableau covers.
    rounds : int
        Most tableaux that it may take.

    Returns
    -------
    Polished
        The optimum, or where the polish failed.
    """
    gram, lower, upper = problem.gram, problem.lower, problem.upper
    pivots, circles, best, most, free = 0, 0, np.inf, MOST_EXPECTED, np.empty(0, dtype=np.intp)
    beta = snapped(beta, lower, upper)
    try:
        for _ in range(rounds):
            beta, free = _independent_free(problem, beta)
            settled = _exchanged_few(problem, targets, beta, free) if len(free) else None
            if settled is not None:
                return replace(settled, pivots=pivots + settled.pivots)
            gradient = gram.product(beta) - targets
            if len(free) == 0:
                free = _first_to_move(beta, gradient, lower, upper)
                if len(free) == 0:
                    return Polished(beta, free, pivots, None)
            width = max(0.1, 20 * violation)
            stretch, covered = _round(problem, targets, beta, gradient, free, width, most)
            beta, free, pivots = stretch.beta, stretch.free, pivots + stretch.events
            circles += stretch.outcome == TOO_MANY_EVENTS
            if stretch.outcome == NO_WAY_ON or circles == MAX_CIRCLES:
                break
            if stretch.outcome == DONE:
                beta, residual = _resolved(problem, targets, beta, free) if len(free) else (beta, gradient)
                worst = float(optimality_violation(beta, residual, lower, upper).max())
                if _is_rounding(worst, residual) or (worst >= best / 2 and covered):
                    return Polished(beta, free, pivots, None)
                if worst >= best / 2:  # what is violated may be outside of the tableau
                    most = max(1, most) * WIDER
                best = worst
                violation = max(violation, worst)
    except np.linalg.LinAlgError as error:
        return Polished(beta, free, pivots, str(error))
    return Polished(beta, free, pivots, f"the polish did not end in {pivots} pivots")


def exchanged(problem: DualProblem, targets: Array, beta: Array) -> Polished | None:
    """Exact optimum for ``targets``, if a few exchanges lead there from coefficients that are near it.

    Parameters
    ----------
    problem : DualProblem
        A convex problem.
    targets : array of shape (n_points,)
        Signed margin targets.
    beta : array of shape (n_points,)
        Coefficients within their bounds; only the partition matters.

    Returns
    -------
    Polished or None
        The optimum; None if it is too far away.
    """
    try:
        beta, free = _independent_free(problem, snapped(beta, problem.lower, problem.upper))
        return _exchanged_few(problem, targets, beta, free) if len(free) else None
    except np.linalg.LinAlgError:
        return None


def _is_rounding(violation: float, residual: Array) -> bool:
    """Whether a violation of optimality is no more than the rounding of the residuals."""
    return bool(violation <= NO_VIOLATION * max(1.0, float(np.abs(residual).max())))


def _independent_free(problem: DualProblem, beta: Array) -> tuple[Array, Indices]:
    """Move dependent free points to a bound without changing any decision value.

    Free here means strictly between the bounds, compared exactly.
    """
    for _ in range(MAX_ROUNDS):
        candidates = ((beta > problem.lower) & (beta < problem.upper)).nonzero()[0]
        if len(candidates) == 0:
            return beta, candidates
        # Without pivoting the factor takes a fraction of the time, and mostly shows that all are independent.
        with suppress(np.linalg.LinAlgError):
            if problem.free_system(candidates).well_conditioned:
                return beta, candidates
        free = independent_points(problem.gram, candidates, problem.shift)
        if len(free) == len(candidates):
            return beta, free
        beta = _exchanged(problem, beta, free, np.setdiff1d(candidates, free))
    raise np.linalg.LinAlgError("the free points stay dependent")


def _exchanged(problem: DualProblem, beta: Array, free: Indices, dependent: Indices) -> Array:
    """Exchange dependent points for free ones. Rounding can hide the last ones: the caller repeats it."""
    tableau = Tableau.sweep(problem.gram, problem.free_system(free), dependent)
    base = base_of(problem, tableau)
    if np.any(tableau.W.diagonal()[len(free) : -1] < -INDEFINITE_CURVATURE * base.flat[len(free) :]):
        raise np.linalg.LinAlgError("the kernel is not positive semi-definite")
    rows, capacity = tableau.rows, 2 * len(free) + 4
    state = state_at(beta[rows], np.zeros(len(rows)), tableau.base_in, base.lower, base.upper, capacity)
    candidates = np.arange(len(free), len(rows))
    if not enter_each(base, candidates, beta[rows], state, scratch(len(rows), capacity)):
        raise np.linalg.LinAlgError("dependent free points could not be exchanged")
    beta = beta.copy()
    beta[rows] = beta_at(state, base.lower, base.upper)
    return beta


def _first_to_move(beta: Array, gradient: Array, lower: Array, upper: Array) -> Indices:
    """Without a free point, the one that violates optimality most; none at an optimum."""
    rising = np.where(beta < upper, -gradient, -np.inf)
    falling = np.where(beta > lower, -gradient, np.inf)
    if rising.max() <= falling.min():
        return np.empty(0, dtype=np.intp)
    return np.array([int(rising.argmax())], dtype=np.intp)


def _round(
    problem: DualProblem, targets: Array, beta: Array, gradient: Array, free: Indices, width: float, most: int
) -> tuple[Stretch, bool]:
    """Follow the optimum to the targets; and whether all of the points that may have an event are covered.

    It begins at the targets that ``beta`` is optimal for. These points are those that are violated or at
    most ``width`` from the margin, of which the tableau covers about the ``most`` nearest.
    """
    residual = gradient - gradient[free].mean()
    drift, violated = _drift(problem, beta, residual, free)
    # Of a weak machine most points are near. Another that is violated in the end is covered next time.
    distance = np.where(violated, 0.0, np.abs(residual))
    distance[free] = distance[problem.upper <= problem.lower] = np.inf
    others = (distance <= width).nonzero()[0]
    if not (covered := len(others) <= most):
        others = others[distance[others] <= np.partition(distance[others], most)[most]]
    tableau = Tableau.sweep(problem.gram, problem.free_system(free), others)
    rows, n_free = tableau.rows, tableau.n_free
    drift = drift[rows]
    start = residual[rows] + drift
    start[:n_free] = 0.0
    lacking = _lacking(beta)
    direction = drift[:n_free] @ tableau.W[:n_free] + lacking * tableau.W[-1]
    direction[n_free:-1] -= drift[n_free:]
    return follow_on(problem, tableau, motion_of(direction, drift, lacking), beta, start, 1.0), covered


def _drift(problem: DualProblem, beta: Array, residual: Array, free: Indices) -> tuple[Array, Mask]:
    """How far each target moves from one that ``beta`` is optimal for, and which points violate theirs."""
    violated = optimality_violation(beta, residual, problem.lower, problem.upper) > 0
    violated[free] = False
    # A violated point starts a little on the right side of its own first target.
    stretch = 1.0 + _distinct(len(beta))
    drift = np.where(violated, -stretch * residual, 0.0)
    drift[free] = -residual[free]
    return drift, violated


def _lacking(beta: Array) -> float:
    """What the sum of beta lacks to 0 since an earlier round clipped it; rounding is not worth an event."""
    lacking = -float(beta.sum())
    return 0.0 if abs(lacking) <= NO_VIOLATION * float(np.abs(beta).max(initial=0.0)) else lacking


def _resolved(problem: DualProblem, targets: Array, beta: Array, free: Indices) -> tuple[Array, Array]:
    """Solve for the coefficients of the free points anew; also returns the residual of every point."""
    beta, intercept = coefficients_of_partition(problem, targets, beta, free)
    return beta, problem.gram.product(beta) + intercept - targets


def _exchanged_few(problem: DualProblem, targets: Array, beta: Array, free: Indices) -> Polished | None:
    """The optimum, if the present partition is optimal or a few exchanges at a time make it so.

    This is the primal-dual active-set method: free points that leave their bounds are put there, and points
    that violate optimality at a bound become free, all at once. From a good start this takes two or three
    solutions of the free system. It can go in circles: it ends unless each time fewer points are exchanged.
    """
    lower, upper, system = problem.lower, problem.upper, problem.free_system(free)
    fixed, pivots, fewest = beta.copy(), 0, len(free)
    fixed[free] = 0.0
    of_fixed = problem.gram.product(fixed)
    while True:
        of_free, intercept = system.solve(targets[free] - of_fixed[free], -fixed.sum())
        part = np.zeros(len(beta))
        part[free] = of_free
        residual = of_fixed + problem.gram.product(part) + intercept - targets
        outside = (of_free <= lower[free]) | (of_free >= upper[free])
        violated = optimality_violation(fixed, residual, lower, upper)
        violated[free] = 0.0
        wrong = (violated > NO_VIOLATION * max(1.0, float(np.abs(residual).max()))).nonzero()[0]
        exchanged = int(np.count_nonzero(outside)) + len(wrong)
        if exchanged == 0:
            return Polished(fixed + part, free, pivots, None, of_fixed)
        if exchanged > FEWER * fewest:
            return None
        fewest, pivots = exchanged, pivots + exchanged
        leaving = free[outside]
        change = np.zeros(len(beta))
        change[leaving] = np.where(of_free[outside] <= lower[leaving], lower[leaving], upper[leaving])
        change[wrong] = -fixed[wrong]
        fixed += change
        of_fixed += problem.gram.product(change)
        free = np.sort(np.concatenate([free[~outside], wrong]))
        if len(free) == 0:
            return None
        try:
            system = problem.free_system(free)
        except np.linalg.LinAlgError:
            return None
        if not system.well_conditioned:
            return None


def coefficients_of_partition(
    problem: DualProblem, targets: Array, beta: Array, free: Indices, of_fixed: Array | None = None
) -> tuple[Array, float]:
    """Coefficients and intercept with residual zero on ``free``; the other coefficients stay as they are.

    Parameters
    ----------
    problem : DualProblem
        The problem whose bounds hold.
    targets : array of shape (n_points,)
        Signed margin targets.
    beta : array of shape (n_points,)
        Coefficients; those of the free points are not read.
    free : array of shape (n_free,)
        Independent points.
    of_fixed : array of shape (n_points,), optional
        ``K beta`` of the other points; computed by default.

    Returns
    -------
    beta : array of shape (n_points,)
        Coefficients, clipped to their bounds.
    intercept : float
        Intercept of the decision function.
    """
    system = problem.free_system(free)
    beta = beta.copy()
    beta[free] = 0.0
    fixed = beta.nonzero()[0]
    at_free = problem.gram.block(free, fixed) @ beta[fixed] if of_fixed is None else of_fixed[free]
    beta[free], intercept = system.solve(targets[free] - at_free, -beta.sum())
    return np.clip(beta, problem.lower, problem.upper), intercept


def at_exact_targets(problem: DualProblem, beta: Array, free: Indices, of_fixed: Array | None) -> Array:
    """Coefficients at the exact targets of a partition that is optimal at perturbed ones.

    Where many points lie exactly on the margin, some of them are free at the perturbed targets only. They
    reach a bound, up to rounding, and the others are solved for again with these at their bounds.
    """
    while True:
        beta, _ = coefficients_of_partition(problem, problem.label, beta, free, of_fixed)
        between = (beta[free] > problem.lower[free]) & (beta[free] < problem.upper[free])
        if between.all() or not between.any():
            return beta
        free, of_fixed = free[between], None

"""Sequential minimal optimisation on few rows of the kernel matrix."""

from __future__ import annotations

import numpy as np

from bayes_svm._core.smo import move_pairs
from bayes_svm.dual.problem import DualProblem
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["lower_violation"]


# So many points are chosen at the beginning.
FIRST = 500
# Later this share of the points chosen so far is added at a time, those that violate optimality most.
GROWTH = 0.25
# At least so many are added: that many rows are computed together anyway.
FEWEST = 64
# Points are added when the violation among the chosen ones is down to this share of the violation of all.
SHARE_LEFT = 0.1


def lower_violation(
    problem: DualProblem, beta: Array, gradient: Array, tolerance: float, max_steps: int
) -> tuple[float, int]:
    """Lower the violation of optimality to ``tolerance``, in at most ``max_steps`` moves of pairs.

    Where rows of the kernel matrix are computed on demand, only chosen points are moved. More points are
    chosen until none of the others violates optimality.

    Parameters
    ----------
    problem : DualProblem
        The problem to solve.
    beta : array of shape (n_points,)
        Feasible coefficients, changed in place.
    gradient : array of shape (n_points,)
        ``K beta - label``, changed in place.
    tolerance : float
        Violation at which to stop.
    max_steps : int
        Limit on the moves of pairs.

    Returns
    -------
    violation : float
        The violation that is left.
    steps : int
        Number of moves made.
    """
    gram, lower, upper = problem.gram, problem.lower, problem.upper
    if not gram.on_demand:
        return _moved(problem, beta, gradient, lower, upper, tolerance, max_steps)
    # Other rows may be known from before, but the result must not depend on them.
    chosen = (beta != 0) | (problem.label == 0)
    steps, number, aim = 0, FIRST, np.inf
    while True:
        new = _most_violated(problem, chosen, beta, gradient, number)
        left = _violation(beta, gradient, lower, upper)
        if (len(new) == 0 and aim <= tolerance) or steps >= max_steps:
            return left, steps
        chosen[new] = True
        gram.require(np.flatnonzero(chosen))
        aim = max(tolerance, SHARE_LEFT * left) if len(new) else tolerance
        _, moved = _moved(
            problem, beta, gradient, np.where(chosen, lower, 0.0), np.where(chosen, upper, 0.0), aim,
            max_steps - steps,
        )  # fmt: skip
        steps += moved
        number = max(FEWEST, int(GROWTH * chosen.sum()))


def _moved(
    problem: DualProblem,
    beta: Array,
    gradient: Array,
    lower: Array,
    upper: Array,
    tolerance: float,
    max_steps: int,
) -> tuple[float, int]:
    """Move pairs between these bounds, of which those of a point without a row are equal."""
    gram = problem.gram
    rows, place = gram.require(np.empty(0, dtype=np.intp))
    found: tuple[float, int] = move_pairs(
        rows, place, gram.diagonal, beta, gradient, lower, upper, tolerance, max_steps
    )
    return found


def _violation(beta: Array, gradient: Array, lower: Array, upper: Array) -> float:
    """Largest violation of optimality by any pair, at least 0. Like the moves it compares bounds exactly."""
    low, high = _interval(gradient, beta < upper, beta > lower)
    return max(0.0, float(low - high))


def _interval(gradient: Array, can_rise: Mask, can_fall: Mask) -> tuple[float, float]:
    """Ends of the interval of optimal intercepts. Short of the optimum the first is the larger one."""
    return -gradient[can_rise].min(initial=np.inf), -gradient[can_fall].max(initial=-np.inf)


def _most_violated(problem: DualProblem, chosen: Mask, beta: Array, gradient: Array, number: int) -> Indices:
    """Points not chosen yet that violate optimality most: half of them to be raised, half to be lowered.

    The intercept is that of the chosen points, or, as long as these do not bound it from both sides, of all
    points.
    """
    rising, falling = beta < problem.upper, beta > problem.lower
    intercept = 0.0
    for among in (np.ones(len(beta), dtype=bool), chosen):
        low, high = _interval(gradient, rising & among, falling & among)
        if np.isfinite(low) and np.isfinite(high):
            intercept = (low + high) / 2.0
    # At the start all points violate optimality equally; the order of the data must not decide between them.
    order = np.random.default_rng(0).permutation(len(beta))
    found = []
    for movable, excess in ((rising, -gradient - intercept), (falling, intercept + gradient)):
        candidates = order[(movable & ~chosen & (excess > 0))[order]]
        found.append(candidates[np.argsort(-excess[candidates], kind="stable")[: (number + 1) // 2]])
    return np.sort(np.concatenate(found))

"""Sequential minimal optimisation on few rows of the kernel matrix."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from bayes_svm._core.pair_records import Iterate, Team
from bayes_svm._core.smo import help_move, move_pairs
from bayes_svm.dual.problem import DualProblem
from bayes_svm.utils.parallel import ask_for_help, spare_threads
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
# Points whose gradient is within this distance of those that violate optimality are near the margin.
NEAR = 0.05
# At most so many of them are moved at a time: those nearest to it.
MOST = 4000
# With a matrix in memory all points are moved until there were so many moves for each of them.
AMONG_ALL = 2
# A thread that helps has at least so many points; with fewer it would mostly wait.
LEAST = 1250


def lower_violation(
    problem: DualProblem, beta: Array, gradient: Array, tolerance: float, max_steps: int
) -> tuple[float, int]:
    """Lower the violation of optimality to ``tolerance``, in at most ``max_steps`` moves of pairs.

    Where the kernel matrix is in memory, all points are moved at first, and then those near the margin.
    Where its rows are computed on demand, only chosen points are moved. More points are chosen until none of
    the others violates optimality.

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
    lower, upper = problem.lower, problem.upper
    # Numbers in the largest block. The system provides the memory of those that are written.
    most = min(MOST, len(beta)) ** 2
    if not problem.gram.on_demand:
        among_all = min(max_steps, AMONG_ALL * len(beta)) if problem.convex else max_steps
        left, steps = _moved(problem, beta, gradient, tolerance, among_all)
        if left <= tolerance or steps >= max_steps:
            return left, steps
        room = np.empty(most)
        steps += _moved_near(problem, beta, gradient, lower, upper, tolerance, max_steps - steps, room)
        return _violation(beta, gradient, lower, upper), steps
    left = _violation(beta, gradient, lower, upper)
    if left <= tolerance:
        return left, 0
    room = np.empty(most)
    chosen = (beta != 0) | (problem.label == 0)
    steps, number, aim = 0, FIRST, np.inf
    while True:
        new = _most_violated(problem, chosen, beta, gradient, number)
        left = _violation(beta, gradient, lower, upper)
        if (len(new) == 0 and aim <= tolerance) or steps >= max_steps:
            return left, steps
        chosen[new] = True
        aim = max(tolerance, SHARE_LEFT * left) if len(new) else tolerance
        bounds = np.where(chosen, lower, 0.0), np.where(chosen, upper, 0.0)
        steps += _moved_near(problem, beta, gradient, *bounds, aim, max_steps - steps, room)
        number = max(FEWEST, int(GROWTH * chosen.sum()))


def _moved(
    problem: DualProblem, beta: Array, gradient: Array, tolerance: float, max_steps: int
) -> tuple[float, int]:
    """Move pairs of all points."""
    gram = problem.gram
    return _moved_together(
        gram.whole(), gram.diagonal, beta, gradient, problem.lower, problem.upper, tolerance, max_steps
    )


def _moved_together(
    gram: Array,
    diagonal: Array,
    beta: Array,
    gradient: Array,
    lower: Array,
    upper: Array,
    tolerance: float,
    max_steps: int,
) -> tuple[float, int]:
    """Move pairs of points, given their kernel matrix, with the help of spare threads."""
    n = len(beta)
    at = Iterate(gram, diagonal, beta, gradient, lower, upper, np.empty(n), np.empty(n), n)
    team = Team.of(max(0, min(spare_threads(), n // LEAST - 1)))
    ask_for_help(partial(help_move, at, team), team.n_helpers)
    return move_pairs(at, tolerance, max_steps, team)


def _moved_near(
    problem: DualProblem,
    beta: Array,
    gradient: Array,
    lower: Array,
    upper: Array,
    aim: float,
    max_steps: int,
    room: Array,
) -> int:
    """Move pairs of points near the margin, until the violation is down to ``aim``; returns the moves.

    A move takes as much time as these points are many. The gradients of the others follow when the moves
    are done.
    """
    gram, steps = problem.gram, 0
    while True:
        few, violation = _near(beta, gradient, lower, upper, math.isqrt(len(room)))
        if violation <= aim or steps >= max_steps:
            return steps
        own, of_few, before = beta[few], gradient[few], beta[few]
        block = room[: len(few) ** 2].reshape(len(few), len(few))
        _, moved = _moved_together(
            gram.block_into(block, few, few), gram.diagonal[few], own, of_few, lower[few], upper[few], aim,
            max_steps - steps,
        )  # fmt: skip
        beta[few] = own
        change = np.zeros(len(beta))
        change[few] = own - before
        gradient += gram.product(change)
        steps += moved
        if moved == 0:
            return steps


def _near(beta: Array, gradient: Array, lower: Array, upper: Array, most: int) -> tuple[Indices, float]:
    """The points that violate optimality or nearly do, at most so many, and the largest violation."""
    rising, falling = beta < upper, beta > lower
    low, high = _interval(gradient, rising, falling)
    slack = max(low - high, NEAR)
    # How far each point is inside the interval at which it counts as near.
    depth = np.maximum(
        np.where(rising, -gradient - (high - slack), -np.inf),
        np.where(falling, (low + slack) + gradient, -np.inf),
    )
    few = (depth > 0).nonzero()[0]
    if len(few) > most:
        # Points of both signs, so that the pair that violates optimality most is among them.
        few = np.sort(few[np.argsort(-depth[few], kind="stable")[:most]])
    return few, low - high


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

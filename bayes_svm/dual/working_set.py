"""Sequential minimal optimisation on as few rows of the kernel matrix as will do."""

from __future__ import annotations

import numpy as np

from bayes_svm._core.smo import minimise
from bayes_svm.dual.problem import DualProblem
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["descend"]


FIRST = 500  # points to begin with; then as many at a time
GROWTH = 0.25  # as are this share of those at hand, those first that violate optimality most,
FEWEST = 64  # but no fewer than are computed together anyway,
SHARE = 0.1  # whenever the ones at hand have come down to this share of the violation of all


def descend(
    problem: DualProblem, beta: Array, gradient: Array, tolerance: float, max_steps: int
) -> tuple[float, int]:
    """Lower the violation of optimality to ``tolerance``, in at most ``max_steps`` moves of pairs.

    Where rows of the kernel matrix are computed on demand, only chosen points are moved; these
    become more until no other violates optimality.

    Parameters
    ----------
    problem : DualProblem
    beta : array of shape (n_points,)
        Feasible coefficients, changed in place.
    gradient : array of shape (n_points,)
        ``K beta - label``, changed in place.
    tolerance : float
    max_steps : int

    Returns
    -------
    (violation, steps)
        The violation that is left, and the moves made.
    """
    gram, lower, upper = problem.gram, problem.lower, problem.upper
    if not gram.on_demand:
        return _minimise(problem, beta, gradient, lower, upper, tolerance, max_steps)
    # Those whose row happens to be known are more: what is found is not to depend on what was asked before.
    chosen = (beta != 0) | (problem.label == 0)
    steps, number, aim = 0, FIRST, np.inf
    while True:
        new = _most_violated(problem, chosen, beta, gradient, number)
        left = _violation(beta, gradient, lower, upper)
        if (len(new) == 0 and aim <= tolerance) or steps >= max_steps:
            return left, steps
        chosen[new] = True
        gram.require(np.flatnonzero(chosen))
        aim = max(tolerance, SHARE * left) if len(new) else tolerance
        _, moved = _minimise(
            problem, beta, gradient, np.where(chosen, lower, 0.0), np.where(chosen, upper, 0.0), aim,
            max_steps - steps,
        )  # fmt: skip
        steps += moved
        number = max(FEWEST, int(GROWTH * chosen.sum()))


def _minimise(
    problem: DualProblem,
    beta: Array,
    gradient: Array,
    lower: Array,
    upper: Array,
    tolerance: float,
    max_steps: int,
) -> tuple[float, int]:
    gram = problem.gram
    rows, place = gram.require(np.empty(0, dtype=np.intp))
    found: tuple[float, int] = minimise(
        rows, place, gram.diagonal, beta, gradient, lower, upper, tolerance, max_steps
    )
    return found


def _violation(beta: Array, gradient: Array, lower: Array, upper: Array) -> float:
    """Largest violation of optimality by any pair, at least 0."""
    steepest = -gradient[beta < upper].min(initial=np.inf)
    flattest = -gradient[beta > lower].max(initial=-np.inf)
    return max(0.0, float(steepest - flattest))


def _most_violated(problem: DualProblem, chosen: Mask, beta: Array, gradient: Array, number: int) -> Indices:
    """Points not chosen yet that violate optimality most, half of them to be raised, half to be lowered.

    They are measured against the chosen ones, or, as long as these do not bound the intercept
    from both sides, against all.
    """
    rising, falling = beta < problem.upper, beta > problem.lower
    intercept = 0.0
    for among in (np.ones(len(beta), dtype=bool), chosen):
        at_least = -gradient[rising & among].min(initial=np.inf)
        at_most = -gradient[falling & among].max(initial=-np.inf)
        if np.isfinite(at_least) and np.isfinite(at_most):
            intercept = (at_least + at_most) / 2.0
    # Points that violate it equally, as all do at the start, are taken in no order of the data's.
    order = np.random.default_rng(0).permutation(len(beta))
    found = []
    for movable, excess in ((rising, -gradient - intercept), (falling, intercept + gradient)):
        candidates = order[(movable & ~chosen & (excess > 0))[order]]
        found.append(candidates[np.argsort(-excess[candidates], kind="stable")[: (number + 1) // 2]])
    return np.sort(np.concatenate(found))

"""Leave-one-out signs by sequential minimal optimisation, stopped at a proof where there is one."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from bayes_svm._core.certify import (
    CHECKED,
    PROVEN,
    UNPROVEN,
    Found,
    Rules,
    check_each,
    duality_gap,
    sensitivity,
    solve_each,
)
from bayes_svm._core.descend import Whole, Work
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solution import DualSolution
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["keep_their_sign", "leave_out_signs", "proven"]


TRIAL = 10  # cases by which the proofs are judged
WORTH = 0.5  # share of them that must have ended by a proof
SHARE_CHECKED = 0.2  # share of them that the check alone must have proven, where exact paths are at hand
BATCH = 32  # cases one thread takes at a time
INSIDE = 1e-7  # a coefficient this far from its bounds, relative to the largest, is free beyond doubt
CLEAR = 1e-6  # a value this far from 0, relative to the largest, has a sign beyond doubt
EPSILON = float(np.finfo(float).eps)


def leave_out_signs(
    solution: DualSolution,
    points: Indices,
    rest: Array,
    *,
    proof: bool,
    tolerance: float = 1e-3,
    max_steps: int = -1,
    n_jobs: int | None = None,
) -> Found:
    r"""Sign of the decision value at each point with its upper bound lowered.

    Sufficiency checks first. What they leave open is solved by moves of pairs from the whole
    solution, up to a violation of ``tolerance``; or, with ``proof``, until a primal value

    .. math:: F = \tfrac12 |w|^2 + \sum_i C_i \max(0, 1 - y_i f(x_i))

    is below a dual bound H of the same problem under the condition :math:`f(x_r) = 0`: then no
    machine on the other side of that condition is as good, whatever the tolerance.

    Parameters
    ----------
    solution : DualSolution
    points : array of shape (n_cases,)
    rest : array of shape (n_cases,)
        What is left of each point's bound; 0 leaves the point out.
    proof : bool
        Whether to look for proofs. They are given up after ten cases if fewer than half of these
        ended by one, or if the moves of pairs alone would have been less work.
    tolerance : float
    max_steps : int
        Limit on the moves of pairs for one case; -1 for ``max(20000, 100 n_points)``.
    n_jobs : int, optional
        Threads. The result is the same at any number, bit for bit.

    Returns
    -------
    Found
        See :func:`proven` for which of the signs are proven.

    Notes
    -----
    The check :math:`2 \alpha_r R^2 + \xi_r < 1` of Joachims is not among those used: it needs a free
    coefficient in the solution without the point, of which one in the whole solution is no
    guarantee. In its place stands the proof itself with the whole machine as F and one step of H.

    References
    ----------
    Franc, Laskov and Mueller, "Stopping conditions for exact computation of leave-one-out error in
    support vector machines", ICML 2008. DeCoste and Wagstaff, "Alpha seeding for support vector
    machines", KDD 2000.
    """
    problem = solution.problem
    points = np.asarray(points, dtype=np.int64)
    rest = np.asarray(rest, dtype=float)
    limit = max(20_000, 100 * len(problem.label)) if max_steps < 0 else max_steps
    whole = _whole(solution)
    found = _nothing_found(len(points))
    one_class = _last_of_class(problem, points, rest)
    found.values[one_class] = -problem.label[points[one_class]]
    found.outcomes[one_class] = CHECKED
    open_cases = np.flatnonzero(~one_class)
    if solution.exact:
        _check_unchanged(solution, points, rest, open_cases, found)
        open_cases = open_cases[found.outcomes[open_cases] == UNPROVEN]
    work = _work(len(problem.label))
    decided = np.empty(len(open_cases), dtype=bool)
    check_each(whole, points[open_cases], rest[open_cases], work, decided)
    for chosen, rules in (
        (open_cases[decided], Rules(False, False, tolerance, limit)),
        (open_cases[~decided][:TRIAL], Rules(proof, len(open_cases) > TRIAL, tolerance, limit)),
    ):
        _store(found, chosen, _solved(whole, points[chosen], rest[chosen], rules, work))
    tried, left = open_cases[~decided][:TRIAL], open_cases[~decided][TRIAL:]
    worth = proof and bool(np.mean(found.outcomes[tried] == PROVEN) >= WORTH) if len(left) else False
    worth = worth and bool(found.effort[tried].sum() <= found.rival[tried].sum())
    rules = Rules(worth, False, tolerance, limit)
    batches = [left[start : start + BATCH] for start in range(0, len(left), BATCH)]
    results = Parallel(n_jobs=max(1, min(effective_n_jobs(n_jobs), len(batches))), backend="threading")(
        delayed(_solved)(whole, points[batch], rest[batch], rules, _work(len(problem.label)))
        for batch in batches
    )
    for batch, result in zip(batches, results, strict=True):
        _store(found, batch, result)
    return found


def proven(found: Found, problem: DualProblem) -> Mask:
    """Which signs are proven to be those of the exact solution, with any optimal intercept."""
    return np.asarray((found.outcomes != UNPROVEN) & problem.convex)


def keep_their_sign(solution: DualSolution, points: Indices, rest: Array) -> Mask:
    """Which decision values provably keep their sign when the point's bound is lowered.

    The sufficiency check of :func:`leave_out_signs` alone: the whole machine as F, one step of H.
    Where it proves too few of ten cases to be worth its time, the others are not checked.

    Parameters
    ----------
    solution : DualSolution
        Of a convex problem with an intercept that is not regularised.
    points : array of shape (n_cases,)
    rest : array of shape (n_cases,)
    """
    proven = np.zeros(len(points), dtype=bool)
    whole, work = _whole(solution), _work(len(solution.beta))
    tried = np.arange(0, len(points), max(1, len(points) // TRIAL))
    left = np.setdiff1d(np.arange(len(points)), tried)
    for cases in (tried, left):
        found = np.empty(len(cases), dtype=bool)
        check_each(whole, points[cases].astype(np.int64), rest[cases], work, found)
        proven[cases] = found
        if found.sum() < SHARE_CHECKED * len(cases):
            break
    return proven


def _whole(solution: DualSolution) -> Whole:
    """The whole problem as the loops take it, with bounds of its rounding errors."""
    problem = solution.problem
    beta = np.clip(solution.beta, problem.lower, problem.upper)
    K = np.ascontiguousarray(problem.gram.whole())
    gradient = solution.values - solution.intercept - problem.label
    smallest, greatest = problem.gram.extremes
    largest, mass = max(greatest, -smallest), float(np.abs(beta).sum())
    size = float(np.abs(solution.values).max()) + abs(solution.intercept) + 1.0
    excess = abs(float(beta.sum())) + EPSILON * mass
    moved = float(np.abs(beta - solution.beta).sum())
    # A dot product adds up n numbers in at least eight sums side by side.
    rounding = EPSILON * ((16 + len(beta) / 8) * largest * mass + 4 * size) + 2 * largest * (excess + moved)
    gap = duality_gap(problem.label, problem.bound, beta, gradient, solution.intercept)
    change = sensitivity(problem.label, problem.bound, beta, gradient, solution.intercept, rounding)
    return Whole(
        K=K,
        diagonal=problem.gram.diagonal,
        label=problem.label,
        bound=problem.bound,
        beta=beta,
        gradient=gradient,
        intercept=solution.intercept,
        dual=solution.dual,
        gap=gap,
        largest=largest,
        size=size,
        rounding=rounding,
        # Without convexity nothing is proven.
        gap_rounding=rounding * change + 4 * excess * (size + largest * excess) if problem.convex else np.inf,
    )


def _last_of_class(problem: DualProblem, points: Indices, rest: Array) -> Mask:
    """Cases that leave only the other class, whose label is then the value everywhere."""
    members = np.bincount((problem.label > 0).astype(int), minlength=2)
    return np.asarray((members[(problem.label[points] > 0).astype(int)] == 1) & (rest == 0))


def _check_unchanged(
    solution: DualSolution,
    points: Indices,
    rest: Array,
    cases: Indices,
    found: Found,
) -> None:
    """Cases whose coefficients stay as they are: only the intercept may cease to be unique."""
    problem = solution.problem
    label, scale = problem.label, max(1.0, float(np.abs(solution.values).max()))
    cases = cases[solution.alpha[points[cases]] <= rest[cases]]
    rises, falls = _movable(solution.beta, label, problem.bound)
    free = rises & falls
    elsewhere = free.sum() - free[points[cases]] > 0  # then the intercept stays unique
    low = np.array(solution.values[points[cases]])
    high = low.copy()
    for k in np.flatnonzero(~elsewhere):
        bound = problem.bound.copy()
        bound[points[cases[k]]] = rest[cases[k]]
        rises, falls = _movable(solution.beta, label, bound)
        wanted = label - solution.values  # change of the intercept that puts each point on its margin
        low[k] += wanted[rises].max(initial=-np.inf)
        high[k] += wanted[falls].min(initial=np.inf)
    found.values[cases] = (low + high) / 2
    clear = (np.minimum(low, high) > CLEAR * scale) | (np.maximum(low, high) < -CLEAR * scale)
    found.outcomes[cases[clear]] = CHECKED


def _movable(beta: Array, label: Array, bound: Array) -> tuple[Mask, Mask]:
    """Which coefficients may rise and which may fall beyond doubt, without leaving their bounds."""
    inside = np.minimum(INSIDE * np.abs(beta).max(initial=0.0), bound / 4)
    upper, lower = np.where(label > 0, bound, 0.0), np.where(label > 0, 0.0, -bound)
    return (bound > 0) & (beta < upper - inside), (bound > 0) & (beta > lower + inside)


def _nothing_found(n_cases: int) -> Found:
    """Room for the findings of some cases."""
    whole, real = np.zeros((3, n_cases), dtype=np.int64), np.zeros((5, n_cases))
    return Found(
        values=real[0],
        outcomes=whole[0],
        violation=real[1],
        gap=real[2],
        columns=whole[1],
        steps=whole[2],
        effort=real[3],
        rival=real[4],
    )


def _work(n_points: int) -> Work:
    """Arrays to work in."""
    return Work(*np.empty((len(Work._fields), n_points)))


def _solved(whole: Whole, points: Indices, rest: Array, rules: Rules, work: Work) -> Found:
    """What is found for some cases."""
    found = _nothing_found(len(points))
    solve_each(whole, points, rest, rules, work, found)
    return found


def _store(found: Found, cases: Indices, part: Found) -> None:
    """Write the findings of some cases to where they belong."""
    for all_of_it, some in zip(found, part, strict=True):
        all_of_it[cases] = some

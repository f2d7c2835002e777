"""Leave-one-out signs by sequential minimal optimisation, stopped at a proof where there is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from bayes_svm._core.certify import check_each, solve_each
from bayes_svm._core.pair_records import (
    CHECKED,
    UNPROVEN,
    Rules,
    SignsFound,
    Whole,
    Work,
)
from bayes_svm._core.primal import duality_gap, sensitivity
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solution import EPSILON, DualSolution
from bayes_svm.utils.parallel import run_in_threads
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["keep_their_sign", "leave_out_signs", "proven"]


# The search for proofs takes at most about this share of the work of the moves of pairs. That is what it
# costs where it finds nothing.
PROOFS_SHARE = 0.04
# Where exact paths are at hand, the check is worth its time if it proves at least a share of the cases tried.
CASES_TRIED, SHARE_CHECKED = 10, 0.2
# A thread takes so many cases at a time.
CASES_PER_TASK = 32
# A coefficient farther from its bounds than this multiple of the largest one is free beyond doubt.
INSIDE = 1e-7
# A decision value farther from 0 than this multiple of the largest one has a sign beyond doubt.
CLEAR = 1e-6


def leave_out_signs(
    solution: DualSolution,
    points: Indices,
    rest: Array,
    *,
    proof: bool,
    tolerance: float = 1e-3,
    max_steps: int = -1,
    n_jobs: int | None = None,
) -> SignsFound:
    r"""Sign of the decision value at each point with its upper bound lowered.

    Sufficiency checks come first. The cases that they leave open are solved by moves of pairs from the whole
    solution, down to a violation of ``tolerance``; or, with ``proof``, until a primal value

    .. math:: F = \tfrac12 |w|^2 + \sum_i C_i \max(0, 1 - y_i f(x_i))

    is below a dual bound H of the same problem under the condition :math:`f(x_r) = 0`. Then no
    machine on the other side of that condition is as good, whatever the tolerance.

    Parameters
    ----------
    solution : DualSolution
        Solution of the whole problem.
    points : array of shape (n_cases,)
        The point of each case.
    rest : array of shape (n_cases,)
        Upper bound that the point keeps; 0 leaves the point out.
    proof : bool
        Whether to look for proofs. In each case the search takes at most about 4 % of the work of the
        moves of pairs, so that a case that a few moves solve has none beyond the checks.
    tolerance : float
        Violation of optimality at which the moves of pairs stop.
    max_steps : int
        Limit on the moves of pairs for one case; -1 for ``max(20000, 100 n_points)``.
    n_jobs : int, optional
        Number of threads. The result is the same at any number, bit for bit.

    Returns
    -------
    SignsFound
        The signs, and how they were found; :func:`proven` says which of them are proven.

    Notes
    -----
    The check :math:`2 \alpha_r R^2 + \xi_r < 1` of Joachims is not used: it needs a free
    coefficient in the solution without the point, which a free coefficient in the whole solution does not
    guarantee. The proof itself, with the whole machine as F and one step of H, takes its place.

    References
    ----------
    Franc, Laskov and Mueller, "Stopping conditions for exact computation of leave-one-out error in
    support vector machines", ICML 2008. DeCoste and Wagstaff, "Alpha seeding for support vector
    machines", KDD 2000.
    """
    points = np.asarray(points, dtype=np.int64)
    rest = np.asarray(rest, dtype=float)
    found = _nothing_found(len(points))
    open_cases = _decide_at_once(solution, points, rest, found)
    limit = max(20_000, 100 * len(solution.beta)) if max_steps < 0 else max_steps
    share = PROOFS_SHARE if proof else 0.0
    _Run(_whole(solution), points, rest, found).solve_all(open_cases, Rules(share, tolerance, limit), n_jobs)
    return found


@dataclass(frozen=True)
class _Run:
    """The cases of one call, and what is found for them.

    Parameters
    ----------
    whole : Whole
        The whole problem.
    points, rest : arrays of shape (n_cases,)
        The point of each case, and what is left of its bound.
    found : SignsFound
        Where the findings are written.
    """

    whole: Whole
    points: Indices
    rest: Array
    found: SignsFound

    def check(self, cases: Indices) -> tuple[Indices, Indices]:
        """Split cases into those that the sufficiency check proves and the others."""
        proves = np.empty(len(cases), dtype=bool)
        check_each(self.whole, self.points[cases], self.rest[cases], _work(len(self.whole.label)), proves)
        return cases[proves], cases[~proves]

    def solve(self, cases: Indices, rules: Rules) -> None:
        """Solve some cases one after the other, and write what is found."""
        part = _nothing_found(len(cases))
        solve_each(
            self.whole, self.points[cases], self.rest[cases], rules, _work(len(self.whole.label)), part
        )
        for of_all, of_some in zip(self.found, part, strict=True):
            of_all[cases] = of_some

    def solve_all(self, cases: Indices, rules: Rules, n_jobs: int | None) -> None:
        """The same in threads, each of which writes to cases of its own."""
        batches = [cases[start : start + CASES_PER_TASK] for start in range(0, len(cases), CASES_PER_TASK)]
        n_threads = max(1, min(effective_n_jobs(n_jobs), len(batches)))
        calls = [delayed(self.solve)(batch, rules) for batch in batches]
        for _ in run_in_threads(Parallel(n_jobs=n_threads, backend="threading"), calls):
            pass


def _decide_at_once(solution: DualSolution, points: Indices, rest: Array, found: SignsFound) -> Indices:
    """Write what is known without solving or checking anything; returns the cases that are open."""
    one_class = _last_of_class(solution.problem, points, rest)
    found.values[one_class] = -solution.problem.label[points[one_class]]
    found.outcomes[one_class] = CHECKED
    open_cases = (~one_class).nonzero()[0]
    if solution.exact:
        _check_unchanged(solution, points, rest, open_cases, found)
    return open_cases[found.outcomes[open_cases] == UNPROVEN]


def proven(found: SignsFound, problem: DualProblem) -> Mask:
    """Which signs are proven to be those of the exact solution, for every optimal intercept."""
    return np.asarray((found.outcomes != UNPROVEN) & problem.convex)


def keep_their_sign(solution: DualSolution, points: Indices, rest: Array) -> Mask:
    """Which decision values provably keep their sign when the point's bound is lowered.

    This is the sufficiency check of :func:`leave_out_signs` alone, with the whole machine as F and one step
    of H. If it proves too few of ten cases to be worth its time, the others are not checked.

    Parameters
    ----------
    solution : DualSolution
        Solution of a convex problem with an intercept that is not regularised.
    points : array of shape (n_cases,)
        The point of each case.
    rest : array of shape (n_cases,)
        Upper bound that the point keeps.

    Returns
    -------
    array of bool of shape (n_cases,)
        Whether the sign is proven to stay.
    """
    kept = np.zeros(len(points), dtype=bool)
    run = _Run(_whole(solution), points.astype(np.int64), rest, _nothing_found(0))
    tried = np.arange(0, len(points), max(1, len(points) // CASES_TRIED))
    left = np.setdiff1d(np.arange(len(points)), tried)
    for cases in (tried, left):
        checked, _ = run.check(cases)
        kept[checked] = True
        if len(checked) < SHARE_CHECKED * len(cases):
            break
    return kept


def _whole(solution: DualSolution) -> Whole:
    """The whole problem as the loops take it, with bounds of the rounding errors in its sums."""
    problem = solution.problem
    beta = np.clip(solution.beta, problem.lower, problem.upper)
    K = np.ascontiguousarray(problem.gram.whole())
    gradient = solution.gradient
    smallest, greatest = float(K.min()), float(K.max())
    largest, mass = max(greatest, -smallest), float(np.abs(beta).sum())
    size = float(np.abs(solution.values).max()) + abs(solution.intercept) + 1.0
    excess = abs(float(beta.sum())) + EPSILON * mass
    moved = float(np.abs(beta - solution.beta).sum())
    # A dot product adds up its n terms in at least eight sums side by side.
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
        # If the problem is not convex, nothing may be proven.
        gap_rounding=rounding * change + 4 * excess * (size + largest * excess) if problem.convex else np.inf,
    )


def _last_of_class(problem: DualProblem, points: Indices, rest: Array) -> Mask:
    """Cases that leave only the other class, whose label is then the decision value everywhere."""
    members = np.bincount((problem.label > 0).astype(int), minlength=2)
    return np.asarray((members[(problem.label[points] > 0).astype(int)] == 1) & (rest == 0))


def _check_unchanged(
    solution: DualSolution,
    points: Indices,
    rest: Array,
    cases: Indices,
    found: SignsFound,
) -> None:
    """Write the cases whose coefficients stay as they are. Their intercept may cease to be unique."""
    problem = solution.problem
    label, scale = problem.label, max(1.0, float(np.abs(solution.values).max()))
    cases = cases[solution.alpha[points[cases]] <= rest[cases]]
    rises, falls = _surely_movable(solution.beta, label, problem.bound)
    free = rises & falls
    # If another point is free, the intercept stays unique.
    elsewhere = free.sum() - free[points[cases]] > 0
    low = np.array(solution.values[points[cases]])
    high = low.copy()
    for k in (~elsewhere).nonzero()[0]:
        bound = problem.bound.copy()
        bound[points[cases[k]]] = rest[cases[k]]
        rises, falls = _surely_movable(solution.beta, label, bound)
        # The change of the intercept that puts each point on its margin.
        wanted = label - solution.values
        low[k] += wanted[rises].max(initial=-np.inf)
        high[k] += wanted[falls].min(initial=np.inf)
    found.values[cases] = (low + high) / 2
    clear = (np.minimum(low, high) > CLEAR * scale) | (np.maximum(low, high) < -CLEAR * scale)
    found.outcomes[cases[clear]] = CHECKED


def _surely_movable(beta: Array, label: Array, bound: Array) -> tuple[Mask, Mask]:
    """Which coefficients can rise and which can fall beyond doubt.

    A proof needs a larger distance from the bounds than :func:`~bayes_svm.dual.problem.movable`.
    """
    inside = np.minimum(INSIDE * np.abs(beta).max(initial=0.0), bound / 4)
    upper, lower = np.where(label > 0, bound, 0.0), np.where(label > 0, 0.0, -bound)
    return (bound > 0) & (beta < upper - inside), (bound > 0) & (beta > lower + inside)


def _nothing_found(n_cases: int) -> SignsFound:
    """An empty record for some cases."""
    whole, real = np.zeros((3, n_cases), dtype=np.int64), np.zeros((3, n_cases))
    return SignsFound(
        values=real[0],
        outcomes=whole[0],
        violation=real[1],
        gap=real[2],
        columns=whole[1],
        steps=whole[2],
    )


def _work(n_points: int) -> Work:
    """Arrays for the loops to work in."""
    return Work(*np.empty((len(Work._fields), n_points)))

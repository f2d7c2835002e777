"""Exact leave-one-out values by following each point's path to alpha = 0."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from bayes_svm._follow import DONE, Base, State
from bayes_svm._memory import require_bytes
from bayes_svm.leave_one_out._shrink import Cases, Ends, check_ends, shrink_each
from bayes_svm.leave_one_out.retrain import LeftOut, retrain
from bayes_svm.polish import coefficients_of_partition, margin_targets, scratch
from bayes_svm.problem import AT_BOUND, DualProblem, Indices
from bayes_svm.solution import EPSILON, EXACT_GAP, SETTLED, UNIQUE, DualSolution, pinning_points
from bayes_svm.tableau import FreeSystem, Tableau, columns_outside, flat_curvature

__all__ = ["shrink_paths"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

BATCH = 256  # paths whose final check is one matrix product
CAPACITY = 256  # changes of the partition one path may keep
MAX_EVENTS = 20_000
ALL_ROWS = 1000  # up to this many points all are in the tableau
NEAR = 1.0  # else those whose residual is within this of the margin, and the free ones
ROUNDING = 1e-13  # error of a coefficient times k(x, x), from the tableau
SETTLED_RESIDUAL = 1e-12  # beyond this, and SETTLED times its rounding, the partition is doubtful
VERIFIED = 1e-8  # KKT residual, relative to the scale, up to which a path's end is accepted


class _Base:
    """What all paths of one solution share, read-only."""

    def __init__(self, problem: DualProblem, solution: DualSolution) -> None:
        self.problem, self.solution = problem, solution
        self.lower, self.upper = problem.lower, problem.upper
        free = pinning_points(solution)
        # Where the intercept is not unique, the solution has the middle of its interval, and
        # the tableau the end at which its free point, itself at a bound, has residual zero.
        shift = float(solution.label[free[0]] - solution.values[free[0]])
        self.exact_beta = solution.beta
        self.exact_residual = solution.values + shift - problem.label
        self.exact_residual[free] = 0.0
        targets = margin_targets(problem.label, solution.tie_break)
        self.system = FreeSystem(problem.gram, free, problem.shift)
        if len(solution.free):
            self.beta, intercept = coefficients_of_partition(problem, targets, solution.beta, free)
        else:
            self.beta, intercept = solution.beta, solution.intercept + shift
        used = np.flatnonzero(self.beta)
        self.residual = problem.gram[:, used] @ self.beta[used] + intercept - targets
        self.residual[free] = 0.0

    def tableau(self, rows: Mask) -> Tableau:
        """Tableau over the free points and ``rows``."""
        rows = rows.copy()
        rows[self.system.free] = False
        others = np.flatnonzero(rows)
        size = len(others) + len(self.system.free) + 1
        require_bytes(
            8 * size * (size + 2 * len(self.system.free)),
            f"The leave-one-out tableau of {size - 1} points",
            "Fit on fewer points, or lower C.",
        )
        return Tableau.sweep(self.problem.gram, self.system, others)


def shrink_paths(
    problem: DualProblem,
    solution: DualSolution,
    points: Indices,
    removed: Array,
    *,
    n_jobs: int | None = None,
) -> list[LeftOut]:
    """Decision value of each point with ``removed`` of its upper bound taken away.

    Parameters
    ----------
    problem : DualProblem
    solution : DualSolution
        Exact solution of ``problem``.
    points : array of shape (n_paths,)
        Points with more alpha than their lowered bound allows.
    removed : array of shape (n_paths,)
        Part of the bound that goes; the whole bound leaves the point out.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    list of LeftOut
        The same at any ``n_jobs``, bit for bit.
    """
    base = _Base(problem, solution)
    everything = np.ones(len(problem.label), dtype=bool)
    near = everything if len(everything) <= ALL_ROWS else np.abs(base.residual) <= NEAR
    results: list[LeftOut | None] = [None] * len(points)
    for rows in (near,) if near.all() else (near, everything):
        pending = np.array([k for k, result in enumerate(results) if result is None], dtype=np.intp)
        if len(pending) == 0:
            break
        tableau = base.tableau(rows)
        batches = [pending[start : start + BATCH] for start in range(0, len(pending), BATCH)]
        # The batches are the same at any n_jobs, and so are the sums taken over them.
        outcomes = Parallel(n_jobs=min(effective_n_jobs(n_jobs), len(batches)), backend="threading")(
            delayed(_batch)(base, tableau, points[batch], removed[batch]) for batch in batches
        )
        for batch, outcome in zip(batches, outcomes, strict=True):
            for k, result in zip(batch, outcome, strict=True):
                results[k] = result
    return [
        retrain(problem, int(point), max(0.0, float(problem.bound[point] - part)), start=solution)
        if result is None
        else result
        for point, part, result in zip(points, removed, results, strict=True)
    ]


def _batch(base: _Base, tableau: Tableau, points: Indices, removed: Array) -> list[LeftOut | None]:
    """Run the paths of some points and check each end on all points; None where the check fails."""
    problem = base.problem
    rows, W = tableau.rows, tableau.W
    position = np.full(len(problem.label), -1)
    position[rows] = np.arange(len(rows))
    sources = position[points]
    rest = np.maximum(0.0, problem.bound[points] - removed)
    amounts = np.abs(base.beta[points]) - rest
    exact_amounts = np.abs(base.exact_beta[points]) - rest
    columns = _source_columns(base, tableau, points, sources)
    n_paths, m = len(points), len(rows)
    ends = Ends(
        changes=np.zeros((n_paths, m)),
        intercepts=np.zeros(n_paths),
        events=np.zeros(n_paths, dtype=np.int64),
        outcomes=np.zeros(n_paths, dtype=np.int64),
    )
    cases = Cases(sources, columns, problem.label[points], amounts, exact_amounts)
    loop = Base(
        W,
        tableau.base_in,
        base.lower[rows],
        base.upper[rows],
        flat_curvature(problem.gram, rows, problem.shift),
    )
    state = State(np.empty(m), np.empty(m), np.empty(m, dtype=bool), np.empty(CAPACITY, dtype=np.int64))
    shrink_each(
        loop,
        cases,
        base.beta[rows],
        base.residual[rows],
        base.exact_beta[rows],
        base.exact_residual[rows],
        MAX_EVENTS,
        state,
        scratch(m, CAPACITY),
        ends,
    )
    return _verified(base, rows, points, rest, ends)


def _source_columns(base: _Base, tableau: Tableau, points: Indices, sources: Indices) -> Array:
    """Tableau columns of bounded sources, those outside the tableau computed here."""
    rows, W, free = tableau.rows, tableau.W, tableau.n_free
    columns = np.zeros((len(points), len(rows) + 1))
    inside = sources >= free
    columns[inside] = W[sources[inside]]
    outside = np.flatnonzero(sources < 0)
    if len(outside):
        columns[outside] = columns_outside(base.problem.gram, base.system, rows[free:], points[outside])
    return columns


def _verified(
    base: _Base,
    rows: Indices,
    points: Indices,
    rest: Array,
    ends: Ends,
) -> list[LeftOut | None]:
    """Values at the ends of paths, each checked for optimality on every point.

    Whatever a path did on the way, an end that satisfies the optimality conditions of the
    remaining problem on all its points is the optimum.
    """
    problem = base.problem
    delta = np.zeros((len(points), len(problem.label)))
    delta[:, rows] = ends.changes
    own = np.arange(len(points))
    delta[own, points] = problem.label[points] * rest - base.exact_beta[points]
    # Most changes are of the same few points: one product for these, one column for each other.
    shared = np.zeros(len(problem.label), dtype=bool)
    shared[rows] = np.any(ends.changes, axis=0)
    values = delta[:, shared] @ problem.gram[shared]
    alone = np.flatnonzero(~shared[points])
    values[alone] += delta[alone, points[alone], None] * problem.gram[points[alone]]
    values += problem.label + base.exact_residual + ends.intercepts[:, None]
    n_paths = len(points)
    kkt, gap, scale = (np.empty(n_paths) for _ in range(3))
    free = np.zeros(n_paths, dtype=np.bool_)
    low, high = np.empty(n_paths), np.empty(n_paths)
    delta += base.exact_beta
    check_ends(
        delta, values, problem.label, base.lower, base.upper, points, rest, AT_BOUND,
        ROUNDING / problem.shift, kkt, gap, scale, free, low, high,
    )  # fmt: skip
    rounding = _rounding(problem.gram, delta, kkt, SETTLED_RESIDUAL * scale)
    mass = np.abs(delta).sum(axis=1)
    dual = mass - 0.5 * np.einsum("ij,ij->i", delta, values)
    gap_rounding = SETTLED * np.maximum(EPSILON * scale, rounding) * float(problem.bound.sum())
    closed = (np.minimum(gap, 1.0) - EXACT_GAP) * np.abs(dual) <= gap_rounding
    settled = kkt <= np.maximum(SETTLED_RESIDUAL * scale, SETTLED * rounding)
    kkt = np.maximum(kkt, rounding)
    good = (
        (ends.outcomes == DONE) & np.isfinite(ends.intercepts) & settled & closed & (kkt <= VERIFIED * scale)
    )
    return [
        LeftOut(
            value=float(values[k, point]),
            status="unstable" if not free[k] and high[k] - low[k] > UNIQUE else "path",
            events=int(ends.events[k]),
            kkt_residual=float(kkt[k]),
            gap=float(gap[k]),
        )
        if good[k]
        else None
        for k, point in enumerate(points)
    ]


def _rounding(gram: Array, beta: Array, kkt: Array, settled: Array) -> Array:
    """Rounding of each row's largest ``sum |beta k|``, or 0 where it cannot matter."""
    rounding = EPSILON * np.abs(beta).sum(axis=1) * max(float(gram.max()), -float(gram.min()))
    matters = np.flatnonzero(~((rounding <= settled) & (kkt <= settled)))
    exactly = np.zeros(len(beta))
    if len(matters):
        exactly[matters] = EPSILON * (np.abs(beta[matters]) @ np.abs(gram)).max(axis=1)
    return exactly

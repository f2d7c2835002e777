"""Whether the end of a path is the optimum of the remaining problem, on all its points.

An optimum that satisfies the conditions of optimality on all points is the optimum, whatever
the path did on the way. Most ends are verified with one product over the points whose
coefficients changed: it measures how exact the tableau was, from which the residuals of all
its rows follow, and a norm, which bounds the change at every point outside it. Ends for which
this is not enough are verified on every point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.follow import DONE, SETTLED
from bayes_svm._core.matrix import add_sparse_product
from bayes_svm._core.optimality import Measured, Points, check_ends, check_moved
from bayes_svm._core.removals import Removals
from bayes_svm._core.shrink import Ends, Moves
from bayes_svm.dual.solution import EPSILON, EXACT_GAP, TINY, UNIQUE
from bayes_svm.dual.solution import SETTLED as SETTLED_ROUNDING
from bayes_svm.leave_one_out.outcomes import Outcomes, Remainders
from bayes_svm.leave_one_out.start import PathBase, Rows
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["verify"]


VERIFIED = 1e-8  # KKT residual, relative to the scale, up to which a path's end is accepted,
PRECISE = 1e-12  # where beyond this it is no more than rounding
SINGLE = 1e-5  # share of the summands that single precision is sure of


@dataclass(frozen=True)
class _Moved:
    """What the paths of a batch changed."""

    points: Indices  # whose beta changes on any of them: the free ones of the base, then the others
    rank: Indices  # of each point of the problem among them, -1 for none
    delta: Array  # (n_paths, n_moved) changes of beta
    values: Array  # delta @ K
    square: Array  # (n_paths,) delta @ K @ delta


def verify(
    base: PathBase, rows: Rows, removals: Removals, moves: Moves, ends: Ends
) -> tuple[Outcomes, Indices]:
    """Outcomes of the paths whose ends are optimal; the other cases stay open.

    Also returns the points outside the tableau that should have been in it.

    Parameters
    ----------
    base : PathBase
    rows : Rows
    removals : Removals
        What the paths removed.
    moves : Moves
    ends : Ends
    """
    outcomes = Outcomes.open(removals, remainders=base.remainders)
    outcomes.events[:] = ends.events
    ended = np.isfinite(ends.intercepts) & ((ends.outcomes == DONE) | (ends.outcomes == SETTLED))
    moved = _moved(base, rows, removals, moves, ends)
    precise = ended & _verify_moved(base, removals, ends, moved, outcomes)
    kept, violated = _verify_outside(base, rows, removals, ends, moved)
    good = precise & kept
    _write(base, removals, moves, ends, moved, good, outcomes)
    if base.remainders:
        known = np.flatnonzero(good)
        delta, shift = moved.delta[known], ends.intercepts[known]
        outcomes.keep(Remainders(known, base.exact_beta, base.intercept, moved.points, delta, shift))
    rest = np.flatnonzero(ended & kept & ~precise & (ends.outcomes == DONE))
    if len(rest):
        _verify_everywhere(base, removals, moved, ends, rest, outcomes)
    return outcomes, violated


def _moved(base: PathBase, rows: Rows, removals: Removals, moves: Moves, ends: Ends) -> _Moved:
    """Changes of beta on each path, and what they do to f: most are of free points."""
    gram, n_free, n_paths = base.problem.gram, rows.tableau.n_free, removals.n_cases
    # Members are among the points even where they do not move: their values are wanted.
    mask = np.asarray(ends.changes[:, n_free:].any(axis=0))
    mask[moves.rows[moves.rows >= n_free] - n_free] = True
    inside = n_free + np.flatnonzero(mask)
    out = np.flatnonzero(moves.rows < 0)
    beyond = np.unique(removals.points[out]) if len(out) else out
    points = np.concatenate([base.system.free, rows.tableau.rows[inside], beyond])
    rank = np.full(len(rows.position), -1)
    rank[points] = np.arange(len(points))
    of_free, of_others = ends.changes[:, :n_free], np.zeros((n_paths, len(points) - n_free))
    of_others[:, : len(inside)] = ends.changes[:, inside]
    if len(out):
        case = removals.case[out]
        of_others[case, rank[removals.points[out]] - n_free] = ends.times[case] * moves.exact_change[out]
    between = gram.block(points[n_free:], points)
    delta, values = np.empty((2, n_paths, len(points)))
    delta[:, :n_free], delta[:, n_free:] = of_free, of_others
    np.matmul(of_free, base.system.block, out=values[:, :n_free])
    np.matmul(of_free, between[:, :n_free].T, out=values[:, n_free:])
    add_sparse_product(values, of_others, between)
    return _Moved(points, rank, delta, values, np.empty(n_paths))


def _verify_moved(base: PathBase, removals: Removals, ends: Ends, moved: _Moved, outcomes: Outcomes) -> Mask:
    """Optimality of the points that move by the product, of the other rows by the tableau."""
    problem, chosen, n_paths = base.problem, moved.points, removals.n_cases
    beta, residual, label = base.exact_beta[chosen], base.exact_residual[chosen], problem.label[chosen]
    others = np.abs(base.exact_beta)
    others[chosen] = 0.0
    points = Points(
        beta, residual, label, problem.bound[chosen], residual + label - base.intercept,
        float(others.max()), base.norm, base.mass,
    )  # fmt: skip
    gone = (removals.rest == 0) | (ends.outcomes[removals.case] == SETTLED)
    # A bound below 0 says that the member is taken out altogether.
    left = Removals(removals.start, moved.rank[removals.points], np.where(gone, -1.0, removals.rest))
    kkt, gap, dual = np.empty((3, n_paths))
    measured = Measured(kkt, gap, dual, moved.square, np.empty(n_paths, dtype=np.bool_))
    check_moved(points, left, moved.delta, moved.values, ends.intercepts, base.tolerance, measured)
    kkt = np.maximum(np.maximum(kkt, ends.kkt), 0.0)
    outcomes.kkt_residual[:], outcomes.gap[:] = kkt, gap / np.maximum(dual, TINY)
    return measured.free & _optimal(base, kkt, gap, dual, base.scale)


def _optimal(base: PathBase, kkt: Array, gap: Array, dual: Array, scale: Array | float) -> Mask:
    """Whether residual and duality gap are no more than rounding, and not too much of that.

    The rounding is that of the whole problem's sums, from which those of the ends differ by a change.
    """
    rounding = base.rounding
    settled = kkt <= np.maximum(PRECISE * scale, SETTLED_ROUNDING * rounding)
    gap_rounding = SETTLED_ROUNDING * np.maximum(EPSILON * scale, rounding) * base.total_bound
    closed = gap <= EXACT_GAP * dual + gap_rounding
    return np.asarray(settled & closed & (np.maximum(kkt, rounding) <= VERIFIED * scale))


def _verify_outside(
    base: PathBase, rows: Rows, removals: Removals, ends: Ends, moved: _Moved
) -> tuple[Mask, Indices]:
    """Whether every point outside the tableau has kept its side, and those that on some path have not.

    f changes by ``<dw, phi(x)> + db``, at most ``|dw| |phi(x)| + |db|``. Where that does not
    settle it, the change is computed.
    """
    if len(rows.outside) == 0:
        return np.ones(removals.n_cases, dtype=bool), rows.outside
    length = np.sqrt(np.maximum(base.problem.gram.diagonal[rows.outside], 0.0)).max()
    norm = np.sqrt(np.maximum(moved.square, 0.0))
    reach = norm * length + np.abs(ends.intercepts)
    good = reach < rows.distance[0]
    doubtful = np.flatnonzero(~good & np.isfinite(reach))
    if len(doubtful) == 0:
        return np.asarray(good), rows.outside[:0]
    # Farther points are out of reach: those outside are in the order of their distance.
    near = slice(int(np.searchsorted(rows.distance, reach[doubtful].max(), side="right")))
    # First in single precision, and again in double where that is too coarse to tell.
    mass = np.abs(moved.delta[doubtful]).sum(axis=1) * length**2 + np.abs(ends.intercepts[doubtful]) + 1.0
    with np.errstate(over="ignore", invalid="ignore"):  # single precision may overflow, and NaN is not clear
        side = _side_after(base, rows, removals, ends, moved, doubtful, near, np.float32)
        unclear = ~(side > SINGLE * mass[:, None])
    good[doubtful] = True
    paths, points = np.flatnonzero(unclear.any(axis=1)), np.flatnonzero(unclear.any(axis=0))
    if len(paths) == 0:
        return np.asarray(good), rows.outside[:0]
    side = _side_after(base, rows, removals, ends, moved, doubtful[paths], points, np.float64)
    wrong = ~(side > -max(PRECISE * base.scale, SETTLED_ROUNDING * base.rounding))
    good[doubtful[paths[wrong.any(axis=1)]]] = False
    return np.asarray(good), rows.outside[points[wrong.any(axis=0)]]


def _side_after(
    base: PathBase,
    rows: Rows,
    removals: Removals,
    ends: Ends,
    moved: _Moved,
    paths: Indices,
    which: Indices | slice,
    precision: type[np.floating[Any]],
) -> NDArray[Any]:
    """Distance of some points outside from the margin at the ends, negative on the wrong side.

    Infinite for a path's own members.
    """
    near, n_free, delta = rows.outside[which], rows.tableau.n_free, moved.delta[paths]
    # The free points change on every path: their part of the kernel matrix is at hand.
    free_part: NDArray[Any]
    if precision is np.float32:
        free_part = rows.free_outside[:, which]
    else:
        free_part = base.problem.gram.block(base.system.free, near)
    side = delta[:, :n_free].astype(precision) @ free_part
    of_others = np.ascontiguousarray(delta[:, n_free:], dtype=precision)
    between = base.problem.gram.block(moved.points[n_free:], near)
    add_sparse_product(side, of_others, between.astype(precision, copy=False))
    side += ends.intercepts[paths, None].astype(precision)
    side *= np.where(base.exact_residual[near] > 0, 1.0, -1.0).astype(precision)
    side += rows.distance[which].astype(precision)
    place, number = np.full(len(rows.position), -1), np.full(removals.n_cases, -1)
    place[near], number[paths] = np.arange(len(near)), np.arange(len(paths))
    path, point = number[removals.case], place[removals.points]
    own = (path >= 0) & (point >= 0)
    side[path[own], point[own]] = np.inf
    return side


def _write(
    base: PathBase,
    removals: Removals,
    moves: Moves,
    ends: Ends,
    moved: _Moved,
    good: Mask,
    outcomes: Outcomes,
) -> None:
    """Values and status of the good ends; where a path stopped early, only the sign."""
    points, case = removals.points, removals.case
    values = base.problem.label[points] + base.exact_residual[points]
    values += moved.values[case, moved.rank[points]] + ends.intercepts[case]
    settled = good & (ends.outcomes == SETTLED)
    if settled.any():
        # Settled at the perturbed targets; the exact value must say the same.
        heads = removals.start[:-1]
        ahead = moves.signs * values[heads]
        good &= ~settled | (ahead < 0) | (ahead > (1.0 - ends.times) * moves.steepest)
    known = np.flatnonzero(good[case])
    outcomes.set_values(known, values[known])
    outcomes.values[settled[case]] = np.nan
    outcomes.status[good] = np.where(settled, "settled", "path")[good]


def _verify_everywhere(
    base: PathBase,
    removals: Removals,
    moved: _Moved,
    ends: Ends,
    paths: Indices,
    outcomes: Outcomes,
) -> None:
    """The conditions of optimality of some paths' ends, on every point of the problem."""
    problem, points, delta = base.problem, moved.points, moved.delta[paths]
    everything = np.arange(len(problem.label))
    values = delta @ problem.gram.block(points, everything)
    values += problem.label + base.exact_residual + ends.intercepts[paths, None]
    before = values.copy()
    beta = np.tile(base.exact_beta, (len(paths), 1))
    beta[:, points] += delta
    left = removals.take(paths)
    bounds = np.tile(problem.bound, (len(paths), 1))
    bounds[left.case, left.points] = left.rest
    kkt, gap, scale, low, high = (np.empty(len(paths)) for _ in range(5))
    free = np.zeros(len(paths), dtype=np.bool_)
    check_ends(beta, values, problem.label, bounds, base.tolerance, kkt, gap, scale, free, low, high)
    dual = np.abs(beta @ problem.label - 0.5 * np.einsum("pi,pi->p", beta, values))
    good = np.flatnonzero(_optimal(base, kkt, np.minimum(gap, 1.0) * dual, dual, scale))
    left, paths, values = left.take(good), paths[good], values[good]
    outcomes.set_values(removals.members(paths), values[left.case, left.points])
    loose = ~free[good] & (high[good] - low[good] > UNIQUE)
    outcomes.status[paths] = np.where(loose, "unstable", "path")
    outcomes.kkt_residual[paths], outcomes.gap[paths] = kkt[good], gap[good]
    if base.remainders:
        shift = ends.intercepts[paths] + values[:, 0] - before[good, 0]
        nothing = np.zeros(len(everything))
        outcomes.keep(Remainders(paths, nothing, base.intercept, slice(None), beta[good], shift))

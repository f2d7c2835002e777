"""Whether the end of a path is the optimum of the remaining problem, on all its points.

An optimum that satisfies the conditions of optimality on all points is the optimum, whatever
the path did on the way. Most ends are verified with one product over the points whose
coefficients changed: it measures how exact the tableau was, from which the residuals of all
its rows follow, and a norm, which bounds the change at every point outside it. Ends for which
this is not enough are verified on every point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayes_svm._follow import DONE, SETTLED
from bayes_svm._matrix import add_sparse_product
from bayes_svm.leave_one_out._shrink import Cases, Ends, check_ends, check_touched
from bayes_svm.leave_one_out.base import PathBase, Rows
from bayes_svm.leave_one_out.removal import Outcomes, Removals
from bayes_svm.solution import EPSILON, EXACT_GAP, TINY, UNIQUE
from bayes_svm.solution import SETTLED as SETTLED_ROUNDING

__all__ = ["verify"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

VERIFIED = 1e-8  # KKT residual, relative to the scale, up to which a path's end is accepted,
PRECISE = 1e-12  # where beyond this it is no more than rounding
SINGLE = 1e-5  # share of the summands that single precision is sure of


def verify(
    base: PathBase, rows: Rows, removals: Removals, cases: Cases, ends: Ends, cross: Array
) -> tuple[Outcomes, Indices]:
    """Outcomes of the paths whose ends are optimal; the other cases stay open.

    Also returns the points outside the tableau that should have been in it.

    Parameters
    ----------
    base : PathBase
    rows : Rows
    removals : Removals
        What the paths removed.
    cases : Cases
    ends : Ends
    cross : array of shape (n_at, n_points)
        Kernel values between the points asked for besides and those of the problem.
    """
    outcomes = Outcomes.open(removals, len(cross))
    outcomes.events[:] = ends.events
    ended = np.isfinite(ends.intercepts) & ((ends.outcomes == DONE) | (ends.outcomes == SETTLED))
    touched = _touched(rows, removals, ends)
    delta = _changes(rows, removals, cases, ends, touched)
    moved = _moved(base, rows, touched, delta)
    residual = base.exact_residual[touched] + moved + ends.intercepts[:, None]
    precise = ended & _verify_touched(base, removals, touched, delta, moved, residual, ends, outcomes)
    kept, violated = _verify_outside(base, rows, removals, ends, touched, delta, moved)
    good = precise & kept
    _write(base, removals, cases, ends, touched, residual, good, outcomes)
    _ask(base, touched, delta, ends.intercepts, cross, good, outcomes)
    rest = np.flatnonzero(ended & kept & ~precise & (ends.outcomes == DONE))
    if len(rest):
        _verify_everywhere(base, removals, touched, delta, ends, rest, cross, outcomes)
    return outcomes, violated


def _touched(rows: Rows, removals: Removals, ends: Ends) -> Indices:
    """Points whose coefficient changes on any of the paths, the members among them."""
    mask = np.zeros(len(rows.position), dtype=bool)
    mask[rows.tableau.rows] = ends.changes.any(axis=0)
    mask[removals.points] = True
    return np.flatnonzero(mask)


def _changes(rows: Rows, removals: Removals, cases: Cases, ends: Ends, touched: Indices) -> Array:
    """Change of beta of the touched points on each path."""
    place = rows.position[touched]
    delta = np.zeros((len(removals), len(touched)))
    delta[:, place >= 0] = ends.changes[:, place[place >= 0]]
    outside = np.flatnonzero(cases.rows < 0)
    case = removals.case[outside]
    delta[case, np.searchsorted(touched, removals.points[outside])] = (
        ends.times[case] * cases.exact_moves[outside]
    )
    return delta


def _moved(base: PathBase, rows: Rows, touched: Indices, delta: Array) -> Array:
    """``delta @ K`` on the touched points, most of them free: that part of K is at hand."""
    gram, free = base.problem.gram, base.system.free
    place = rows.position[touched]
    is_free = (place >= 0) & (place < rows.tableau.n_free)
    others = np.flatnonzero(~is_free)
    of_free, of_others = _of_free(rows, touched, delta), delta[:, others]
    cross = gram.block(touched[others], free)
    at_free, at_others = of_free @ base.system.block, of_free @ cross.T
    add_sparse_product(at_free, of_others, cross)
    add_sparse_product(at_others, of_others, gram.block(touched[others], touched[others]))
    moved = np.empty_like(delta)
    moved[:, is_free], moved[:, others] = at_free[:, place[is_free]], at_others
    return moved


def _verify_touched(
    base: PathBase,
    removals: Removals,
    touched: Indices,
    delta: Array,
    moved: Array,
    residual: Array,
    ends: Ends,
    outcomes: Outcomes,
) -> Mask:
    """Optimality of the touched points by the product, of the other rows by the tableau."""
    n_paths = len(removals)
    bounds = np.tile(base.problem.bound[touched], (n_paths, 1))
    case, member = removals.case, np.searchsorted(touched, removals.points)
    gone = (removals.rest == 0) | (ends.outcomes[case] == SETTLED)
    bounds[case, member] = np.where(gone, -1.0, removals.rest)
    kkt, gap, free = np.empty(n_paths), np.empty(n_paths), np.empty(n_paths, dtype=np.bool_)
    largest = max(float(np.abs(base.exact_beta).max()), np.finfo(float).tiny)
    check_touched(
        base.exact_beta[touched] + delta, residual, base.problem.label[touched], bounds, base.tolerance,
        largest, kkt, gap, free,
    )  # fmt: skip
    lost = np.abs(delta.sum(axis=1))
    outcomes.kkt_residual[:] = np.maximum(
        np.maximum(np.maximum(kkt, ends.kkt), lost / min(largest, 1.0)), 0.0
    )
    kernel_part = base.exact_residual[touched] + base.problem.label[touched] - base.intercept
    norm = base.norm + 2.0 * delta @ kernel_part + np.einsum("pi,pi->p", delta, moved)
    dual = np.abs(base.mass + delta @ base.problem.label[touched] - 0.5 * norm)
    outcomes.gap[:] = gap / np.maximum(dual, TINY)
    scale, rounding = np.full(n_paths, base.scale), np.full(n_paths, base.rounding)
    return free & _optimal(base, outcomes.kkt_residual, gap, dual, scale, rounding)


def _optimal(base: PathBase, kkt: Array, gap: Array, dual: Array, scale: Array, rounding: Array) -> Mask:
    """Whether residual and duality gap are no more than rounding, and not too much of that."""
    settled = kkt <= np.maximum(PRECISE * scale, SETTLED_ROUNDING * rounding)
    gap_rounding = SETTLED_ROUNDING * np.maximum(EPSILON * scale, rounding) * base.total_bound
    closed = gap <= EXACT_GAP * dual + gap_rounding
    return np.asarray(settled & closed & (np.maximum(kkt, rounding) <= VERIFIED * scale))


def _verify_outside(
    base: PathBase, rows: Rows, removals: Removals, ends: Ends, touched: Indices, delta: Array, moved: Array
) -> tuple[Mask, Indices]:
    """Whether every point outside the tableau has kept its side, and those that on some path have not.

    f changes by ``<dw, phi(x)> + db``, at most ``|dw| |phi(x)| + |db|``. Where that does not
    settle it, the change is computed.
    """
    length = np.sqrt(np.maximum(base.problem.gram.diagonal[rows.outside], 0.0)).max(initial=0.0)
    norm = np.sqrt(np.maximum(np.einsum("pi,pi->p", delta, moved), 0.0))
    reach = norm * length + np.abs(ends.intercepts)
    good = reach < rows.distance.min(initial=np.inf)
    doubtful = np.flatnonzero(~good & np.isfinite(reach))
    if len(doubtful) == 0:
        return np.asarray(good), rows.outside[:0]
    # Farther points are out of reach: those outside are in the order of their distance.
    near = slice(int(np.searchsorted(rows.distance, reach[doubtful].max(), side="right")))
    # First in single precision, and again in double where that is too coarse to tell.
    mass = np.abs(delta[doubtful]).sum(axis=1) * length**2 + np.abs(ends.intercepts[doubtful]) + 1.0
    with np.errstate(over="ignore", invalid="ignore"):  # single precision may overflow, and NaN is not clear
        side = _side_after(base, rows, removals, ends, touched, delta, doubtful, near, np.float32)
        unclear = ~(side > SINGLE * mass[:, None])
    paths, points = np.flatnonzero(unclear.any(axis=1)), np.flatnonzero(unclear.any(axis=0))
    good[doubtful] = True
    side = _side_after(base, rows, removals, ends, touched, delta, doubtful[paths], points, np.float64)
    wrong = ~(side > -max(PRECISE * base.scale, SETTLED_ROUNDING * base.rounding))
    good[doubtful[paths[wrong.any(axis=1)]]] = False
    return np.asarray(good), rows.outside[points[wrong.any(axis=0)]]


def _side_after(
    base: PathBase,
    rows: Rows,
    removals: Removals,
    ends: Ends,
    touched: Indices,
    delta: Array,
    paths: Indices,
    which: Indices | slice,
    precision: type[np.floating[Any]],
) -> NDArray[Any]:
    """Distance of some points outside from the margin at the ends, negative on the wrong side.

    Infinite for a path's own members.
    """
    near = rows.outside[which]
    # The free points change on every path: their part of the kernel matrix is at hand.
    others = np.flatnonzero(~np.isin(touched, base.system.free))
    free_part: NDArray[Any]
    if precision is np.float32:
        free_part = rows.free_outside[:, which]
    else:
        free_part = base.problem.gram.block(base.system.free, near)
    side = _of_free(rows, touched, delta[paths]).astype(precision) @ free_part
    cross = base.problem.gram.block(touched[others], near)
    add_sparse_product(
        side, delta[np.ix_(paths, others)].astype(precision), cross.astype(precision, copy=False)
    )
    side += ends.intercepts[paths, None].astype(precision)
    side *= np.where(base.exact_residual[near] > 0, 1.0, -1.0).astype(precision)
    side += rows.distance[which].astype(precision)
    rank = np.full(len(rows.position), -1)
    rank[near] = np.arange(len(near))
    own = np.flatnonzero(np.isin(removals.case, paths) & (rank[removals.points] >= 0))
    side[np.searchsorted(paths, removals.case[own]), rank[removals.points[own]]] = np.inf
    return side


def _of_free(rows: Rows, touched: Indices, delta: Array) -> Array:
    """Changes of beta of all free points."""
    place = rows.position[touched]
    inside = (place >= 0) & (place < rows.tableau.n_free)
    changes = np.zeros((len(delta), rows.tableau.n_free))
    changes[:, place[inside]] = delta[:, inside]
    return changes


def _write(
    base: PathBase,
    removals: Removals,
    cases: Cases,
    ends: Ends,
    touched: Indices,
    residual: Array,
    good: Mask,
    outcomes: Outcomes,
) -> None:
    """Values and status of the good ends; where a path stopped early, only the sign."""
    problem, case = base.problem, removals.case
    member = np.searchsorted(touched, removals.points)
    values = problem.label[removals.points] + residual[case, member]
    settled = good & (ends.outcomes == SETTLED)
    if settled.any():
        # Settled at the perturbed targets; the exact value must say the same.
        heads = removals.start[:-1]
        ahead = cases.signs * values[heads]
        good &= ~settled | (ahead < 0) | (ahead > (1.0 - ends.times) * cases.steepest)
    known = np.flatnonzero(good[case])
    outcomes.set_values(known, values[known])
    outcomes.values[settled[case]] = np.nan
    outcomes.status[good] = np.where(settled, "settled", "path")[good]


def _ask(
    base: PathBase, touched: Indices, delta: Array, shift: Array, cross: Array, good: Mask, outcomes: Outcomes
) -> None:
    """Decision values at the points asked for besides."""
    if len(cross):
        known = np.flatnonzero(good)
        before = cross @ base.exact_beta + base.intercept
        outcomes.at[known] = before + delta[known] @ cross[:, touched].T + shift[known, None]


def _verify_everywhere(
    base: PathBase,
    removals: Removals,
    touched: Indices,
    delta: Array,
    ends: Ends,
    paths: Indices,
    cross: Array,
    outcomes: Outcomes,
) -> None:
    """The conditions of optimality of some paths' ends, on every point of the problem."""
    problem = base.problem
    everything = np.arange(len(problem.label))
    values = delta[paths] @ problem.gram.block(touched, everything)
    values += problem.label + base.exact_residual + ends.intercepts[paths, None]
    before = values.copy()
    beta = np.tile(base.exact_beta, (len(paths), 1))
    beta[:, touched] += delta[paths]
    bounds = np.array([removals.bounds(problem, int(path)) for path in paths])
    kkt, gap, scale, low, high = (np.empty(len(paths)) for _ in range(5))
    free = np.zeros(len(paths), dtype=np.bool_)
    check_ends(beta, values, problem.label, bounds, base.tolerance, kkt, gap, scale, free, low, high)
    dual = np.abs(beta @ problem.label - 0.5 * np.einsum("pi,pi->p", beta, values))
    rounding = np.array([EPSILON * problem.gram.largest_sum(row) for row in beta])
    good = _optimal(base, kkt, np.minimum(gap, 1.0) * dual, dual, scale, rounding)
    for a in np.flatnonzero(good):
        path = paths[a]
        members = slice(removals.start[path], removals.start[path + 1])
        outcomes.set_values(members, values[a, removals.points[members]])
        outcomes.status[path] = "unstable" if not free[a] and high[a] - low[a] > UNIQUE else "path"
        outcomes.kkt_residual[path], outcomes.gap[path] = kkt[a], gap[a]
        if len(cross):
            shift = ends.intercepts[path] + values[a, 0] - before[a, 0]
            outcomes.at[path] = cross @ beta[a] + base.intercept + shift

"""Whether the end of a path is the optimum of the remaining problem, on all its points.

A solution that satisfies the conditions of optimality on all points is the optimum, whatever happened on
the path. Most ends are verified with one product over the points whose coefficients changed. It measures how
exact the tableau was, which gives the residuals of all rows, and it gives a norm, which bounds the change at
every point outside the tableau. If that is not enough, the end is verified on every point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.check_records import Measured, Points
from bayes_svm._core.matrix import add_sparse_product
from bayes_svm._core.optimality import check_ends, check_moved
from bayes_svm._core.records import DONE, SETTLED, Ends, Moves
from bayes_svm._core.removals import Removals
from bayes_svm.dual.solution import EPSILON, EXACT_GAP, ROUNDING_FACTOR, TINY, UNIQUE
from bayes_svm.leave_one_out.outcomes import Outcomes, Remainders
from bayes_svm.leave_one_out.retrain import end_solved
from bayes_svm.leave_one_out.start import Origin, SharedTableau
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["PRECISE", "optimal_ends", "settled_within", "verify"]


# The end of a path is accepted if its KKT residual is at most this multiple of the scale.
VERIFIED = 1e-8
# A residual of at most this multiple of the scale is no more than rounding.
PRECISE = 1e-12
# An end that violates optimality by more than this multiple of the scale is no start for a solution.
NEAR = 1e-3
# An end with more points outside the tableau on the wrong side is not that of a path that lacked these.
MOST_LACKED = 512
# Single precision is sure of this share of the summands.
SINGLE_PRECISION = 1e-5


@dataclass(frozen=True)
class _Batch:
    """The paths of a batch, and what they changed.

    Parameters
    ----------
    origin : Origin
        The solution from which the paths start.
    shared : SharedTableau
        The tableau that they were followed on.
    removals : Removals
        What they removed.
    moves : Moves
        How the members moved.
    ends : Ends
        Where the paths ended.
    points : array of shape (n_moved,)
        Points whose beta changes on any of the paths, or whose bound does without being 0: the free ones of
        the origin, then the others.
    rank : array of shape (n_points,)
        Place of each point of the problem among these, -1 for none.
    delta : array of shape (n_paths, n_moved)
        Changes of beta.
    values : array of shape (n_paths, n_moved)
        ``delta @ K``.
    square : array of shape (n_paths,)
        ``delta @ K @ delta`` of each path; :func:`_verify_moved` fills it in.
    """

    origin: Origin
    shared: SharedTableau
    removals: Removals
    moves: Moves
    ends: Ends
    points: Indices
    rank: Indices
    delta: Array
    values: Array
    square: Array

    @cached_property
    def case(self) -> Indices:
        """The path of each member."""
        return self.removals.case

    @classmethod
    def of(
        cls, origin: Origin, shared: SharedTableau, removals: Removals, moves: Moves, ends: Ends
    ) -> _Batch:
        """Collect the changes of beta on each path, and what they do to f."""
        gram, n_free, n_paths = origin.problem.gram, shared.tableau.n_free, removals.n_cases
        mask = np.asarray(ends.changes[:, n_free:].any(axis=0))
        # Members of which something is left are among the points even where they do not move: they must
        # satisfy conditions with the bounds that they keep.
        mask[moves.rows[moves.keeps & (moves.rows >= n_free)] - n_free] = True
        inside = n_free + mask.nonzero()[0]
        out = ((moves.rows < 0) & ((moves.exact_change != 0) | moves.keeps)).nonzero()[0]
        beyond = np.unique(removals.points[out]) if len(out) else out
        points = np.concatenate([origin.system.free, shared.tableau.rows[inside], beyond])
        rank = np.full(len(shared.position), -1)
        rank[points] = np.arange(len(points))
        of_free, of_others = ends.changes[:, :n_free], np.zeros((n_paths, len(points) - n_free))
        of_others[:, : len(inside)] = ends.changes[:, inside]
        if len(out):
            case = removals.case[out]
            of_others[case, rank[removals.points[out]] - n_free] = ends.times[case] * moves.exact_change[out]
        # Nearly all changes are of free points, whose kernel matrix is at hand; those of the others are few.
        between = gram.block(points[n_free:], points)
        delta, values = np.empty((2, n_paths, len(points)))
        delta[:, :n_free], delta[:, n_free:] = of_free, of_others
        np.matmul(of_free, origin.system.block, out=values[:, :n_free])
        np.matmul(of_free, between[:, :n_free].T, out=values[:, n_free:])
        add_sparse_product(values, of_others, between)
        return cls(origin, shared, removals, moves, ends, points, rank, delta, values, np.empty(n_paths))


def verify(
    origin: Origin, shared: SharedTableau, removals: Removals, moves: Moves, ends: Ends
) -> tuple[Outcomes, Indices]:
    """Outcomes of the paths whose ends are optimal; the other cases stay open.

    Parameters
    ----------
    origin : Origin
        The solution from which the paths start.
    shared : SharedTableau
        The tableau that they were followed on.
    removals : Removals
        What the paths removed.
    moves : Moves
        How the members moved.
    ends : Ends
        Where the paths ended.

    Returns
    -------
    outcomes : Outcomes
        What is known of each case.
    lacked : array
        The points outside the tableau that should have been in it, of the ends that lack few.
    """
    outcomes = Outcomes.open(removals, remainders=origin.remainders)
    outcomes.events[:] = ends.events
    ended = np.isfinite(ends.intercepts) & ((ends.outcomes == DONE) | (ends.outcomes == SETTLED))
    batch = _Batch.of(origin, shared, removals, moves, ends)
    precise = ended & _verify_moved(batch, outcomes)
    kept, lacked = _verify_outside(batch)
    good = precise & kept
    _write(batch, good, outcomes)
    if origin.remainders:
        known = good.nonzero()[0]
        delta, shift = batch.delta[known], ends.intercepts[known]
        outcomes.keep(Remainders(known, origin.exact_beta, origin.intercept, batch.points, delta, shift))
    doubtful = (ended & kept & ~precise & (ends.outcomes == DONE)).nonzero()[0]
    if len(doubtful):
        _verify_everywhere(batch, doubtful, outcomes)
    return outcomes, lacked


def _verify_moved(batch: _Batch, outcomes: Outcomes) -> Mask:
    """Whether the ends are optimal on the points that move, and, by the tableau, on its other rows."""
    origin, removals, ends, chosen = batch.origin, batch.removals, batch.ends, batch.points
    problem, n_paths = origin.problem, removals.n_cases
    beta, residual, label = origin.exact_beta[chosen], origin.exact_residual[chosen], problem.label[chosen]
    others = np.abs(origin.exact_beta)
    others[chosen] = 0.0
    points = Points(
        beta, residual, label, problem.bound[chosen], residual + label - origin.intercept,
        float(others.max()), origin.norm, origin.mass,
    )  # fmt: skip
    gone = (removals.rest == 0) | (ends.outcomes[batch.case] == SETTLED)
    # A bound below 0 says that the member is taken out altogether.
    rank, rest, start = batch.rank[removals.points], np.where(gone, -1.0, removals.rest), removals.start
    among = rank >= 0
    if not among.all():
        start = np.append(0, np.cumsum(among))[start]
        rank, rest = rank[among], rest[among]
    left = Removals(start, rank, rest)
    kkt, gap, dual = np.empty((3, n_paths))
    measured = Measured(kkt, gap, dual, batch.square, np.empty(n_paths, dtype=np.bool_))
    check_moved(points, left, batch.delta, batch.values, ends.intercepts, origin.tolerance, measured)
    kkt = np.maximum(np.maximum(kkt, ends.kkt), 0.0)
    with np.errstate(over="ignore"):  # a gap that is infinite is not that of an optimum
        outcomes.kkt_residual[:], outcomes.gap[:] = kkt, gap / np.maximum(dual, TINY)
    return measured.free & _optimal(origin, kkt, gap, dual, origin.scale)


def settled_within(origin: Origin, scale: Array | float) -> Array:
    """Largest violation of optimality that counts as rounding, for decision values of a scale."""
    return np.maximum(PRECISE * scale, ROUNDING_FACTOR * origin.rounding)


def _optimal(origin: Origin, kkt: Array, gap: Array, dual: Array, scale: Array | float) -> Mask:
    """Whether residual and duality gap are no more than rounding, and the rounding itself is small.

    The rounding is that of the whole problem's sums, from which those at the ends differ by a change. A
    :class:`~bayes_svm.dual.solution.DualSolution` has sums of its own, and is judged by these.
    """
    rounding = origin.rounding
    settled = kkt <= settled_within(origin, scale)
    gap_rounding = ROUNDING_FACTOR * np.maximum(EPSILON * scale, rounding) * origin.total_bound
    closed = gap <= EXACT_GAP * dual + gap_rounding
    permitted = np.maximum(VERIFIED * scale, origin.permitted)
    return np.asarray(settled & closed & (np.maximum(kkt, rounding) <= permitted))


def _verify_outside(batch: _Batch) -> tuple[Mask, Indices]:
    """Which paths keep every point outside the tableau on its side; and the points that some path does not.

    f changes by ``<dw, phi(x)> + db``, at most ``|dw| |phi(x)| + |db|``. Where this bound does not decide,
    the change is computed.
    """
    origin, shared, ends = batch.origin, batch.shared, batch.ends
    if len(shared.outside) == 0:
        return np.ones(batch.removals.n_cases, dtype=bool), shared.outside
    length, largest, fixed = _lengths(batch)
    reach = np.sqrt(np.maximum(batch.square, 0.0)) * length + np.abs(fixed)
    good = reach < shared.distance[0]
    doubtful = (~good & np.isfinite(reach)).nonzero()[0]
    if len(doubtful) == 0:
        return np.asarray(good), shared.outside[:0]
    # The points outside are in the order of their distance: those beyond the largest reach keep their sides.
    near = slice(int(np.searchsorted(shared.distance, reach[doubtful].max(), side="right")))
    mass = (np.abs(batch.delta) @ largest)[doubtful] + np.abs(ends.intercepts[doubtful]) + 1.0
    # First in single precision, where overflow and NaN are not clear, then in double precision what is not
    # clear.
    with np.errstate(over="ignore", invalid="ignore"):
        side = _side_after(batch, doubtful, near, np.float32)
        unclear = ~(side > SINGLE_PRECISION * mass[:, None])
    good[doubtful] = True
    paths, points = unclear.any(axis=1).nonzero()[0], unclear.any(axis=0).nonzero()[0]
    if len(paths) == 0:
        return np.asarray(good), shared.outside[:0]
    side = _side_after(batch, doubtful[paths], points, np.float64)
    wrong = ~(side > -settled_within(origin, origin.scale))
    good[doubtful[paths[wrong.any(axis=1)]]] = False
    lacking = wrong[np.count_nonzero(wrong, axis=1) <= MOST_LACKED]
    return np.asarray(good), shared.outside[points[lacking.any(axis=0)]]


def _lengths(batch: _Batch) -> tuple[float, Array, Array]:
    """Largest length of a point outside; the largest kernel value that each moved point may have with them.

    And how f changes where the length is measured from: at the origin of feature space, or, for a kernel that
    may be positive definite only for coefficients that sum to 0, at a free point. Such a kernel has
    distances, but ``k(x, x)``, which is 0 for minus a distance, is the length of nothing.
    """
    gram, outside, intercepts = batch.origin.problem.gram, batch.shared.outside, batch.ends.intercepts
    square = gram.diagonal[outside]
    if gram.positive_semidefinite:
        length = float(np.sqrt(np.maximum(square, 0.0)).max())
        return length, length * np.sqrt(np.maximum(gram.diagonal[batch.points], 0.0)), intercepts
    start = batch.points[:1]
    square = square + gram.diagonal[start] - 2.0 * gram.block(start, outside)[0]
    largest = max(float(np.abs(gram.diagonal).max()), -gram.smallest)
    length = float(np.sqrt(np.maximum(square, 0.0)).max())
    return length, np.full(len(batch.points), largest), batch.values[:, 0] + intercepts


def _side_after(
    batch: _Batch, paths: Indices, which: Indices | slice, precision: type[np.floating[Any]]
) -> NDArray[Any]:
    """Distance of some points outside from the margin at some ends, negative on the wrong side.

    Infinite for a path's own members, and for what the tableau covers after all.
    """
    origin, shared, removals, delta = batch.origin, batch.shared, batch.removals, batch.delta[paths]
    near, n_free = shared.outside[which], shared.tableau.n_free
    gram, others = origin.problem.gram, batch.points[n_free:]
    between: NDArray[Any]
    side: NDArray[Any]
    of_free, of_others = np.split(delta.astype(precision), [n_free], axis=1)
    if precision is np.float32:
        # In single precision the kernel values of the first tableau's rows are at hand.
        at_hand = shared.first_outside[:, which]
        side = of_free @ at_hand[:n_free]
        place = shared.position[others]
        known = (place >= 0) & (place < len(at_hand))
        weights = np.zeros((len(paths), len(at_hand) - n_free), dtype=precision)
        weights[:, place[known] - n_free] = of_others[:, known]
        add_sparse_product(side, weights, at_hand[n_free:])
        others, of_others = others[~known], of_others[:, ~known]
        between = gram.single_block(others, near)
    else:
        side = of_free @ gram.block(origin.system.free, near)
        between = gram.block(others, near)
    add_sparse_product(side, np.ascontiguousarray(of_others), between)
    side += batch.ends.intercepts[paths, None].astype(precision)
    side *= origin.side[near].astype(precision)
    side += shared.distance[which].astype(precision)
    # What the tableau covers by now is verified with its rows.
    side[:, shared.position[near] >= 0] = np.inf
    place, number = np.full(len(shared.position), -1), np.full(removals.n_cases, -1)
    place[near], number[paths] = np.arange(len(near)), np.arange(len(paths))
    path, point = number[batch.case], place[removals.points]
    own = (path >= 0) & (point >= 0)
    side[path[own], point[own]] = np.inf
    return side


def _write(batch: _Batch, good: Mask, outcomes: Outcomes) -> None:
    """Write values and status of the good ends; where a path stopped early, only the sign."""
    origin, removals, ends = batch.origin, batch.removals, batch.ends
    points, case = removals.points, batch.case
    values = origin.problem.label[points] + origin.exact_residual[points]
    values += _changes(batch) + ends.intercepts[case]
    settled = good & (ends.outcomes == SETTLED)
    if settled.any():
        # The sign was settled at the perturbed targets: the value at the exact ones must settle it too.
        heads = removals.start[:-1]
        ahead = batch.moves.signs * values[heads]
        good &= ~settled | (ahead < 0) | (ahead > (1.0 - ends.times) * batch.moves.steepest)
    known = good[case].nonzero()[0]
    outcomes.set_values(known, values[known])
    outcomes.values[settled[case]] = np.nan
    outcomes.status[good] = np.where(settled, "settled", "path")[good]


def _changes(batch: _Batch) -> Array:
    """Change of the kernel part of f at each member, whether it is among the points or not."""
    points, case = batch.removals.points, batch.case
    rank = batch.rank[points]
    changes = np.asarray(batch.values[case, rank])
    others = (rank < 0).nonzero()[0]
    if len(others):
        kernel = batch.origin.problem.gram.block(points[others], batch.points)
        changes[others] = np.einsum("mp,mp->m", kernel, batch.delta[case[others]])
    return changes


def optimal_ends(
    origin: Origin, beta: Array, values: Array, label: Array, bounds: Array
) -> tuple[Mask, Mask, Array, Array]:
    """Which machines near the origin's are optimal, from their coefficients and decision values.

    Parameters
    ----------
    origin : Origin
        The solution from which the paths started.
    beta, values, bounds : arrays of shape (n_paths, n_points)
        Coefficients, decision values, and upper bounds of alpha of all points. Where no coefficient is free,
        the values are moved to the middle of the interval of optimal intercepts.
    label : array of shape (n_points,)
        The labels.

    Returns
    -------
    optimal : array of bool of shape (n_paths,)
        Whether the machine is optimal, up to rounding.
    loose : array of bool of shape (n_paths,)
        Whether its intercept is not unique.
    kkt, gap : arrays of shape (n_paths,)
        Largest violation of the optimality conditions, and the relative duality gap.
    """
    kkt, gap, scale, free, low, high = check_ends(beta, values, label, bounds, origin.tolerance)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is not optimal
        dual = np.abs(beta @ label - 0.5 * np.einsum("pi,pi->p", beta, values))
        optimal = _optimal(origin, kkt, np.minimum(gap, 1.0) * dual, dual, scale)
    return optimal, ~free & (high - low > UNIQUE), kkt, gap


def _verify_everywhere(batch: _Batch, paths: Indices, outcomes: Outcomes) -> None:
    """Verify some ends on every point of the problem, and write those that are optimal.

    The problems of the others that are near are solved from there; but ends that are as far from optimal as
    the solution that they started from are written as they are.
    """
    origin, ends, points = batch.origin, batch.ends, batch.points
    problem, delta, everything = origin.problem, batch.delta[paths], np.arange(len(batch.rank))
    values = delta @ problem.gram.block(points, everything)
    values += problem.label + origin.exact_residual + ends.intercepts[paths, None]
    before = values.copy()
    beta = np.tile(origin.exact_beta, (len(paths), 1))
    beta[:, points] += delta
    left = batch.removals.take(paths)
    bounds = np.tile(problem.bound, (len(paths), 1))
    bounds[left.case, left.points] = left.rest
    whole, loose, kkt, gap = optimal_ends(origin, beta, values, problem.label, bounds)
    # Far from optimal, the coefficients may not even sum to 0: such an end stays open.
    near = kkt <= NEAR * origin.scale
    hopeless = near & ~whole & (np.maximum(kkt, origin.rounding) > origin.permitted) & (not origin.exact)
    good = (whole | hopeless).nonzero()[0]
    for k in (near & ~whole & ~hopeless).nonzero()[0]:
        remaining = replace(problem, bound=bounds[k])
        case, events = batch.removals.take(paths[k : k + 1]), int(ends.events[paths[k]])
        found = end_solved(origin, remaining, case, beta[k], "re-trained", events=events)
        if found is not None:
            outcomes.put(batch.removals, paths[k : k + 1], found)
    left, paths, values = left.take(good), paths[good], values[good]
    outcomes.set_values(batch.removals.members(paths), values[left.case, left.points])
    outcomes.status[paths] = np.where(hopeless, "inexact", np.where(loose, "unstable", "path"))[good]
    kkt = np.where(hopeless, np.maximum(kkt, origin.rounding), kkt)
    outcomes.kkt_residual[paths], outcomes.gap[paths] = kkt[good], gap[good]
    if origin.remainders:
        shift = ends.intercepts[paths] + values[:, 0] - before[good, 0]
        nothing = np.zeros(len(everything))
        outcomes.keep(Remainders(paths, nothing, origin.intercept, slice(None), beta[good], shift))

"""Exact leave-one-out values by following each case's path to alpha = 0.

``docs/explanation/leave_one_out.md`` defines the words and follows one point out.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from joblib import delayed

from bayes_svm._core.matrix import add_sparse_product
from bayes_svm._core.records import Ends, Moves
from bayes_svm._core.removals import Removals
from bayes_svm._core.shrink import shrink_each
from bayes_svm.dual.solution import DualSolution
from bayes_svm.dual.tableau_path import blank_state, room, scratch, screen
from bayes_svm.leave_one_out.group_path import follow_anew
from bayes_svm.leave_one_out.outcomes import Outcomes
from bayes_svm.leave_one_out.retrain import retrain
from bayes_svm.leave_one_out.signs import MARGIN, steepest_fall
from bayes_svm.leave_one_out.start import End, Origin, SharedTableau
from bayes_svm.leave_one_out.verify import settled_within, verify
from bayes_svm.utils.parallel import equal_parts, in_threads, run_all
from bayes_svm.utils.progress import counted
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["Paths"]


# The rates due to members outside the tableau may take this much memory at a time.
DIRECTION_BYTES = 2**26
# The ends of this many cases are verified together: the unit of parallel work. Of a small problem they are
# more, up to so many changes of coefficients.
BATCH, CHANGES = 96, 80_000
# Roughly how many seconds a case takes for each entry of the tableau.
SECONDS = 1e-10
# A path may have this many changed points at a time.
CAPACITY = 512
# A case that moves more points than this has too many changes for the shared tableau.
MANY_MEMBERS = 24
# With so many free points such a case is solved anew: each of its events takes time with their square.
MANY_FREE = 120
# A path with more events than this is given up.
MAX_EVENTS = 5_000
# The tableau covers all points if there are at most this many.
ALL_ROWS = 300
# Otherwise it covers the free points and those whose residual is at most this. Without a free point, which is
# where C is small, decision values differ little: it covers the ALL_ROWS points nearest to the margin.
NEAR = 0.25
# Beyond MANY_ROWS points, the largest residual shrinks with their number to this power.
MANY_ROWS, SHRINKS = 1000, 0.4
# Of these it covers at most so many, the nearest: where decision values hardly differ, all points are near.
MOST_ROWS = 4000
# Of many cases, PILOT are followed first. If at most a share ENOUGH of them lacks points, the tableau is
# large enough; else it covers all points that are as near as a share COVERED of those that they lacked.
PILOT, PILOTS_SHARE, ENOUGH, COVERED = 64, 1 / 32, 0.25, 0.75
# Paths are followed up to this many times, each time on the tableau extended by the points that it lacked.
MAX_PASSES = 4


class Paths:
    """The leave-one-out paths of one exact solution.

    Parameters
    ----------
    solution : DualSolution
        An exact solution, or the best that there is.
    sign_only : bool
        Stop each path as soon as the sign of its value is known.
    remainders : bool
        Keep the machines at the ends of the paths.
    expected : Removals, optional
        All cases that may be followed, some of which tell how large the tableau should be.
    end : {"lowest", "highest"}, optional
        As in :class:`~bayes_svm.leave_one_out.start.Origin`.
    """

    def __init__(
        self,
        solution: DualSolution,
        sign_only: bool,
        remainders: bool,
        expected: Removals | None = None,
        end: End | None = None,
    ) -> None:
        self.solution, self.sign_only, self.remainders = solution, sign_only, remainders
        self.expected, self.end = expected, end

    @cached_property
    def origin(self) -> Origin:
        """The solution as all paths start from it."""
        return Origin(self.solution, self.solution.tie_break, self.remainders, self.end)

    @cached_property
    def _near(self) -> Mask:
        """Points that a path is expected to need in the tableau."""
        residual = self.origin.residual
        if len(residual) <= ALL_ROWS:
            return np.ones(len(residual), dtype=bool)
        distance = np.abs(residual)
        near = NEAR * min(1.0, MANY_ROWS / len(residual)) ** SHRINKS
        if len(self.solution.free) == 0:
            near = min(near, float(np.partition(distance, ALL_ROWS)[ALL_ROWS]))
        return self._nearest(distance <= near)

    def _nearest(self, points: Mask) -> Mask:
        """At most MOST_ROWS of some points that are not free, the nearest to the margin."""
        points = points.copy()
        points[self.origin.system.free] = False
        among = points.nonzero()[0]
        nearest = among[np.argsort(np.abs(self.origin.residual[among]), kind="stable")[:MOST_ROWS]]
        points[:] = False
        points[nearest] = True
        return points

    @cached_property
    def shared(self) -> SharedTableau:
        """The tableau that the paths share at first; it may be extended."""
        first = SharedTableau.sweep(self.origin, self._near)
        pilot = None if len(first.outside) == 0 else self._pilot()
        if pilot is None:
            return first
        number = np.arange(pilot.n_cases)
        halves = [pilot.take(number[half]) for half in equal_parts(len(number), len(number), 0)]
        parts = in_threads(lambda half: _run_batch(self.origin, first, half, self.sign_only), halves)
        lacked = _union([points for _, points in parts])
        if sum(len(outcomes.pending) for outcomes, _ in parts) <= ENOUGH * PILOT or len(lacked) == 0:
            return first
        reach = np.quantile(np.abs(self.origin.exact_residual[lacked]), COVERED)
        within = np.abs(self.origin.exact_residual) <= reach
        return SharedTableau.sweep(self.origin, self._nearest(self._near | within))

    def _pilot(self) -> Removals | None:
        """Some of the expected cases, evenly spaced; None if there are too few for it."""
        if self.expected is None or PILOTS_SHARE * self.expected.n_cases < PILOT:
            return None
        moving, followed = self._moving(self.expected)
        cases = followed[moving[followed] > 0]
        if PILOTS_SHARE * len(cases) < PILOT:
            return None
        return self.expected.take(cases[np.linspace(0, len(cases) - 1, PILOT).astype(np.intp)])

    def _moving(self, removals: Removals) -> tuple[Array, Indices]:
        """How many coefficients each case moves, and the cases that are small enough for one tableau."""
        moving = _excess(self.origin.exact_beta, removals) > 0
        moves: Array = np.bincount(removals.case, weights=moving, minlength=removals.n_cases).astype(float)
        return moves, ((moves <= MANY_MEMBERS) & (removals.sizes <= CAPACITY)).nonzero()[0]

    def run(self, removals: Removals, n_jobs: int | None = None) -> Outcomes:
        """Follow the paths of some cases.

        The batches, and with them all sums, are the same at any ``n_jobs``.

        Parameters
        ----------
        removals : Removals
            The cases, each of which moves at least one coefficient.
        n_jobs : int, optional
            Jobs of joblib.

        Returns
        -------
        Outcomes
            What is known of each case; none is open if the solution is exact.
        """
        outcomes = Outcomes.open(removals, remainders=self.remainders)
        cases = np.arange(removals.n_cases) if removals.single else self._moving(removals)[1]
        if len(cases):
            self._passes(removals, cases, n_jobs, outcomes)
        followed = set(cases.tolist())
        open_cases = outcomes.pending if self.solution.exact else np.setdiff1d(outcomes.pending, cases)
        for case in counted(open_cases.tolist(), "one by one"):
            part = self._alone(removals.take(np.array([case])), case in followed)
            outcomes.put(removals, np.array([case]), part)
        return outcomes

    def _passes(self, removals: Removals, cases: Indices, n_jobs: int | None, outcomes: Outcomes) -> None:
        """Follow cases on a tableau that grows by the points it lacks."""
        origin, shared, sign_only = self.origin, self.shared, self.sign_only
        most = max(BATCH, CHANGES // len(origin.problem.label))
        for _ in range(MAX_PASSES):
            batches = [cases[some] for some in equal_parts(len(cases), most, most)]
            chosen = [removals.take(batch) for batch in batches]
            calls = [delayed(_run_batch)(origin, shared, batch, sign_only) for batch in chosen]
            work = SECONDS * len(cases) * len(shared.tableau.rows) ** 2
            parts = run_all(n_jobs, calls, [origin, shared], work)
            for batch, (part, _) in zip(batches, parts, strict=True):
                outcomes.put(removals, batch, part)
            cases = cases[outcomes.status[cases] == ""]
            lacked = _union([points for _, points in parts])
            if len(cases) == 0 or not (sign_only or len(lacked)):
                break
            if len(lacked):
                shared = shared.extended(origin, lacked)
            else:
                # Paths that are open for another reason are followed to their ends.
                sign_only = False

    def _alone(self, case: Removals, near: bool) -> Outcomes:
        """Follow one case on tableaus of its own, or, if that fails, solve the remaining problem.

        A case that the shared tableau was meant for is ``near``: it is only solved. So is one with many free
        points.
        """
        few = len(self.origin.system.free) < MANY_FREE
        if few and not near and len(case.points) > 1 and self.solution.exact:
            found = follow_anew(self.origin, case)
            if found is not None:
                return found
        return retrain(self.solution.problem, case, start=self.solution)


def _union(lists: list[Indices]) -> Indices:
    """All points of some lists, ascending; mostly there are none."""
    found = [points for points in lists if len(points)]
    return np.unique(np.concatenate(found)) if found else lists[0]


def _excess(beta: Array, removals: Removals) -> Array:
    """How much each member's alpha is above the bound that it keeps."""
    return np.asarray(np.abs(beta[removals.points]) - removals.rest)


def _run_batch(
    origin: Origin, shared: SharedTableau, removals: Removals, sign_only: bool
) -> tuple[Outcomes, Indices]:
    """Run the paths of some cases and verify their ends; the cases where this fails stay open."""
    with one_blas_thread():
        moves = _moves(origin, shared, removals, sign_only)
        n_paths, m = removals.n_cases, len(shared.tableau.rows)
        ends = Ends(
            changes=np.zeros((n_paths, m)),
            intercepts=np.zeros(n_paths),
            times=np.zeros(n_paths),
            events=np.zeros(n_paths, dtype=np.int64),
            outcomes=np.zeros(n_paths, dtype=np.int64),
            kkt=np.zeros(n_paths),
        )
        # A path changes the bounds, which other threads read: it gets its own copy.
        base = shared.base._replace(lower=shared.base.lower.copy(), upper=shared.base.upper.copy())
        rounding = float(settled_within(origin, origin.scale))
        shrink_each(
            base, moves, shared.base_state, MAX_EVENTS, MARGIN, rounding, blank_state(m, CAPACITY),
            scratch(m, CAPACITY), room(m), ends, screen(m, CAPACITY),
        )  # fmt: skip
        return verify(origin, shared, removals, moves, ends)


def _moves(origin: Origin, shared: SharedTableau, removals: Removals, sign_only: bool) -> Moves:
    """How the members move, and the rates of all positions due to the members at a bound."""
    points = removals.points
    label, place = origin.problem.label[points], shared.position[points]
    alpha = label * origin.exact_beta[points]
    # Points that count as free may be beyond a bound.
    exact_change = label * (np.clip(alpha, 0.0, removals.rest) - alpha)
    stays = (removals.rest > 0) & (exact_change == 0)
    change = np.where(stays, 0.0, -label * np.maximum(0.0, _excess(origin.beta, removals)))
    heads = removals.start[:-1]
    watched, steepest = np.full(len(heads), -1), np.zeros(len(heads))
    if sign_only:
        watched = np.where(removals.sizes == 1, place[heads], -1)
        lost = np.abs(change[heads])
        steepest = steepest_fall(origin.problem, points[heads], lost, len(origin.system.free))
    return Moves(
        start=removals.start,
        rows=place,
        change=change,
        exact_change=exact_change,
        keeps=removals.rest > 0,
        stays=stays,
        bound=label * removals.rest,
        directions=_directions(origin, shared, removals, place, change),
        watched=watched,
        signs=label[heads],
        steepest=steepest,
    )


def _directions(
    origin: Origin, shared: SharedTableau, removals: Removals, place: Indices, change: Array
) -> Array:
    """Rates of all positions due to the members that are not free at the origin."""
    n_free, W = shared.tableau.n_free, shared.tableau.W
    case, n_cases = removals.case, removals.n_cases
    directions = np.zeros((n_cases, len(W)))
    inside = ((place >= n_free) & (change != 0)).nonzero()[0]
    weights = np.zeros((n_cases, len(W) - 1 - n_free))
    weights[case[inside], place[inside] - n_free] = change[inside]
    add_sparse_product(directions, weights, W[n_free:-1])
    outside = ((place < 0) & (change != 0)).nonzero()[0]
    step = max(1, DIRECTION_BYTES // (8 * len(W)))
    for first in range(0, len(outside), step):
        part = outside[first : first + step]
        columns = shared.tableau.columns_outside(
            origin.problem.gram, origin.system, removals.points[part], shared.free_rest
        )
        weights = np.zeros((n_cases, len(part)))
        weights[case[part], np.arange(len(part))] = change[part]
        add_sparse_product(directions, weights, columns)
    return directions

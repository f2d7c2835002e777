"""Exact leave-one-out values by following each case's path to alpha = 0."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from joblib import delayed

from bayes_svm._core.follow import State
from bayes_svm._core.removals import Removals
from bayes_svm._core.shrink import Ends, Moves, Room, shrink_each
from bayes_svm.dual.polish import scratch
from bayes_svm.dual.solution import DualSolution
from bayes_svm.dual.tableau import columns_outside
from bayes_svm.leave_one_out.group_path import follow_anew
from bayes_svm.leave_one_out.outcomes import Outcomes
from bayes_svm.leave_one_out.retrain import retrain
from bayes_svm.leave_one_out.signs import MARGIN, steepest_fall
from bayes_svm.leave_one_out.start import PathBase, Rows
from bayes_svm.leave_one_out.verify import verify
from bayes_svm.utils.parallel import run_all
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["Paths"]


DIRECTION_BYTES = 2**26  # of the members' rates, which are added up for each case
BATCH = 192  # cases whose ends are verified together: the unit of parallel work
CAPACITY = 128  # changes of the partition one path may keep
MANY_MEMBERS = 24  # a case that moves more points than this has too many changes for the shared tableau
MAX_EVENTS = 20_000
TIE_BREAKS = (1e-9, 1e-11, 1e-13)  # smaller perturbations, for paths that end on the wrong side of a tie
ALL_ROWS = 300  # up to this many points all are in the tableau
NEAR = 0.25  # else the free ones, those whose residual is within this of the margin, the less the
MANY_ROWS, SHRINKS = 1000, 0.15  # more points there are beyond this, by this power,
MAX_TABLEAUS = 4  # and, in up to this many rounds, those that this left out wrongly


class Paths:
    """The leave-one-out paths of one exact solution.

    Parameters
    ----------
    solution : DualSolution
        Exact.
    sign_only : bool
        Stop each path as soon as the sign of its value is known.
    remainders : bool
        Keep the machines that the paths end at.
    """

    def __init__(self, solution: DualSolution, sign_only: bool, remainders: bool) -> None:
        self.solution, self.sign_only, self.remainders = solution, sign_only, remainders

    @cached_property
    def _base(self) -> PathBase:
        return PathBase(self.solution, self.solution.tie_break, self.remainders)

    @cached_property
    def _near(self) -> Mask:
        """Points whose row a path is expected to need."""
        residual = self._base.residual
        if len(residual) <= ALL_ROWS:
            return np.ones(len(residual), dtype=bool)
        near = NEAR * min(1.0, MANY_ROWS / len(residual)) ** SHRINKS
        return np.asarray(np.abs(residual) <= near)

    @cached_property
    def _rows(self) -> Rows:
        return Rows.sweep(self._base, self._near)

    def run(self, removals: Removals, n_jobs: int | None = None) -> Outcomes:
        """Outcomes of some cases, each of which moves at least one coefficient.

        The batches, and with them all sums, are the same at any ``n_jobs``.
        """
        outcomes = Outcomes.open(removals, remainders=self.remainders)
        shared = np.arange(removals.n_cases)
        if not removals.single:
            moving = _excess(self._base.exact_beta, removals) > 0
            moves = np.bincount(removals.case, weights=moving, minlength=removals.n_cases)
            shared = np.flatnonzero(moves <= MANY_MEMBERS)
        base, rows, sign_only = self._base, self._rows, self.sign_only
        first = self.solution.tie_break
        for tie_break in (first, *(less for less in TIE_BREAKS if less < first)):
            if len(shared) == 0:
                break
            if tie_break < first:
                # At exact targets a path may end on the wrong side of a tie by what the perturbation moved.
                base, sign_only = PathBase(self.solution, tie_break, self.remainders), False
                rows = Rows.on(base, rows.tableau)
            shared, rows = self._passes(removals, shared, base, rows, sign_only, n_jobs, outcomes)
        for case in outcomes.pending:
            part = self._alone(removals.take(np.array([case])))
            outcomes.put(removals, np.array([case]), part)
        return outcomes

    def _passes(
        self,
        removals: Removals,
        cases: Indices,
        base: PathBase,
        rows: Rows,
        sign_only: bool,
        n_jobs: int | None,
        outcomes: Outcomes,
    ) -> tuple[Indices, Rows]:
        """Run cases on tableaus that grow by what they lack; returns the open ones, and the last tableau."""
        for _ in range(MAX_TABLEAUS):
            batches = [cases[start : start + BATCH] for start in range(0, len(cases), BATCH)]
            calls = [delayed(_run_batch)(base, rows, removals.take(batch), sign_only) for batch in batches]
            parts = run_all(n_jobs, calls, shared=[base, rows])
            for batch, (part, _) in zip(batches, parts, strict=True):
                outcomes.put(removals, batch, part)
            cases = cases[outcomes.status[cases] == ""]
            lacked = _union([points for _, points in parts])
            if len(cases) == 0 or not (sign_only or len(lacked)):
                break
            if len(lacked):
                rows = rows.extended(base, lacked)
            else:
                sign_only = False  # what is open for another reason is followed to its end
        return cases, rows

    def _alone(self, case: Removals) -> Outcomes:
        """One case with tableaus of its own, or, if that fails, by solving what is left."""
        if len(case.points) > 1:
            found = follow_anew(self._base, case)
            if found is not None:
                return found
        return retrain(self.solution.problem, case, start=self.solution)


def _union(lists: list[Indices]) -> Indices:
    """All points of some lists, in order; mostly there are none."""
    found = [points for points in lists if len(points)]
    return np.unique(np.concatenate(found)) if found else lists[0]


def _excess(beta: Array, removals: Removals) -> Array:
    """What each member's alpha has above the bound it keeps."""
    return np.asarray(np.abs(beta[removals.points]) - removals.rest)


def _run_batch(base: PathBase, rows: Rows, removals: Removals, sign_only: bool) -> tuple[Outcomes, Indices]:
    """Run the paths of some cases and verify their ends; the cases where this fails stay open."""
    with one_blas_thread():
        moves = _moves(base, rows, removals, sign_only)
        n_paths, m = removals.n_cases, len(rows.tableau.rows)
        ends = Ends(
            changes=np.zeros((n_paths, m)),
            intercepts=np.zeros(n_paths),
            times=np.zeros(n_paths),
            events=np.zeros(n_paths, dtype=np.int64),
            outcomes=np.zeros(n_paths, dtype=np.int64),
            kkt=np.zeros(n_paths),
        )
        # Bounds change for a path: other threads have the same base.
        loop = rows.loop._replace(lower=rows.loop.lower.copy(), upper=rows.loop.upper.copy())
        shrink_each(
            loop, moves, rows.start, MAX_EVENTS, MARGIN, _blank_state(m),
            scratch(m, CAPACITY), Room(np.zeros(m + 1), np.zeros(m), np.empty(m + 1)), ends,
        )  # fmt: skip
        return verify(base, rows, removals, moves, ends)


def _blank_state(m: int) -> State:
    return State(
        position=np.empty(m),
        low=np.empty(m),
        high=np.empty(m),
        is_in=np.empty(m, dtype=np.bool_),
        at_upper=np.empty(m, dtype=np.bool_),
        changed=np.empty(CAPACITY, dtype=np.int64),
    )


def _moves(base: PathBase, rows: Rows, removals: Removals, sign_only: bool) -> Moves:
    """The moves of the members, and the rates that those at a bound give all positions."""
    points = removals.points
    label, place = base.problem.label[points], rows.position[points]
    exact_change = -label * np.maximum(0.0, _excess(base.exact_beta, removals))
    stays = (removals.rest > 0) & (exact_change == 0)
    change = np.where(stays, 0.0, -label * np.maximum(0.0, _excess(base.beta, removals)))
    heads = removals.start[:-1]
    watched, steepest = np.full(len(heads), -1), np.zeros(len(heads))
    if sign_only:
        watched = np.where(np.diff(removals.start) == 1, place[heads], -1)
        lost = np.abs(change[heads])
        steepest = steepest_fall(base.problem, points[heads], lost, len(base.system.free))
    return Moves(
        start=removals.start,
        rows=place,
        change=change,
        exact_change=exact_change,
        keeps=removals.rest > 0,
        stays=stays,
        bound=label * removals.rest,
        directions=_directions(base, rows, removals, place, change),
        watched=watched,
        signs=label[heads],
        steepest=steepest,
    )


def _directions(base: PathBase, rows: Rows, removals: Removals, place: Indices, change: Array) -> Array:
    """Rates of all positions due to the members that are not free in the base."""
    n_free, W = rows.tableau.n_free, rows.tableau.W
    if removals.n_cases > 1 and 8 * len(place) * len(W) > DIRECTION_BYTES:
        half = removals.n_cases // 2
        cut, parts = removals.start[half], (np.arange(half), np.arange(half, removals.n_cases))
        first, second = (removals.take(part) for part in parts)
        return np.concatenate(
            [
                _directions(base, rows, first, place[:cut], change[:cut]),
                _directions(base, rows, second, place[cut:], change[cut:]),
            ]
        )
    columns = np.zeros((len(place), len(W)))
    inside, outside = np.flatnonzero(place >= n_free), np.flatnonzero((place < 0) & (change != 0))
    columns[inside] = W[place[inside]]
    if len(outside):
        columns[outside] = columns_outside(
            base.problem.gram,
            base.system,
            rows.tableau.rows[n_free:],
            removals.points[outside],
            rows.free_rest,
        )
    columns *= change[:, None]
    return columns if len(columns) == removals.n_cases else np.add.reduceat(columns, removals.start[:-1])

"""Leave-one-out values of the rows of one dual problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bayes_svm.leave_one_out.certified import leave_out_signs
from bayes_svm.leave_one_out.path import BATCH, Paths
from bayes_svm.leave_one_out.removal import Outcomes, Removals
from bayes_svm.leave_one_out.retrain import retrain
from bayes_svm.leave_one_out.signs import settle_at_once
from bayes_svm.problem import DualProblem, bound_slack, copies_of_weight
from bayes_svm.solution import UNIQUE, DualSolution, intercept_interval

__all__ = ["Plan", "Readings", "Wanted", "iterate_rows", "plan_of_groups", "plan_of_rows", "read_rows"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

PART = 8 * BATCH  # cases between two reports of progress


@dataclass(frozen=True)
class Wanted:
    """How to leave out, and what to find.

    Parameters
    ----------
    method : {"path", "certified", "warm", "retrain"}
    sign_only : bool
    tolerance : float
        Violation of optimality at which the iterative methods stop.
    max_iter : int
        Limit on the solver where the remaining problem is solved on its own.
    n_jobs : int, optional
    report : callable, optional
        Called with the number of cases done and of all cases.
    """

    method: str = "path"
    sign_only: bool = False
    tolerance: float = 1e-3
    max_iter: int = -1
    n_jobs: int | None = None
    report: Callable[[int, int], None] | None = None


@dataclass(frozen=True)
class Plan:
    """The cases of a problem, and which of them, and which member in it, each row is.

    Parameters
    ----------
    removals : Removals
    rows : array of shape (n_present,)
        Rows that the problem has.
    case, member : arrays of shape (n_present,)
        Their case, and their point's number among all members.
    absent, absent_case : arrays of shape (n_absent,)
        Rows that the problem does not have, of weight 0 or of other classes, and the case of
        the group they belong to.
    """

    removals: Removals
    rows: Indices
    case: Indices
    member: Indices
    absent: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    absent_case: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def part(self, first: int, last: int) -> Plan:
        """The cases from ``first`` to ``last - 1``, numbered from 0."""
        if first == 0 and last == len(self.removals):
            return self
        removals = self.removals.take(np.arange(first, last))
        mine = np.flatnonzero((self.case >= first) & (self.case < last))
        theirs = np.flatnonzero((self.absent_case >= first) & (self.absent_case < last))
        return Plan(
            removals,
            self.rows[mine],
            self.case[mine] - first,
            self.member[mine] - self.removals.start[first],
            self.absent[theirs],
            self.absent_case[theirs] - first,
        )


def plan_of_rows(problem: DualProblem, weight: Array) -> Plan:
    """Each row a case: one copy of it, where its weight makes it several.

    Rows of one point with the same weight share a case.
    """
    rows = np.flatnonzero(problem.group >= 0)
    unit = problem.row_bound[rows] / copies_of_weight(weight[rows])
    points = problem.group[rows]
    order = np.lexsort((unit, points))
    sorted_points, sorted_unit = points[order], unit[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (sorted_points[1:] != sorted_points[:-1]) | (sorted_unit[1:] != sorted_unit[:-1])
    case = np.empty(len(rows), dtype=np.intp)
    case[order] = np.cumsum(new) - 1
    heads = order[new]
    removals = Removals.of_points(points[heads], _rest(problem, points[heads], unit[heads]))
    return Plan(removals, rows, case, case)


def plan_of_groups(problem: DualProblem, groups: Indices) -> Plan:
    """Each group of rows, given by its number, a case: all of its rows, with all their weight."""
    rows = np.flatnonzero(problem.group >= 0)
    pairs, member = np.unique(
        np.column_stack([groups[rows], problem.group[rows]]), axis=0, return_inverse=True
    )
    member = member.ravel()
    removed: Array = np.bincount(member, weights=problem.row_bound[rows]).astype(float)
    number, case_of_member = np.unique(pairs[:, 0], return_inverse=True)
    start = np.searchsorted(pairs[:, 0], np.append(number, np.iinfo(np.intp).max))
    removals = Removals(start, pairs[:, 1], _rest(problem, pairs[:, 1], removed))
    absent = np.flatnonzero(problem.group < 0)
    absent = absent[np.isin(groups[absent], number)]  # of another group: nothing changes without it
    absent_case = np.searchsorted(number, groups[absent])
    return Plan(removals, rows, case_of_member.ravel()[member], member, absent, absent_case)


def _rest(problem: DualProblem, points: Indices, removed: Array) -> Array:
    """What each point keeps of its bound."""
    bound = problem.bound[points]
    return np.where(removed >= bound * (1 - 1e-12), 0.0, bound - removed)


@dataclass(frozen=True)
class Readings:
    """Per row: value, its sign, status, events, kernel columns, KKT residual and relative gap.

    ``at`` has the decision values at the points asked for besides, shape (n_rows, n_at).
    """

    values: Array
    signs: Array
    status: NDArray[np.str_]
    events: NDArray[np.int64]
    columns: NDArray[np.int64]
    kkt_residual: Array
    gap: Array
    at: Array

    @classmethod
    def of_plan(cls, plan: Plan, outcomes: Outcomes) -> Readings:
        """Outcomes handed out to the rows of a plan, first those it has, then the absent ones.

        Of the points asked for besides, the last are the absent rows.
        """
        case = np.concatenate([plan.case, plan.absent_case])
        n_at = outcomes.at.shape[1] - len(plan.absent)
        own = outcomes.at[plan.absent_case, n_at + np.arange(len(plan.absent))]
        return cls(
            values=np.concatenate([outcomes.values[plan.member], own]),
            signs=np.concatenate([outcomes.signs[plan.member], np.sign(own)]),
            status=outcomes.status[case],
            events=outcomes.events[case],
            columns=outcomes.columns[case],
            kkt_residual=outcomes.kkt_residual[case],
            gap=outcomes.gap[case],
            at=outcomes.at[case, :n_at],
        )


def read_rows(
    problem: DualProblem,
    solution: DualSolution,
    train_values: Array,
    plan: Plan,
    wanted: Wanted,
    cross: Array | None = None,
) -> Readings:
    """Leave out every case of a plan.

    Parameters
    ----------
    problem : DualProblem
    solution : DualSolution
    train_values : array of shape (n_samples,)
        Decision values of all rows under ``solution``: what a row gets that the problem has not.
    plan : Plan
    wanted : Wanted
    cross : array of shape (n_at + n_absent, n_points), optional
        Kernel values between points asked for besides, then the plan's absent rows, and the
        points of the problem.
    """
    cross = np.empty((0, len(problem.label))) if cross is None else cross
    whole = _of_whole(solution, train_values, cross[: len(cross) - len(plan.absent)])
    for rows, part in iterate_rows(problem, solution, plan, wanted, cross=cross):
        for name, values in vars(part).items():
            getattr(whole, name)[rows] = values
    return whole


def iterate_rows(
    problem: DualProblem,
    solution: DualSolution,
    plan: Plan,
    wanted: Wanted,
    *,
    rows: Indices | None = None,
    cross: Array | None = None,
) -> Iterator[tuple[Indices, Readings]]:
    """Readings of the rows of a plan, part after part, each with the rows it is for.

    The parts, and with them the values to the last bit, are those of the plan: where only some
    ``rows`` are asked for, parts that contain none of them are passed over.
    """
    cross = np.empty((0, len(problem.label))) if cross is None else cross
    finder = _Finder(problem, solution, wanted, cross)
    n_cases, n_at = len(plan.removals), len(cross) - len(plan.absent)
    for first in range(0, n_cases, PART):
        part = plan.part(first, min(first + PART, n_cases))
        everyone = np.concatenate([part.rows, part.absent])
        if rows is not None and not np.isin(everyone, rows).any():
            continue
        outcomes = finder.outcomes(part.removals)
        if len(part.absent) < len(plan.absent):
            # All absent rows were asked for in every case; each part keeps its own.
            own = n_at + np.flatnonzero(np.isin(plan.absent, part.absent))
            outcomes = replace(outcomes, at=outcomes.at[:, np.concatenate([np.arange(n_at), own])])
        yield everyone, Readings.of_plan(part, outcomes)
        if wanted.report is not None:
            wanted.report(first + len(part.removals), n_cases)


def _of_whole(solution: DualSolution, train_values: Array, cross: Array) -> Readings:
    """What rows get that are not in the problem: the values of the whole machine."""
    n = len(train_values)
    at = np.empty((n, len(cross)))
    at[:] = cross @ solution.beta + solution.intercept
    status = "inexact" if not solution.exact else "unchanged" if solution.stable else "unstable"
    return Readings(
        values=train_values.copy(),
        signs=np.sign(train_values),
        status=np.full(n, status, dtype="<U10"),
        events=np.zeros(n, dtype=np.int64),
        columns=np.zeros(n, dtype=np.int64),
        kkt_residual=np.full(n, solution.kkt_residual),
        gap=np.full(n, solution.relative_gap),
        at=at,
    )


class _Finder:
    """Outcomes of cases by one method, which keeps what all cases share."""

    def __init__(self, problem: DualProblem, solution: DualSolution, wanted: Wanted, cross: Array) -> None:
        self.problem, self.solution, self.wanted, self.cross = problem, solution, wanted, cross
        self.paths = Paths(problem, solution, self.cross, wanted.sign_only)

    def outcomes(self, removals: Removals) -> Outcomes:
        """Outcomes of some cases."""
        outcomes = Outcomes.open(removals, len(self.cross))
        self._one_class(removals, outcomes)
        if self.wanted.method in ("certified", "warm"):
            self._signs(removals, outcomes)
            return outcomes
        if self.wanted.method == "path":
            self._untouched(removals, outcomes)
            if self.wanted.sign_only and self.solution.exact:
                settle_at_once(self.problem, self.solution, removals, outcomes)
        cases = outcomes.pending
        if len(cases) and self.wanted.method == "path" and self.solution.tie_break > 0:
            outcomes.put(removals, cases, self.paths.run(removals.take(cases), self.wanted.n_jobs))
            return outcomes
        start = self.solution if self.wanted.method == "path" else None
        for case in cases:
            one = removals.take(np.array([case]))
            part = retrain(self.problem, one, self.cross, start=start, max_iter=self.wanted.max_iter)
            outcomes.put(removals, np.array([case]), part)
        return outcomes

    def _signs(self, removals: Removals, outcomes: Outcomes) -> None:
        """Signs of single points by the iterative methods, each with the value it is the sign of."""
        wanted, cases = self.wanted, outcomes.pending
        found = leave_out_signs(
            self.problem,
            self.solution,
            removals.points[cases],
            removals.rest[cases],
            proof=wanted.method == "certified",
            tolerance=wanted.tolerance,
            max_steps=wanted.max_iter,
            n_jobs=wanted.n_jobs,
        )
        outcomes.set_values(cases, found.values)
        converged = np.where(found.violation <= wanted.tolerance, "converged", "inexact")
        outcomes.status[cases] = np.where(found.proven, "certified", converged)
        outcomes.events[cases], outcomes.columns[cases] = found.steps, found.columns
        outcomes.kkt_residual[cases], outcomes.gap[cases] = found.violation, found.gap

    def _one_class(self, removals: Removals, outcomes: Outcomes) -> None:
        """Where a class is gone altogether, the label of the other is the decision."""
        label, most = self.problem.label, 1 if removals.single else int(np.diff(removals.start).max())
        for gone in (1.0, -1.0):
            if np.count_nonzero(label == gone) > most:
                continue
            leaves = (removals.rest == 0) & (label[removals.points] == gone)
            count = np.bincount(removals.case, weights=leaves, minlength=len(removals))
            cases = np.flatnonzero(count == np.sum(label == gone))
            if len(cases):
                outcomes.set_values(removals.members(cases), -gone)
                outcomes.status[cases], outcomes.at[cases] = "one-class", -gone

    def _untouched(self, removals: Removals, outcomes: Outcomes) -> None:
        """Cases whose points use no more than the bound they keep: nothing changes without them."""
        solution, points = self.solution, removals.points
        alpha, bound = solution.alpha[points], self.problem.bound[points]
        # A point whose alpha is just what is left of its bound is not free any more without its
        # copy, and may have been the last to pin the intercept: a path of length zero finds out.
        loose = (alpha == 0) | (alpha < removals.rest - bound_slack(solution.beta, bound))
        cases = np.flatnonzero(~removals.any_member(~loose) & (outcomes.status == ""))
        members = removals.members(cases)
        outcomes.set_values(members, solution.values[points[members]])
        outcomes.status[cases] = "unchanged" if solution.exact else "inexact"
        outcomes.kkt_residual[cases], outcomes.gap[cases] = solution.kkt_residual, solution.relative_gap
        if len(self.cross):
            outcomes.at[cases] = self.cross @ solution.beta + solution.intercept
        if not solution.n_free:
            for case in cases:
                self._move_to_middle(removals, int(case), outcomes)

    def _move_to_middle(self, removals: Removals, case: int, outcomes: Outcomes) -> None:
        """With no free coefficient, points may have pinned an end of the interval of optimal intercepts."""
        problem, solution = self.problem, self.solution
        members = slice(removals.start[case], removals.start[case + 1])
        present = removals.bounds(problem, case) > 0
        if solution.stable and present[removals.points[members]].all():
            return
        gradient = solution.values - solution.intercept - problem.label
        low, high = intercept_interval(
            solution.beta[present], gradient[present], problem.lower[present], problem.upper[present]
        )
        shift = (low + high) / 2 - solution.intercept
        outcomes.set_values(members, solution.values[removals.points[members]] + shift)
        outcomes.at[case] += shift
        if solution.exact and high - low > UNIQUE:
            outcomes.status[case] = "unstable"

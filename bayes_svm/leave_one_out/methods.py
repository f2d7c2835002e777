"""Leave-one-out values of the rows of one dual problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayes_svm.dual.problem import DualProblem, bound_slack
from bayes_svm.dual.solution import UNIQUE, DualSolution, intercept_interval
from bayes_svm.leave_one_out.cases import Leaving
from bayes_svm.leave_one_out.certified import leave_out_signs
from bayes_svm.leave_one_out.path import BATCH, Paths
from bayes_svm.leave_one_out.removal import Outcomes, Removals
from bayes_svm.leave_one_out.retrain import retrain
from bayes_svm.leave_one_out.signs import settle_at_once
from bayes_svm.utils.types import Array, Indices

__all__ = ["Plan", "Readings", "Wanted", "iterate_parts", "read_parts"]


SECTION = 8 * BATCH  # cases between two reports of progress


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
    """The cases of a :class:`Leaving` as one problem has them, and what each part of them is there.

    Parameters
    ----------
    removals : Removals
    parts : array of shape (n_present,)
        Parts whose rows the problem has.
    case, member : arrays of shape (n_present,)
        Their case, and their point's number among all members.
    absent, absent_case : arrays of shape (n_absent,)
        Parts whose rows the problem does not have, of weight 0 or of other classes, and their case.
    """

    removals: Removals
    parts: Indices
    case: Indices
    member: Indices
    absent: Indices
    absent_case: Indices

    @classmethod
    def of(cls, problem: DualProblem, leaving: Leaving) -> Plan:
        """What leaves a problem; parts of the same point leave as one member."""
        n_points = len(problem.label)
        point = problem.group[leaving.part_row]
        parts = np.flatnonzero(point >= 0)
        keys, member = _numbered(leaving.case[parts] * n_points + point[parts])
        cases, points = np.divmod(keys, n_points)
        removed = np.bincount(member, weights=leaving.removed[parts], minlength=len(keys))
        number, case = _numbered(cases)
        start = np.append(np.searchsorted(cases, number), len(cases))
        bound = problem.bound[points]
        rest = np.where(removed >= bound * (1 - 1e-12), 0.0, bound - removed)
        absent = np.flatnonzero(point < 0)
        if len(absent):  # of a case that the problem does not have nothing is left out: the machine stands
            absent = absent[np.isin(leaving.case[absent], number)]
        absent_case = np.searchsorted(number, leaving.case[absent])
        return cls(Removals(start, points, rest), parts, case[member], member, absent, absent_case)

    def section(self, first: int, last: int) -> Plan:
        """The cases from ``first`` to ``last - 1``, numbered from 0."""
        if first == 0 and last == len(self.removals):
            return self
        removals = self.removals.take(np.arange(first, last))
        mine = np.flatnonzero((self.case >= first) & (self.case < last))
        theirs = np.flatnonzero((self.absent_case >= first) & (self.absent_case < last))
        return Plan(
            removals,
            self.parts[mine],
            self.case[mine] - first,
            self.member[mine] - self.removals.start[first],
            self.absent[theirs],
            self.absent_case[theirs] - first,
        )


def _numbered(keys: Indices) -> tuple[Indices, Indices]:
    """The different keys in ascending order, and the number of each key among them."""
    if (keys[1:] > keys[:-1]).all():
        return keys, np.arange(len(keys))
    different, number = np.unique(keys, return_inverse=True)
    return different, number


@dataclass(frozen=True)
class Readings:
    """Per part: value, its sign, status, events, kernel columns, KKT residual and relative gap.

    ``at`` has the decision values at the points asked for besides, shape (n_parts, n_at).
    """

    values: Array
    signs: Array
    status: NDArray[np.str_]
    events: NDArray[np.int64]
    columns: NDArray[np.int64]
    kkt_residual: Array
    gap: Array
    at: Array

    def take(self, which: Indices) -> Readings:
        """Some of them."""
        return Readings(**{name: values[which] for name, values in vars(self).items()})

    @classmethod
    def of_plan(cls, plan: Plan, outcomes: Outcomes) -> Readings:
        """Outcomes handed out to the parts of a plan, first those it has, then the absent ones.

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

    @classmethod
    def of_values(cls, values: Array, status: NDArray[np.str_]) -> Readings:
        """Values of which no more is known than their status: residual and gap are infinite."""
        n, nothing = len(values), np.zeros(len(values), dtype=np.int64)
        unknown = np.full(n, np.inf)
        return cls(values, np.sign(values), status, nothing, nothing, unknown, unknown, np.empty((n, 0)))

    @classmethod
    def of_whole(cls, solution: DualSolution, values: Array, at: Array) -> Readings:
        """What is read where nothing leaves: the values of the whole machine."""
        n = len(values)
        status = "inexact" if not solution.exact else "unchanged" if solution.stable else "unstable"
        return cls(
            values=values.copy(),
            signs=np.sign(values),
            status=np.full(n, status, dtype="<U10"),
            events=np.zeros(n, dtype=np.int64),
            columns=np.zeros(n, dtype=np.int64),
            kkt_residual=np.full(n, solution.kkt_residual),
            gap=np.full(n, solution.relative_gap),
            at=np.tile(at, (n, 1)),
        )


def read_parts(
    solution: DualSolution,
    whole: Readings,
    plan: Plan,
    wanted: Wanted,
    cross: Array | None = None,
) -> Readings:
    """Leave out every case of a plan.

    Parameters
    ----------
    solution : DualSolution
    whole : Readings
        Of every part under the whole machine: what a part gets that is in no case of the problem.
    plan : Plan
    wanted : Wanted
    cross : array of shape (n_at + n_absent, n_points), optional
        Kernel values between points asked for besides, then the rows of the plan's absent parts,
        and the points of the problem.
    """
    for parts, found in iterate_parts(solution, plan, wanted, cross=cross):
        for name, values in vars(found).items():
            getattr(whole, name)[parts] = values
    return whole


def iterate_parts(
    solution: DualSolution,
    plan: Plan,
    wanted: Wanted,
    *,
    parts: Indices | None = None,
    cross: Array | None = None,
) -> Iterator[tuple[Indices, Readings]]:
    """Readings of the parts of a plan, section after section, each with the parts it is for.

    The sections, and with them the values to the last bit, are those of the plan: where only some
    ``parts`` are asked for, sections that contain none of them are passed over.
    """
    cross = np.empty((0, len(solution.beta))) if cross is None else cross
    finder = _Finder(solution, wanted, cross)
    n_cases, n_at = len(plan.removals), len(cross) - len(plan.absent)
    for first in range(0, n_cases, SECTION):
        section = plan.section(first, min(first + SECTION, n_cases))
        everything = np.concatenate([section.parts, section.absent])
        if parts is not None and not np.isin(everything, parts).any():
            continue
        outcomes = finder.outcomes(section.removals)
        if len(section.absent) < len(plan.absent):
            # All absent rows were asked for in every case; each section keeps its own.
            own = n_at + np.flatnonzero(np.isin(plan.absent, section.absent))
            outcomes = replace(outcomes, at=outcomes.at[:, np.concatenate([np.arange(n_at), own])])
        yield everything, Readings.of_plan(section, outcomes)
        if wanted.report is not None:
            wanted.report(first + len(section.removals), n_cases)


class _Finder:
    """Outcomes of cases by one method, which keeps what all cases share."""

    def __init__(self, solution: DualSolution, wanted: Wanted, cross: Array) -> None:
        self.problem, self.solution, self.wanted, self.cross = solution.problem, solution, wanted, cross
        self.paths = Paths(solution, self.cross, wanted.sign_only)

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
                settle_at_once(self.solution, removals, outcomes)
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

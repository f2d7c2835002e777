"""Leave-one-out values of the rows of one dual problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bayes_svm._core.removals import Removals
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.problem import DualProblem, bound_slack, intercept_interval
from bayes_svm.dual.solution import UNIQUE, DualSolution
from bayes_svm.leave_one_out.certified import leave_out_signs, proven
from bayes_svm.leave_one_out.leaving import Leaving
from bayes_svm.leave_one_out.outcomes import Outcomes, Remainders
from bayes_svm.leave_one_out.path import BATCH, Paths
from bayes_svm.leave_one_out.retrain import retrain
from bayes_svm.leave_one_out.signs import settle_at_once
from bayes_svm.leave_one_out.start import End
from bayes_svm.utils.progress import counted, step
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["Finder", "Wanted", "iterate_parts", "removals_of", "sections"]

# Members whose signed losses sum to this share of all that they lose need no more than rounding.
BALANCED = 1e-6
# So many cases are left out between two reports of progress.
SECTION = 16 * BATCH


@dataclass(frozen=True)
class Wanted:
    """How to leave out, and what to find.

    Parameters
    ----------
    method : {"path", "certified", "warm", "retrain"}
        The method, as in :func:`bayes_svm.leave_one_out`.
    sign_only : bool
        Whether the signs of the decision values are enough.
    tolerance : float
        Violation of optimality at which the iterative methods stop.
    max_iter : int
        Limit on the solver's steps where the remaining problem is solved on its own.
    n_jobs : int, optional
        Jobs of joblib.
    """

    method: str = "path"
    sign_only: bool = False
    tolerance: float = 1e-3
    max_iter: int = -1
    n_jobs: int | None = None


def removals_of(problem: DualProblem, leaving: Leaving) -> tuple[Removals, Indices, Indices]:
    """The removals from one problem, and which case and member of them each part is.

    Parts of the same point leave as one member.

    Parameters
    ----------
    problem : DualProblem
        The problem.
    leaving : Leaving
        What leaves together, in rows.

    Returns
    -------
    removals : Removals
        The cases that have a point in the problem.
    case : array of shape (n_parts,)
        Number of each part's case among these; -1 for a case that has no point in the problem.
    member : array of shape (n_parts,)
        Number of each part's member; -1 for a row that is not in the problem, because its weight
        is 0 or its class is another.
    """
    n_points = len(problem.label)
    point = problem.group[leaving.part_row]
    parts = (point >= 0).nonzero()[0]
    keys, of_part = _numbered(leaving.case[parts] * n_points + point[parts])
    cases, points = np.divmod(keys, n_points)
    removed = np.bincount(of_part, weights=leaving.removed[parts], minlength=len(keys))
    first = np.append(True, cases[1:] != cases[:-1])[: len(cases)].nonzero()[0]
    number, start = cases[first], np.append(first, len(cases))
    bound = problem.bound[points]
    rest = np.where(removed >= bound * (1 - 1e-12), 0.0, bound - removed)
    member = np.full(len(point), -1)
    member[parts] = of_part
    place = np.minimum(np.searchsorted(number, leaving.case), len(number) - 1)
    case = np.where(number[place] == leaving.case, place, -1)
    return Removals(start, points, rest), case, member


def _numbered(keys: Indices) -> tuple[Indices, Indices]:
    """The distinct keys in ascending order, and the number of each key among them."""
    if (keys[1:] > keys[:-1]).all():
        return keys, np.arange(len(keys))
    order = np.argsort(keys, kind="stable")
    ascending = keys[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = ascending[1:] != ascending[:-1]
    number = np.empty(len(keys), dtype=np.intp)
    number[order] = np.cumsum(new) - 1
    return ascending[new], number


def iterate_parts(
    machine: Machine,
    solution: DualSolution,
    leaving: Leaving,
    wanted: Wanted,
    at: Array,
    missing: Indices | None = None,
) -> Iterator[tuple[Indices, Outcomes, Array]]:
    """Leave out every case of a problem, section by section.

    The sections do not depend on what is missing, and neither do the last bits of the values.

    Parameters
    ----------
    machine : Machine
        The training data.
    solution : DualSolution
        The solution of one of the machine's problems.
    leaving : Leaving
        What leaves together.
    wanted : Wanted
        How to leave out, and what to find.
    at : array of shape (n_at, n_points)
        Kernel values between the additional points asked for and those of the problem.
    missing : array, optional
        The parts that are asked for; sections without any of them are skipped. By default all.

    Yields
    ------
    parts : array of shape (n_found,)
        Parts of ``leaving``.
    outcomes : Outcomes
        What is known of each of them.
    values_at : array of shape (n_found, n_at)
        Decision values at the additional points, of the machine without the part's case.
    """
    removals, case, member = removals_of(solution.problem, leaving)
    absent = ((case >= 0) & (member < 0)).nonzero()[0]
    # Rows that the problem does not have are points to ask for, like those of ``at``.
    n_at, asked = len(at), at
    if len(absent):
        asked = np.vstack([at, machine.cross(solution.problem, machine.X[leaving.part_row[absent]])])
    finder = Finder(solution, wanted, remainders=len(asked) > 0, expected=removals)
    known = np.full(removals.n_cases, missing is not None)
    if missing is not None:
        known[case[missing][case[missing] >= 0]] = False
    for first, last in sections(known):
        parts = ((case >= first) & (case < last)).nonzero()[0]
        found = finder.outcomes(removals.take(np.arange(first, last)))
        mine = case[parts] - first
        # A part without a member reads an arbitrary one here, and gets its value below.
        outcomes = found.take(np.maximum(member[parts] - removals.start[first], 0), mine)
        values = found.values_at(asked)
        if len(absent):
            own = (member[parts] < 0).nonzero()[0]
            outcomes.set_values(own, values[mine[own], n_at + np.searchsorted(absent, parts[own])])
        yield parts, outcomes, values[mine, :n_at]


def sections(known: Mask) -> Iterator[tuple[int, int]]:
    """Sections of the cases, from the first case to the one before the last, and their progress.

    Sections of which all cases are ``known``, an array of shape (n_cases,), are skipped.
    """
    n_cases = len(known)
    with step("leaving out", n_cases) as at:
        for first in range(0, n_cases, SECTION):
            last = min(first + SECTION, n_cases)
            skipped = bool(known[first:last].all())
            if not skipped:
                yield first, last
            at.advance(last, skipped)


class Finder:
    """Leaves out cases by one method, and keeps what all cases share."""

    def __init__(
        self, solution: DualSolution, wanted: Wanted, remainders: bool, expected: Removals | None = None
    ) -> None:
        self.problem, self.solution, self.wanted = solution.problem, solution, wanted
        self.remainders = remainders
        if expected is not None:
            # Without one of the classes there is no path to follow.
            outcomes = Outcomes.open(expected)
            self._one_class(expected, outcomes)
            if len(outcomes.pending) < expected.n_cases:
                expected = expected.take(outcomes.pending)
        self.expected = expected
        self._paths: dict[End | None, Paths] = {}

    def outcomes(self, removals: Removals) -> Outcomes:
        """Leave out some cases."""
        outcomes = Outcomes.open(removals, remainders=self.remainders)
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
            for end, some in self._by_end(removals, cases):
                outcomes.put(
                    removals, some, self._paths_from(end).run(removals.take(some), self.wanted.n_jobs)
                )
            cases = outcomes.pending
        if self.wanted.method == "path" and self.solution.polished and not self.solution.exact:
            self._as_whole(removals, outcomes)
            cases = outcomes.pending
        start = self.solution if self.wanted.method == "path" else None
        for case in counted(cases.tolist(), "solving anew"):
            one = removals.take(np.array([case]))
            part = retrain(self.problem, one, start=start, max_iter=self.wanted.max_iter)
            outcomes.put(removals, np.array([case]), part)
        return outcomes

    def _by_end(self, removals: Removals, cases: Indices) -> list[tuple[End | None, Indices]]:
        """Cases by the end of the interval of optimal intercepts from which they have a way on.

        With a free point, which takes up what the members lose, that interval is a point. Where the members
        of a case lose the same in both classes, nothing has to be taken up.
        """
        if len(self.solution.free):
            return [(None, cases)]
        lost = np.maximum(0.0, self.solution.alpha[removals.points] - removals.rest)
        sums = (
            np.bincount(removals.case, weights=each, minlength=removals.n_cases)[cases]
            for each in (self.problem.label[removals.points] * lost, lost)
        )
        needed, most = next(sums), BALANCED * next(sums)
        parts: list[tuple[End | None, Indices]] = [
            ("lowest", cases[needed > most]),
            ("highest", cases[needed < -most]),
            (None, cases[np.abs(needed) <= most]),
        ]
        return [(end, some) for end, some in parts if len(some)]

    def _paths_from(self, end: End | None) -> Paths:
        """The paths that start from one end."""
        if end not in self._paths:
            expected = self.expected
            if end is not None and expected is not None:
                expected = expected.take(dict(self._by_end(expected, np.arange(expected.n_cases)))[end])
            sign_only = self.wanted.sign_only and self.solution.exact
            self._paths[end] = Paths(self.solution, sign_only, self.remainders, expected, end)
        return self._paths[end]

    def _signs(self, removals: Removals, outcomes: Outcomes) -> None:
        """Signs of single points by the iterative methods, with the values that have these signs."""
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
        outcomes.status[cases] = np.where(proven(found, self.problem), "certified", converged)
        outcomes.events[cases], outcomes.columns[cases] = found.steps, found.columns
        outcomes.kkt_residual[cases], outcomes.gap[cases] = found.violation, found.gap

    def _one_class(self, removals: Removals, outcomes: Outcomes) -> None:
        """Write the cases that leave one class only, whose label is then the decision value."""
        label, most = self.problem.label, 1 if removals.single else int(removals.sizes.max())
        for gone in (1.0, -1.0):
            if np.count_nonzero(label == gone) > most:
                continue
            leaves = (removals.rest == 0) & (label[removals.points] == gone)
            count = np.bincount(removals.case, weights=leaves, minlength=removals.n_cases)
            cases = np.flatnonzero(count == np.sum(label == gone))
            if len(cases):
                outcomes.set_values(removals.members(cases), -gone)
                outcomes.status[cases] = "one-class"
                outcomes.keep(Remainders.equal(cases, np.zeros(len(label)), -gone))

    def _untouched(self, removals: Removals, outcomes: Outcomes) -> None:
        """Write the cases whose points use no more than the bound that they keep: nothing changes."""
        solution, points = self.solution, removals.points
        alpha, bound = solution.alpha[points], self.problem.bound[points]
        # A free point whose alpha equals the bound that it keeps is at its bound without its copy. It may
        # have been the last free point, on which the intercept depends; a path of length zero finds out.
        loose = (alpha == 0) | (alpha < removals.rest - bound_slack(solution.beta, bound))
        cases = (~removals.any_member(~loose) & (outcomes.status == "")).nonzero()[0]
        members = removals.members(cases)
        outcomes.set_values(members, solution.values[points[members]])
        outcomes.status[cases] = "unchanged" if solution.exact else "inexact"
        outcomes.kkt_residual[cases], outcomes.gap[cases] = solution.kkt_residual, solution.relative_gap
        shift = np.zeros(len(cases))
        if not solution.n_free:
            shift = np.array([self._move_to_middle(removals, int(case), outcomes) for case in cases])
        outcomes.keep(Remainders.equal(cases, solution.beta, solution.intercept, shift))

    def _as_whole(self, removals: Removals, outcomes: Outcomes) -> None:
        """Write the whole machine's values for the cases without a path, where solving more would not help.

        Double precision is not enough for the whole problem, and so not for what is left of it.
        """
        solution, cases = self.solution, outcomes.pending
        members = removals.members(cases)
        outcomes.set_values(members, solution.values[removals.points[members]])
        outcomes.status[cases] = "inexact"
        # Nobody knows how far these are from what the remaining problems have.
        outcomes.kkt_residual[cases] = outcomes.gap[cases] = np.inf
        outcomes.keep(Remainders.equal(cases, solution.beta, solution.intercept))

    def _move_to_middle(self, removals: Removals, case: int, outcomes: Outcomes) -> float:
        """Without a free coefficient, move the intercept to the middle of the interval that the case leaves.

        A point of the case may have been at an end of the interval. Returns the change of the intercept.
        """
        problem, solution = self.problem, self.solution
        members = slice(removals.start[case], removals.start[case + 1])
        present = removals.bounds(problem.bound, case) > 0
        if solution.stable and present[removals.points[members]].all():
            return 0.0
        low, high = intercept_interval(
            solution.beta[present], solution.gradient[present], problem.lower[present], problem.upper[present]
        )
        shift = (low + high) / 2 - solution.intercept
        outcomes.set_values(members, solution.values[removals.points[members]] + shift)
        if solution.exact and high - low > UNIQUE:
            outcomes.status[case] = "unstable"
        return shift

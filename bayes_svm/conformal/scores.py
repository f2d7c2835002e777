"""How a new point with a trial label compares with the labelled points: the scores of conformal prediction.

Every score is minus the decision value of a point's own class. The larger it is, the stranger the point. Of
points with equal values that is the stranger for whose class fewer rows vote. The scores differ in which
machine the value comes from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayes_svm._core.removals import Removals
from bayes_svm.conformal.adding import Adder, Machines, NewPoints
from bayes_svm.conformal.votes import Votes, vote
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.leaving import Leaving
from bayes_svm.leave_one_out.machines import left_out_machines
from bayes_svm.leave_one_out.methods import Finder, Wanted
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["AddedScores", "Comparison", "KeptScores", "LeftOutScores", "MarginScores", "Scores"]

# Scores that differ by at most this multiple of the largest value are equal: the exact values are known to a
# fraction of it. So are votes that differ by this.
TIE = 1e-9
# So are scores that differ by this multiple of the largest sum of absolute summands: some thousand roundings.
ROUNDED = 1e-12
# Minus the votes of the class of some rows and of some new points, given the numbers of both.
Second = Callable[[Indices, Indices], tuple[Array, Array]]
# Left-out values of the larger bag are read alike at any size.
EXACTLY = Wanted()


@dataclass(frozen=True)
class Comparison:
    """How many labelled rows are stranger than each new point with each trial label, or as strange.

    Parameters
    ----------
    stranger, equal : arrays of shape (n_new, n_classes)
        Numbers of rows.
    size : array of shape (n_classes,)
        Number of rows compared with.
    values : array of shape (n_new, n_classes)
        Decision value for each class of the machine without the new point.
    inexact : array of bool of shape (n_new, n_classes)
        Whether a value is not exact.
    """

    stranger: Array
    equal: Array
    size: Array
    values: Array
    inexact: Mask


class Scores(ABC):
    """Scores of the rows of one machine, to which new points are compared.

    Parameters
    ----------
    machine : Machine
        The training data; classes are taken against the rest. A weight is a number of equal rows.
    solutions : list of DualSolution
        The solution of each of its problems.
    class_conditional : bool
        Compare a trial label with the rows of the same label only.
    """

    def __init__(self, machine: Machine, solutions: list[DualSolution], class_conditional: bool) -> None:
        self.machine, self.solutions, self.class_conditional = machine, solutions, class_conditional
        self.exact = all(one.exact for one in solutions)
        self.n_classes = len(machine.classes)
        # Largest sum of absolute summands of a decision value, which the rounding errors are a share of.
        self._summands = [one.problem.gram.largest_sum(one.beta) for one in solutions]
        used = np.flatnonzero(machine.weight > 0)
        # Upper bound of the alpha of one copy of a row, or of a new point, of each class.
        self.unit = np.zeros(self.n_classes)
        self.unit[machine.y[used]] = machine.row_bound[used] / machine.weight[used]
        self._copies: list[Array] = [
            np.bincount(
                one.problem.group[used], weights=machine.weight[used], minlength=len(one.problem.label)
            ).astype(float)
            for one in solutions
        ]

    def compare(self, cross: list[Array], diagonal: Array) -> Comparison:
        """Compare new points, given their kernel values.

        Parameters
        ----------
        cross : list of arrays of shape (n_new, n_points)
            Kernel values between the new points and the points of each problem.
        diagonal : array of shape (n_new,)
            Kernel value of each new point with itself.
        """
        values = [
            part @ solution.beta + solution.intercept
            for part, solution in zip(cross, self.solutions, strict=True)
        ]
        found = Comparison(
            stranger=np.zeros((len(diagonal), self.n_classes)),
            equal=np.zeros((len(diagonal), self.n_classes)),
            size=np.bincount(self.machine.y, minlength=self.n_classes).astype(float),
            values=np.column_stack([-values[0], values[0]] if len(values) == 1 else values),
            inexact=np.zeros((len(diagonal), self.n_classes), dtype=bool),
        )
        if not self.class_conditional:
            found.size[:] = len(self.machine.y)
        self._count(cross, diagonal, found)
        return found

    @abstractmethod
    def _count(self, cross: list[Array], diagonal: Array, found: Comparison) -> None:
        """Add the rows to ``found``."""


class Bags(NamedTuple):
    """Values of the parts of one problem's rows and of new points, each with the same trial label.

    Parameters
    ----------
    values : array of shape (n_new, n_parts)
        Decision values of the parts.
    own : array of shape (n_new,)
        Those of the new points.
    near : array of shape (n_new,)
        Values that differ by at most this are equal.
    inexact : array of bool of shape (n_new,)
        Whether a value is not exact.
    """

    values: Array
    own: Array
    near: Array
    inexact: Mask


def _add(
    found: Comparison, c: int, scores: Array, own: Array, near: Array, copies: Array, second: Second
) -> None:
    """Count rows for trial label c, from scores of shape (n_new, n_scores) and those of the new points."""
    near = near[:, None]
    stranger, as_strange = scores > own + near, scores >= own - near
    tied = as_strange & ~stranger
    if tied.any():
        new, rows = np.flatnonzero(tied.any(axis=1)), np.flatnonzero(tied.any(axis=0))
        those, (of_rows, of_new) = np.ix_(new, rows), second(new, rows)
        stranger[those] |= tied[those] & (of_rows > of_new + TIE)
        as_strange[those] &= ~tied[those] | (of_rows >= of_new - TIE)
    found.stranger[:, c] += _counted(stranger, copies)
    found.equal[:, c] += _counted(as_strange & ~stranger, copies)


def _counted(chosen: Mask, copies: Array) -> Array:
    """Number of rows chosen for each new point; each score stands for so many equal rows."""
    if np.all(copies == 1.0):
        return np.count_nonzero(chosen, axis=1).astype(float)
    return np.asarray(chosen @ copies)


class AddedScores(Scores):
    """Scores of all n + 1 points alike, from machines to which the new point is added with a trial label."""

    def __init__(self, machine: Machine, solutions: list[DualSolution], class_conditional: bool) -> None:
        super().__init__(machine, solutions, class_conditional)
        self._adders = [Adder(solution) for solution in solutions]
        used = np.flatnonzero(machine.weight > 0)
        self.parts = [_Parts.of(one.problem, machine, used) for one in solutions]
        self._votes = [
            Votes.alone(machine, one.problem, copies)
            for one, copies in zip(solutions, self._copies, strict=True)
        ]

    def _count(self, cross: list[Array], diagonal: Array, found: Comparison) -> None:
        if self.n_classes == 2:
            parts = self.parts[0]
            for c, sign in enumerate((-1.0, 1.0)):
                bags = self.bags(0, cross[0], diagonal, c)
                among = np.flatnonzero((parts.own == c) | (not self.class_conditional))
                label = 2.0 * parts.own[among] - 1.0
                second = self._second(cross, (0, sign, parts.point[among]), (0, sign))
                scores, own = -label * bags.values[:, among], -sign * bags.own[:, None]
                _add(found, c, scores, own, bags.near, parts.copies[among], second)
                found.inexact[:, c] |= bags.inexact
            return
        # The score of a row is that of its own class's machine, which sees the new point as one of the class,
        # or as one of the rest.
        own_bags = [self.bags(k, cross[k], diagonal, k) for k in range(self.n_classes)]
        for k, parts in enumerate(self.parts):
            members, other_bags = np.flatnonzero(parts.own == k), dict[float, Bags]()
            for c, new in enumerate(own_bags):
                if c != k and self.class_conditional:
                    continue
                bags = new
                if c != k:
                    # What the machine of class k knows of a label of the rest is the bound of its alpha.
                    bound = float(self.unit[c])
                    if bound not in other_bags:
                        other_bags[bound] = self.bags(k, cross[k], diagonal, c)
                    bags = other_bags[bound]
                sign = 1.0 if c == k else -1.0
                second = self._second(cross, (k, sign, parts.point[members]), (c, 1.0))
                near, scores = np.maximum(bags.near, new.near), -bags.values[:, members]
                _add(found, c, scores, -new.own[:, None], near, parts.copies[members], second)
                found.inexact[:, c] |= bags.inexact | new.inexact

    def _second(self, cross: list[Array], rows: tuple[int, float, Indices], new: tuple[int, float]) -> Second:
        """Votes where scores are equal.

        ``rows`` are the problem that the rows' scores are of, the new points' label there, and the rows'
        points; ``new`` are the problem that the new points' scores are of, and their label there.
        """
        (k, sign, among), (own_k, own_sign) = rows, new

        def second(some: Indices, which: Indices) -> tuple[Array, Array]:
            points = among[which]
            sums = self._votes[k].of_with(points, cross[k][some], sign)
            own = self._votes[own_k].at(cross[own_k][some])
            label = self.solutions[k].problem.label[points]
            return -label * vote(sums), -own_sign * vote(own)[:, None]

        return second

    def bags(self, k: int, cross: Array, diagonal: Array, c: int) -> Bags:
        """Values of problem k where new points have the trial label c.

        Parameters
        ----------
        k : int
            The problem.
        cross : array of shape (n_new, n_points)
            Kernel values between the new points and those of the problem.
        diagonal : array of shape (n_new,)
            Kernel value of each new point with itself.
        c : int
            Number of the class.
        """
        n_new, positive = len(diagonal), 1 if self.n_classes == 2 else k
        sign = 1.0 if c == positive else -1.0
        new = NewPoints(cross, diagonal, np.arange(n_new), np.full(n_new, sign), np.full(n_new, self.unit[c]))
        added = self._adders[k].add(new)
        values, own, statuses = self._values_of(k, new, added)
        summands = np.abs(cross) @ np.abs(self.solutions[k].beta) + np.abs(added.beta[:, -1]) * diagonal
        summands = np.maximum(summands, self._summands[k])
        extremes = values.max(axis=1, initial=1.0), -values.min(axis=1, initial=-1.0), np.abs(own)
        largest = np.maximum.reduce(extremes)
        statuses = np.column_stack([added.status, statuses])
        near = np.maximum(TIE * largest, ROUNDED * summands)
        return Bags(values, own, near, (statuses == "inexact").any(axis=1))

    @abstractmethod
    def _values_of(self, k: int, new: NewPoints, added: Machines) -> tuple[Array, Array, NDArray[np.str_]]:
        """Values of the parts and of the new points, and how those of the parts were obtained."""


@dataclass(frozen=True)
class _Parts:
    """Rows of one problem between which it does not tell: those of one point and one class.

    Parameters
    ----------
    point, own : arrays of int of shape (n_parts,)
        Point and class of each part.
    copies : array of shape (n_parts,)
        Number of rows.
    of_row : array of int of shape (n_samples,)
        The part of each row; -1 for a row of weight 0.
    """

    point: Indices
    own: Indices
    copies: Array
    of_row: Indices

    @classmethod
    def of(cls, problem: DualProblem, machine: Machine, used: Indices) -> _Parts:
        n_classes, of_row = len(machine.classes), np.full(len(machine.y), -1)
        keys = problem.group[used] * n_classes + machine.y[used]
        different, part = np.unique(keys, return_inverse=True)
        of_row[used] = part
        copies = np.bincount(part, weights=machine.weight[used]).astype(float)
        return cls(different // n_classes, different % n_classes, copies, of_row)


class MarginScores(AddedScores):
    r"""Scores from the machine trained on all n + 1 points, :math:`- y_i f_{Z^y}(x_i)`."""

    def _values_of(self, k: int, new: NewPoints, added: Machines) -> tuple[Array, Array, NDArray[np.str_]]:
        return added.values[:, self.parts[k].point], added.values[:, -1], added.status[:, None]


class LeftOutScores(AddedScores):
    r"""Scores from the machines trained without the point itself, :math:`- y_i f_{Z^y \setminus i}(x_i)`."""

    def _values_of(self, k: int, new: NewPoints, added: Machines) -> tuple[Array, Array, NDArray[np.str_]]:
        solution, adder, parts = self.solutions[k], self._adders[k], self.parts[k]
        unit = self.unit[parts.own]
        # One copy of a row leaves; the new point, which is last, without itself is not in the bag.
        rest = np.maximum(0.0, solution.problem.bound[parts.point] - unit)
        rest[rest < RELATIVE * unit] = 0.0
        values = np.empty((len(new.which), len(unit)))
        statuses = np.full(values.shape, "", dtype=added.status.dtype)
        for pair in range(len(new.which)):
            larger = adder.solved(new, pair, start=added.beta[pair])
            outcomes = Finder(larger, EXACTLY, remainders=False).outcomes(
                Removals.of_points(parts.point, rest)
            )
            values[pair], statuses[pair] = outcomes.values, outcomes.status
        return values, new.cross @ solution.beta + solution.intercept, statuses


# A bound that is left of this share of one row's is rounding.
RELATIVE = 1e-9


class KeptScores(Scores):
    r"""Scores from the machines without each row.

    .. math:: - y_i f^{(-i)}(x_i) \quad \text{against} \quad - y f^{(-i)}(x)

    With single rows that is the jackknife+, with strata or folds CV+.

    Parameters
    ----------
    machine, solutions, class_conditional
        As in :class:`Scores`.
    leaving : Leaving
        What leaves together.
    n_jobs : int, optional
        Jobs of joblib.
    """

    def __init__(
        self,
        machine: Machine,
        solutions: list[DualSolution],
        class_conditional: bool,
        leaving: Leaving,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(machine, solutions, class_conditional)
        self._left = [left_out_machines(one, leaving, Wanted(n_jobs=n_jobs)) for one in solutions]
        sections = [section for left in self._left for section in left.sections]
        self.exact &= not any((section.status == "inexact").any() for section in sections)
        self._y, self._times = machine.y[leaving.part_row], leaving.copies
        own = [left.values for left in self._left]
        signed = np.vstack([-own[0], own[0]] if len(own) == 1 else own)
        self._scores = -signed[self._y, np.arange(len(self._y))]
        self._votes = []
        for one, copies in zip(solutions, self._copies, strict=True):
            point = one.problem.group[leaving.part_row]
            removed = leaving.removed / self.unit[self._y]
            leaves = sparse.csr_array((removed, (leaving.case, point)), (len(leaving.times), len(copies)))
            self._votes.append(Votes(machine, one.problem, copies, point, leaving.case, leaves))

    def _count(self, cross: list[Array], diagonal: Array, found: Comparison) -> None:
        at = [left.values_at(part)[left.case].T for left, part in zip(self._left, cross, strict=True)]
        for c in range(self.n_classes):
            sign, k = (2.0 * c - 1.0, 0) if self.n_classes == 2 else (1.0, c)
            among = np.flatnonzero((self._y == c) | (not self.class_conditional))
            second, own = self._second(cross[k], k, sign, among), at[k][:, among]
            summands = np.maximum(np.abs(cross[k]) @ np.abs(self.solutions[k].beta), self._summands[k])
            largest = np.maximum(np.abs(own).max(axis=1, initial=1.0), np.abs(self._scores).max())
            near = np.maximum(TIE * largest, ROUNDED * summands)
            _add(found, c, self._scores[among], -sign * own, near, self._times[among], second)

    def _second(self, cross: Array, k: int, sign: float, among: Indices) -> Second:
        """Votes where scores are equal, on the rows and on new points of a label in problem k."""

        def second(some: Indices, which: Indices) -> tuple[Array, Array]:
            parts = among[which]
            own = self._votes[k].at_without(cross[some], parts)
            return self._of_rows(parts), -sign * vote(own)

        return second

    def _of_rows(self, parts: Indices) -> Array:
        """Minus the vote for the class of each part, of the machine of its class."""
        if self.n_classes == 2:
            label = 2.0 * self._y[parts] - 1.0
            return np.asarray(-label * vote(self._votes[0].of(parts)))
        votes = np.empty(len(parts))
        for k in np.unique(self._y[parts]):
            own = self._y[parts] == k
            votes[own] = -vote(self._votes[k].of(parts[own]))
        return votes

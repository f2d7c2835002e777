"""How a new point with a trial label compares with the labelled points: the scores of conformal prediction.

Every score is minus the decision value of a point's own class. The larger it is, the stranger the point. Of
points with equal values that is the stranger for whose class fewer rows vote. The scores differ in which
machine the value comes from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from bayes_svm._core.removals import Removals
from bayes_svm.conformal.adding import Adder, NewPoints
from bayes_svm.conformal.votes import Votes, vote
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.cases import Leaving
from bayes_svm.leave_one_out.machines import left_out_machines
from bayes_svm.leave_one_out.methods import Finder, Wanted
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["AddedScores", "Comparison", "KeptScores", "LeftOutScores", "MarginScores", "Scores"]

# Scores that differ by at most this multiple of the largest value are equal: the exact values are known to a
# fraction of it. So are votes that differ by this.
TIE = 1e-9
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
    unstable : array of bool of shape (n_new, n_classes)
        Whether an intercept was not unique: the middle of its interval was taken.
    """

    stranger: Array
    equal: Array
    size: Array
    values: Array
    unstable: Mask


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
        self.n_classes = len(machine.classes)
        used = np.flatnonzero(machine.weight > 0)
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
            unstable=np.zeros((len(diagonal), self.n_classes), dtype=bool),
        )
        if not self.class_conditional:
            found.size[:] = len(self.machine.y)
        self._count(cross, diagonal, found)
        return found

    @abstractmethod
    def _count(self, cross: list[Array], diagonal: Array, found: Comparison) -> None:
        """Add the rows to ``found``."""


def _add(found: Comparison, c: int, scores: Array, own: Array, copies: Array, second: Second) -> None:
    """Count rows for trial label c, from scores of shape (n_new, n_scores) and those of the new points."""
    near = TIE * np.maximum(1.0, np.abs(own))
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
        self._votes = [
            Votes.alone(machine, one.problem, copies)
            for one, copies in zip(solutions, self._copies, strict=True)
        ]
        # Upper bound of the alpha of one copy of each row, and of a new point of either label.
        self._unit = np.divide(
            machine.row_bound, machine.weight, out=np.zeros(len(machine.y)), where=machine.weight > 0
        )
        self._bounds = [
            {
                sign: float(self._unit[one.problem.first_row[one.problem.label == sign][0]])
                for sign in (-1.0, 1.0)
            }
            for one in solutions
        ]

    def _count(self, cross: list[Array], diagonal: Array, found: Comparison) -> None:
        if self.n_classes == 2:
            for c, sign in enumerate((-1.0, 1.0)):
                values, own, unstable = self.valued(0, cross[0], diagonal, sign)
                label, copies = self.solutions[0].problem.label, self._copies[0]
                among = np.flatnonzero((label == sign) | (not self.class_conditional))
                second = self._second(cross, (0, sign, among), (0, sign))
                _add(found, c, -label[among] * values[:, among], -sign * own[:, None], copies[among], second)
                found.unstable[:, c] |= unstable
            return
        # The score of a row is that of its own class's machine, which sees the new point as one of the class,
        # or as one of the rest.
        owns, others = [], []
        for k, solution in enumerate(self.solutions):
            members = np.flatnonzero(solution.problem.label > 0)
            copies = self._copies[k][members]
            values, own, unstable = self.valued(k, cross[k], diagonal, 1.0)
            second = self._second(cross, (k, 1.0, members), (k, 1.0))
            _add(found, k, -values[:, members], -own[:, None], copies, second)
            found.unstable[:, k] |= unstable
            owns.append(own)
            if not self.class_conditional:
                values, _, unstable = self.valued(k, cross[k], diagonal, -1.0)
                others.append((-values[:, members], copies, unstable, members))
        for k, (scores, copies, unstable, members) in enumerate(others):
            for c in range(self.n_classes):
                if c != k:
                    second = self._second(cross, (k, -1.0, members), (c, 1.0))
                    _add(found, c, scores, -owns[c][:, None], copies, second)
                    found.unstable[:, c] |= unstable

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

    def valued(self, k: int, cross: Array, diagonal: Array, sign: float) -> tuple[Array, Array, Mask]:
        """Values of the points of problem k and of the new points, which have this label, and if unstable."""
        n_new = len(diagonal)
        new = NewPoints(
            cross, diagonal, np.arange(n_new), np.full(n_new, sign), np.full(n_new, self._bounds[k][sign])
        )
        return self._values_of(k, new)

    @abstractmethod
    def _values_of(self, k: int, new: NewPoints) -> tuple[Array, Array, Mask]:
        """The values for each pair of a new point and its label."""


class MarginScores(AddedScores):
    r"""Scores from the machine trained on all n + 1 points, :math:`- y_i f_{Z^y}(x_i)`."""

    def _values_of(self, k: int, new: NewPoints) -> tuple[Array, Array, Mask]:
        found = self._adders[k].add(new)
        return found.values[:, :-1], found.values[:, -1], np.isin(found.status, ("unstable", "inexact"))


class LeftOutScores(AddedScores):
    r"""Scores from the machines trained without the point itself, :math:`- y_i f_{Z^y \setminus i}(x_i)`."""

    def _values_of(self, k: int, new: NewPoints) -> tuple[Array, Array, Mask]:
        solution, adder = self.solutions[k], self._adders[k]
        found = adder.add(new)
        unit = self._unit[solution.problem.first_row]
        values, unstable = np.empty((len(new.which), len(unit))), np.zeros(len(new.which), dtype=bool)
        for pair in range(len(new.which)):
            larger = adder.solved(new, pair, start=found.beta[pair])
            # One copy of every point leaves; the new point, which is last, without itself is not in the bag.
            rest = np.maximum(0.0, solution.problem.bound - unit)
            rest[rest < RELATIVE * unit] = 0.0
            outcomes = Finder(larger, EXACTLY, remainders=False).outcomes(
                Removals.of_points(np.arange(len(unit)), rest)
            )
            values[pair] = outcomes.values
            unstable[pair] = np.isin(outcomes.status, ("unstable", "inexact")).any()
        return values, new.cross @ solution.beta + solution.intercept, unstable


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
        self._y, self._times = machine.y[leaving.part_row], leaving.copies
        own = [left.values for left in self._left]
        signed = np.vstack([-own[0], own[0]] if len(own) == 1 else own)
        self._scores = -signed[self._y, np.arange(len(self._y))]
        self._votes = []
        for one, copies in zip(solutions, self._copies, strict=True):
            point = one.problem.group[leaving.part_row]
            removed = leaving.removed * copies[point] / one.problem.bound[point]
            leaves = sparse.csr_array((removed, (leaving.case, point)), (len(leaving.times), len(copies)))
            self._votes.append(Votes(machine, one.problem, copies, point, leaving.case, leaves))

    def _count(self, cross: list[Array], diagonal: Array, found: Comparison) -> None:
        at = [left.values_at(part)[left.case].T for left, part in zip(self._left, cross, strict=True)]
        unstable = [bool(left.unstable.any()) for left in self._left]
        for c in range(self.n_classes):
            sign, k = (2.0 * c - 1.0, 0) if self.n_classes == 2 else (1.0, c)
            among = np.flatnonzero((self._y == c) | (not self.class_conditional))
            second = self._second(cross[k], k, sign, among)
            _add(found, c, self._scores[among], -sign * at[k][:, among], self._times[among], second)
            found.unstable[:, c] |= unstable[k]

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

"""How a new point with a trial label compares with the labelled points: the scores of conformal prediction.

Every score is minus the decision value of a point's own class. The larger it is, the stranger the point. The
scores differ in which machine the value comes from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from bayes_svm._core.removals import Removals
from bayes_svm.conformal.adding import Adder, NewPoints
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.cases import Leaving
from bayes_svm.leave_one_out.machines import left_out_machines
from bayes_svm.leave_one_out.methods import Finder, Wanted
from bayes_svm.utils.types import Array, Mask

__all__ = ["AddedScores", "Comparison", "KeptScores", "LeftOutScores", "MarginScores", "Scores"]

# Scores that differ by at most this multiple of the largest value are equal: the exact values are known to a
# fraction of it.
TIE = 1e-9
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


def _add(found: Comparison, c: int, scores: Array, own: Array, copies: Array) -> None:
    """Count rows for trial label c, from scores of shape (n_new, n_scores) and those of the new points."""
    near = TIE * np.maximum(1.0, np.abs(own))
    stranger = _counted(scores > own + near, copies)
    found.stranger[:, c] += stranger
    found.equal[:, c] += _counted(scores >= own - near, copies) - stranger


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
        self._copies: list[Array] = [
            np.bincount(
                one.problem.group[used], weights=machine.weight[used], minlength=len(one.problem.label)
            ).astype(float)
            for one in solutions
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
                _add(found, c, -label[among] * values[:, among], -sign * own[:, None], copies[among])
                found.unstable[:, c] |= unstable
            return
        # The score of a row is that of its own class's machine, which sees the new point as one of the class,
        # or as one of the rest.
        owns, others = [], []
        for k, solution in enumerate(self.solutions):
            members = np.flatnonzero(solution.problem.label > 0)
            copies = self._copies[k][members]
            values, own, unstable = self.valued(k, cross[k], diagonal, 1.0)
            _add(found, k, -values[:, members], -own[:, None], copies)
            found.unstable[:, k] |= unstable
            owns.append(own)
            if not self.class_conditional:
                values, _, unstable = self.valued(k, cross[k], diagonal, -1.0)
                others.append((-values[:, members], copies, unstable))
        for k, (scores, copies, unstable) in enumerate(others):
            for c in range(self.n_classes):
                if c != k:
                    _add(found, c, scores, -owns[c][:, None], copies)
                    found.unstable[:, c] |= unstable

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
        self._y, self._copies = machine.y[leaving.part_row], leaving.copies
        own = [left.values for left in self._left]
        signed = np.vstack([-own[0], own[0]] if len(own) == 1 else own)
        self._scores = -signed[self._y, np.arange(len(self._y))]

    def _count(self, cross: list[Array], diagonal: Array, found: Comparison) -> None:
        at = [left.values_at(part)[left.case].T for left, part in zip(self._left, cross, strict=True)]
        unstable = [bool(left.unstable.any()) for left in self._left]
        for c in range(self.n_classes):
            sign, k = (2.0 * c - 1.0, 0) if self.n_classes == 2 else (1.0, c)
            among = np.flatnonzero((self._y == c) | (not self.class_conditional))
            _add(found, c, self._scores[among], -sign * at[k][:, among], self._copies[among])
            found.unstable[:, c] |= unstable[k]

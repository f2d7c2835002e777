"""What leaves together, row by row: the kinds of rows, and the parts of them that leave in each case.

``docs/explanation/leave_one_out.md`` defines case, part, kind and member.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayes_svm.dual.machine import Machine
from bayes_svm.utils.types import Array, Indices

__all__ = ["STAYS", "Leaving"]


# The kind of a row that is not left out, because enough others are.
STAYS = -2


@dataclass(frozen=True)
class Leaving:
    """What leaves together.

    Rows with equal x, label and weight are of one *kind*: nothing tells them apart. A *case* is what
    leaves at the same time. A *part* is what leaves of one kind in one case.

    Parameters
    ----------
    kind : array of shape (n_samples,)
        Kind of each row; -1 for a row of weight 0 that is in no case, and :data:`STAYS` for a row that is in
        none because enough others are.
    row : array of shape (n_kinds,)
        One row of each kind.
    case : array of shape (n_parts,)
        Case of each part, ascending from 0.
    part_kind : array of shape (n_parts,)
        Kind of each part.
    removed : array of shape (n_parts,)
        How much of the upper bound of the kind's point leaves.
    copies : array of shape (n_parts,)
        Number of copies of the kind that get their value from this part. A case that stands for several
        equal cases counts as often.
    times : array of shape (n_cases,)
        Number of equal cases that each case stands for.
    share : array of shape (n_kinds,), optional
        Share of the copies of each kind that leave; all of them by default.
    """

    kind: Indices
    row: Indices
    case: Indices
    part_kind: Indices
    removed: Array
    copies: Array
    times: Array
    share: Array | None = None

    @property
    def part_row(self) -> Indices:
        """One row of each part."""
        return self.row[self.part_kind]

    def part_means(self, values: Array, weight: Array) -> Array:
        """Mean over the rows of each part's kind, of values of shape (n_samples, ...).

        Rows of weight 0 count only in a kind that has no others.
        """
        used = self.kind >= 0
        of_kind = np.bincount(self.kind[used], weights=weight[used])
        share = np.where(of_kind[self.kind[used]] > 0.0, weight[used], 1.0)
        share /= np.bincount(self.kind[used], weights=share)[self.kind[used]]
        means = np.zeros((len(self.row), *values.shape[1:]))
        np.add.at(means, self.kind[used], share.reshape(-1, *[1] * (values.ndim - 1)) * values[used])
        return np.asarray(means[self.part_kind])

    def part_weight(self, weight: Array) -> Array:
        """Weight of each part: the sample weights of its kind, shared among its parts by copies."""
        used = self.kind >= 0
        row_weight = self.row_weight(weight)
        of_kind = np.bincount(self.kind[used], weights=row_weight[used], minlength=len(self.row))
        copies = np.bincount(self.part_kind, weights=self.copies, minlength=len(self.row))
        return np.asarray(of_kind[self.part_kind] * (self.copies / copies[self.part_kind]))

    def row_weight(self, weight: Array) -> Array:
        """How often each row counts among those that leave, 0 for a row that stays."""
        if self.share is None:
            return weight
        return np.where(self.kind >= 0, weight * np.append(self.share, 0.0)[np.maximum(self.kind, -1)], 0.0)

    def shuffled(self, machine: Machine) -> Indices:
        """The parts class by class, as good as shuffled; without those of weight 0, which have no rank."""
        present = (machine.row_of[self.part_row] >= 0).nonzero()[0]
        rows = self.part_row[present]
        rank = machine.shuffled_rank[machine.row_of[rows]]
        return present[np.lexsort((self.removed[present], rank, machine.y[rows]))]

    def part_shares(self, number: int, machine: Machine, groups: bool = False) -> Array:
        """Share of each part in each of some folds, to which the cases are dealt in turn.

        The order of the cases follows from what their rows hold, not from the order of the rows; where
        groups begin with equal rows, from the order of the groups' labels.

        Parameters
        ----------
        number : int
            Number of folds.
        machine : Machine
            The training data.
        groups : bool, default=False
            Whether groups leave, which need not hold every class. The cases with the class that is in the
            fewest of them are dealt first, into no more folds than there are such cases, but at least two.
            No fold then has more of this class than it must: without the fold it would seem rarer than it is.

        Returns
        -------
        array of shape (n_parts, n_folds)
            The shares. There are as many folds as cases if the cases are fewer; a case that stands for
            several equal ones counts as often.
        """
        number, shuffled = int(min(number, self.times.sum())), self.shuffled(machine)
        if groups:
            cases = self._cases_with(machine)
            number = min(number, max(2, int(cases.min())))
            label = machine.y[self.part_row[shuffled]]
            shuffled = shuffled[np.lexsort((label, cases[label]))]
        first = np.full(len(self.times), len(shuffled))
        # A case takes the place of its first part.
        first[self.case[shuffled[::-1]]] = np.arange(len(shuffled))[::-1]
        order = np.argsort(first, kind="stable")
        ends = np.append(0.0, np.cumsum(self.times[order]))
        # Of the first e cases, fold f has as many as there are numbers f, f + number, ... below e.
        dealt = [np.floor((ends - fold + number - 1) / number) for fold in range(number)]
        shares = np.empty((len(self.times), number))
        shares[order] = np.diff(dealt, axis=1).T / self.times[order, None]
        return shares[self.case]

    def _cases_with(self, machine: Machine) -> Indices:
        """Number of cases that hold each class."""
        leaves = self.removed > 0
        holds = np.zeros((len(self.times), len(machine.classes)), dtype=bool)
        holds[self.case[leaves], machine.y[self.part_row[leaves]]] = True
        return np.count_nonzero(holds, axis=0)

    @property
    def part_each(self) -> bool:
        """Whether every kind has one part."""
        return len(self.row) == len(self.case)

    def row_means(self, values: Array, absent: Array) -> Array:
        """Mean over the parts of each row's kind.

        Parameters
        ----------
        values : array of shape (n_parts, ...)
            Values of the parts.
        absent : array of shape (n_samples, ...)
            Values of the rows that are in no case.
        """
        if self.part_each:
            return self.rows_of(values, absent)
        total = np.bincount(self.part_kind, weights=self.copies, minlength=len(self.row))
        share = (self.copies / total[self.part_kind]).reshape(-1, *[1] * (values.ndim - 1))
        means = np.zeros((len(self.row), *values.shape[1:]))
        np.add.at(means, self.part_kind, share * values)
        # Rounding must not take a mean of probabilities beyond 1.
        highest, lowest = values[self._first_part], values[self._first_part]
        np.maximum.at(highest, self.part_kind, values)
        np.minimum.at(lowest, self.part_kind, values)
        return self._spread(np.clip(means, lowest, highest), absent)

    def row_largest(self, values: NDArray[Any], absent: NDArray[Any]) -> NDArray[Any]:
        """The same with the largest value in place of the mean."""
        if self.part_each:
            return self.rows_of(values, absent)
        largest = values[self._first_part]
        np.maximum.at(largest, self.part_kind, values)
        return self._spread(largest, absent)

    def rows_of(self, values: NDArray[Any], absent: NDArray[Any]) -> NDArray[Any]:
        """The same where every kind has one part."""
        part, outside = self._only_part
        if len(outside) == len(part):
            return absent.copy()
        result = values[part]
        result[outside] = absent[outside]
        return result

    @cached_property
    def _first_part(self) -> Indices:
        """The first part of each kind."""
        return np.unique(self.part_kind, return_index=True)[1]

    @cached_property
    def _only_part(self) -> tuple[Indices, Indices]:
        """The part of each row where every kind has one, and the rows that are in none."""
        of_kind = np.empty(len(self.row), dtype=np.intp)
        of_kind[self.part_kind] = np.arange(len(self.part_kind))
        part, outside = np.zeros(len(self.kind), dtype=np.intp), self.kind < 0
        part[~outside] = of_kind[self.kind[~outside]]
        return part, outside.nonzero()[0]

    def _spread(self, of_kind: NDArray[Any], absent: NDArray[Any]) -> NDArray[Any]:
        """The value of its kind for each row."""
        result = absent.copy()
        used = self.kind >= 0
        result[used] = of_kind[self.kind[used]]
        return result

"""Which rows leave together: single rows, groups and folds, or strata that keep the class ratio.

``docs/explanation/leave_one_out.md`` defines case, part, kind and member.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayes_svm.dual.machine import Machine
from bayes_svm.leave_one_out.folds import fold_numbers
from bayes_svm.utils.dealing import copies_of_weight, deal
from bayes_svm.utils.types import Array, Indices
from bayes_svm.utils.warn import warn

__all__ = ["Leaving", "groups_alone", "halves", "rows_alone", "strata", "strata_of_groups", "what_leaves"]


# For two classes there are as many strata as members of the rarer class, if it has at least this many
# members: with fewer, a stratum would be too large a share of the class.
FEWEST_STRATA = 3
# In all other cases there are at least this many strata.
SOME_STRATA = 10


@dataclass(frozen=True)
class Leaving:
    """What leaves together.

    Rows with equal x, label and weight are of one *kind*: nothing tells them apart. A *case* is what
    leaves at the same time. A *part* is what leaves of one kind in one case.

    Parameters
    ----------
    kind : array of shape (n_samples,)
        Kind of each row; -1 for a row of weight 0 that is in no case.
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
    """

    kind: Indices
    row: Indices
    case: Indices
    part_kind: Indices
    removed: Array
    copies: Array
    times: Array

    @property
    def part_row(self) -> Indices:
        """One row of each part."""
        return self.row[self.part_kind]

    def part_weight(self, weight: Array) -> Array:
        """Weight of each part: the sample weights of its kind, shared among its parts by copies."""
        used = self.kind >= 0
        of_kind = np.bincount(self.kind[used], weights=weight[used], minlength=len(self.row))
        copies = np.bincount(self.part_kind, weights=self.copies, minlength=len(self.row))
        return np.asarray(of_kind[self.part_kind] * (self.copies / copies[self.part_kind]))

    def part_shares(self, number: int, machine: Machine) -> Array:
        """Share of each part in each of some folds, to which the cases are dealt in turn.

        The order of the cases follows from the contents of their rows, not from the order of the rows.

        Parameters
        ----------
        number : int
            Number of folds.
        machine : Machine
            The training data.

        Returns
        -------
        array of shape (n_parts, n_folds)
            The shares. There are as many folds as cases if the cases are fewer; a case that stands for
            several equal ones counts as often.
        """
        number = int(min(number, self.times.sum()))
        rows = self.part_row
        by_content = np.lexsort((self.removed, machine.content_rank[machine.row_of[rows]], machine.y[rows]))
        first = np.empty(len(self.times))
        # A case takes the place of its first part.
        first[self.case[by_content[::-1]]] = np.arange(len(rows))[::-1]
        order = np.argsort(first, kind="stable")
        ends = np.append(0.0, np.cumsum(self.times[order]))
        # Of the first e cases, fold f has as many as there are numbers f, f + number, ... below e.
        dealt = [np.floor((ends - fold + number - 1) / number) for fold in range(number)]
        shares = np.empty((len(self.times), number))
        shares[order] = np.diff(dealt, axis=1).T / self.times[order, None]
        return shares[self.case]

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
        return self._spread(means, absent)

    def row_largest(self, values: NDArray[Any], absent: NDArray[Any]) -> NDArray[Any]:
        """The same with the largest value in place of the mean."""
        if self.part_each:
            return self.rows_of(values, absent)
        largest = values[np.unique(self.part_kind, return_index=True)[1]]
        np.maximum.at(largest, self.part_kind, values)
        return self._spread(largest, absent)

    def rows_of(self, values: NDArray[Any], absent: NDArray[Any]) -> NDArray[Any]:
        """The same where every kind has one part."""
        of_kind = np.empty_like(values)
        of_kind[self.part_kind] = values
        return self._spread(of_kind, absent)

    def _spread(self, of_kind: NDArray[Any], absent: NDArray[Any]) -> NDArray[Any]:
        """The value of its kind for each row."""
        result = absent.copy()
        used = self.kind >= 0
        result[used] = of_kind[self.kind[used]]
        return result


def rows_alone(machine: Machine) -> Leaving:
    """Every row leaves alone; of a row that stands for several copies, one copy leaves."""
    kind, row, unit, copies = _kinds(machine)
    return Leaving(kind, row, np.arange(len(row)), np.arange(len(row)), unit, copies, copies)


def groups_alone(machine: Machine, numbers: Indices) -> Leaving:
    """Whole groups of rows leave, with all their weight.

    Parameters
    ----------
    machine : Machine
        The training data.
    numbers : array of shape (n_samples,)
        Number of the group of each row.
    """
    used = machine.row_bound > 0
    # A row of weight 0 leaves with its group, and is a kind of its own, of which nothing is removed.
    content = np.where(used, machine.row_of, len(machine.gram) + np.arange(len(used)))
    keys = np.column_stack([numbers, machine.y, content])
    # A group without weight does not leave.
    present = np.isin(numbers, numbers[used])
    _, first, kind = np.unique(keys[present], axis=0, return_index=True, return_inverse=True)
    row = np.flatnonzero(present)[first]
    every = np.full(len(used), -1)
    every[present] = kind.ravel()
    removed: Array = np.bincount(kind.ravel(), weights=machine.row_bound[present], minlength=len(row)).astype(
        float
    )
    case = np.unique(numbers[row], return_inverse=True)[1].ravel()
    return Leaving(
        every, row, case, np.arange(len(row)), removed, np.ones(len(row)), np.ones(int(case.max()) + 1)
    )


def strata(machine: Machine, number: int | None = None) -> Leaving:
    """Strata leave: each is a share of every class, so that the class ratio stays the same.

    The copies of the rows are dealt out to the strata in turn: class by class, and within a class in the
    order of :attr:`~bayes_svm.dual.machine.Machine.content_rank`. Strata with the same contents are one
    case.

    Parameters
    ----------
    machine : Machine
        The training data.
    number : int, optional
        Number of strata. By default it is the number of members of the rarest class; but ten if that
        is two or less, or if it is less than ten and there are more than two classes.

    Raises
    ------
    ValueError
        If the weights stand for more copies than can be counted.
    """
    kind, row, unit, copies = _kinds(machine)
    label = machine.y[row]
    number = _number_of_strata(np.bincount(label, weights=copies)) if number is None else number
    order = np.lexsort((unit, machine.content_rank[machine.row_of[row]], label))
    dealt = deal(copies[order], int(min(number, copies.sum())))
    of = order[dealt.thing]
    copies = (dealt.number * dealt.times[dealt.hand]).astype(float)
    return Leaving(kind, row, dealt.hand, of, dealt.number * unit[of], copies, dealt.times.astype(float))


def strata_of_groups(machine: Machine, numbers: Indices, number: int | None = None) -> Leaving:
    """Strata of whole groups leave, which keep the class ratio as far as the groups allow.

    There are as many strata as the class that is in the fewest groups has groups, with the exceptions of
    :func:`strata`. The groups, the largest first, go to the stratum where they make the shares of the
    classes most even. Groups of one class are thus dealt like rows, and where each group has every class
    each group is a stratum.

    Parameters
    ----------
    machine : Machine
        The training data.
    numbers : array of shape (n_samples,)
        Number of the group of each row, from 0.
    number : int, optional
        Number of strata, by default as above.

    Raises
    ------
    ValueError
        If a class is in one group only, or there are fewer groups than strata.
    """
    used, counts = np.flatnonzero(machine.row_bound > 0), _members_of_groups(machine, numbers)
    present = np.flatnonzero(counts.any(axis=1))
    if number is None:
        number = min(_number_of_strata(np.count_nonzero(counts, axis=0)), len(present))
    if number > len(present):
        raise ValueError(f"leave_out={number} asks for more strata than there are groups: {len(present)}.")
    rank = machine.content_rank
    least = np.full(len(counts), len(rank))
    np.minimum.at(least, numbers[used], rank[machine.row_of[used]])
    order = present[np.lexsort((least[present], -counts[present].sum(axis=1)))]
    stratum = np.full(len(counts), -1)
    stratum[order] = _dealt(counts[order], number)
    return groups_alone(machine, np.where(stratum[numbers] >= 0, stratum[numbers], number))


def _members_of_groups(machine: Machine, numbers: Indices) -> Array:
    """Number of copies of each class's members in each group, shape (n_groups, n_classes).

    Raises
    ------
    ValueError
        If a class is in one group only.
    """
    used = np.flatnonzero(machine.row_bound > 0)
    counts = np.zeros((int(numbers.max()) + 1, len(machine.classes)))
    np.add.at(counts, (numbers[used], machine.y[used]), copies_of_weight(machine.weight[used]))
    homes = np.count_nonzero(counts, axis=0)
    if homes.min() < 2:
        lonely = int(homes.argmin())
        raise ValueError(
            f"Class {machine.classes.tolist()[lonely]!r} lives in one group only: without this group there "
            "is nothing to learn it from. Give groups such that each class is in at least two, or none."
        )
    return counts


def _dealt(counts: Array, number: int) -> Indices:
    """Stratum of each group, given how many members of each class it has, the largest groups first."""
    total = counts.sum(axis=0)
    filled = np.zeros((number, counts.shape[1]))
    stratum = np.empty(len(counts), dtype=np.intp)
    for k, group in enumerate(counts):
        after = filled + group
        uneven = np.square(after / total).sum(axis=1) - np.square(filled / total).sum(axis=1)
        whole_class = (after[:, group > 0] >= total[group > 0]).any(axis=1)
        # Avoid strata with the whole of a class; among the others take the most even, then the emptiest.
        stratum[k] = np.lexsort((after.sum(axis=1), uneven.round(12), whole_class))[0]
        filled[stratum[k]] += group
    return stratum


def _number_of_strata(members: NDArray[Any]) -> int:
    """Number of strata for classes with so many members, or in so many groups."""
    least = int(members.min())
    return least if len(members) == 2 and least >= FEWEST_STRATA else max(least, SOME_STRATA)


def _kinds(machine: Machine) -> tuple[Indices, Indices, Array, Array]:
    """Kind of each row; and for each kind one of its rows, the bound of a copy, and the number of copies."""
    used = np.flatnonzero(machine.row_bound > 0)
    copies = copies_of_weight(machine.weight[used])
    unit = machine.row_bound[used] / copies
    order = np.lexsort((unit, machine.row_of[used], machine.y[used]))
    new = np.zeros(len(used), dtype=bool)
    new[0] = True
    for keys in (unit, machine.row_of[used], machine.y[used]):
        new[1:] |= keys[order][1:] != keys[order][:-1]
    number = np.cumsum(new) - 1
    kind = np.full(len(machine.y), -1)
    kind[used[order]] = number
    heads = order[new]
    counts: Array = np.bincount(number, weights=copies[order]).astype(float)
    return kind, used[heads], unit[heads], counts


def halves(machine: Machine, numbers: Indices | None) -> Leaving:
    """Two strata leave: of rows, or, with ``numbers``, of whole groups."""
    return strata(machine, 2) if numbers is None else strata_of_groups(machine, numbers, 2)


def what_leaves(machine: Machine, leave_out: Any, y: ArrayLike, numbers: Indices | None) -> Leaving:
    """What leaves together for a value of the parameter ``leave_out`` of :class:`bayes_svm.BayesSVC`.

    Parameters
    ----------
    machine : Machine
        The training data.
    leave_out : {"strata", "rows"}, int, splitter or list of splits
        The value: strata, their number, single rows, or folds.
    y : array of shape (n_samples,)
        Class labels, for a splitter.
    numbers : array of shape (n_samples,), optional
        Number of the group of each row.

    Raises
    ------
    ValueError
        If the groups or folds cannot be left out.
    """
    # Classes in one group only are refused, however the groups leave.
    if numbers is not None:
        _members_of_groups(machine, numbers)
    if not isinstance(leave_out, str | Integral):
        return groups_alone(machine, fold_numbers(machine.X, y, numbers, leave_out, "leave_out"))
    if leave_out == "rows":
        return rows_alone(machine) if numbers is None else groups_alone(machine, numbers)
    number = None if isinstance(leave_out, str) else int(leave_out)
    if numbers is not None:
        return strata_of_groups(machine, numbers, number)
    if number is not None:
        _check_number(machine, number)
    return strata(machine, number)


def _check_number(machine: Machine, number: int) -> None:
    """Refuse more strata than the largest class has members; warn beyond the smallest, like scikit-learn."""
    used = machine.weight > 0
    members = np.bincount(machine.y[used], weights=copies_of_weight(machine.weight[used]))
    if number > members.max():
        raise ValueError(
            f"leave_out={number} is more than the {members.max():g} members of the largest class: choose "
            'a smaller number, or leave_out="rows".'
        )
    if number > members.min():
        warn(
            f"leave_out={number} is more than the {members.min():g} members of class "
            f"{machine.classes.tolist()[members.argmin()]!r}: some of the strata will have none of them."
        )

"""Which rows leave together: single rows, groups and folds, or strata that keep the class ratio."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayes_svm.dual.machine import Machine
from bayes_svm.leave_one_out.folds import fold_numbers
from bayes_svm.leave_one_out.order import content_rank
from bayes_svm.utils.dealing import copies_of_weight, deal
from bayes_svm.utils.types import Array, Indices
from bayes_svm.utils.warn import warn

__all__ = ["Leaving", "groups_alone", "halves", "rows_alone", "strata", "strata_of_groups", "what_leaves"]


FEWEST_STRATA = 3  # two classes: with fewer members of the rarer one, a stratum would be too much of it;
SOME_STRATA = 10  # then, and with several classes, at least this many


@dataclass(frozen=True)
class Leaving:
    """What leaves together.

    Rows with equal x, label and weight are one *kind*: nothing tells them apart. A *case* is what
    leaves at a time, and a *part* of it what leaves of one kind.

    Parameters
    ----------
    kind : array of shape (n_samples,)
        The kind of each row; -1 for a row of weight 0 that is in no case.
    row : array of shape (n_kinds,)
        A row of each kind.
    case : array of shape (n_parts,)
        The case of each part, ascending from 0.
    part_kind : array of shape (n_parts,)
        The kind of each part.
    removed : array of shape (n_parts,)
        How much of the upper bound of the kind's point leaves.
    copies : array of shape (n_parts,)
        Copies of the kind that have their value from this part: a case that stands for several
        equal ones counts that often.
    times : array of shape (n_cases,)
        How many equal ones each case stands for.
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
        """A row of each part."""
        return self.row[self.part_kind]

    def part_weight(self, weight: Array) -> Array:
        """Weight of each part: the sample weights of its kind, shared out by copies."""
        used = self.kind >= 0
        of_kind = np.bincount(self.kind[used], weights=weight[used], minlength=len(self.row))
        copies = np.bincount(self.part_kind, weights=self.copies, minlength=len(self.row))
        return np.asarray(of_kind[self.part_kind] * (self.copies / copies[self.part_kind]))

    def part_shares(self, number: int, machine: Machine) -> Array:
        """Which share of each part is in each of some folds, to which the cases are dealt in turn.

        The order of the cases follows from what their rows hold, not from the order of these.

        Returns
        -------
        array of shape (n_parts, n_folds)
            With as many folds as cases, if these are fewer; equal cases count as often as they are.
        """
        number = int(min(number, self.times.sum()))
        rows = self.part_row
        by_content = np.lexsort((self.removed, content_rank(machine)[machine.row_of[rows]], machine.y[rows]))
        first = np.empty(len(self.times))
        first[self.case[by_content[::-1]]] = np.arange(len(rows))[::-1]  # of a case, its first part's place
        order = np.argsort(first, kind="stable")
        ends = np.append(0.0, np.cumsum(self.times[order]))
        # Of the first e cases the fold f has as many as there are numbers f, f + number, ... below e.
        dealt = [np.floor((ends - fold + number - 1) / number) for fold in range(number)]
        shares = np.empty((len(self.times), number))
        shares[order] = np.diff(dealt, axis=1).T / self.times[order, None]
        return shares[self.case]

    @property
    def part_each(self) -> bool:
        """Whether every kind has one part."""
        return len(self.row) == len(self.case)

    def row_means(self, values: Array, absent: Array) -> Array:
        """Mean over the parts of each row's kind; ``absent`` for rows without one.

        Parameters
        ----------
        values : array of shape (n_parts, ...)
        absent : array of shape (n_samples, ...)
        """
        if self.part_each:
            return self.rows_of(values, absent)
        total = np.bincount(self.part_kind, weights=self.copies, minlength=len(self.row))
        share = (self.copies / total[self.part_kind]).reshape(-1, *[1] * (values.ndim - 1))
        means = np.zeros((len(self.row), *values.shape[1:]))
        np.add.at(means, self.part_kind, share * values)
        return self._spread(means, absent)

    def row_largest(self, values: NDArray[Any], absent: NDArray[Any]) -> NDArray[Any]:
        """The same with the largest in place of the mean."""
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
        result = absent.copy()
        used = self.kind >= 0
        result[used] = of_kind[self.kind[used]]
        return result


def rows_alone(machine: Machine) -> Leaving:
    """Every row alone; of a row that stands for several copies, one of them."""
    kind, row, unit, copies = _kinds(machine)
    return Leaving(kind, row, np.arange(len(row)), np.arange(len(row)), unit, copies, copies)


def groups_alone(machine: Machine, numbers: Indices) -> Leaving:
    """Whole groups of rows, with all their weight.

    Parameters
    ----------
    machine : Machine
    numbers : array of shape (n_samples,)
        Number of the group of each row.
    """
    used = machine.row_bound > 0
    # A row of weight 0 leaves with its group, though it takes nothing along: a kind of its own.
    content = np.where(used, machine.row_of, len(machine.gram) + np.arange(len(used)))
    keys = np.column_stack([numbers, machine.y, content])
    present = np.isin(numbers, numbers[used])  # a group without weight does not leave
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
    """Strata: each a share of every class, so that the class ratio stays what it is.

    The copies of the rows, class after class and within a class in the order of
    :func:`~bayes_svm.leave_one_out.order.content_rank`, are dealt out to the strata in turn. Strata
    that get the same are one case.

    Parameters
    ----------
    machine : Machine
    number : int, optional
        Number of strata. By default that of the members of the rarest class; but ten where that
        would be two, or less than ten with more than two classes.

    Raises
    ------
    ValueError
        If the weights stand for more copies than can be counted.
    """
    kind, row, unit, copies = _kinds(machine)
    label = machine.y[row]
    number = _number_of_strata(np.bincount(label, weights=copies)) if number is None else number
    order = np.lexsort((unit, content_rank(machine)[machine.row_of[row]], label))
    dealt = deal(copies[order], int(min(number, copies.sum())))
    of = order[dealt.thing]
    copies = (dealt.number * dealt.times[dealt.hand]).astype(float)
    return Leaving(kind, row, dealt.hand, of, dealt.number * unit[of], copies, dealt.times.astype(float))


def strata_of_groups(machine: Machine, numbers: Indices, number: int | None = None) -> Leaving:
    """Strata of whole groups, which keep the class ratio as far as the groups allow.

    There are as many strata as groups of the class that lives in the fewest, with the exceptions of
    :func:`strata`. The groups, the largest first, go where they even out the shares of the classes
    best: groups of one class are dealt like rows, and where each group has every class each is a
    stratum of its own.

    Parameters
    ----------
    machine : Machine
    numbers : array of shape (n_samples,)
        Number of the group of each row, from 0.
    number : int, optional
        Number of strata.

    Raises
    ------
    ValueError
        If a class lives in one group only, or there are fewer groups than strata.
    """
    used, counts = np.flatnonzero(machine.row_bound > 0), _members_of_groups(machine, numbers)
    present = np.flatnonzero(counts.any(axis=1))
    if number is None:
        number = min(_number_of_strata(np.count_nonzero(counts, axis=0)), len(present))
    if number > len(present):
        raise ValueError(f"leave_out={number} asks for more strata than there are groups: {len(present)}.")
    rank = content_rank(machine)
    least = np.full(len(counts), len(rank))
    np.minimum.at(least, numbers[used], rank[machine.row_of[used]])
    order = present[np.lexsort((least[present], -counts[present].sum(axis=1)))]
    stratum = np.full(len(counts), -1)
    stratum[order] = _dealt(counts[order], number)
    return groups_alone(machine, np.where(stratum[numbers] >= 0, stratum[numbers], number))


def _members_of_groups(machine: Machine, numbers: Indices) -> Array:
    """Copies of the members of each class in each group, shape (n_groups, n_classes).

    Raises
    ------
    ValueError
        If a class lives in one group only.
    """
    used = np.flatnonzero(machine.row_bound > 0)
    counts = np.zeros((int(numbers.max()) + 1, len(machine.classes)))
    np.add.at(counts, (numbers[used], machine.y[used]), copies_of_weight(machine.weight[used]))
    homes = np.count_nonzero(counts, axis=0)
    if homes.min() < 2:
        lonely = int(homes.argmin())
        raise ValueError(
            f"Class {machine.classes.tolist()[lonely]!r} lives in one group only: without this group there "
            "is nothing to learn it from. Give groups that each class has at least two of, or none."
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
        # Of equally good strata the emptiest; none may take the whole of a class if it can be avoided.
        stratum[k] = np.lexsort((after.sum(axis=1), uneven.round(12), whole_class))[0]
        filled[stratum[k]] += group
    return stratum


def _number_of_strata(members: NDArray[Any]) -> int:
    """For classes of so many members, or that live in so many groups."""
    least = int(members.min())
    return least if len(members) == 2 and least >= FEWEST_STRATA else max(least, SOME_STRATA)


def _kinds(machine: Machine) -> tuple[Indices, Indices, Array, Array]:
    """Kind of each row; and of each kind a row, the bound of one copy, and how many copies there are."""
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
    """Two strata: of rows, or, with ``numbers``, of whole groups."""
    return strata(machine, 2) if numbers is None else strata_of_groups(machine, numbers, 2)


def what_leaves(machine: Machine, leave_out: Any, y: ArrayLike, numbers: Indices | None) -> Leaving:
    """What the parameter ``leave_out`` of :class:`bayes_svm.BayesSVC` means.

    Parameters
    ----------
    machine : Machine
    leave_out : {"strata", "rows"}, int, splitter or list of splits
    y : array of shape (n_samples,)
        The labels, for a splitter.
    numbers : array of shape (n_samples,), optional
        Number of the group of each row.

    Raises
    ------
    ValueError
        For groups or folds that cannot be left out.
    """
    if numbers is not None:
        _members_of_groups(machine, numbers)  # refuses
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
    """An error beyond the largest class, a warning beyond the smallest, as of scikit-learn's folds."""
    used = machine.weight > 0
    members = np.bincount(machine.y[used], weights=copies_of_weight(machine.weight[used]))
    if number > members.max():
        raise ValueError(
            f"leave_out={number} is more than the {members.max():g} members of the largest class: choose "
            'less, or leave_out="rows".'
        )
    if number > members.min():
        warn(
            f"leave_out={number} is more than the {members.min():g} members of class "
            f"{machine.classes.tolist()[members.argmin()]!r}: some of the strata have none of them."
        )

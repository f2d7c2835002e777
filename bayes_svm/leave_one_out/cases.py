"""Which rows leave together: single rows, groups and folds, or strata that keep the class ratio.

``docs/explanation/leave_one_out.md`` defines case, part, kind and member.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayes_svm.dual.machine import Machine
from bayes_svm.leave_one_out.folds import fold_numbers
from bayes_svm.leave_one_out.leaving import STAYS, Leaving
from bayes_svm.utils.dealing import copies_of_weight, deal
from bayes_svm.utils.types import Array, Indices
from bayes_svm.utils.warn import warn

__all__ = [
    "groups_alone",
    "halves",
    "rows_alone",
    "strata",
    "strata_of_groups",
    "what_leaves",
]


# For two classes there are as many strata as members of the rarer class, if it has at least this many
# members: with fewer, a stratum would be too large a share of the class.
FEWEST_STRATA = 3
# In all other cases there are at least this many strata.
SOME_STRATA = 10
# Where only some strata leave, there are at least this many, so that as many members of each class leave.
LEAST_SAMPLE = 500


def rows_alone(machine: Machine, size: int | None = None) -> Leaving:
    """Every row leaves alone; of a row that stands for several copies, one copy leaves.

    ``size`` is that of :func:`strata`: the rows of the strata that leave there leave here, one by one.
    """
    _, row, unit, copies = machine.kinds
    taken, _ = _sampled(machine, _number_of_strata(np.bincount(machine.y[row], weights=copies)), size)
    kinds = taken.nonzero()[0]
    return _leaving(machine, taken, np.arange(len(kinds)), kinds, unit[kinds], taken[kinds], taken[kinds])


def _leaving(
    machine: Machine, taken: Array, case: Indices, kinds: Indices, removed: Array, copies: Array, times: Array
) -> Leaving:
    """What leaves if so many copies of each of the machine's kinds do; ``kinds`` is that of each part."""
    kind, row, _, all_copies = machine.kinds
    if taken.all():
        return Leaving(kind, row, case, kinds, removed, copies, times)
    present = taken.nonzero()[0]
    number = np.full(len(row), STAYS)
    number[present] = np.arange(len(present))
    share = taken[present] / all_copies[present]
    every = np.where(kind >= 0, number[kind], kind)
    return Leaving(every, row[present], case, number[kinds], removed, copies, times, share)


def _sampled(machine: Machine, number: int, size: int | None) -> tuple[Array, int]:
    """How many copies of each of the machine's kinds leave in some of so many strata; the number of these.

    The copies are evenly spaced within each class in the order of ``shuffled_rank``, and each class has the
    same share of its copies among them.
    """
    _, row, _, copies = machine.kinds
    if size is None or len(row) <= size:
        return copies, number
    fewer = max(LEAST_SAMPLE, math.ceil(size * number / copies.sum()))
    if fewer >= number:
        return copies, number
    order = machine.kinds_in_order(machine.shuffled_rank)
    label, mass = machine.y[row[order]], copies[order]
    of_class = np.bincount(label, weights=mass, minlength=len(machine.classes))
    ends = np.cumsum(mass) - np.append(0.0, np.cumsum(of_class))[label]
    counts = [np.floor(upto * fewer / number + 0.5) for upto in (ends - mass, ends)]
    taken = np.empty(len(row))
    taken[order] = counts[1] - counts[0]
    return taken, fewer


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
    row = present.nonzero()[0][first]
    kind, every = kind.ravel(), np.full(len(used), -1)
    every[present] = kind
    removed = np.bincount(kind, weights=machine.row_bound[present], minlength=len(row)).astype(float)
    copies = np.bincount(kind, weights=copies_of_weight(machine.weight[present])).astype(float)
    case = np.unique(numbers[row], return_inverse=True)[1].ravel()
    return Leaving(every, row, case, np.arange(len(row)), removed, copies, np.ones(int(case.max()) + 1))


def strata(
    machine: Machine, number: int | None = None, size: int | None = None, rank: Indices | None = None
) -> Leaving:
    """Strata leave: each is a share of every class, so that the class ratio stays the same.

    The copies of the rows are dealt out to the strata in turn: class by class, and within a class in the
    order of :attr:`~bayes_svm.dual.machine.Machine.shuffled_rank`. Strata with the same contents are one
    case.

    Parameters
    ----------
    machine : Machine
        The training data.
    number : int, optional
        Number of strata. By default it is the number of members of the rarest class; but ten if that
        is two or less, or if it is less than ten and there are more than two classes.
    size : int, optional
        If there are more kinds of rows than this, only so many strata leave that they have about so many
        copies; but at least 500, if there are so many. By default all strata leave.
    rank : array of shape (n_distinct,), optional
        Another rank of the distinct rows in place of ``shuffled_rank``.

    Raises
    ------
    ValueError
        If the weights stand for more copies than can be counted.
    """
    _, row, unit, copies = machine.kinds
    number = _number_of_strata(np.bincount(machine.y[row], weights=copies)) if number is None else number
    taken, number = _sampled(machine, number, size)
    order = machine.kinds_in_order(machine.shuffled_rank if rank is None else rank)
    order = order[taken[order] > 0]
    dealt = deal(taken[order], int(min(number, taken.sum())))
    of = order[dealt.thing]
    copies = (dealt.number * dealt.times[dealt.hand]).astype(float)
    removed, times = dealt.number * unit[of], dealt.times.astype(float)
    return _leaving(machine, taken, dealt.hand, of, removed, copies, times)


def strata_of_groups(
    machine: Machine, numbers: Indices, number: int | None = None, rank: Indices | None = None
) -> Leaving:
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
    rank : array of shape (n_distinct,), optional
        A rank of the distinct rows that orders groups of the same size, in place of ``shuffled_rank``.

    Raises
    ------
    ValueError
        If a class is in one group only, or there are fewer groups than strata.
    """
    used, counts = (machine.row_bound > 0).nonzero()[0], _members_of_groups(machine, numbers)
    present = np.flatnonzero(counts.any(axis=1))
    if number is None:
        number = min(_number_of_strata(np.count_nonzero(counts, axis=0)), len(present))
    if number > len(present):
        raise ValueError(f"leave_out={number} asks for more strata than there are groups: {len(present)}.")
    rank = machine.shuffled_rank if rank is None else rank
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
    used = (machine.row_bound > 0).nonzero()[0]
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
        found = np.arange(number)
        for key in (whole_class, uneven.round(12), after.sum(axis=1)):
            found = found[key[found] == key[found].min()]
        stratum[k] = found[0]
        filled[stratum[k]] += group
    return stratum


def _number_of_strata(members: NDArray[Any]) -> int:
    """Number of strata for classes with so many members, or in so many groups."""
    least = int(members.min())
    return least if len(members) == 2 and least >= FEWEST_STRATA else max(least, SOME_STRATA)


def halves(machine: Machine, numbers: Indices | None) -> Leaving:
    """Two strata leave: of rows, or, with ``numbers``, of whole groups.

    Rows that are equally far out are in different halves, as far as may be.
    """
    if numbers is None:
        return strata(machine, 2, rank=machine.radial_rank)
    return strata_of_groups(machine, numbers, 2, rank=machine.radial_rank)


def what_leaves(
    machine: Machine, leave_out: Any, y: ArrayLike, numbers: Indices | None, size: int | None = None
) -> Leaving:
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
    size : int, optional
        The parameter ``leave_out_size``, for strata and single rows.

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
        return rows_alone(machine, size) if numbers is None else groups_alone(machine, numbers)
    number = None if isinstance(leave_out, str) else int(leave_out)
    if numbers is not None:
        return strata_of_groups(machine, numbers, number)
    if number is not None:
        _check_number(machine, number)
        return strata(machine, number)
    return strata(machine, size=size)


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

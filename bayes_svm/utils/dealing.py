"""Deal copies of things out evenly, as cards to hands, without a loop over the copies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array, Indices

__all__ = ["Dealt", "copies_of_weight", "deal"]


# Double precision counts copies one by one up to this many.
MOST_COPIES = 2.0**53


class Dealt(NamedTuple):
    """What each hand got. Equal hands are given once.

    Parameters
    ----------
    hand : array of shape (n_parts,)
        Number of the hand of each part, ascending.
    thing : array of shape (n_parts,)
        Number of the thing that the part is copies of.
    number : array of shape (n_parts,)
        How many copies of the thing are in the hand, at least 1.
    times : array of shape (n_hands,)
        How many equal hands each hand stands for.
    """

    hand: Indices
    thing: Indices
    number: NDArray[np.int64]
    times: NDArray[np.int64]


def deal(copies: Array, number: int) -> Dealt:
    """Deal the copies of some things, one thing after the other, to a number of hands in turn.

    The last copy of each thing goes to some hand. These hands cut the circle of all hands into arcs,
    and the hands of one arc get copies of the same things. So time and memory depend on the number of
    things, not on the number of copies.

    Parameters
    ----------
    copies : array of shape (n_things,)
        How many copies there are of each thing: whole numbers, at least 1.
    number : int
        Number of hands, at most the sum of ``copies``.

    Returns
    -------
    Dealt
        What each hand got.

    Raises
    ------
    ValueError
        If there are more copies than double precision can count.
    MemoryError
        If the result does not fit in memory.
    """
    if copies.sum() >= MOST_COPIES:
        raise ValueError(
            f"sample_weight stands for {copies.sum():.3g} copies of rows, more than can be counted: divide "
            "it by a constant, and multiply C by it."
        )
    if len(copies) == copies.sum():
        # One copy of each: the hands are filled like the columns of a table, the last row of which may end
        # early.
        things = np.arange(-(-len(copies) // number) * number).reshape(-1, number).T.ravel()
        things = things[things < len(copies)]
        ones = np.ones(len(copies), dtype=np.int64)
        return Dealt(things % number, things, ones, ones[:number])
    ends = np.cumsum(copies.astype(np.int64))
    starts = ends - copies.astype(np.int64)
    cuts = np.unique(np.append(ends % number, 0))
    n_hands, whole = len(cuts), (ends - starts) // number
    first = np.searchsorted(cuts, starts % number)
    # The first ``extra`` hands from ``first`` on get one copy more than the others.
    extra = (np.searchsorted(cuts, ends % number) - first) % n_hands
    sizes = np.where(whole > 0, n_hands, extra)
    require_bytes(
        100 * int(sizes.sum()),
        f"Dealing {len(copies)} rows of different sample weights to {n_hands} strata",
        "Choose a smaller number of strata, such as leave_out=10.",
    )
    thing = np.repeat(np.arange(len(copies)), sizes)
    step = np.arange(len(thing)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    hand = (first[thing] + step) % n_hands
    order = np.argsort(hand, kind="stable")
    copies_each = whole[thing] + (step < extra[thing])
    times = np.diff(np.append(cuts, number))
    return Dealt(hand[order], thing[order], copies_each[order], times)


def copies_of_weight(weight: Array) -> Array:
    """How many equal copies a row of each weight stands for: ``max(1, floor(weight))``.

    A row of integer weight w counts as the row given w times. Leaving the row out leaves out one
    copy, so that weights and repeated rows give the same leave-one-out values.
    """
    return np.maximum(1.0, np.floor(weight * (1 + 1e-12)))

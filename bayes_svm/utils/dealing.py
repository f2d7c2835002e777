"""Copies of things dealt out evenly, without touching each copy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array, Indices

__all__ = ["Dealt", "copies_of_weight", "deal"]


MOST_COPIES = 2.0**53  # that can be counted


class Dealt(NamedTuple):
    """What each hand got; hands that got the same are one.

    Parameters
    ----------
    hand, thing : arrays of shape (n_parts,)
        In the order of the hands.
    number : array of shape (n_parts,)
        Copies of the thing in one such hand, at least 1.
    times : array of shape (n_hands,)
        How many hands are the same.
    """

    hand: Indices
    thing: Indices
    number: NDArray[np.int64]
    times: NDArray[np.int64]


def deal(copies: Array, number: int) -> Dealt:
    """Deal the copies of some things, one thing after the other, to a number of hands in turn.

    Between two of the places modulo ``number`` at which a thing ends all hands get copies of the
    same things: the cost follows the number of things, not that of copies.

    Parameters
    ----------
    copies : array of shape (n_things,)
        Whole numbers, at least 1.
    number : int
        At most the sum of ``copies``.

    Raises
    ------
    ValueError
        If there are more copies than can be counted.
    MemoryError
        If what all hands get does not fit.
    """
    if copies.sum() >= MOST_COPIES:
        raise ValueError(
            f"sample_weight stands for {copies.sum():.3g} copies of rows, more than can be counted: divide "
            "it by a constant, and multiply C by it."
        )
    ends = np.cumsum(copies.astype(np.int64))
    starts = ends - copies.astype(np.int64)
    cuts = np.unique(np.append(ends % number, 0))
    n_hands, whole = len(cuts), (ends - starts) // number
    first = np.searchsorted(cuts, starts % number)
    extra = (np.searchsorted(cuts, ends % number) - first) % n_hands  # hands that get one copy more
    sizes = np.where(whole > 0, n_hands, extra)
    require_bytes(
        100 * int(sizes.sum()),
        f"Dealing {len(copies)} rows of different sample weights to {n_hands} strata",
        "Leave out fewer: leave_out=10, say.",
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

    An integer weight w is the row given w times. Leaving a row out leaves out one copy,
    so that weights and repeated rows give the same leave-one-out values.
    """
    return np.maximum(1.0, np.floor(weight * (1 + 1e-12)))

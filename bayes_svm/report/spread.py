"""How the left-out probabilities of each class are spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Spread", "spreads"]

# Number of bins, of equal width.
BINS = 20


@dataclass(frozen=True)
class Spread:
    """A histogram of left-out probabilities of the rows of one class.

    Parameters
    ----------
    label : str
        The class of the rows.
    n : int
        Number of its rows.
    counts : tuple of int
        Number of rows in each of 20 bins from 0 to 1. A bin includes its lower end, the last one its upper
        end too.
    wrong : int
        Number of rows whose predicted class is another.
    """

    label: str
    n: int
    counts: tuple[int, ...]
    wrong: int


def spreads(
    names: list[str], y: np.ndarray, probability: np.ndarray, wrong: np.ndarray
) -> tuple[Spread, ...]:
    """Count the rows of each class by their probability.

    Parameters
    ----------
    names : list of str
        Labels of the classes.
    y : ndarray of shape (n,)
        Class number of each row.
    probability : ndarray of shape (n,)
        Left-out probability of each row: that of one class for all, or of each row's own class.
    wrong : ndarray of bool of shape (n,)
        Whether each row's prediction is wrong.

    Returns
    -------
    tuple of Spread
        One for each class.
    """
    # Comparing with the edges, unlike a division, puts every edge into the bin that begins with it.
    bins = np.searchsorted(np.arange(1, BINS) / BINS, probability, side="right")
    found = []
    for k, name in enumerate(names):
        rows = y == k
        counts = np.bincount(bins[rows], minlength=BINS)
        found.append(Spread(name, int(rows.sum()), tuple(counts.tolist()), int(wrong[rows].sum())))
    return tuple(found)

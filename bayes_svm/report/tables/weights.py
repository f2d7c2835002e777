"""How much rows count: weights, or numbers of equal cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayes_svm.report.errors import InputError

from .names import short
from .options import Options
from .values import read_values

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["of_mean_one", "weights_in"]

# Double precision counts cases one by one up to this many.
MOST_CASES = 2.0**53
# Weights that differ by no more than this part of the largest are the same.
ALIKE = 1e-12


def weights_in(
    frame: pd.DataFrame, options: Options, decimal: str | None, notes: list[str]
) -> np.ndarray | None:
    """Counts, or weights as shares of the largest, from the column that the user named.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns of the file.
    options : Options
        What the user said.
    decimal : {".", ","} or None
        The decimal mark, if it is known.
    notes : list of str
        A note is appended if weights may be meant as counts.

    Returns
    -------
    ndarray of shape (n,) or None
        How much each row counts; None if the user named no column.

    Raises
    ------
    InputError
        If the column does not hold such numbers.
    """
    column = options.counts if options.weights is None else options.weights
    if column is None:
        return None
    if options.counts is not None and options.weights is not None:
        raise InputError("--weights and --counts both say how much rows count; give one of them")
    read = read_values(frame[column], decimal=decimal, kept=True, missing=options.missing)
    wrong = read.kind != "number" or not np.all(np.isfinite(read.values) & (read.values >= 0))
    if options.counts is not None and not wrong and not np.all(read.values == np.rint(read.values)):
        raise InputError(
            f"the counts in {short(column)} are not all whole numbers; give weights with --weights"
        )
    if wrong or not read.values.any():
        what = "weights" if options.counts is None else "counts"
        raise InputError(
            f"the {what} in {short(column)} are not all numbers of at least 0, or all are 0; correct them"
        )
    most = float(read.values.max())
    if options.counts is not None:
        if read.values.sum() > MOST_CASES:
            raise InputError(f"the counts in {short(column)} are {read.values.sum():.3g} cases; correct them")
        return read.values
    if (
        1 < most <= MOST_CASES
        and np.ptp(read.values) >= ALIKE * most
        and np.all(read.values == np.rint(read.values))
    ):
        notes.append(
            "The weights say how much a row counts, and a row is left out whole. If they say how many equal "
            "cases a row stands for, use --counts."
        )
    return np.asarray(read.values / most)


def of_mean_one(weights: np.ndarray) -> np.ndarray | None:
    """Weights as multiples of their mean, as their unit says nothing; None if all are the same.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        Shares of the largest.

    Returns
    -------
    ndarray of shape (n,) or None
        The multiples.
    """
    return None if np.ptp(weights) < ALIKE else np.asarray(weights / weights.mean())

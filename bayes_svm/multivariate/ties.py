"""Numbers that differ by rounding only count as equal."""

from __future__ import annotations

import numpy as np

from bayes_svm.utils.types import Array

__all__ = ["TIE", "first_largest", "on_grid"]

# Two numbers that differ by less than this share of the largest one count as equal.
TIE = 2.0**-38


def on_grid(scores: Array) -> Array:
    """The scores rounded to a grid, so that scores that differ by rounding only become equal."""
    step = TIE * 2.0 ** np.ceil(np.log2(max(float(np.abs(scores).max(initial=0.0)), 2.0**-900)))
    return np.asarray(np.rint(scores / step) * step)


def first_largest(values: Array) -> int:
    """Index of the first value that equals the largest one up to rounding."""
    largest = float(values.max())
    return int(np.argmax(values >= largest - TIE * max(1.0, abs(largest))))

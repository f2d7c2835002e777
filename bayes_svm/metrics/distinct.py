"""The different values among some numbers, of which rounding makes no two different."""

from __future__ import annotations

import numpy as np

from bayes_svm.utils.types import Array, Indices

__all__ = ["ROUNDING", "distinct"]


# Values that differ by at most this, relative to the larger of 1 and their size, are the same: those of
# equal rows, which BLAS may round differently. Of values below 1, about the largest takes the place of 1.
ROUNDING = 1e-12


def distinct(values: Array) -> tuple[Array, Indices]:
    """The different values, and which of them each value is.

    Parameters
    ----------
    values : array of shape (n_values,)
        Finite numbers.

    Returns
    -------
    points : array of shape (n_different,)
        The smallest of each group of values that rounding alone can tell apart, ascending. The others are
        larger by rounding at most.
    place : array of shape (n_values,)
        The number of each value's group.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_svm.metrics.distinct import distinct
    >>> points, place = distinct(np.array([0.3, 0.1, 0.1 + 1e-15]))
    >>> points.tolist(), place.tolist()
    ([0.1, 0.3], [1, 0, 0])
    """
    points, place = np.unique(values, return_inverse=True)
    size = np.abs(points)
    rounding = ROUNDING * np.maximum(np.ldexp(1.0, min(0, int(np.frexp(size.max(initial=0.0))[1]))), size)
    new = np.ones(len(points), dtype=bool)
    with np.errstate(over="ignore"):  # a difference may be infinite
        new[1:] = np.diff(points) > rounding[1:]
        starts = np.flatnonzero(new)
        ends = np.append(starts, len(points))[1:]
        # A chain of neighbours may lead farther than rounding does.
        farthest = np.maximum(rounding[starts], rounding[ends - 1])
        for k in np.flatnonzero(points[ends - 1] - points[starts] > farthest):
            first, last = int(starts[k]), int(ends[k]) - 1
            while points[last] - points[first] > farthest[k]:
                beyond = int(np.searchsorted(points[:last], points[first] + farthest[k], side="right"))
                first = max(beyond, first + 1)
                new[first] = True
    return points[new], (np.cumsum(new) - 1)[place.ravel()]

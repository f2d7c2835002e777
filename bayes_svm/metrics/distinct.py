"""The different values among some numbers, of which rounding makes no two different."""

from __future__ import annotations

import numpy as np

from bayes_svm.utils.types import Array, Indices

__all__ = ["distinct"]


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
        The smallest of each group of values that rounding alone can tell apart, ascending.
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
    unit = np.ldexp(1.0, min(0, int(np.frexp(size.max(initial=0.0))[1])))
    new = np.ones(len(points), dtype=bool)
    with np.errstate(over="ignore"):  # a difference may be infinite
        new[1:] = np.diff(points) > ROUNDING * np.maximum(unit, size[1:])
    return points[new], (np.cumsum(new) - 1)[place.ravel()]

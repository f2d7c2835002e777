"""Decision values of a machine trained from scratch, by the interior-point method."""

from typing import NamedTuple

import numpy as np

from oracles.interior_point import minimise_box_qp

CLOSE = 1e-5  # share of its bound within which a coefficient of the oracle counts as being there


class Trained(NamedTuple):
    values: np.ndarray  # with the intercept in the middle of its interval
    width: float  # of the interval of optimal intercepts


def train(K, y, bound):
    """Decision values at all rows of the machine with these upper bounds; a bound of 0 leaves a row out."""
    y = np.asarray(y, dtype=float)
    lower, upper = np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0)
    optimum = minimise_box_qp(K, y, lower, upper)
    wanted = y - K @ optimum.beta  # the intercept that puts each point on its margin
    at_least = wanted[optimum.beta < upper - CLOSE * bound].max(initial=-np.inf)
    at_most = wanted[optimum.beta > lower + CLOSE * bound].min(initial=np.inf)
    width = max(0.0, float(at_most - at_least))
    intercept = (at_least + at_most) / 2 if width > 1e-6 else optimum.intercept
    return Trained(K @ optimum.beta + intercept, width)


def left_out(K, y, bound, row, removed=None):
    """As :func:`train`, with one row's bound lowered by ``removed``, by default to 0."""
    bound = np.array(bound, dtype=float)
    bound[row] -= bound[row] if removed is None else removed
    return train(K, y, bound)


def left_out_values(K, y, bound):
    """Value of each row under the machine without it; both classes must keep a member."""
    return np.array([left_out(K, y, bound, row).values[row] for row in range(len(y))])

"""What the loops over pairs of points read and write: the problem, the iterate, and what is proven."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_svm._core.records import Numbers
from bayes_svm.utils.types import Array

__all__ = [
    "CHECKED",
    "FLAT",
    "PROVEN",
    "UNPROVEN",
    "Bounds",
    "Iterate",
    "Pairs",
    "Rules",
    "SignsFound",
    "Team",
    "Whole",
    "Work",
]

# A direction with a curvature below this counts as flat, and is given this one: LIBSVM's TAU.
FLAT = 1e-12
# How a case ended: with no proof, with a proof by the sufficiency check alone, or with a proof by the solver.
UNPROVEN, CHECKED, PROVEN = 0, 1, 2


class Iterate(NamedTuple):
    """Coefficients on their way to the optimum, and the problem as far as moves of pairs need it.

    Attributes
    ----------
    rows : array of shape (n, n)
        Kernel matrix.
    diagonal : array of shape (n,)
        Its diagonal.
    beta, gradient : array of shape (n,)
        Coefficients, and ``K beta - q``.
    lower, upper : array of shape (n,)
        Bounds of beta.
    can_rise : array of shape (n,)
        0 where beta is below its upper bound, and -inf elsewhere.
    can_fall : array of shape (n,)
        0 where beta is above its lower bound, and inf elsewhere.
    n : int
        Number of points.
    """

    rows: Array
    diagonal: Array
    beta: Array
    gradient: Array
    lower: Array
    upper: Array
    can_rise: Array
    can_fall: Array
    n: int


class Team(NamedTuple):
    """Memory for threads that move pairs together: see :mod:`bayes_svm._core.team`.

    Attributes
    ----------
    task : array of int of shape (3,)
        What is to be done, and the points that it is about.
    size : array of shape (1,)
        The number that it is about.
    number : array of int of shape (1,)
        The number of the task.
    lines : array of int of shape (n_helpers, 16)
        The line of each helper.
    found : array of shape (n_helpers, 16)
        What each has found.
    """

    task: Numbers
    size: Array
    number: Numbers
    lines: Numbers
    found: Array

    @classmethod
    def of(cls, n_helpers: int) -> Team:
        """Memory for so many helpers, none of which is there yet."""
        return cls(
            task=np.zeros(3, dtype=np.int64),
            size=np.zeros(1),
            number=np.zeros(1, dtype=np.int64),
            lines=np.array([[0] * 8 + [-1] + [0] * 7], dtype=np.int64).repeat(n_helpers, axis=0),
            found=np.zeros((n_helpers, 16)),
        )

    @property
    def n_helpers(self) -> int:
        """Number of helpers."""
        return len(self.lines)


class Whole(NamedTuple):
    """The solved whole problem, read-only. Its coefficients are within their bounds.

    Attributes
    ----------
    K : array of shape (n, n)
        Kernel matrix.
    diagonal, label, bound, beta : arrays of shape (n,)
        Diagonal of K, label, upper bound of alpha, and signed coefficient of each point.
    gradient : array of shape (n,)
        ``K beta - label``.
    intercept : float
        Intercept of the decision function.
    dual : float
        Value of the dual objective.
    gap : float
        Primal minus dual value.
    largest : float
        Largest absolute kernel value.
    size : float
        Bound of the absolute residuals.
    rounding : float
        Bound of the rounding error of each component of the gradient.
    gap_rounding : float
        Bound of the rounding error of the gap.
    """

    K: Array
    diagonal: Array
    label: Array
    bound: Array
    beta: Array
    gradient: Array
    intercept: float
    dual: float
    gap: float
    largest: float
    size: float
    rounding: float
    gap_rounding: float

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.label)


class Work(NamedTuple):
    """Arrays of shape (n,) that the cases use one after the other.

    Attributes
    ----------
    beta, gradient : array
        The iterate, and ``K beta - label``.
    lower, upper : array
        Bounds of beta.
    can_rise, can_fall : array
        Which of them it is below, and above: see :class:`Iterate`.
    bound : array
        Upper bounds of alpha.
    gamma : array
        Coefficients of the bound H.
    slope : array
        ``kbar gamma - label``.
    curvature, inverse : array
        ``kbar(x, x)``, and one over it.
    score : array
        What a step along each coordinate gains.
    """

    beta: Array
    gradient: Array
    lower: Array
    upper: Array
    can_rise: Array
    can_fall: Array
    bound: Array
    gamma: Array
    slope: Array
    curvature: Array
    inverse: Array
    score: Array


class Pairs(NamedTuple):
    """The descent so far.

    Attributes
    ----------
    first, second : int
        The next pair to move along (+1, -1).
    low, high : float
        Ends of the interval in which the best intercept lies.
    G : float
        Dual value of the iterate, relative to that of the whole problem.
    moves : int
        Number of moves of pairs.
    length : float
        Sum of the lengths of the moves.
    columns : int
        Number of kernel columns used.
    """

    first: int
    second: int
    low: float
    high: float
    G: float
    moves: int
    length: float
    columns: int


class Rules(NamedTuple):
    """When to stop.

    Attributes
    ----------
    share : float
        The search for a proof of the sign may take at most this share of the work of the moves of pairs.
    tolerance : float
        Violation of optimality at which the moves of pairs stop.
    max_steps : int
        Limit on the moves of pairs.
    """

    share: float
    tolerance: float
    max_steps: int


class Bounds(NamedTuple):
    """F and H so far, relative to the dual value of the whole problem.

    Attributes
    ----------
    F : float
        Least primal value.
    value : float
        Decision value at the point, of the machine that has F.
    allowance : float
        Rounding error of ``H - F`` without that of the steps of H.
    H : float
        Dual value under the condition that the decision value is 0.
    ascents : int
        Number of steps of H.
    length : float
        Sum of the lengths of these steps.
    columns : int
        Number of kernel columns that they used.
    """

    F: float
    value: float
    allowance: float
    H: float
    ascents: int
    length: float
    columns: int


class SignsFound(NamedTuple):
    """Signs of decision values at points left out, one entry for each case.

    The sign of a value is the answer. The value itself is that of the machine at which the solver stopped,
    and exact only where the coefficients do not change. Nothing is kept from one case to the next.

    Attributes
    ----------
    values : array of shape (n_cases,)
        Decision values.
    outcomes : array of shape (n_cases,)
        ``UNPROVEN``, ``CHECKED`` or ``PROVEN``.
    violation : array of shape (n_cases,)
        Violation of optimality where the solver stopped; 0 where nothing was solved.
    gap : array of shape (n_cases,)
        Relative duality gap there; 0 where nothing was solved.
    columns : array of shape (n_cases,)
        Number of kernel columns used: one for the check, one for each step of the bound, two for each pair.
        Those of the step before are not counted again.
    steps : array of shape (n_cases,)
        Moves of pairs and steps of the bound.
    """

    values: Array
    outcomes: Numbers
    violation: Array
    gap: Array
    columns: Numbers
    steps: Numbers

"""What the path loops read and write: the tableau, the motion of the data, the state, the memory.

The words are those of ``docs/explanation/leave_one_out.md``: *in* and *out*, *position*, *input*, *rate*,
*event*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayes_svm.utils.types import Array, Mask

__all__ = [
    "DEPENDENT",
    "DONE",
    "LOST",
    "LOST_ON_THE_WAY",
    "NEVER",
    "NO_RATE",
    "NO_WAY_ON",
    "SETTLED",
    "TOO_MANY_CHANGES",
    "TOO_MANY_EVENTS",
    "Base",
    "BaseState",
    "Ends",
    "Guests",
    "Motion",
    "Moves",
    "Numbers",
    "Room",
    "Scratch",
    "Screen",
    "State",
]

Numbers = NDArray[np.int64]

# A point whose curvature is at most this multiple of its own shifted k(x, x) depends on the free points:
# their decision values determine its own.
DEPENDENT = 1e-10
# A pivot below this share of its usual size is rounding, and nothing is divided by it.
LOST = 1e-4
# On the way of a path, whose end is solved anew, down to this share.
LOST_ON_THE_WAY = 1e-8
# A rate below this share of the fastest one is rounding.
NO_RATE = 1e-9
# An end of an interval that no position reaches, and a time that nothing waits for.
NEVER = 1e300
# How a path may end: at the time asked for, with its list of changed points or its number of events used
# up, with rates that are not determined, or early because the sign that is wanted is known.
DONE, TOO_MANY_CHANGES, TOO_MANY_EVENTS, NO_WAY_ON, SETTLED = 0, 1, 2, 3, 4


class Base(NamedTuple):
    """The tableau and the bounds of its points, which stay the same along a path.

    Attributes
    ----------
    W : array of shape (m + 1, m + 1)
        The tableau. Row k holds the rates of all positions per unit of input k; index m is the intercept,
        which is always in.
    is_in : array of shape (m,)
        The points that the tableau was swept on.
    lower, upper : arrays of shape (m,)
        Bounds of beta.
    flat : array of shape (m,)
        Curvature at or below which a point that comes in depends on those in.
    """

    W: Array
    is_in: Mask
    lower: Array
    upper: Array
    flat: Array

    @property
    def m(self) -> int:
        """Number of points."""
        return len(self.is_in)


class Motion(NamedTuple):
    """How the data move, per unit of time.

    Attributes
    ----------
    direction : array of shape (m + 1,)
        Rates of the positions as long as no point has changed sides.
    goal : array of shape (m + 1,)
        Rate that the base's position of a point is given once it has become an input.
    drift : array of shape (m,)
        Rates of the margin targets; ``direction`` contains their effect.
    needed : float
        Rate of the sum of beta over the points that are not moved.
    watched : int
        A point of which only the sign of the decision value at the end is wanted, or -1.
    sign : float
        The label of the watched point.
    steepest : float
        Fastest rate at which the watched point's ``y f`` can fall.
    margin : float
        Distance from 0 at which the watched point's decision value has a sign beyond doubt.
    """

    direction: Array
    goal: Array
    drift: Array
    needed: float
    watched: int
    sign: float
    steepest: float
    margin: float


class State(NamedTuple):
    """Where a path stands. The loops update it in place.

    Attributes
    ----------
    position : array of shape (m,)
        Beta of a point that is in, residual of a point that is out.
    low, high : arrays of shape (m,)
        Ends of the position's interval; ``-NEVER`` and ``NEVER`` for a point that the path moves.
    is_in : array of shape (m,)
        The points that are in.
    at_upper : array of shape (m,)
        Whether a point that is out is at its upper bound.
    changed : array of shape (capacity,)
        The points on another side than in the base, first in the array; the loops carry their number along.
    """

    position: Array
    low: Array
    high: Array
    is_in: Mask
    at_upper: Mask
    changed: Numbers


class Scratch(NamedTuple):
    """Memory for one step, so that the loop takes none. It belongs to one :class:`Base`.

    Attributes
    ----------
    rate : array of shape (m + 1,)
        Rates of the positions.
    wait : array of shape (m,)
        Time until each position reaches an end of its interval.
    A : array of shape (capacity, capacity)
        Factors of the system of the changed points: the upper one, which gives the lower one; or both, if
        ``factored`` is empty.
    pivots : array of shape (capacity,)
        Row exchanges, if both are there.
    weights : array of shape (capacity,)
        Right-hand side of the system, then its solution.
    factored : array of shape (capacity + 1,)
        The points whose upper factor ``A`` holds, in order, then -1.
    """

    rate: Array
    wait: Array
    A: Array
    pivots: Numbers
    weights: Array
    factored: Numbers

    @property
    def capacity(self) -> int:
        """Number of points that may change sides."""
        return len(self.weights)


class Moves(NamedTuple):
    """The paths of one batch, each of which removes the members of one case.

    Attributes
    ----------
    start : array of shape (n_paths + 1,)
        Path p removes the members ``start[p]`` to ``start[p + 1] - 1``.
    rows : array of shape (n_members,)
        Tableau row of each member, -1 for one that the tableau does not cover.
    change : array of shape (n_members,)
        Change of the member's beta over the whole path, at the perturbed targets.
    exact_change : array of shape (n_members,)
        The same at the exact targets.
    keeps : array of shape (n_members,)
        Whether the member keeps a part of its bound.
    stays : array of shape (n_members,)
        Whether its beta is within that part already. Then beta is not moved, but its bound is.
    bound : array of shape (n_members,)
        The bound of beta that the member keeps, with the sign of its label.
    directions : array of shape (n_paths, m + 1)
        Rates of the positions due to the members that are at a bound.
    watched : array of shape (n_paths,)
        Tableau row of the point of which only the sign is wanted, -1 where the value is wanted.
    signs : array of shape (n_paths,)
        Label of each path's first member.
    steepest : array of shape (n_paths,)
        As in :class:`Motion`.
    """

    start: Numbers
    rows: Numbers
    change: Array
    exact_change: Array
    keeps: Mask
    stays: Mask
    bound: Array
    directions: Array
    watched: Numbers
    signs: Array
    steepest: Array

    @property
    def n_paths(self) -> int:
        """Number of paths."""
        return len(self.watched)


class BaseState(NamedTuple):
    """The state that all paths start from.

    Attributes
    ----------
    position, low, high : arrays of shape (m,)
        Positions at the perturbed targets, and the ends of their intervals.
    at_upper : array of shape (m,)
        Whether a point that is out is at its upper bound.
    exact_beta, exact_residual : arrays of shape (m,)
        Coefficients and residuals at the exact targets.
    """

    position: Array
    low: Array
    high: Array
    at_upper: Mask
    exact_beta: Array
    exact_residual: Array


class Ends(NamedTuple):
    """Where the paths of one batch ended, at the exact targets.

    Attributes
    ----------
    changes : array of shape (n_paths, m)
        Changes of beta.
    intercepts : array of shape (n_paths,)
        Changes of the intercept.
    times : array of shape (n_paths,)
        The time reached: 1 for a whole path.
    events : array of shape (n_paths,)
        Numbers of events.
    outcomes : array of shape (n_paths,)
        How each path ended: ``DONE``, ``SETTLED``, or why it could not go on.
    kkt : array of shape (n_paths,)
        Largest residual on the wrong side among the tableau's rows.
    """

    changes: Array
    intercepts: Array
    times: Array
    events: Numbers
    outcomes: Numbers
    kkt: Array


class Guests(NamedTuple):
    """Points that are added to the base one at a time, and the paths along which they come in.

    The last row of the base is kept free for them.

    Attributes
    ----------
    rows : array of shape (n_guests, m)
        Rates of all positions but the guest's own per unit of its beta; the intercept's is the last.
    curvature : array of shape (n_guests,)
        Rate of the guest's own residual.
    flat : array of shape (n_guests,)
        As in :class:`Base`.
    which : array of shape (n_paths,)
        The guest of each path.
    label : array of shape (n_paths,)
        The label that it gets, -1 or 1.
    bound : array of shape (n_paths,)
        Upper bound of its alpha.
    drift : array of shape (n_paths,)
        How far its margin target moves along the path: from its decision value at the perturbed targets.
    residual : array of shape (n_paths,)
        Its residual at the exact targets, as long as its alpha is 0.
    """

    rows: Array
    curvature: Array
    flat: Array
    which: Numbers
    label: Array
    bound: Array
    drift: Array
    residual: Array

    @property
    def n_paths(self) -> int:
        """Number of paths."""
        return len(self.which)


class Room(NamedTuple):
    """Memory that the paths use one after the other, beside their ``Scratch``.

    Attributes
    ----------
    goal : array of shape (m + 1,)
        As in :class:`Motion`; zeros before and after each path.
    drift : array of shape (m,)
        Zeros: the targets do not move.
    direction : array of shape (m + 1,)
        Change of the positions of the base over a path, or from the perturbed targets to the exact ones.
    """

    goal: Array
    drift: Array
    direction: Array


class Screen(NamedTuple):
    """Memory for a path that is followed on few rows of its tableau.

    Attributes
    ----------
    near : array of shape (m,)
        The rows that it is followed on.
    rows, moved : arrays of shape (n_few,)
        These rows, and those of them whose inputs have changed.
    inputs : array of shape (n_few,)
        The changes of these inputs.
    base : Base
        The tableau and the bounds of the rows; there is memory for ``n_few`` of them.
    state : State
        The state of the rows.
    room : Room
        How they move.
    """

    near: Mask
    rows: Numbers
    moved: Numbers
    inputs: Array
    base: Base
    state: State
    room: Room

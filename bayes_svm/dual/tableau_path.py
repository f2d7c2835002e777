"""One stretch of a path of exact optima, followed on one tableau.

``docs/explanation/leave_one_out.md`` defines the words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_svm._core.follow import follow
from bayes_svm._core.records import NEVER, Base, Motion, Room, Scratch, Screen, State
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.tableau import Tableau, flat_curvature
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = [
    "Stretch",
    "base_of",
    "beta_at",
    "blank_state",
    "follow_on",
    "motion_of",
    "room",
    "scratch",
    "screen",
    "state_at",
]


# After so many changes of the partition for each row, within these bounds, a new tableau costs less than the
# list of the changes.
CHANGES_PER_ROW, FEWEST_CHANGES, MOST_CHANGES = 0.25, 64, 512
# A stretch may have this many events for each row of its tableau, and ``MORE_EVENTS`` besides.
EVENTS_PER_ROW = 20
MORE_EVENTS = 1000
# On a tableau with fewer rows, and near more rows than this, a path is followed on all.
LEAST_ROWS, MOST_NEAR = 400, 1024


@dataclass(frozen=True)
class Stretch:
    """Where a stretch of a path ended.

    Parameters
    ----------
    beta : array of shape (n_points,)
        Coefficients of all points; those that the tableau does not cover are as before.
    free : array of shape (n_free,)
        The points that are in, ascending.
    events : int
        Number of events on the way.
    outcome : int
        ``DONE``, or why the path could not go on: see :mod:`bayes_svm._core.records`.
    time : float
        The time that was reached.
    """

    beta: Array
    free: Indices
    events: int
    outcome: int
    time: float


def follow_on(
    problem: DualProblem, tableau: Tableau, motion: Motion, beta: Array, residual: Array, end: float
) -> Stretch:
    """Follow the optimum on one tableau from time 0 to ``end``.

    Parameters
    ----------
    problem : DualProblem
        The problem whose bounds hold.
    tableau : Tableau
        Swept on the points that are in at the start.
    motion : Motion
        How the data move.
    beta : array of shape (n_points,)
        Coefficients of all points at the start.
    residual : array of shape (n_rows,)
        Residuals of the tableau's rows at the start.
    end : float
        The time at which to stop.

    Returns
    -------
    Stretch
        Where the path ended.
    """
    rows, base = tableau.rows, base_of(problem, tableau)
    capacity = int(np.clip(CHANGES_PER_ROW * len(rows), FEWEST_CHANGES, MOST_CHANGES))
    state = state_at(beta[rows], residual, tableau.base_in, base.lower, base.upper, capacity)
    max_events = EVENTS_PER_ROW * len(rows) + MORE_EVENTS
    memory = scratch(len(rows), capacity)
    _, events, outcome, time = follow(base, motion, state, 0, end, max_events, memory)
    beta = beta.copy()
    beta[rows] = beta_at(state, base.lower, base.upper)
    return Stretch(beta, np.sort(rows[state.is_in]), events, outcome, time)


def base_of(problem: DualProblem, tableau: Tableau) -> Base:
    """The tableau and the bounds of its rows, as the loops take them."""
    rows = tableau.rows
    flat = flat_curvature(problem.gram, rows, problem.shift)
    return Base(tableau.W, tableau.base_in, problem.lower[rows], problem.upper[rows], flat)


def motion_of(direction: Array, drift: Array, needed: float) -> Motion:
    """A motion with no point whose sign alone is wanted."""
    return Motion(
        direction=direction,
        goal=np.zeros(len(direction)),
        drift=drift,
        needed=needed,
        watched=-1,
        sign=0.0,
        steepest=0.0,
        margin=0.0,
    )


def scratch(n_rows: int, capacity: int) -> Scratch:
    """Memory for the loops, for so many rows and changes of the partition."""
    return Scratch(
        rate=np.empty(n_rows + 1),
        wait=np.empty(n_rows),
        A=np.empty((capacity, capacity)),
        pivots=np.empty(capacity, dtype=np.int64),
        weights=np.empty(capacity),
        factored=np.full(capacity + 1, -1),
    )


def room(n_rows: int) -> Room:
    """Memory for one path."""
    return Room(goal=np.zeros(n_rows + 1), drift=np.zeros(n_rows), direction=np.empty(n_rows + 1))


def screen(n_rows: int, capacity: int) -> Screen:
    """Memory for a path on few of the rows."""
    few = min(n_rows, MOST_NEAR) if n_rows >= LEAST_ROWS else 0
    return Screen(
        near=np.empty(n_rows, dtype=np.bool_),
        rows=np.empty(few, dtype=np.int64),
        moved=np.empty(few, dtype=np.int64),
        inputs=np.empty(few),
        base=Base(
            W=np.empty((few + 1, few + 1)),
            is_in=np.empty(few, dtype=np.bool_),
            lower=np.empty(few),
            upper=np.empty(few),
            flat=np.empty(few),
        ),
        state=blank_state(few, capacity),
        room=room(few),
    )


def blank_state(n_rows: int, capacity: int) -> State:
    """Memory for the state of a path."""
    return State(
        position=np.empty(n_rows),
        low=np.empty(n_rows),
        high=np.empty(n_rows),
        is_in=np.empty(n_rows, dtype=np.bool_),
        at_upper=np.empty(n_rows, dtype=np.bool_),
        changed=np.empty(capacity, dtype=np.int64),
    )


def state_at(beta: Array, residual: Array, is_in: Mask, lower: Array, upper: Array, capacity: int) -> State:
    """Where a path starts: the points that are in, and the beta and residual of every point.

    A point that is out is at its bound exactly, so this needs no slack.
    """
    at_upper = ~is_in & (beta != lower)
    return State(
        position=np.where(is_in, beta, residual),
        low=np.where(is_in, lower, np.where(at_upper, -NEVER, 0.0)),
        high=np.where(is_in, upper, np.where(at_upper, 0.0, NEVER)),
        is_in=is_in.copy(),
        at_upper=at_upper,
        changed=np.empty(capacity, dtype=np.int64),
    )


def beta_at(state: State, lower: Array, upper: Array) -> Array:
    """Coefficients of the points at a state of a path."""
    return np.where(state.is_in, state.position, np.where(state.at_upper, upper, lower))

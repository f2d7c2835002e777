"""Compiled paths along which a point comes in: its coefficient grows, the others stay optimal."""

import cython

from bayes_svm.utils.interrupts import slices

if not cython.compiled:
    from bayes_svm._core.arrays import WRITE
    from bayes_svm._core.follow import follow_path, number_in
    from bayes_svm._core.records import NEVER, Motion
    from bayes_svm._core.shrink import begin, exact_change, wrong_side
    from bayes_svm._core.structs import (
        base_of,
        base_state_of,
        ends_of,
        guests_of,
        moves_of,
        room_of,
        scratch_of,
        state_of,
    )

# Operations that a path takes for each row of its tableau, about.
OPERATIONS = 500


def _seat(base, guests, g):
    """Write guest g into the last row and column of the tableau, before those of the intercept."""
    W, own, row = base.W, base.m - 1, guests.rows[g]
    # The tableau is symmetric, except that entries between a position that was in and one that was out have
    # opposite signs. The intercept is always in.
    for k in range(own):
        W[own][k] = row[k]
        W[k][own] = -row[k] if base.is_in[k] else row[k]
    W[own][own] = guests.curvature[g]
    W[own][own + 1], W[own + 1][own] = row[own], -row[own]
    base.flat[own] = guests.flat[g]


def _grow(base, guests, p, start, max_events, state, scratch, room, still, ends):
    """Follow path p, and write where it ends."""
    own = base.m - 1
    positive: cython.bint = guests.label[p] > 0.0
    base.lower[own] = 0.0 if positive else -guests.bound[p]
    base.upper[own] = guests.bound[p] if positive else 0.0
    # At the start the guest is out, its alpha is 0, and its target is its decision value.
    start.position[own], start.exact_beta[own], start.at_upper[own] = 0.0, 0.0, not positive
    start.low[own], start.high[own] = 0.0 if positive else -NEVER, NEVER if positive else 0.0
    start.exact_residual[own] = guests.residual[p]
    n_changed = begin(base, still, 0, start, state, room.goal)
    # The guest's target moves to its label. It comes in at once, and then its coefficient follows.
    room.drift[own], room.direction[own] = guests.drift[p], -guests.drift[p]
    motion = Motion(room.direction, room.goal, room.drift, 0.0, -1, 0.0, 0.0, 0.0)
    n_in = number_in(base.m, state)
    n_changed, events, outcome, time = follow_path(
        base, motion, state, n_in, n_changed, 1.0, max_events, scratch
    )
    ends.events[p], ends.outcomes[p], ends.times[p] = events, outcome, time
    # Solve the last partition at the exact targets, and measure how far that is from optimal.
    ends.intercepts[p] = exact_change(
        base, still, 0, time, start, state, n_changed, events, room.direction, scratch, ends.changes[p]
    )
    ends.kkt[p] = wrong_side(base.m, state, scratch.wait)
    # Leave zeros for the next path.
    room.drift[own] = 0.0
    for k in range(base.m + 1):
        room.direction[k] = 0.0


@cython.locals(head=cython.Py_ssize_t, tail=cython.Py_ssize_t)
def grow_each(base, guests, start, max_events, state, scratch, room, still, ends):
    """Follow each path from the base, with a guest that comes in, and write where it ends to ``ends``.

    The last row of the tableau, of its bounds and of ``start`` is the guest's, and is written anew for each
    path: no other thread may read them.

    Parameters
    ----------
    base : Base
        The tableau and its bounds.
    guests : Guests
        The points that come in, and their paths; those of one guest are next to each other.
    start : BaseState
        The state that they start from.
    max_events : int
        Limit on the number of events of each path.
    state : State
        Memory for the state of a path.
    scratch : Scratch
        Memory for one step.
    room : Room
        Memory for one path, all 0.
    still : Moves
        One path without members, whose directions are 0: nothing leaves.
    ends : Ends
        Where the ends are written.
    """
    keep = []
    seats, memory = base_of(base, WRITE, WRITE, keep), scratch_of(scratch, len(base.is_in), keep)
    m = seats.m
    if m == 0 or base.is_in[m - 1]:
        raise ValueError("the last row of base must be free for the guests: base.is_in[-1] must be False")
    paths, nothing = guests_of(guests, m, keep), moves_of(still, m, memory.capacity, keep)
    if len(still.watched) != 1:
        raise ValueError(f"still must have one path, not {len(still.watched)}")
    at = state_of(state, m, memory.capacity, 0, keep)
    first, place = base_state_of(start, m, WRITE, keep), room_of(room, m, WRITE, keep)
    found = ends_of(ends, paths.n_paths, m, keep)
    limit: cython.Py_ssize_t = max_events
    seated: cython.Py_ssize_t = -1
    for head, tail in slices(paths.n_paths, OPERATIONS * m):
        with cython.nogil:
            for p in range(head, tail):
                if paths.which[p] != seated:
                    seated = paths.which[p]
                    _seat(seats, paths, seated)
                # The factors of earlier paths hold another guest.
                memory.factored[0] = -1
                _grow(seats, paths, p, first, limit, at, memory, place, nothing, found)

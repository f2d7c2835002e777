"""The records of :mod:`bayes_svm._core.records` as the structs that the path loops work with.

Each function checks every array of one record. Uncompiled, a record is its own struct.
"""

import cython

if not cython.compiled:
    from bayes_svm._core.arrays import READ, WRITE, doubles, flags, length, numbers, places, rows, starts
    from bayes_svm._core.records import (
        Base,
        BaseState,
        Ends,
        Guests,
        Motion,
        Moves,
        Room,
        Scratch,
        Screen,
        State,
    )


def base_of(base, write, write_tableau, keep):
    """The tableau and its bounds. Loops that exchange bounds write to them, those that add a point to all."""
    if not cython.compiled:
        return base
    m = length(base.is_in, "base.is_in", 0)
    return Base(
        rows(base.W, "base.W", m + 1, m + 1, write_tableau, keep),
        flags(base.is_in, "base.is_in", m, write_tableau, keep),
        doubles(base.lower, "base.lower", m, write, keep),
        doubles(base.upper, "base.upper", m, write, keep),
        doubles(base.flat, "base.flat", m, write_tableau, keep),
        m,
    )


def motion_of(motion, m, keep):
    """How the data of m points move."""
    if not cython.compiled:
        return motion
    watched: cython.Py_ssize_t = motion.watched
    if watched < -1 or watched >= m:
        raise ValueError(f"motion.watched must be from -1 to {m - 1}, not {watched}")
    return Motion(
        doubles(motion.direction, "motion.direction", m + 1, READ, keep),
        doubles(motion.goal, "motion.goal", m + 1, READ, keep),
        doubles(motion.drift, "motion.drift", m, READ, keep),
        motion.needed,
        watched,
        motion.sign,
        motion.steepest,
        motion.margin,
    )


def state_of(state, m, capacity, n_changed, keep):
    """Where a path of m points stands, the first ``n_changed`` of its list being points that have changed."""
    if not cython.compiled:
        return state
    if n_changed < 0 or n_changed > capacity:
        raise ValueError(f"n_changed must be from 0 to {capacity}, not {n_changed}")
    changed = numbers(state.changed, "state.changed", capacity, WRITE, keep)
    for a in range(n_changed):
        if changed[a] < 0 or changed[a] >= m:
            raise ValueError(f"state.changed[{a}] must be from 0 to {m - 1}, not {changed[a]}")
    return State(
        doubles(state.position, "state.position", m, WRITE, keep),
        doubles(state.low, "state.low", m, WRITE, keep),
        doubles(state.high, "state.high", m, WRITE, keep),
        flags(state.is_in, "state.is_in", m, WRITE, keep),
        flags(state.at_upper, "state.at_upper", m, WRITE, keep),
        changed,
    )


def scratch_of(scratch, m, keep):
    """Memory for one step of a path of m points."""
    if not cython.compiled:
        return scratch
    capacity = length(scratch.weights, "scratch.weights", 0)
    return Scratch(
        doubles(scratch.rate, "scratch.rate", m + 1, WRITE, keep),
        doubles(scratch.wait, "scratch.wait", m, WRITE, keep),
        rows(scratch.A, "scratch.A", capacity, capacity, WRITE, keep),
        numbers(scratch.pivots, "scratch.pivots", capacity, WRITE, keep),
        doubles(scratch.weights, "scratch.weights", capacity, WRITE, keep),
        numbers(scratch.factored, "scratch.factored", capacity + 1, WRITE, keep),
        capacity,
    )


def moves_of(moves, m, capacity, keep):
    """The paths of a batch, none of which has more members than the list of changed points has places."""
    if not cython.compiled:
        return moves
    n_paths, n_members = length(moves.watched, "moves.watched", 0), length(moves.rows, "moves.rows", 0)
    start = starts(moves.start, "moves.start", n_paths, n_members, keep)
    for p in range(n_paths):
        if start[p + 1] - start[p] > capacity:
            raise ValueError(f"path {p} has {start[p + 1] - start[p]} members; at most {capacity} can change")
    return Moves(
        start,
        places(moves.rows, "moves.rows", n_members, -1, m, keep),
        doubles(moves.change, "moves.change", n_members, READ, keep),
        doubles(moves.exact_change, "moves.exact_change", n_members, READ, keep),
        flags(moves.keeps, "moves.keeps", n_members, READ, keep),
        flags(moves.stays, "moves.stays", n_members, READ, keep),
        doubles(moves.bound, "moves.bound", n_members, WRITE, keep),
        rows(moves.directions, "moves.directions", n_paths, m + 1, READ, keep),
        places(moves.watched, "moves.watched", n_paths, -1, m, keep),
        doubles(moves.signs, "moves.signs", n_paths, READ, keep),
        doubles(moves.steepest, "moves.steepest", n_paths, READ, keep),
        n_paths,
    )


def guests_of(guests, m, keep):
    """The points that are added to m - 1 others, and their paths."""
    if not cython.compiled:
        return guests
    n_guests, n_paths = length(guests.rows, "guests.rows", 0), length(guests.which, "guests.which", 0)
    return Guests(
        rows(guests.rows, "guests.rows", n_guests, m, READ, keep),
        doubles(guests.curvature, "guests.curvature", n_guests, READ, keep),
        doubles(guests.flat, "guests.flat", n_guests, READ, keep),
        places(guests.which, "guests.which", n_paths, 0, n_guests, keep),
        doubles(guests.label, "guests.label", n_paths, READ, keep),
        doubles(guests.bound, "guests.bound", n_paths, READ, keep),
        doubles(guests.drift, "guests.drift", n_paths, READ, keep),
        doubles(guests.residual, "guests.residual", n_paths, READ, keep),
        n_paths,
    )


def base_state_of(start, m, write, keep):
    """The state of m points that all paths start from. A loop that adds a point writes its state."""
    if not cython.compiled:
        return start
    return BaseState(
        doubles(start.position, "start.position", m, write, keep),
        doubles(start.low, "start.low", m, write, keep),
        doubles(start.high, "start.high", m, write, keep),
        flags(start.at_upper, "start.at_upper", m, write, keep),
        doubles(start.exact_beta, "start.exact_beta", m, write, keep),
        doubles(start.exact_residual, "start.exact_residual", m, write, keep),
    )


def ends_of(ends, n_paths, m, keep):
    """Where so many paths of m points end."""
    if not cython.compiled:
        return ends
    return Ends(
        rows(ends.changes, "ends.changes", n_paths, m, WRITE, keep),
        doubles(ends.intercepts, "ends.intercepts", n_paths, WRITE, keep),
        doubles(ends.times, "ends.times", n_paths, WRITE, keep),
        numbers(ends.events, "ends.events", n_paths, WRITE, keep),
        numbers(ends.outcomes, "ends.outcomes", n_paths, WRITE, keep),
        doubles(ends.kkt, "ends.kkt", n_paths, WRITE, keep),
    )


def room_of(room, m, write, keep):
    """Memory that the paths of m points use one after the other."""
    if not cython.compiled:
        return room
    return Room(
        doubles(room.goal, "room.goal", m + 1, WRITE, keep),
        doubles(room.drift, "room.drift", m, write, keep),
        doubles(room.direction, "room.direction", m + 1, WRITE, keep),
    )


def screen_of(screen, m, capacity, keep):
    """Memory for paths of m points on few of them."""
    if not cython.compiled:
        return screen
    few = length(screen.base.is_in, "screen.base.is_in", 0)
    return Screen(
        flags(screen.near, "screen.near", m, WRITE, keep),
        numbers(screen.rows, "screen.rows", few, WRITE, keep),
        numbers(screen.moved, "screen.moved", few, WRITE, keep),
        doubles(screen.inputs, "screen.inputs", few, WRITE, keep),
        base_of(screen.base, WRITE, WRITE, keep),
        state_of(screen.state, few, capacity, 0, keep),
        room_of(screen.room, few, WRITE, keep),
    )

"""A path followed on the rows of its tableau that it comes near; the others are checked where it ends.

A path changes the sides of a few dozen points. Nearly all of them are among those that the first rates would
bring to an end of their interval soon. Of the other rows only the positions at the end are computed: what is
beyond an end of its interval there joins the near rows, and the path is followed anew. The positions are a
linear function of the inputs, so those at the end do not depend on the way.
"""

import cython

if not cython.compiled:
    from bayes_svm._core.follow import follow_path, number_in, rates
    from bayes_svm._core.matrix import add_rows
    from bayes_svm._core.records import DONE, NEVER, SETTLED, Motion

    # A row is near if the first rates bring it to an end of its interval in so many times the length of the
    # path; or if it is so near to an end that they could in so many.
    REACH, TOUCH = 1.5, 0.1
    # A path is followed at most so many times, and then on all rows.
    ROUNDS = 12


def _mark_near(m, motion, state, n_changed, end, scratch, near):
    """Mark the rows that the path needs or may come near. Returns their number."""
    n = 0
    for i in range(m):
        speed = abs(scratch.rate[i])
        above, below = state.high[i] - state.position[i], state.position[i] - state.low[i]
        ahead = above if scratch.rate[i] > 0.0 else below
        moved: cython.bint = state.low[i] == -NEVER and state.high[i] == NEVER
        near[i] = moved or ahead < REACH * end * speed or min(above, below) < TOUCH * end * speed
        n += near[i]
    for a in range(n_changed):
        n += not near[state.changed[a]]
        near[state.changed[a]] = True
    if motion.watched >= 0:
        n += not near[motion.watched]
        near[motion.watched] = True
    return n


def _place(rows, n, k):
    """Place of k among n ascending numbers, k being one of them."""
    low, high = 0, n - 1
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < k:
            low = middle + 1
        else:
            high = middle
    return low


def _gather(base, motion, state, n_changed, screen, n):
    """Copy what concerns the near rows: their tableau, their bounds, where they start and how they move."""
    rows, part, at, room = screen.rows, screen.base, screen.state, screen.room
    last = 0
    for k in range(base.m):
        if screen.near[k]:
            rows[last] = k
            last += 1
    # The intercept is last.
    for a in range(n + 1):
        k = rows[a] if a < n else base.m
        row, out = base.W[k], part.W[a]
        for c in range(n):
            out[c] = row[rows[c]]
        out[n] = row[base.m]
        room.goal[a], room.direction[a] = motion.goal[k], motion.direction[k]
    for a in range(n):
        k = rows[a]
        part.is_in[a], part.flat[a] = base.is_in[k], base.flat[k]
        part.lower[a], part.upper[a] = base.lower[k], base.upper[k]
        at.position[a], at.low[a], at.high[a] = state.position[k], state.low[k], state.high[k]
        at.is_in[a], at.at_upper[a] = state.is_in[k], state.at_upper[k]
        room.drift[a] = motion.drift[k]
    for a in range(n_changed):
        at.changed[a] = _place(rows, n, state.changed[a])


def _few(base, n):
    """The base of the first n rows."""
    if not cython.compiled:
        return base._replace(is_in=base.is_in[:n])
    base.m = n
    return base


def _mark_missed(base, motion, state, time, screen, n, scratch):
    """Mark the far rows that are beyond an end of their interval where the path ended.

    Writes the changes of all positions to ``scratch.rate``. Returns the number of rows that it marks.
    """
    at, rows, positions, n_moved = screen.state, screen.rows, scratch.rate, 0
    # Every input that is another than at the start moves all positions.
    for c in range(n):
        k = rows[c]
        members: cython.bint = at.low[c] == -NEVER and at.high[c] == NEVER
        began = base.upper[k] if state.at_upper[k] else base.lower[k]
        if base.is_in[k] != at.is_in[c]:
            change = at.position[c] - (0.0 if base.is_in[k] else began)
        elif base.is_in[k] or members or at.at_upper[c] == state.at_upper[k]:
            continue
        else:
            change = (base.upper[k] if at.at_upper[c] else base.lower[k]) - began
        screen.moved[n_moved], screen.inputs[n_moved] = k, change
        n_moved += 1
    for i in range(base.m + 1):
        positions[i] = time * motion.direction[i]
    add_rows(base.W, screen.moved, screen.inputs, n_moved, base.m, positions)
    missed = 0
    for i in range(base.m):
        position = state.position[i] + positions[i]
        beyond: cython.bint = position < state.low[i] or position > state.high[i]
        if beyond and not screen.near[i]:
            screen.near[i] = True
            missed += 1
    return missed


def _return(m, state, n_changed, screen, n, scratch):
    """Bring the state of all rows to the end of the path."""
    at, rows = screen.state, screen.rows
    for i in range(m):
        state.position[i] += scratch.rate[i]
    for c in range(n):
        k = rows[c]
        state.position[k], state.low[k], state.high[k] = at.position[c], at.low[c], at.high[c]
        state.is_in[k], state.at_upper[k] = at.is_in[c], at.at_upper[c]
    for a in range(n_changed):
        state.changed[a] = rows[at.changed[a]]
    # The factors go by the numbers of the near rows.
    scratch.factored[0] = -1


def follow_screened(base, motion, state, n_changed, end, max_events, scratch, screen):
    """The same as :func:`~bayes_svm._core.follow.follow_path`, where it can be on few rows."""
    n_in = number_in(base.m, state)
    if screen.base.m == 0 or n_in == 0 or not rates(base, motion, state, n_changed, scratch):
        return follow_path(base, motion, state, n_in, n_changed, end, max_events, scratch)
    n = _mark_near(base.m, motion, state, n_changed, end, scratch, screen.near)
    for _round in range(ROUNDS):
        if n > screen.base.m:
            break
        _gather(base, motion, state, n_changed, screen, n)
        room = screen.room
        watched = _place(screen.rows, n, motion.watched) if motion.watched >= 0 else -1
        part = Motion(
            room.direction, room.goal, room.drift, motion.needed, watched,
            motion.sign, motion.steepest, motion.margin,
        )  # fmt: skip
        scratch.factored[0] = -1
        changed, events, outcome, time = follow_path(
            _few(screen.base, n), part, screen.state, n_in, n_changed, end, max_events, scratch
        )
        if outcome != DONE and outcome != SETTLED:
            break
        missed = _mark_missed(base, motion, state, time, screen, n, scratch)
        if missed == 0:
            _return(base.m, state, changed, screen, n, scratch)
            return changed, events, outcome, time
        n += missed
    scratch.factored[0] = -1
    return follow_path(base, motion, state, n_in, n_changed, end, max_events, scratch)

"""A path followed on the rows of its tableau that it comes near, one leg after the other.

In a leg a few dozen points change sides. Nearly all of them are among those that its first rates would
bring to an end of their interval soon. Of the other rows only the positions at its end are computed: what is
beyond an end of its interval there joins the near rows, and the leg is followed anew. The positions are a
linear function of the inputs, so those at the end do not depend on the way.
"""

import cython

if not cython.compiled:
    from bayes_svm._core.follow import follow_path, number_in, rates
    from bayes_svm._core.matrix import add_rows
    from bayes_svm._core.records import DONE, NEVER, NO_WAY_ON, SETTLED, Motion

    # A leg is so short that its first rates bring at most so many rows to an end of their interval.
    FEW = 48
    # It is not halved below this share of the path.
    SHORTEST = 0.02
    # A row is near if these rates bring it to an end in so many times the leg; or if it is so near to an end
    # that they could in so many.
    REACH, TOUCH = 1.5, 0.1
    # What a leg leaves within this share of its way from an end of its interval joins the near rows too.
    SLACK = 0.5
    # A leg is followed on few rows at most so many times, and then on all.
    ROUNDS = 12


def _length_of_leg(m, motion, state, scratch, remaining, shortest):
    """Length of the next leg: what remains, halved until few rows reach an end of their interval."""
    length, n = remaining, FEW + 1
    # How far the watched point can fall is known to the end of the path, not of a leg.
    while motion.watched < 0 and n > FEW and length > shortest:
        n = 0
        for i in range(m):
            speed = scratch.rate[i]
            ahead = state.high[i] - state.position[i] if speed > 0.0 else state.position[i] - state.low[i]
            reached: cython.bint = ahead < length * abs(speed)
            n += reached
        if n > FEW:
            length *= 0.5
    return length


def _mark_near(m, motion, state, n_changed, length, scratch, near):
    """Mark the rows that the leg needs or may come near. Returns their number."""
    n = 0
    for i in range(m):
        speed = abs(scratch.rate[i])
        above, below = state.high[i] - state.position[i], state.position[i] - state.low[i]
        ahead = above if scratch.rate[i] > 0.0 else below
        moved: cython.bint = state.low[i] == -NEVER and state.high[i] == NEVER
        near[i] = moved or ahead < REACH * length * speed or min(above, below) < TOUCH * length * speed
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


def _gather(base, motion, state, n_changed, screen, n, factored):
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
    # The factors are of the same points under other numbers.
    a = 0
    while factored[a] >= 0:
        factored[a] = _place(rows, n, factored[a])
        a += 1


def _few(base, n):
    """The base of the first n rows."""
    if not cython.compiled:
        return base._replace(is_in=base.is_in[:n])
    base.m = n
    return base


def _input(base, k, is_in, at_upper, position):
    """The input of point k of the base."""
    if base.is_in[k]:
        return 0.0 if is_in else position
    return position if is_in else (base.upper[k] if at_upper else base.lower[k])


def _mark_missed(base, motion, state, time, screen, n, scratch):
    """Mark the far rows that are beyond an end of their interval where the leg ended, or nearly there.

    Writes the changes of all positions to ``scratch.rate``. Returns the number of rows that it marks, 0 if
    none is beyond.
    """
    at, rows, positions, n_moved = screen.state, screen.rows, scratch.rate, 0
    # Every input that is another than at the start moves all positions. Those that the path moves itself are
    # in its direction.
    for c in range(n):
        k = rows[c]
        change = _input(base, k, at.is_in[c], at.at_upper[c], at.position[c])
        change -= _input(base, k, state.is_in[k], state.at_upper[k], state.position[k])
        if change != 0.0:
            screen.moved[n_moved], screen.inputs[n_moved] = k, change
            n_moved += 1
    for i in range(base.m + 1):
        positions[i] = time * motion.direction[i]
    add_rows(base.W, screen.moved, screen.inputs, n_moved, base.m, positions)
    missed, marked = 0, 0
    for i in range(base.m):
        position, slack = state.position[i] + positions[i], SLACK * abs(positions[i])
        beyond: cython.bint = position < state.low[i] or position > state.high[i]
        if not screen.near[i] and (position - slack < state.low[i] or position + slack > state.high[i]):
            screen.near[i] = True
            marked += 1
            missed += beyond
    return marked if missed > 0 else 0


def _return(m, state, positions, n_changed, screen, n):
    """Bring the state of all rows to the end of the leg."""
    at, rows = screen.state, screen.rows
    for i in range(m):
        state.position[i] += positions[i]
    for c in range(n):
        k = rows[c]
        state.position[k], state.low[k], state.high[k] = at.position[c], at.low[c], at.high[c]
        state.is_in[k], state.at_upper[k] = at.is_in[c], at.at_upper[c]
    for a in range(n_changed):
        state.changed[a] = rows[at.changed[a]]


def _follow_on_few(base, motion, state, n_in, n_changed, length, max_events, scratch, screen):
    """Follow a leg on the rows that it comes near. ``NO_WAY_ON`` means that nothing is done."""
    n = _mark_near(base.m, motion, state, n_changed, length, scratch, screen.near)
    for _round in range(ROUNDS):
        if n > screen.base.m:
            break
        _gather(base, motion, state, n_changed, screen, n, scratch.factored)
        room = screen.room
        watched = _place(screen.rows, n, motion.watched) if motion.watched >= 0 else -1
        part = Motion(
            room.direction, room.goal, room.drift, motion.needed, watched,
            motion.sign, motion.steepest, motion.margin,
        )  # fmt: skip
        changed, events, outcome, time = follow_path(
            _few(screen.base, n), part, screen.state, n_in, n_changed, length, max_events, scratch
        )
        a = 0
        while scratch.factored[a] >= 0:
            scratch.factored[a] = screen.rows[scratch.factored[a]]
            a += 1
        if outcome != DONE and outcome != SETTLED:
            break
        missed = _mark_missed(base, motion, state, time, screen, n, scratch)
        if missed == 0:
            _return(base.m, state, scratch.rate, changed, screen, n)
            return changed, events, outcome, time
        n += missed
    return n_changed, 0, NO_WAY_ON, 0.0


def follow_screened(base, motion, state, n_changed, end, max_events, scratch, screen):
    """The same as :func:`~bayes_svm._core.follow.follow_path`, where it can be on few rows.

    Events of far rows that are back where they were at the end of a leg do not count.
    """
    time, events = 0.0, 0
    while True:
        n_in, remaining = number_in(base.m, state), end - time
        length, outcome = remaining, NO_WAY_ON
        if screen.base.m > 0 and n_in > 0 and rates(base, motion, state, n_changed, scratch):
            length = _length_of_leg(base.m, motion, state, scratch, remaining, SHORTEST * end)
            n_changed, passed, outcome, step = _follow_on_few(
                base, motion, state, n_in, n_changed, length, max_events - events, scratch, screen
            )
        if outcome == NO_WAY_ON:
            n_changed, passed, outcome, step = follow_path(
                base, motion, state, n_in, n_changed, length, max_events - events, scratch
            )
        events += passed
        if outcome != DONE:
            return n_changed, events, outcome, time + step
        if length == remaining:
            return n_changed, events, outcome, end
        time += step

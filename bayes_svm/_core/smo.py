"""Compiled sequential minimal optimisation, with second-order choice of the working pair.

The problem is the signed dual of :mod:`bayes_svm.dual.problem`: minimise
``1/2 beta' K beta - q' beta`` subject to ``sum(beta) = 0`` and ``lower <= beta <= upper``.
The working set is that of Fan, Chen and Lin (JMLR 2005), as in LIBSVM.
"""

import cython

from bayes_svm.utils.interrupts import pause, slices

if not cython.compiled:
    from math import inf

    from bayes_svm._core.arrays import READ, WRITE, doubles, length, number_rows, numbers, rows
    from bayes_svm._core.pair_records import FLAT, Iterate, Team
    from bayes_svm._core.team import DONE, END, FOUND, ask, come, dismiss, has_done, next_task, store

    # So many maxima are computed at a time.
    LANES = 32
    # What threads do together: find the partner of a point, or move a pair and find the steepest point.
    PARTNER, MOVE = 0, 1

# Operations that a move takes for each point, about.
OPERATIONS = 4


def mark(at, k):
    """Note whether beta[k] can rise, and whether it can fall."""
    at.can_rise[k] = 0.0 if at.beta[k] < at.upper[k] else -inf
    at.can_fall[k] = 0.0 if at.beta[k] > at.lower[k] else inf


def _slope(at, k):
    """The gradient times -1 of a point that can rise; of others -inf."""
    return at.can_rise[k] - at.gradient[k]


def steepest(at, head, tail):
    """The first of the points that can rise most steeply, and its slope; -1 and -inf without such a point."""
    # Many running maxima, which the compiler computes with vector instructions. NaN is never the maximum.
    most = cython.declare(cython.double[LANES])
    for c in range(LANES):
        most[c] = -inf
    for block in range((tail - head) // LANES):
        first_of_block = head + block * LANES
        for c in range(LANES):
            most[c] = max(most[c], _slope(at, first_of_block + c))
    for k in range(tail - (tail - head) % LANES, tail):
        most[(k - head) % LANES] = max(most[(k - head) % LANES], _slope(at, k))
    high = -inf
    for c in range(LANES):
        high = max(high, most[c])
    first: cython.Py_ssize_t = -1
    for c in range(LANES):
        if most[c] == high > -inf:
            k = head + c
            while k + LANES < tail and _slope(at, k) != high:
                k += LANES
            if first < 0 or k < first:
                first = k
    return first, high


def _intercept(at, k):
    """The gradient times -1 of a point that can fall; of others inf."""
    return at.can_fall[k] - at.gradient[k]


def _gain(at, row, own, high, k):
    """Twice what a point gains by falling while another one rises; 0 where it cannot, or would lose."""
    slope = max(high - _intercept(at, k), 0.0)
    return slope * slope / max(own + at.diagonal[k] - 2.0 * row[k], FLAT)


def best_partner(at, first, high, head, tail):
    """The one of some points that gains most by falling while the first one rises, or -1, and what it gains.

    And the lowest slope of any.
    """
    row, own = at.rows[first], at.diagonal[first]
    most = cython.declare(cython.double[LANES])
    least = cython.declare(cython.double[LANES])
    for c in range(LANES):
        most[c], least[c] = 0.0, inf
    for block in range((tail - head) // LANES):
        first_of_block = head + block * LANES
        for c in range(LANES):
            least[c] = min(least[c], _intercept(at, first_of_block + c))
            most[c] = max(most[c], _gain(at, row, own, high, first_of_block + c))
    for k in range(tail - (tail - head) % LANES, tail):
        c = (k - head) % LANES
        least[c] = min(least[c], _intercept(at, k))
        most[c] = max(most[c], _gain(at, row, own, high, k))
    low, best = inf, 0.0
    for c in range(LANES):
        low, best = min(low, least[c]), max(best, most[c])
    second: cython.Py_ssize_t = -1
    for c in range(LANES):
        if most[c] == best > 0.0:
            k = head + c
            while k + LANES < tail and _gain(at, row, own, high, k) != best:
                k += LANES
            if second < 0 or k < second:
                second = k
    return second, best, low


def working_pair(at):
    """Pair to move along (+1, -1), and the ends of the interval that the best intercept lies in.

    If no pair can move to an advantage, the second point is -1. The largest violation of optimality by any
    pair is the second end minus the first.
    """
    second: cython.Py_ssize_t = -1
    low = inf
    first, high = steepest(at, 0, at.n)
    if first >= 0:
        second, _, low = best_partner(at, first, high, 0, at.n)
    return first, second, low, high


def exchange(at, i, j):
    """Raise beta[i] and lower beta[j] by the best amount; returns the gain of G and the amount."""
    beta, gradient, lower, upper = at.beta, at.gradient, at.lower, at.upper
    assert 0 <= i < at.n
    assert 0 <= j < at.n
    # The best amount without bounds is the slope over the curvature.
    curvature = max(at.diagonal[i] + at.diagonal[j] - 2.0 * at.rows[i][j], FLAT)
    slope = gradient[j] - gradient[i]
    amount = slope / curvature
    # A move that ends at a bound assigns the bound, so that the point is there exactly.
    if amount >= upper[i] - beta[i] or amount >= beta[j] - lower[j]:
        if upper[i] - beta[i] <= beta[j] - lower[j]:
            amount = upper[i] - beta[i]
            beta[j] -= amount
            beta[i] = upper[i]
        else:
            amount = beta[j] - lower[j]
            beta[i] += amount
            beta[j] = lower[j]
    else:
        beta[i] += amount
        beta[j] -= amount
    mark(at, i)
    mark(at, j)
    return amount * (slope - 0.5 * amount * curvature), amount


def follow(at, i, j, amount, head, tail):
    """Have the gradients of some points follow a move."""
    gradient, row_i, row_j = at.gradient, at.rows[i], at.rows[j]
    for k in range(head, tail):
        gradient[k] += amount * (row_i[k] - row_j[k])


def move_pair(at, i, j):
    """Raise beta[i] and lower beta[j] by the best amount; returns the gain of G and the amount."""
    gain, amount = exchange(at, i, j)
    follow(at, i, j, amount, 0, at.n)
    return gain, amount


def _end_of_part(n, parts, k):
    """Where part k of so many ends."""
    return n if k == parts - 1 else n * (k + 1) // parts // LANES * LANES


def _part(at, team, k):
    """Do one part of a task; returns the best point, or -1, by what it is the best, and the lowest slope."""
    parts = team.n_helpers + 1
    head = 0 if k == 0 else _end_of_part(at.n, parts, k - 1)
    tail = _end_of_part(at.n, parts, k)
    i, j, size = team.task[1], team.task[2], team.size[0]
    if team.task[0] == PARTNER:
        return best_partner(at, i, size, head, tail)
    follow(at, i, j, size, head, tail)
    first, high = steepest(at, head, tail)
    return first, high, inf


def _together(at, team, task, i, j, size):
    """Do a task together; returns what :func:`_part` returns, of all points."""
    team.task[0], team.task[1], team.task[2], team.size[0] = task, i, j, size
    ask(team)
    point, value, low = _part(at, team, 0)
    for h in range(team.n_helpers):
        if has_done(team, h):
            other, its, lowest = team.lines[h][FOUND], team.found[h][0], team.found[h][1]
        else:
            other, its, lowest = _part(at, team, h + 1)
        # Of equal ones the first.
        if its > value:
            point, value = other, its
        low = min(low, lowest)
    return point, value, low


def _pair_together(at, team, first, high):
    """The partner of the first point, or -1, and the lowest slope."""
    second: cython.Py_ssize_t = -1
    low = inf
    if first >= 0:
        second, _, low = _together(at, team, PARTNER, first, 0, high)
    return second, low


def _iterate(at, keep):
    """The iterate as the loops take it."""
    if not cython.compiled:
        return at
    n = length(at.beta, "at.beta", 0)
    return Iterate(
        rows(at.rows, "at.rows", n, n, READ, keep),
        doubles(at.diagonal, "at.diagonal", n, READ, keep),
        doubles(at.beta, "at.beta", n, WRITE, keep),
        doubles(at.gradient, "at.gradient", n, WRITE, keep),
        doubles(at.lower, "at.lower", n, READ, keep),
        doubles(at.upper, "at.upper", n, READ, keep),
        doubles(at.can_rise, "at.can_rise", n, WRITE, keep),
        doubles(at.can_fall, "at.can_fall", n, WRITE, keep),
        n,
    )


def _team(team, keep):
    """The memory of a team as the loops take it."""
    if not cython.compiled:
        return team
    n_helpers = length(team.lines, "team.lines", 0)
    return Team(
        numbers(team.task, "team.task", 3, WRITE, keep),
        doubles(team.size, "team.size", 1, WRITE, keep),
        numbers(team.number, "team.number", 1, WRITE, keep),
        number_rows(team.lines, "team.lines", n_helpers, 16, WRITE, keep),
        rows(team.found, "team.found", n_helpers, 16, WRITE, keep),
        n_helpers,
    )


def move_pairs(at, tolerance, max_steps, team):
    """Move pairs until no pair violates optimality by more than ``tolerance``.

    Parameters
    ----------
    at : Iterate
        The coefficients and their gradient, which are updated in place; what can rise and fall is memory.
    tolerance : float
        Violation at which to stop.
    max_steps : int
        Limit on the number of moves.
    team : Team
        Memory for the threads that help, in :func:`help_move`. In the end they are dismissed.

    Returns
    -------
    violation : float
        The violation that is left.
    steps : int
        The moves that were made.
    """
    keep = []
    all_of_us = _team(team, keep)
    try:
        here = _iterate(at, keep)
        for i in range(here.n):
            mark(here, i)
        enough: cython.double = tolerance
        limit: cython.Py_ssize_t = max_steps
        steps: cython.Py_ssize_t = 0
        upto: cython.Py_ssize_t
        first: cython.Py_ssize_t
        with cython.nogil:
            first, high = steepest(here, 0, here.n)
            second, low = _pair_together(here, all_of_us, first, high)
        for _, upto in slices(limit, OPERATIONS * here.n):
            with cython.nogil:
                while second >= 0 and high - low > enough and steps < upto:
                    _gain_of_G, amount = exchange(here, first, second)
                    steps += 1
                    first, high, _least = _together(here, all_of_us, MOVE, first, second, amount)
                    second, low = _pair_together(here, all_of_us, first, high)
            if steps < upto:
                break
    finally:
        dismiss(all_of_us)
    violation = high - low if second >= 0 else 0.0
    return violation, steps


def help_move(at, team, number):
    """Help :func:`move_pairs`, which has the same iterate and team, in another thread until dismissed.

    While no task comes, it ends as soon as its run is given up.

    Parameters
    ----------
    at : Iterate
        As there.
    team : Team
        As there.
    number : int
        Which of the helpers this is.
    """
    keep = []
    here, all_of_us = _iterate(at, keep), _team(team, keep)
    h: cython.Py_ssize_t = number
    if not 0 <= h < all_of_us.n_helpers:
        raise ValueError(f"number must be from 0 to {all_of_us.n_helpers - 1}, not {number}")
    line, found = all_of_us.lines[h], all_of_us.found[h]
    last: cython.longlong = 0
    come(line)
    while True:
        with cython.nogil:
            task = next_task(line, last)
            while task != last and task != END:
                point, value, low = _part(here, all_of_us, h + 1)
                line[FOUND], found[0], found[1] = point, value, low
                store(line, DONE, task)
                last = task
                task = next_task(line, last)
        if task == END:
            break
        pause()

"""Compiled leave-one-out paths: one coefficient shrinks, the others stay optimal."""

from __future__ import annotations

import numpy as np

from bayes_svm._compiled import compiled
from bayes_svm._follow import combine, factorise_changed, follow, solve_factorised


@compiled
def _exact_change(  # type: ignore[no-untyped-def]
    W,
    base_in,
    own_column,
    source,
    sign,
    amount,
    beta,
    exact_beta,
    exact_residual,
    changed,
    n_changed,
    A,
    pivots,
    weights,
    direction,
    output,
    change,
):
    """Change of beta and intercept from the exact base to the partition the path ended in.

    The path itself ran on perturbed targets; its last partition is solved once more at the
    exact ones. Writes the change of every row's beta, returns that of the intercept.
    """
    m = beta.shape[0]
    for k in range(m + 1):
        direction[k] = -sign * amount * own_column[k]
    for k in range(m):
        # A dependent point can have moved from one bound to the other.
        if not base_in[k] and k != source and beta[k] != exact_beta[k]:
            moved = True
            for a in range(n_changed):
                if changed[a] == k:
                    moved = False
            if moved:
                for i in range(m + 1):
                    direction[i] += (beta[k] - exact_beta[k]) * W[k, i]
    for a in range(n_changed):
        k = changed[a]
        if k == source:
            goal = sign * amount
        elif base_in[k]:
            goal = exact_beta[k] - beta[k]
        else:
            goal = -exact_residual[k]
        weights[a] = goal - direction[k]
    if not factorise_changed(W, changed, n_changed, A, pivots):
        return np.nan
    solve_factorised(A, pivots, weights, n_changed)
    combine(W, direction, changed, weights, n_changed, output)
    for k in range(m):
        change[k] = -output[k] if base_in[k] else beta[k] - exact_beta[k]
    for a in range(n_changed):
        k = changed[a]
        if base_in[k]:
            change[k] = beta[k] - exact_beta[k]
        else:
            change[k] = weights[a]
    if source >= 0:
        change[source] = -sign * amount
    return -output[m]


@compiled
def shrink_each(  # type: ignore[no-untyped-def]
    W,
    base_in,
    sources,
    columns,
    signs,
    amounts,
    exact_amounts,
    lower,
    upper,
    base_beta,
    base_residual,
    exact_beta,
    exact_residual,
    flat,
    max_events,
    capacity,
    changes,
    intercepts,
    n_free,
    events,
    outcomes,
):
    """Run one path for each source; rows of ``changes`` receive the change of beta.

    Parameters
    ----------
    sources : row of the tableau whose coefficient shrinks, or -1 for a point without a row
    columns : (n_paths, m + 1) tableau column of each bounded source (zero for free ones)
    signs, amounts : label of the source and how much of its alpha goes, in the base
    exact_amounts : the same at the exact targets
    """
    m = base_beta.shape[0]
    work = np.empty((3, m + 1))
    direction = np.empty(m + 1)
    beta, residual = np.empty(m), np.empty(m)
    is_in = np.empty(m, dtype=np.bool_)
    changed = np.empty(capacity, dtype=np.int64)
    A = np.empty((capacity, capacity))
    pivots = np.empty(capacity, dtype=np.int64)
    weights = np.empty(capacity)
    goal, drift = np.zeros(m + 1), np.zeros(m)
    for p in range(sources.shape[0]):
        source, sign = sources[p], signs[p]
        beta[:] = base_beta
        residual[:] = base_residual
        is_in[:] = base_in
        n_changed = 0
        for k in range(m + 1):
            direction[k] = -sign * columns[p, k]
        if source >= 0 and base_in[source]:
            is_in[source] = False
            changed[0] = source
            n_changed = 1
            goal[source] = sign
        _, _, n_changed, events[p], outcomes[p] = follow(
            W, base_in, direction, goal, drift, sign, source, amounts[p], lower, upper, beta,
            residual, is_in, changed, n_changed, flat, max_events, work, A, pivots, weights,
        )  # fmt: skip
        if source >= 0:
            goal[source] = 0.0
        n_free[p] = 0
        for k in range(m):
            if is_in[k]:
                n_free[p] += 1
        intercepts[p] = _exact_change(
            W, base_in, columns[p], source, sign, exact_amounts[p], beta, exact_beta, exact_residual,
            changed, n_changed, A, pivots, weights, direction, work[0], changes[p],
        )  # fmt: skip


@compiled
def check_ends(  # type: ignore[no-untyped-def]
    beta,
    values,
    label,
    lower,
    upper,
    points,
    rest,
    at_bound,
    kkt,
    gap,
    scale,
    has_free,
    low,
    high,
):
    """Optimality of each row of ``beta`` for the problem whose point's bound is lowered to ``rest``.

    Where no coefficient is free, ``values`` are moved to the middle of the interval of
    optimal intercepts, whose ends go to ``low`` and ``high``.
    """
    n_paths, m = beta.shape
    for p in range(n_paths):
        lowest, highest, free = -np.inf, np.inf, False
        worst_bound = 0.0
        for i in range(m):
            bound = rest[p] if i == points[p] else upper[i] - lower[i]
            least = -bound if label[i] < 0.0 else 0.0
            slack = at_bound * bound
            value = beta[p, i]
            can_rise, can_fall = value < least + bound - slack, value > least + slack
            worst_bound = max(worst_bound, least - value - slack, value - least - bound - slack)
            own = label[i] - values[p, i]
            if can_rise and own > lowest:
                lowest = own
            if can_fall and own < highest:
                highest = own
            if can_rise and can_fall:
                free = True
        low[p], high[p], has_free[p] = lowest, highest, free
        if not free and lowest > -np.inf and highest < np.inf:
            shift = 0.5 * (lowest + highest)
            for i in range(m):
                values[p, i] += shift
            lowest, highest = lowest - shift, highest - shift
        total, norm, loss, largest = 0.0, 0.0, 0.0, 1.0
        mass = 0.0
        for i in range(m):
            bound = rest[p] if i == points[p] else upper[i] - lower[i]
            total += beta[p, i]
            mass += abs(beta[p, i])
            norm += beta[p, i] * values[p, i]
            loss += bound * max(0.0, 1.0 - label[i] * values[p, i])
            largest = max(largest, abs(values[p, i]))
        # The residual of a point that may rise must not be below 0, and the reverse.
        kkt[p] = max(lowest, -highest, abs(total), worst_bound)
        gap[p] = (norm + loss - mass) / max(mass - 0.5 * norm, 1e-300)
        scale[p] = largest

"""Compiled leave-one-out paths: one coefficient shrinks, the others stay optimal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayes_svm._compiled import compiled
from bayes_svm._follow import Motion, combine, factorise_changed, follow, solve_factorised, toggle

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Cases(NamedTuple):
    """The paths of one batch."""

    sources: Numbers  # row of the tableau whose coefficient shrinks, -1 for a point without a row
    columns: Array  # (n_paths, m + 1) tableau column of each bounded source, zero for free ones
    signs: Array  # label of the source
    amounts: Array  # how much of its alpha goes
    exact_amounts: Array  # the same at the exact targets


class Ends(NamedTuple):
    """Where the paths of one batch ended."""

    changes: Array  # (n_paths, m) change of beta from the exact base
    intercepts: Array  # change of the intercept
    events: Numbers
    outcomes: Numbers


@compiled
def _count_flips(base, source, state, exact_beta, n_changed, direction):
    """Add to ``direction`` what out-points did that went from one bound to the other."""
    for k in range(state.beta.shape[0]):
        if not base.is_in[k] and k != source and not state.is_in[k] and state.beta[k] != exact_beta[k]:
            for i in range(direction.shape[0]):
                direction[i] += (state.beta[k] - exact_beta[k]) * base.W[k, i]


@compiled
def _exact_change(
    base, source, sign, amount, state, exact_beta, exact_residual, n_changed, direction, scratch, change
):
    """Change of beta and intercept from the exact base to the partition the path ended in.

    The path itself ran on perturbed targets; its last partition is solved once more at the
    exact ones. Writes the change of every row's beta, returns that of the intercept.
    """
    output, _, _, A, pivots, weights = scratch
    changed, beta = state.changed, state.beta
    _count_flips(base, source, state, exact_beta, n_changed, direction)
    for a in range(n_changed):
        k = changed[a]
        if k == source:
            goal = sign * amount
        elif base.is_in[k]:
            goal = exact_beta[k] - beta[k]
        else:
            goal = -exact_residual[k]
        weights[a] = goal - direction[k]
    if not factorise_changed(base.W, changed, n_changed, A, pivots):
        return np.nan
    solve_factorised(A, pivots, weights, n_changed)
    combine(base.W, direction, changed, weights, n_changed, output)
    for k in range(beta.shape[0]):
        change[k] = -output[k] if base.is_in[k] else beta[k] - exact_beta[k]
    for a in range(n_changed):
        k = changed[a]
        change[k] = beta[k] - exact_beta[k] if base.is_in[k] else weights[a]
    if source >= 0:
        change[source] = -sign * amount
    return -output[output.shape[0] - 1]


@compiled
def _scale(column, factor, out):
    """``out = factor * column``."""
    for k in range(out.shape[0]):
        out[k] = factor * column[k]


@compiled
def shrink_each(
    base, cases, base_beta, base_residual, exact_beta, exact_residual, max_events, state, scratch, ends
):
    """Run one path for each source, from the perturbed base, and write where it ends."""
    m = base_beta.shape[0]
    direction, goal, drift = np.empty(m + 1), np.zeros(m + 1), np.zeros(m)
    for p in range(cases.sources.shape[0]):
        source, sign = cases.sources[p], cases.signs[p]
        # Element by element: slices and array expressions compile to far more code.
        for k in range(m):
            state.beta[k], state.residual[k] = base_beta[k], base_residual[k]
            state.is_in[k] = base.is_in[k]
        _scale(cases.columns[p], -sign, direction)
        n_changed = 0
        if source >= 0 and base.is_in[source]:
            n_changed = toggle(source, state.is_in, state.changed, n_changed)
            goal[source] = sign
        motion = Motion(direction, goal, drift, sign, source)
        n_changed, ends.events[p], ends.outcomes[p] = follow(
            base, motion, state, n_changed, cases.amounts[p], max_events, scratch
        )
        if source >= 0:
            goal[source] = 0.0
        _scale(cases.columns[p], -sign * cases.exact_amounts[p], direction)
        ends.intercepts[p] = _exact_change(
            base, source, sign, cases.exact_amounts[p], state, exact_beta, exact_residual, n_changed,
            direction, scratch, ends.changes[p],
        )  # fmt: skip


@compiled
def check_ends(
    beta,
    values,
    label,
    lower,
    upper,
    points,
    rest,
    at_bound,
    rounding,
    kkt,
    gap,
    scale,
    has_free,
    low,
    high,
):
    """Optimality of each row of ``beta`` for the problem whose point's bound is lowered to ``rest``.

    A coefficient is on a bound within ``at_bound`` of its size, and within ``rounding``: the
    tableau's own errors, which a tiny C does not make smaller. Where no coefficient is free,
    ``values`` are moved to the middle of the interval of optimal intercepts, whose ends go to
    ``low`` and ``high``.
    """
    n_paths, m = beta.shape
    for p in range(n_paths):
        lowest, highest, free = -np.inf, np.inf, False
        worst_bound, largest_beta = 0.0, 0.0
        for i in range(m):
            largest_beta = max(largest_beta, abs(beta[p, i]))
        for i in range(m):
            bound = rest[p] if i == points[p] else upper[i] - lower[i]
            least = -bound if label[i] < 0.0 else 0.0
            slack = at_bound * min(bound, largest_beta) + min(rounding, 1e-3 * bound)
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
        lost = max(abs(total), worst_bound)
        kkt[p] = max(lowest, -highest, lost, lost / max(largest_beta, 1e-300))
        gap[p] = (norm + loss - mass) / max(mass - 0.5 * norm, 1e-300)
        scale[p] = largest

"""Leave-one-out values of all rows of one dual problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayes_svm.leave_one_out.path import shrink_paths
from bayes_svm.leave_one_out.retrain import LeftOut, retrain
from bayes_svm.problem import DualProblem, bound_slack, copies_of_weight
from bayes_svm.solution import UNIQUE, DualSolution, intercept_interval

__all__ = ["Readings", "read_rows"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Readings:
    """Per row: value, status, events, KKT residual and relative gap."""

    values: Array
    status: NDArray[np.str_]
    events: NDArray[np.int64]
    kkt_residual: Array
    gap: Array


def read_rows(
    problem: DualProblem,
    solution: DualSolution,
    train_values: Array,
    weight: Array,
    *,
    method: str = "path",
    max_iter: int = -1,
    n_jobs: int | None = None,
) -> Readings:
    """Leave each row out: one copy of it, where its weight makes it several.

    Rows of one point with the same weight share one computation.

    Parameters
    ----------
    problem : DualProblem
    solution : DualSolution
    train_values : array of shape (n_samples,)
        Decision values of all rows under ``solution``.
    weight : array of shape (n_samples,)
        Sample weights.
    method : {"path", "retrain"}
    max_iter : int
        Limit on the solver where the remaining problem is solved on its own.
    n_jobs : int, optional
    """
    n_rows = len(problem.group)
    rows = np.flatnonzero(problem.group >= 0)
    unit = problem.row_bound[rows] / copies_of_weight(weight[rows])
    cases, case_of_row = np.unique(np.column_stack([problem.group[rows], unit]), axis=0, return_inverse=True)
    points, units = cases[:, 0].astype(np.intp), cases[:, 1]
    outcomes = _outcomes(problem, solution, points, units, method, max_iter, n_jobs)
    case_of_row = case_of_row.ravel()
    base = LeftOut(
        0.0, "unchanged" if solution.stable else "unstable", 0, solution.kkt_residual, solution.relative_gap
    )
    per_row = [base] * n_rows
    for row, case in zip(rows, case_of_row, strict=True):
        per_row[row] = outcomes[case]
    values = np.array([outcome.value for outcome in per_row])
    absent = problem.group < 0
    values[absent] = train_values[absent]
    return Readings(
        values=values,
        status=np.array([outcome.status for outcome in per_row]),
        events=np.array([outcome.events for outcome in per_row], dtype=np.int64),
        kkt_residual=np.array([outcome.kkt_residual for outcome in per_row]),
        gap=np.array([outcome.gap for outcome in per_row]),
    )


def _outcomes(
    problem: DualProblem,
    solution: DualSolution,
    points: Indices,
    units: Array,
    method: str,
    max_iter: int,
    n_jobs: int | None,
) -> list[LeftOut]:
    """Outcome of each case: a point and the part of its bound that goes."""
    bound = problem.bound[points]
    rest = np.where(units >= bound * (1 - 1e-12), 0.0, bound - units)
    alone = np.bincount(problem.label > 0, minlength=2)[(problem.label[points] > 0).astype(int)] == 1
    last_of_class = alone & (rest == 0)
    if method == "retrain":
        untouched = np.zeros(len(points), dtype=bool)
    else:
        # A point whose alpha is just what is left of its bound is not free any more without its
        # copy, and may have been the last to pin the intercept: a path of length zero finds out.
        alpha = solution.alpha[points]
        untouched = (alpha == 0) | (alpha < rest - bound_slack(solution.beta, bound))
    results: list[LeftOut | None] = [None] * len(points)
    for k in np.flatnonzero(last_of_class):
        results[k] = LeftOut(-float(problem.label[points[k]]), "one-class", 0, 0.0, 0.0)
    for k in np.flatnonzero(untouched & ~last_of_class):
        value, unique = _unchanged_value(problem, solution, int(points[k]), float(rest[k]))
        status = "inexact" if not solution.exact else "unchanged" if unique else "unstable"
        results[k] = LeftOut(value, status, 0, solution.kkt_residual, solution.relative_gap)
    touched = np.flatnonzero(~untouched & ~last_of_class)
    if method == "path" and solution.tie_break > 0:
        done = shrink_paths(problem, solution, points[touched], (bound - rest)[touched], n_jobs=n_jobs)
    else:
        start = solution if method == "path" else None
        done = [
            retrain(problem, int(points[k]), float(rest[k]), start=start, max_iter=max_iter) for k in touched
        ]
    for k, outcome in zip(touched, done, strict=True):
        results[k] = outcome
    return [result for result in results if result is not None]


def _unchanged_value(
    problem: DualProblem, solution: DualSolution, point: int, rest: float
) -> tuple[float, bool]:
    """Decision value at a point whose removal leaves the coefficients as they are, and if it is unique.

    Where no coefficient is free, the point may still have pinned an end of the interval of
    optimal intercepts, whose middle then moves.
    """
    value = float(solution.values[point])
    if solution.n_free or (solution.stable and rest > 0):
        return value, True
    present = np.ones(len(problem.label), dtype=bool)
    present[point] = rest > 0
    gradient = solution.values - solution.intercept - problem.label
    low, high = intercept_interval(
        solution.beta[present], gradient[present], problem.lower[present], problem.upper[present]
    )
    return value - solution.intercept + (low + high) / 2, high - low <= UNIQUE

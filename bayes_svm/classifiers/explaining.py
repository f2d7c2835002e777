"""How an Explanation is made from a fitted BayesSVC."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from bayes_svm._core.removals import Removals
from bayes_svm.classifiers.explanation import Explanation, InfluentialRow, in_words
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.leave_one_out.methods import Finder, Wanted
from bayes_svm.utils.metaestimators import decided
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices

__all__ = ["as_one_row", "explained", "influential_rows"]


def as_one_row(x: Any, named: bool) -> Any:
    """One row as a matrix of one row, in whatever form it comes.

    Parameters
    ----------
    x : array-like of shape (n_features,) or (1, n_features), sparse row, Series or DataFrame of one row
        The row.
    named : bool
        Whether the fit saw feature names. If it did not, those of a Series are dropped.

    Raises
    ------
    ValueError
        If there is not exactly one row.
    """
    if hasattr(x, "to_frame") and hasattr(x, "index"):  # a Series, whose index holds the feature names
        x = x.to_frame().T if named else x.to_numpy()
    elif not hasattr(x, "shape"):
        x = np.asarray(x)
    if len(x.shape) == 1:
        x = x.reshape(1, -1)
    if len(x.shape) != 2 or x.shape[0] != 1:
        raise ValueError(f"x has shape {tuple(x.shape)}: explain takes one row at a time, such as X[0].")
    return x


def explained(model: Any, X: Any, n_rows: int) -> Explanation:
    """What the probability of one row rests on.

    Parameters
    ----------
    model : BayesSVC
        Fitted.
    X : array or CSR matrix of shape (1, n_features)
        The row, checked.
    n_rows : int
        Largest number of supporting rows, and of opposing ones.
    """
    if not isinstance(n_rows, Integral) or n_rows < 0:
        raise ValueError(f"n_rows={n_rows!r} is not a number of rows: give a whole number, at least 0.")
    logs, two = model._log_proba(X), len(model.classes_) == 2
    k = int(decided(np.exp(logs), model.class_weight_)[0])
    problem = 0 if two else k
    supporting, opposing = influential_rows(model, X, k, n_rows)
    link = model._probabilities.links[problem]
    reading = model._reading(X)
    moderation = None if reading is None else link.moderation(reading.reshape(1, -1)[:, problem])
    moderation = None if moderation is None else float(moderation[0])
    values, interval = model._margins(X).reshape(1, -1), model._intervals(X)
    low, high = (interval[0] if k == 1 else 1.0 - interval[0, ::-1]) if two else interval[0, k]
    return Explanation(
        classes=model.classes_,
        probabilities=np.exp(logs[0]),
        predicted=model.classes_.tolist()[k],
        probability=float(np.exp(logs[0, k])),
        interval=(float(low), float(high)),
        moderation=moderation,
        distance=in_words(moderation),
        decision_value=float(values[0, problem]),
        intercept=float(model.intercept_[problem]),
        supporting=supporting,
        opposing=opposing,
    )


def influential_rows(
    model: Any, X: Any, k: int, n_rows: int
) -> tuple[tuple[InfluentialRow, ...], tuple[InfluentialRow, ...]]:
    """The training rows that contribute most for a class at one point, and those against it.

    Parameters
    ----------
    model : BayesSVC
        Fitted.
    X : array or CSR matrix of shape (1, n_features)
        The point, checked.
    k : int
        Number of the class.
    n_rows : int
        Largest number of rows of either kind.

    Returns
    -------
    supporting, opposing : tuple of InfluentialRow
        The largest contributions first.
    """
    # A compact model refuses this, and should do so before anything is computed.
    leaves = model._training is not None
    problem, sign = (0, 1.0 if k == 1 else -1.0) if len(model.classes_) == 2 else (k, 1.0)
    contribution = _contributions(model, X, problem)
    rows = [_largest(part, n_rows) for part in (sign * contribution, -sign * contribution)]
    found = _influential(model, X, contribution, np.concatenate(rows), problem, k, leaves)
    return found[: len(rows[0])], found[len(rows[0]) :]


def _contributions(model: Any, X: Any, problem: int) -> Array:
    """Contribution of each training row to the decision value of one machine at one point."""
    contribution = np.zeros(len(model.left_out_.y))
    if len(model.support_):
        cross = model.kernel_.to_training(X, model.support_vectors_, model.support_)
        contribution[model.support_] = model.dual_coef_[problem] * cross[0]
    return contribution


def _largest(contribution: Array, n_rows: int) -> Indices:
    """Rows of the largest contributions above 0, the first of equal ones first."""
    order = np.argsort(-contribution, kind="stable")[:n_rows]
    return order[contribution[order] > 0]


def _influential(
    model: Any, X: Any, contribution: Array, rows: Indices, problem: int, k: int, leaves: bool
) -> tuple[InfluentialRow, ...]:
    """Some training rows with their contributions, and what leaving out each of them would change."""
    value = probability = [None] * len(rows)
    if leaves and len(rows):
        values = _values_without(model, X, rows)
        reading = model._reading(X)
        repeated = None if reading is None else np.repeat(reading, len(rows), axis=0)
        margins = values[:, 0] if values.shape[1] == 1 else values
        value = values[:, problem].tolist()
        probability = np.exp(model._probabilities.logs(margins, repeated))[:, k].tolist()
    labels = model.classes_[model.left_out_.y[rows]].tolist()
    each = zip(rows.tolist(), labels, contribution[rows].tolist(), value, probability, strict=True)
    return tuple(InfluentialRow(*one) for one in each)


def _values_without(model: Any, X: Any, rows: Indices) -> Array:
    """Decision value at one point of all machines, each row left out alone: shape (n_rows, n_machines)."""
    solutions = [model.solution_] if isinstance(model.solution_, DualSolution) else model.solution_
    with one_blas_thread():
        machine = _machine_again(model, solutions[0])
        columns = []
        for number, solution in enumerate(solutions):
            problem = machine.problem(number)
            point = problem.group[rows]
            left = problem.bound[point] - problem.row_bound[rows]
            # What rounding leaves of a point whose only row this is counts as nothing.
            rest = np.where(left <= 1e-12 * problem.bound[point], 0.0, left)
            finder = Finder(replace(solution, problem=problem), Wanted(), remainders=True)
            found = finder.outcomes(Removals.of_points(point, rest))
            columns.append(found.values_at(machine.cross(problem, X))[:, 0])
    return np.column_stack(columns)


def _machine_again(model: Any, solution: DualSolution) -> Machine:
    """The machine of the fit, with its kernel matrix, from the training rows that are kept."""
    training = model._training
    return Machine.build(
        training.joined(model.support_, model.support_vectors_),
        training.y,
        model.classes_,
        model.kernel_,
        training.weight,
        solution.problem.row_bound,
    )

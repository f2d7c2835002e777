"""Exact leave-one-out values of support vector machines."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from bayes_svm._threads import one_blas_thread
from bayes_svm.leave_one_out.readings import Wanted, plan_of_rows, read_rows
from bayes_svm.leave_one_out.result import LeaveOneOut
from bayes_svm.machine import Machine, machine_of
from bayes_svm.solution import DualSolution

__all__ = ["LeaveOneOut", "leave_one_out", "read_machine"]

METHODS = ("path", "retrain")


def leave_one_out(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    method: str = "path",
    n_jobs: int | None = None,
) -> LeaveOneOut:
    r"""Decision value of every training point under the machine trained without it.

    .. math:: f^{(-r)}(x_r) \quad \text{for all } r

    The coefficient of the point left out shrinks from its optimum to 0 while all others are
    kept exactly optimal; between changes of the set of free points everything is linear in
    it. All paths share one factorisation, and the end of each is checked for optimality on
    all points.

    Parameters
    ----------
    estimator : SVC or BayesSVC, fitted or not
        A fitted binary one gives the solution to start from. More than two classes are
        taken one against the rest.
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data; the kernel matrix between the training points for a precomputed kernel.
    y : array of shape (n_samples,)
    sample_weight : array of shape (n_samples,), optional
        A weight of w stands for ``max(1, floor(w))`` equal copies of the row, one of which is
        left out, so that weights and repeated rows give the same values: the whole row for
        weights below 2. A row of weight 0 is absent, and gets the decision value of the whole
        machine.
    method : {"path", "retrain"}, default="path"
        "retrain" solves every remaining problem on its own from scratch: the slow reference.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    ValueError
        For an unknown method, or data that the estimator cannot be trained on.
    TypeError
        If the estimator lacks the parameters of :class:`sklearn.svm.SVC`.

    References
    ----------
    Cauwenberghs and Poggio, "Incremental and decremental support vector machine learning",
    NIPS 2000, for the path of a single point.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.svm import SVC
    >>> from bayes_svm import leave_one_out
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> loo = leave_one_out(SVC(C=1.0), scale(X), y)
    >>> round(loo.error, 4)
    0.0228
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not one of {METHODS}.")
    with one_blas_thread():
        machine, solutions = machine_of(estimator, X, y, sample_weight)
        for solution in solutions:
            warn_if_inexact(solution)
        wanted = Wanted(method=method, max_iter=estimator.max_iter, n_jobs=n_jobs)
        return read_machine(machine, solutions, wanted)


def warn_if_inexact(solution: DualSolution) -> None:
    """ConvergenceWarning naming the reason and the gap of a solution that is not exact."""
    if not solution.exact:
        warnings.warn(
            f"The solution is not exact: {solution.reason} (KKT residual {solution.kkt_residual:.2g}, "
            f"relative duality gap {solution.relative_gap:.2g}).",
            ConvergenceWarning,
            stacklevel=3,
        )


def read_machine(
    machine: Machine,
    solutions: list[DualSolution],
    wanted: Wanted = Wanted(),
) -> LeaveOneOut:
    """Leave-one-out of solved problems: the part of :func:`leave_one_out` after the fit."""
    started = time.perf_counter()
    train = [machine.values_on_rows(solution) for solution in solutions]
    readings = []
    for k, solution in enumerate(solutions):
        problem = machine.problem(k)
        plan = plan_of_rows(problem, machine.weight)
        readings.append(read_rows(problem, solution, train[k], plan, wanted))
    columns = {
        name: _joined([getattr(reading, name) for reading in readings])
        for name in ("values", "status", "events", "kkt_residual", "gap")
    }
    return LeaveOneOut(
        decision_values=columns["values"],
        train_decision_values=_joined(train),
        status=columns["status"],
        events=columns["events"],
        kkt_residual=columns["kkt_residual"],
        gap=columns["gap"],
        classes=machine.classes,
        y=machine.y,
        weight=machine.weight,
        seconds=time.perf_counter() - started,
    )


def _joined(columns: list[Any]) -> Any:
    """The only column, or all of them side by side."""
    return columns[0] if len(columns) == 1 else np.column_stack(columns)

"""Exact leave-one-out values of support vector machines."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.svm import SVC
from sklearn.utils import check_array

from bayes_svm.dual.from_estimator import machine_of, step_limit
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution, warn_if_inexact
from bayes_svm.leave_one_out.cases import groups_alone, rows_alone
from bayes_svm.leave_one_out.folds import fold_numbers, group_numbers
from bayes_svm.leave_one_out.leaving import Leaving
from bayes_svm.leave_one_out.methods import Wanted, iterate_parts
from bayes_svm.leave_one_out.outcomes import Outcomes
from bayes_svm.leave_one_out.result import LeaveOneOut, by_row, combined, joined
from bayes_svm.utils.checks import with_narrow_indices
from bayes_svm.utils.metaestimators import check_jobs, split_pipeline, warn_of_steps
from bayes_svm.utils.parallel import working_threads
from bayes_svm.utils.progress import shown
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices

__all__ = [
    "LeaveOneOut",
    "Store",
    "leave_one_out",
    "read_machine",
    "read_solution",
    "warn_if_inexact",
    "whole_readings",
]


METHODS = ("path", "certified", "warm", "retrain")


def leave_one_out(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    cv: Any = None,
    at: Any = None,
    method: str = "path",
    sign_only: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> LeaveOneOut:
    r"""Decision value of every training point under the machine trained without it.

    .. math:: f^{(-r)}(x_r) \quad \text{for all } r

    The coefficient of the point that is left out shrinks from its optimum to 0 while all others are
    kept exactly optimal. As long as the set of free points stays the same, everything is linear in this
    coefficient. All paths share one factorisation, and the end of each is checked for optimality on
    all points. Several points that leave together shrink along one common parameter.

    Parameters
    ----------
    estimator : SVC, BayesSVC or LinearSVC(loss="hinge"), or Pipeline that ends in one, fitted or not
        The machine to leave points out of. The other steps of a pipeline are fitted once, on all rows. A
        fitted binary SVC or BayesSVC gives the solution to start from. More than two classes are taken as the
        estimator takes them: in pairs for SVC, each against the rest otherwise.
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data; the kernel matrix between the training points for a precomputed kernel.
    y : array of shape (n_samples,)
        Class labels.
    sample_weight : array of shape (n_samples,), optional
        A weight of w stands for ``max(1, floor(w))`` equal copies of the row, one of which is
        left out: weights and repeated rows give the same values. For weights below 2 the whole row is
        left out. A row of weight 0 is absent, and gets the decision value of the whole
        machine. Groups are left out with all their weight.
    groups : array of shape (n_samples,), optional
        Group of each row. Groups are left out as a whole: each row gets the decision value of the
        machine trained without its group.
    cv : int, splitter or iterable, optional
        Folds that are left out as a whole, as for scikit-learn: exact k-fold cross-validation from one fit.
        Each row must be in exactly one test fold. ``groups`` is then passed to the splitter, which
        must keep groups whole. As with the other ways of leaving out, what the estimator computes from the
        rows stays that of all rows: ``gamma="scale"`` and ``class_weight="balanced"``.
        Cross-validation by scikit-learn computes them anew in each fold.
    at : array or sparse matrix of shape (n_at, n_features), optional
        Additional points, whose decision values are computed under each machine.
    method : {"path", "certified", "warm", "retrain"}, default="path"
        * "path": exact values along paths, as above.
        * "certified": the signs, by sequential minimal optimisation that stops as soon as a bound proves them
          (Franc et al., algorithm 3). The values are those of the last iterate. Only for single points,
          without ``at``, ``groups`` and ``cv``, and not for a LinearSVC.
        * "warm": the same without the proof, for the same machines; it stops at ``tol`` (their algorithms 1
          and 2).
        * "retrain": every remaining problem is solved from scratch. This is the slow reference.
    sign_only : bool, default=False
        Stop each path as soon as the sign of its value is known. ``y_r f(x_r)`` never rises along the path,
        and cannot fall faster than a known bound. The bound assumes, as the xi-alpha estimates do, that the
        machine without the point has a free support vector. The error is that of the full values; values that
        were not computed are NaN. Only for two classes and ``method="path"``, without ``at``, ``groups`` and
        ``cv``.
    n_jobs : int, optional
        Number of joblib's jobs: threads, or the backend of ``joblib.parallel_config``. The result does not
        depend on it.
    verbose : int, default=0
        1 shows the progress on stderr, if it takes more than two seconds.

    Returns
    -------
    LeaveOneOut
        Left-out decision values, how exact each of them is, and the error, recall, precision and F1 that
        they give.

    Raises
    ------
    ValueError
        If the method is unknown, options exclude each other, folds do not partition
        the rows, or the estimator cannot be trained on the data.
    TypeError
        If the estimator is not one of those above, ``cv`` is a class, or ``n_jobs`` is not an integer.
    MemoryError
        If the kernel matrix, the tableau, or the kernel values of the additional points do not fit.

    Warns
    -----
    ConvergenceWarning
        If the solution to start from is not exact.
    UserWarning
        If other steps of a pipeline see all rows.

    References
    ----------
    Cauwenberghs and Poggio, "Incremental and decremental support vector machine learning",
    NIPS 2000, for the path of a single point. Franc, Laskov and Mueller, "Stopping conditions
    for exact computation of leave-one-out error in support vector machines", ICML 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.svm import SVC
    >>> from bayes_svm import leave_one_out
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> round(leave_one_out(SVC(C=1.0), X, y).error, 4)
    0.0228
    >>> round(leave_one_out(SVC(C=1.0), X, y, cv=5).f1, 3)
    0.979
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not one of {METHODS}.")
    check_jobs(n_jobs)
    with shown(verbose > 0), one_blas_thread(), working_threads(n_jobs):
        warn_of_steps(estimator, "the left-out values")
        estimator, X, before = split_pipeline(estimator, X, y)
        at = at if before is None or at is None else before.transform(at)
        one_vs_one = isinstance(estimator, SVC)
        machine, solutions = machine_of(estimator, X, y, sample_weight, one_vs_one=one_vs_one)
        wanted = Wanted(
            method=method,
            sign_only=sign_only,
            tolerance=float(estimator.tol),
            max_iter=step_limit(estimator),
            n_jobs=n_jobs,
        )
        _check_options(machine, wanted, at, groups, cv)
        numbers = group_numbers(groups, len(machine.y))
        if cv is not None:
            numbers = fold_numbers(machine.X, y, numbers, cv, "cv")
        leaving = rows_alone(machine) if numbers is None else groups_alone(machine, numbers)
        values, _ = read_machine(machine, solutions, leaving, wanted, at=_checked_at(machine, at))
        return combined(values, estimator) if machine.one_vs_one else values


def _check_options(machine: Machine, wanted: Wanted, at: Any, groups: Any, cv: Any) -> None:
    """Raise ValueError for options that exclude each other."""
    grouped = groups is not None or cv is not None
    if wanted.sign_only and wanted.method != "path":
        raise ValueError(f"sign_only=True needs method='path', got method={wanted.method!r}.")
    if wanted.sign_only and machine.n_problems > 1:
        raise ValueError(
            "sign_only=True needs two classes: with more, the largest value decides, not its sign."
        )
    if wanted.sign_only and (at is not None or grouped):
        raise ValueError("sign_only=True stops before the values that at=, groups= and cv= ask for.")
    if wanted.method in ("certified", "warm") and (at is not None or grouped):
        raise ValueError(
            f"method={wanted.method!r} leaves out single points only: at=, groups= and cv= need "
            "method='path' or 'retrain'."
        )
    if wanted.method in ("certified", "warm") and machine.gram.n_null:
        raise ValueError(
            f"method={wanted.method!r} needs an intercept that is not regularised, as an SVC has: use "
            "method='path' or 'retrain'."
        )


def _checked_at(machine: Machine, at: Any) -> Any:
    """The additional points as float64, dense or CSR; None without any."""
    if at is None:
        return None
    at = with_narrow_indices(
        check_array(at, input_name="at", accept_sparse="csr", dtype=np.float64, accept_large_sparse=True)
    )
    if at.shape[1] != machine.X.shape[1]:
        raise ValueError(f"at has {at.shape[1]} features, X has {machine.X.shape[1]}.")
    return at


class Store(Protocol):
    """Keeps finished left-out values, so that an interrupted run can be continued.

    Attributes
    ----------
    values : array of shape (n_parts, n_problems)
        Left-out decision values.
    status : array of shape (n_parts, n_problems)
        Their status, as in :class:`LeaveOneOut`.
    """

    values: Array
    status: NDArray[np.str_]

    def missing(self, k: int) -> Indices:
        """Parts whose value under problem k is not known."""
        ...

    def add(self, k: int, parts: Indices, values: Array, status: NDArray[np.str_]) -> None:
        """Keep values of some parts."""
        ...


def read_machine(
    machine: Machine,
    solutions: Iterable[DualSolution],
    leaving: Leaving,
    wanted: Wanted,
    *,
    at: Any = None,
) -> tuple[LeaveOneOut, Array]:
    """Leave out every case of solved problems: the part of :func:`leave_one_out` after the fit.

    Parameters
    ----------
    machine : Machine
        The training data.
    solutions : iterable of DualSolution
        One for each of the machine's problems.
    leaving : Leaving
        What leaves together.
    wanted : Wanted
        How to leave out.
    at : array or CSR matrix of shape (n_at, n_features), optional
        Additional points, whose decision values are computed.

    Returns
    -------
    result : LeaveOneOut
        What is known of the rows.
    values : array of shape (n_parts,) or (n_parts, n_problems)
        Decision value of each part of ``leaving``. A row that stands for copies in several cases
        has several values.

    Warns
    -----
    ConvergenceWarning
        If a solution is not exact.
    """
    started = time.perf_counter()
    found, found_at = [], []
    for solution in solutions:
        warn_if_inexact(solution)
        whole, parts, values_at = read_solution(machine, solution, leaving, wanted, at=at)
        found.append((whole, parts))
        found_at.append(values_at)
    result = by_row(machine, leaving, found, time.perf_counter() - started)
    values = joined([parts.values for _, parts in found])
    return (result if at is None else replace(result, values_at=joined(found_at))), values


def read_solution(
    machine: Machine,
    solution: DualSolution,
    leaving: Leaving,
    wanted: Wanted,
    *,
    at: Any = None,
    store: Store | None = None,
    k: int = 0,
) -> tuple[Outcomes, Outcomes, Array]:
    """Leave out every case of one problem.

    Parameters
    ----------
    machine : Machine
        The training data.
    solution : DualSolution
        Solution of one of the machine's problems.
    leaving : Leaving
        What leaves together.
    wanted : Wanted
        How to leave out.
    at : array or CSR matrix of shape (n_at, n_features), optional
        Additional points, whose decision values are computed.
    store : Store, optional
        Keeps the values. Values that it has already are not computed again, and have no residual or gap.
    k : int
        Number of the problem in the store.

    Returns
    -------
    whole : Outcomes
        What is known of every row under the whole machine.
    parts : Outcomes
        What is known of every part of ``leaving``.
    values_at : array of shape (n_samples, n_at)
        Decision values at the additional points, of the machine without each row.
    """
    if at is None:
        cross, before = np.empty((0, len(solution.beta))), np.empty(0)
    else:
        cross = machine.cross(solution.problem, at)
        before = cross @ solution.beta + solution.intercept
    whole = whole_readings(machine, solution)
    parts, parts_at = whole.take(leaving.part_row, leaving.part_row), np.tile(before, (len(leaving.case), 1))
    missing = None if store is None else store.missing(k)
    for some, outcomes, values_at in iterate_parts(machine, solution, leaving, wanted, cross, missing):
        if store is not None:
            store.add(k, some, outcomes.values, outcomes.status)
        parts.put_rows(some, outcomes)
        parts_at[some] = values_at
    if store is not None:
        parts = Outcomes.of_values(store.values[:, k], store.status[:, k])
    return whole, parts, leaving.row_means(parts_at, np.broadcast_to(before, (len(machine.y), len(before))))


def whole_readings(machine: Machine, solution: DualSolution) -> Outcomes:
    """What is known of every row under the whole machine."""
    return Outcomes.of_whole(solution, machine.values_on_rows(solution))

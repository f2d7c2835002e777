"""The machine of a scikit-learn SVM and its training data, and its exact solutions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.svm import SVC, NuSVC
from sklearn.utils import check_array, check_consistent_length, column_or_1d, compute_class_weight

from bayes_svm.dual.machine import Machine
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solution import DualSolution
from bayes_svm.dual.solving import solve
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils.checks import (
    checked_labels,
    checked_square,
    checked_weights,
    class_weights,
    encode_classes,
    row_bounds,
    with_narrow_indices,
)
from bayes_svm.utils.metaestimators import check_instance
from bayes_svm.utils.progress import counted, step
from bayes_svm.utils.types import Array, Indices

__all__ = ["machine_of", "step_limit"]


# Parameters, as attributes, that make an estimator an SVC.
REQUIRED = ("C", "kernel", "degree", "gamma", "coef0", "class_weight", "tol", "max_iter")
# Parameters that make an estimator a LinearSVC, and the only value that is solved exactly here, or None for
# any.
REQUIRED_LINEAR = {
    "C": None, "class_weight": None, "tol": None, "fit_intercept": None, "intercept_scaling": None,
    "loss": "hinge", "penalty": "l2", "multi_class": "ovr",
}  # fmt: skip


def machine_of(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, one_vs_one: bool = False
) -> tuple[Machine, Iterator[DualSolution]]:
    """Machine of an SVC-like or LinearSVC-like estimator, and the exact solutions of its problems.

    The machine has the estimator's present parameters and the given data. Each solution is computed when
    the iterator reaches it; that of a fitted binary SVC starts from its coefficients.

    Parameters
    ----------
    estimator : SVC, BayesSVC or LinearSVC, fitted or not
        The estimator.
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data; the kernel matrix for a precomputed kernel.
    y : array of shape (n_samples,)
        Class labels.
    sample_weight : array of shape (n_samples,), optional
        Weight of each row; 1 by default.
    one_vs_one : bool
        For more than two classes, take them in pairs instead of each against the rest.

    Returns
    -------
    machine : Machine
        The training data and the kernel matrix.
    solutions : iterator of DualSolution
        The exact solution of each of the machine's problems.

    Raises
    ------
    TypeError
        If the estimator does not have the parameters of :class:`sklearn.svm.SVC` or
        :class:`sklearn.svm.LinearSVC`.
    ValueError
        If a fitted estimator was not fitted on X and y, or a LinearSVC has another loss than the hinge.
    """
    check_instance(estimator)
    linear = _is_linear_machine(estimator)
    estimator._validate_params()
    y = checked_labels(y)
    X = with_narrow_indices(
        check_array(X, input_name="X", accept_sparse="csr", dtype=np.float64, accept_large_sparse=True)
    )
    check_consistent_length(X, y)
    weight = checked_weights(sample_weight, X)
    classes, numbers = encode_classes(y, weight)
    fitted = hasattr(estimator, "classes_")
    known = hasattr(estimator, "dual_coef_")  # a linear machine may have kept weights only
    if fitted and not (
        np.array_equal(estimator.classes_, classes) and estimator.n_features_in_ == X.shape[1]
    ):
        raise ValueError("X, y are not what the estimator was fitted on: classes or features differ.")
    kernel = _linear_kernel(estimator) if linear else _kernel_of(estimator, X, weight)
    if kernel.precomputed:
        checked_square(X, X.shape[1])
        X = X.toarray() if sparse.issparse(X) else X
    bounds = row_bounds(
        estimator.C, _class_weight_of(estimator, classes, numbers, y, weight), numbers, weight
    )
    machine = Machine.build(X, numbers, classes, kernel, weight, bounds, int(linear))
    machine = replace(machine, one_vs_one=one_vs_one)
    return machine, _solutions(estimator, machine, started=known and not linear and machine.n_problems == 1)


def _solutions(estimator: Any, machine: Machine, started: bool) -> Iterator[DualSolution]:
    """Solutions of the machine's problems, one at a time: all together may not fit in memory."""
    for k in counted(range(machine.n_problems), "problems"):
        with step("solving"):
            problem = machine.problem(k)
            start = _coefficients_of(estimator, problem) if started else None
            solution = solve(problem, tol=estimator.tol, max_iter=step_limit(estimator), start=start)
        yield solution


def step_limit(estimator: Any) -> int:
    """``max_iter`` of an SVC; -1 for a LinearSVC, which counts the passes of another solver."""
    return -1 if _is_linear_machine(estimator) else int(estimator.max_iter)


def _is_linear_machine(estimator: Any) -> bool:
    """False for an SVC-like estimator, True for a LinearSVC-like one with the hinge loss."""
    # A subclass may set some of them itself. A NuSVC has a C that means nothing.
    missing = [name for name in REQUIRED if not hasattr(estimator, name)]
    missing += ["C"] if isinstance(estimator, NuSVC) else []
    if is_classifier(estimator) and not missing:
        return False
    if is_classifier(estimator) and all(hasattr(estimator, name) for name in REQUIRED_LINEAR):
        for name, value in REQUIRED_LINEAR.items():
            if value is not None and getattr(estimator, name) != value:
                raise ValueError(
                    f"{type(estimator).__name__}({name}={getattr(estimator, name)!r}) is not solved exactly "
                    f"here: use {name}={value!r}."
                )
        return True
    lack = f"it has no parameter {', '.join(missing)}" if missing else "it is not a classifier"
    raise TypeError(
        f"{type(estimator).__name__} is not an SVC, BayesSVC or LinearSVC: {lack}. Of a pipeline, pass "
        "the last step and the transformed X; of a fitted search, its best_estimator_."
    )


def _linear_kernel(estimator: Any) -> Kernel:
    """``x'z + s^2``, where s is the constant feature whose weight is the intercept."""
    constant = float(estimator.intercept_scaling) if estimator.fit_intercept else 0.0
    return Kernel("poly", gamma=1.0, degree=1, coef0=constant**2)


def _kernel_of(estimator: Any, X: Any, weight: Array) -> Kernel:
    """The kernel with the estimator's present parameters, which may differ from those it was fitted with."""
    # SVC's gamma="scale" ignores sample weights.
    kernel = Kernel.of(estimator, X, None if isinstance(estimator, SVC) else weight)
    fitted: Kernel | None = getattr(estimator, "kernel_", None)
    return fitted if fitted is not None and fitted == kernel else kernel


def _class_weight_of(
    estimator: Any, classes: NDArray[Any], numbers: Indices, y: ArrayLike, weight: Array
) -> Array:
    """Class weights as the estimator itself computes them from its parameters."""
    given = estimator.class_weight
    if isinstance(given, str) and isinstance(estimator, SVC):
        labels = np.asarray(column_or_1d(y))
        known = np.unique(labels)
        # SVC balances the numbers of rows, whatever their weights.
        balanced = compute_class_weight(given, classes=known, y=labels)
        return np.asarray(balanced[np.searchsorted(known, classes)])
    return class_weights(given, classes, numbers, weight)


def _coefficients_of(estimator: Any, problem: DualProblem) -> Array:
    """Signed coefficients of the merged points, from a fitted binary estimator."""
    coef = estimator.dual_coef_
    coef = np.asarray(coef.todense() if sparse.issparse(coef) else coef).ravel()
    rows = np.arange(len(problem.group))
    if isinstance(estimator, SVC):
        # SVC numbers its support vectors among the rows of positive weight.
        rows = (problem.group >= 0).nonzero()[0]
    if estimator.support_.max(initial=-1) >= len(rows):
        raise ValueError(
            "X has fewer rows than the estimator was fitted on, rows of weight zero not counted."
        )
    points = problem.group[rows[estimator.support_]]
    inside = points >= 0
    beta = np.zeros(len(problem.label))
    np.add.at(beta, points[inside], coef[inside])
    slack = 1e-6 * problem.bound
    if np.any(beta * problem.label < -slack):
        raise ValueError(
            "The signs of the estimator's dual coefficients do not fit y: pass the X and y it was fitted on."
        )
    # C or a weight may have been lowered since.
    if np.any(np.abs(beta) > problem.bound + slack):
        return np.zeros_like(beta)
    beta = np.clip(beta, problem.lower, problem.upper)
    return beta if abs(beta.sum()) <= 1e-9 * problem.bound.sum() else np.zeros_like(beta)

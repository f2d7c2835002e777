"""From an estimator and its training data to the dual problems they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.svm import SVC
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from bayes_svm._memory import require_bytes
from bayes_svm.kernels import Kernel, resolve_gamma, summed_entries
from bayes_svm.problem import DualProblem, copies_of_weight, first_occurrences, is_convex
from bayes_svm.solution import DualSolution, solve

__all__ = [
    "Machine",
    "check_members",
    "checked_square",
    "checked_weights",
    "encode_classes",
    "machine_of",
    "row_bounds",
    "with_narrow_indices",
]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

REQUIRED = ("C", "kernel", "degree", "gamma", "coef0", "class_weight", "tol", "max_iter")


@dataclass(frozen=True)
class Machine:
    """Training data of one SVM, its kernel matrix, and one dual problem per decision function.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Class numbers.
    classes : array of shape (n_classes,)
    kernel : Kernel
    weight : array of shape (n_samples,)
        Sample weights.
    row_bound : array of shape (n_samples,)
        ``C * sample_weight * class_weight``.
    gram : array of shape (n_distinct, n_distinct)
        Kernel values between the distinct rows of positive weight.
    row_of : array of shape (n_samples,)
        The distinct row of each sample, -1 for weight zero.
    convex : bool
        Whether the kernel is positive semi-definite on the training points.
    """

    X: Any
    y: Indices
    classes: NDArray[Any]
    kernel: Kernel
    weight: Array
    row_bound: Array
    gram: Array
    row_of: Indices
    convex: bool

    @classmethod
    def build(
        cls, X: Any, y: Indices, classes: NDArray[Any], kernel: Kernel, weight: Array, row_bound: Array
    ) -> Machine:
        """Evaluate the kernel on the distinct rows.

        Raises
        ------
        MemoryError
            If the kernel matrix and the leave-one-out tableau do not fit.
        ValueError
            If the kernel matrix is not symmetric or not finite.
        """
        used = np.flatnonzero(row_bound > 0)
        if kernel.precomputed:
            _require_memory(len(used))
            gram_used = np.ascontiguousarray(X[np.ix_(used, used)])
            distinct, number = first_occurrences(gram_used)
            gram = gram_used[np.ix_(distinct, distinct)]
            same_point = np.array_equal(gram_used, gram[np.ix_(number, number)])
            if not same_point:  # equal rows of unequal columns: not one point after all
                distinct, number, gram = np.arange(len(used)), np.arange(len(used)), gram_used
        else:
            distinct, number = first_occurrences(X[used])
            _require_memory(len(distinct))
            rows = X[used[distinct]]
            gram = kernel(rows, rows)
            if callable(kernel.function):
                gram = gram.copy()  # it may be the caller's own
        row_of = np.full(X.shape[0], -1, dtype=np.intp)
        row_of[used] = number
        _make_symmetric(gram, kernel)
        convex = kernel.positive_semidefinite or is_convex(gram)
        return cls(X, y, classes, kernel, weight, row_bound, gram, row_of, convex)

    @property
    def n_problems(self) -> int:
        """1 for two classes, otherwise one per class."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def problem(self, k: int) -> DualProblem:
        """Dual problem of class k against the rest (of class 1, for two classes)."""
        positive = self.y == (1 if self.n_problems == 1 else k)
        return DualProblem.merge(
            self.gram, self.row_of, np.where(positive, 1.0, -1.0), self.row_bound, self.convex
        )

    def values_on_rows(self, solution: DualSolution) -> Array:
        """Decision value of every training row, rows of weight zero included."""
        values = np.empty(len(self.y))
        used = solution.group >= 0
        values[used] = solution.values[solution.group[used]]
        absent = np.flatnonzero(~used)
        if len(absent):
            beta = solution.row_beta
            support = np.flatnonzero(beta)
            values[absent] = solution.intercept
            if len(support):  # none where the numbers are beyond double precision
                cross = self.kernel.to_training(self.X[absent], self.X[support], support)
                values[absent] += cross @ beta[support]
        return values


def _require_memory(n_distinct: int) -> None:
    """The kernel matrix, the tableau, and room to work in."""
    require_bytes(
        3 * 8 * n_distinct**2,
        f"An exact SVM on {n_distinct} different training points",
        "Fit on fewer points: a stratified subsample, or the rows that matter most.",
    )


def _make_symmetric(gram: Array, kernel: Kernel, tile: int = 256) -> None:
    """Average out, in place, the rounding differences between the halves of a kernel matrix."""
    size = len(gram)
    tolerance = 1e-8 * max(float(gram.max(initial=0.0)), -float(gram.min(initial=0.0)))
    for i in range(0, size, tile):
        for j in range(i, size, tile):
            upper, lower = gram[i : i + tile, j : j + tile], gram[j : j + tile, i : i + tile]
            mirrored = np.ascontiguousarray(lower.T)
            difference = float(np.abs(upper - mirrored).max())
            if difference > tolerance:
                raise ValueError(
                    f"The kernel {kernel} is not symmetric: k(x, z) and k(z, x) differ by up to "
                    f"{difference:.3g}."
                )
            if difference > 0:
                mirrored += upper
                mirrored /= 2
                upper[...] = mirrored
                lower[...] = mirrored.T


def with_narrow_indices(X: Any) -> Any:
    """A sparse matrix as CSR, entries summed, 32-bit indices where they fit; dense arrays unchanged."""
    if not sparse.issparse(X):
        return X
    X = summed_entries(X.tocsr())
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) < np.iinfo(np.int32).max:
        X = X.copy()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def encode_classes(y: ArrayLike, weight: Array) -> tuple[NDArray[Any], Indices]:
    """Sorted classes of the rows of positive weight, and the class number of every row.

    Rows of weight zero are absent: one whose label no other row has gets the number -1.

    Raises
    ------
    ValueError
        If y is not a classification target, or holds a single class.
    """
    labels: NDArray[Any] = np.asarray(column_or_1d(y, warn=True))
    check_classification_targets(labels)
    classes = np.unique(labels[weight > 0])
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only ({classes[0]!r}, among rows of positive weight): a classifier "
            "needs at least 2 classes."
        )
    numbers = np.searchsorted(classes, labels)
    known = numbers < len(classes)
    known[known] = classes[numbers[known]] == labels[known]
    return classes, np.where(known, numbers, -1)


def row_bounds(
    C: float, classes: NDArray[Any], y: Indices, weight: Array, class_weight: Mapping[Any, float] | str | None
) -> Array:
    """Upper bound ``C * sample_weight * class_weight`` of every row.

    "balanced" counts each row with its weight: ``total / (n_classes * weight of the class)``,
    so that a row of weight 2 equals the row given twice.

    Raises
    ------
    ValueError
        If C is not finite, or a class weight is not above 0 or names no class.
    """
    if not np.isfinite(C):
        raise ValueError(f"C={C} is not finite: for a hard margin choose a large number, 1e6 say.")
    if class_weight is None:
        factor = np.ones(len(classes))
    elif isinstance(class_weight, str):
        mass = np.bincount(y[weight > 0], weights=weight[weight > 0])
        factor = mass.sum() / (len(classes) * mass)
    else:
        unknown = set(class_weight) - set(classes.tolist())
        if unknown:
            raise ValueError(f"class_weight names classes that y does not hold: {sorted(map(str, unknown))}.")
        factor = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
        if np.any(factor <= 0) or not np.isfinite(factor).all():
            raise ValueError("class_weight must be finite and above 0 for every class.")
    return np.asarray(C * weight * factor[y])


def checked_weights(sample_weight: ArrayLike | None, X: Any) -> Array:
    """Sample weights as floats: finite, none negative, not all zero.

    Raises
    ------
    ValueError
    """
    weight = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
    if np.any(weight < 0):
        raise ValueError("sample_weight holds negative values: weights must be at least 0.")
    if not np.any(weight > 0):
        raise ValueError("sample_weight is zero for every row: at least one must be positive.")
    return weight


def check_members(classes: NDArray[Any], y: Indices, weight: Array) -> None:
    """Raise ValueError unless every class has two members, a row of weight 2 counting as two."""
    used = weight > 0
    members = np.bincount(y[used], weights=copies_of_weight(weight[used]))
    if members.min() < 2:
        raise ValueError(
            f"Class {classes[members.argmin()]!r} has 1 member: every class needs at least 2, one to "
            "leave out and one to learn from. Merge or drop the class, or add members."
        )


def checked_square(X: Any, n_features: int) -> None:
    """Raise ValueError unless a precomputed training kernel is square."""
    if X.shape[0] != n_features:
        raise ValueError(
            f"kernel='precomputed' needs the square matrix of kernel values between the training "
            f"points, got shape {X.shape[0], n_features}."
        )


def machine_of(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> tuple[Machine, list[DualSolution]]:
    """Machine and exact solutions of an SVC-like estimator on its training data.

    A fitted SVC is the starting point of the solution, and its classes, class weights and
    gamma are used; otherwise the machine is trained from the estimator's parameters.

    Raises
    ------
    TypeError
        If the estimator lacks the parameters of :class:`sklearn.svm.SVC`.
    ValueError
        If X, y are not what a fitted estimator was fitted on.
    """
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    missing = [name for name in REQUIRED if name not in parameters]
    if missing or not is_classifier(estimator):
        lack = f"it has no parameter {', '.join(missing)}" if missing else "it is not a classifier"
        raise TypeError(
            f"{type(estimator).__name__} is not an SVC or BayesSVC: {lack}. For a pipeline, pass its "
            "last step and the transformed X."
        )
    estimator._validate_params()
    X = with_narrow_indices(check_array(X, accept_sparse="csr", dtype=np.float64, accept_large_sparse=True))
    check_consistent_length(X, y)
    weight = checked_weights(sample_weight, X)
    classes, numbers = encode_classes(y, weight)
    fitted = hasattr(estimator, "classes_")
    if fitted and not (
        np.array_equal(estimator.classes_, classes) and estimator.n_features_in_ == X.shape[1]
    ):
        raise ValueError("X, y are not what the estimator was fitted on: classes or features differ.")
    if estimator.kernel == "precomputed":
        checked_square(X, X.shape[1])
        X = X.toarray() if sparse.issparse(X) else X
    kernel = getattr(estimator, "kernel_", None) or Kernel(
        estimator.kernel,
        gamma=_gamma_of(estimator, X, weight),
        degree=estimator.degree,
        coef0=estimator.coef0,
    )
    bounds = row_bounds(estimator.C, classes, numbers, weight, _class_weight_of(estimator, classes))
    machine = Machine.build(X, numbers, classes, kernel, weight, bounds)
    solutions = []
    for k in range(machine.n_problems):
        problem = machine.problem(k)
        start = _coefficients_of(estimator, problem) if fitted and machine.n_problems == 1 else None
        solutions.append(solve(problem, tol=estimator.tol, max_iter=estimator.max_iter, start=start))
    return machine, solutions


def _gamma_of(estimator: Any, X: Any, weight: Array) -> float:
    if isinstance(estimator, SVC):
        # SVC's own "scale" knows no weights, and a fitted one has resolved it already.
        return float(estimator._gamma) if hasattr(estimator, "_gamma") else resolve_gamma(estimator.gamma, X)
    return resolve_gamma(estimator.gamma, X, weight)


def _class_weight_of(estimator: Any, classes: NDArray[Any]) -> Mapping[Any, float] | str | None:
    if isinstance(estimator, SVC) and hasattr(estimator, "class_weight_"):
        return dict(zip(classes.tolist(), estimator.class_weight_, strict=True))
    weights: Mapping[Any, float] | str | None = estimator.class_weight
    return weights


def _coefficients_of(estimator: Any, problem: DualProblem) -> Array:
    """Signed coefficients of the merged points, from a fitted binary estimator."""
    coef = estimator.dual_coef_
    coef = np.asarray(coef.todense() if sparse.issparse(coef) else coef).ravel()
    rows = np.arange(len(problem.group))
    if isinstance(estimator, SVC):
        rows = np.flatnonzero(problem.group >= 0)  # SVC numbers its support among rows of positive weight
    if estimator.support_.max(initial=-1) >= len(rows):
        raise ValueError(
            "X has fewer rows than the estimator was fitted on, rows of weight zero not counted."
        )
    points = problem.group[rows[estimator.support_]]
    inside = points >= 0
    beta = np.zeros(len(problem.label))
    np.add.at(beta, points[inside], coef[inside])
    slack = 1e-6 * problem.bound
    if np.any(beta < problem.lower - slack) or np.any(beta > problem.upper + slack):
        raise ValueError(
            "The estimator's dual coefficients do not fit y and C * sample_weight: pass the X, y and "
            "sample_weight it was fitted on."
        )
    beta = np.clip(beta, problem.lower, problem.upper)
    return beta if abs(beta.sum()) <= 1e-9 * problem.bound.sum() else np.zeros_like(beta)

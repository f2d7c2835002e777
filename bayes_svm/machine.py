"""From an estimator and its training data to the dual problems they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.svm import SVC
from sklearn.utils import check_array, check_consistent_length, column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from bayes_svm._matrix import block
from bayes_svm._memory import require_bytes
from bayes_svm._meta import check_instance
from bayes_svm.kernel_matrix import FEWER_POINTS, KernelMatrix
from bayes_svm.kernels import Kernel, make_symmetric, summed_entries
from bayes_svm.problem import DualProblem, copies_of_weight, first_occurrences, is_convex
from bayes_svm.solution import DualSolution, solve

__all__ = [
    "Machine",
    "check_members",
    "checked_labels",
    "checked_square",
    "checked_weights",
    "class_weights",
    "encode_classes",
    "machine_of",
    "row_bounds",
    "step_limit",
    "with_narrow_indices",
]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SMALLEST_BOUND, LARGEST_TOTAL = float(np.finfo(float).tiny), 1e303  # of the coefficients
REQUIRED = ("C", "kernel", "degree", "gamma", "coef0", "class_weight", "tol", "max_iter")
REQUIRED_LINEAR = {
    "C": None, "class_weight": None, "tol": None, "fit_intercept": None, "intercept_scaling": None,
    "loss": "hinge", "penalty": "l2", "multi_class": "ovr",
}  # fmt: skip


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
    gram : KernelMatrix
        Kernel values between the distinct rows of positive weight, and of a null point.
    row_of : array of shape (n_samples,)
        The distinct row of each sample, -1 for weight zero.
    convex : bool
        Whether the kernel is positive semi-definite on the training points.
    n_null : int
        1 where the intercept is regularised, and part of the kernel: see
        :class:`bayes_svm.problem.DualProblem`.
    one_vs_one : bool
        For more than two classes, whether each is set against each other one instead of the rest.
    """

    X: Any
    y: Indices
    classes: NDArray[Any]
    kernel: Kernel
    weight: Array
    row_bound: Array
    gram: KernelMatrix
    row_of: Indices
    convex: bool
    n_null: int = 0
    one_vs_one: bool = False
    _last_problem: list[tuple[int, DualProblem]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @classmethod
    def build(
        cls,
        X: Any,
        y: Indices,
        classes: NDArray[Any],
        kernel: Kernel,
        weight: Array,
        row_bound: Array,
        n_null: int = 0,
        one_vs_one: bool = False,
    ) -> Machine:
        """Evaluate the kernel on the distinct rows.

        Raises
        ------
        MemoryError
            If a kernel matrix that is needed as a whole does not fit.
        ValueError
            If the kernel matrix is not symmetric or not finite.
        """
        used = np.flatnonzero(row_bound > 0)
        if kernel.precomputed:
            n_used = len(used)
            require_bytes(18 * n_used**2, f"An exact SVM on {n_used} different training points", FEWER_POINTS)
            gram_used = np.ascontiguousarray(X[np.ix_(used, used)])
            distinct, number = first_occurrences(gram_used)
            values = block(gram_used, distinct, distinct)
            same_point = np.array_equal(gram_used, values[np.ix_(number, number)])
            if not same_point:  # equal rows of unequal columns: not one point after all
                distinct, number, values = np.arange(len(used)), np.arange(len(used)), gram_used
            make_symmetric(values, str(kernel))
            gram = KernelMatrix.of(values)
        else:
            distinct, number = first_occurrences(X[used])
            gram = KernelMatrix(kernel, X[used[distinct]], n_null)
        row_of = np.full(X.shape[0], -1, dtype=np.intp)
        row_of[used] = number
        convex = kernel.positive_semidefinite or is_convex(gram.whole())
        return cls(X, y, classes, kernel, weight, row_bound, gram, row_of, convex, n_null, one_vs_one)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Classes that are positive and negative in each problem, one-against-one."""
        return list(combinations(range(len(self.classes)), 2))

    @property
    def n_problems(self) -> int:
        """1 for two classes, otherwise one per class, or one per pair of classes."""
        if len(self.classes) == 2:
            return 1
        return len(self.pairs) if self.one_vs_one else len(self.classes)

    def problem(self, k: int) -> DualProblem:
        """The k-th dual problem.

        Two classes: class 1 against class 0. More: class k against the rest; or the k-th pair,
        the first of the pair positive, as in :class:`sklearn.svm.SVC`. The last one asked for is
        kept, with what it has factorised.
        """
        for number, problem in self._last_problem:
            if number == k:
                return problem
        problem = self._make_problem(k)
        self._last_problem[:] = [(k, problem)]
        return problem

    def _make_problem(self, k: int) -> DualProblem:
        row_of = self.row_of
        if self.n_problems == 1:
            positive = self.y == 1
        elif self.one_vs_one:
            first, second = self.pairs[k]
            positive = self.y == first
            row_of = np.where(positive | (self.y == second), row_of, -1)
        else:
            positive = self.y == k
        label = np.where(positive, 1.0, -1.0)
        return DualProblem.merge(self.gram, row_of, label, self.row_bound, self.convex, self.n_null)

    def values_on_rows(self, solution: DualSolution) -> Array:
        """Decision value of every training row, also of those the problem does not have."""
        values = np.empty(len(self.y))
        used = solution.group >= 0
        values[used] = solution.values[solution.group[used]]
        beta = solution.row_beta
        support = np.flatnonzero(beta)
        other = np.flatnonzero(~used & (self.row_of >= 0))
        if len(other):
            summed: Array = np.bincount(
                self.row_of[support], weights=beta[support], minlength=len(self.gram)
            ).astype(float)
            values[other] = self.gram.product(summed)[self.row_of[other]] + solution.intercept
        absent = np.flatnonzero(self.row_of < 0)
        if len(absent):
            values[absent] = solution.intercept
            if len(support):  # none where the numbers are beyond double precision
                for part, cross in self.kernel.blocks(self.X[absent], self.X[support], support):
                    values[absent[part]] += cross @ beta[support]
        return values

    def cross(self, problem: DualProblem, X: Any) -> Array:
        """Kernel values between some points and those of a problem, the null point's zeros last.

        Raises
        ------
        MemoryError
            If they do not fit.
        """
        n_points = len(problem.label)
        require_bytes(
            8 * X.shape[0] * n_points,
            f"Kernel values between {X.shape[0]} points and {n_points} training points",
            "Ask for fewer points at a time.",
        )
        rows = np.unique(problem.group[problem.group >= 0], return_index=True)[1]
        rows = np.flatnonzero(problem.group >= 0)[rows]
        values = np.zeros((X.shape[0], n_points))
        if X.shape[0]:
            values[:, : len(rows)] = self.kernel.to_training(X, self.X[rows], rows)
        return values


def with_narrow_indices(X: Any) -> Any:
    """A sparse matrix as CSR, entries summed, 32-bit indices where they fit; dense arrays unchanged."""
    if not sparse.issparse(X):
        return X
    X = summed_entries(X.tocsr())
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) < np.iinfo(np.int32).max:
        X = X.copy()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def checked_labels(y: ArrayLike) -> NDArray[Any]:
    """Labels as an array of shape (n_samples,).

    Raises
    ------
    ValueError
        If there are none, or they have another shape.
    """
    if y is None:
        raise ValueError(
            "This requires y to be passed, but the target y is None: give the labels, one for each row of X."
        )
    return np.asarray(column_or_1d(y, warn=True))


def encode_classes(y: ArrayLike, weight: Array) -> tuple[NDArray[Any], Indices]:
    """Sorted classes of the rows of positive weight, and the class number of every row.

    Rows of weight zero are absent: one whose label no other row has gets the number -1.

    Raises
    ------
    ValueError
        If y is not a classification target, or holds a single class.
    """
    labels = checked_labels(y)
    check_classification_targets(labels)
    classes = np.unique(labels[weight > 0])
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only ({classes.tolist()[0]!r}, among rows of positive weight): a classifier "
            "needs at least 2 classes."
        )
    numbers = np.searchsorted(classes, labels)
    known = numbers < len(classes)
    known[known] = classes[numbers[known]] == labels[known]
    return classes, np.where(known, numbers, -1)


def class_weights(
    given: Mapping[Any, float] | str | None, classes: NDArray[Any], y: Indices, weight: Array
) -> Array:
    """Weight of every class, 1 where none is given.

    "balanced" counts each row with its weight: ``total / (n_classes * weight of the class)``,
    so that a row of weight 2 equals the row given twice.

    Raises
    ------
    ValueError
        If a class weight is not above 0, or names no class where another has none.
    """
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str):
        mass = np.bincount(y[weight > 0], weights=weight[weight > 0])
        return np.asarray(mass.sum() / (len(classes) * mass))
    names = classes.tolist()
    unknown = set(given) - set(names)
    # As in scikit-learn: a dict that weights every class may weight others too, those of other folds.
    if unknown and not set(names) <= set(given):
        raise ValueError(f"class_weight names classes that y does not hold: {sorted(map(str, unknown))}.")
    for label, factor in given.items():
        if not (isinstance(factor, Real) and 0 < factor < np.inf):
            raise ValueError(f"class_weight[{label!r}]={factor!r} is no weight: give finite numbers above 0.")
    return np.array([float(given.get(label, 1.0)) for label in names])


def row_bounds(C: float, class_weight: Array, y: Indices, weight: Array) -> Array:
    """Upper bound ``C * sample_weight * class_weight`` of every row.

    Raises
    ------
    ValueError
        If C is not finite, or the bounds or their sum leave double precision.
    """
    if not np.isfinite(C):
        raise ValueError(f"C={C} is not finite: for a hard margin choose a large number, 1e6 say.")
    with np.errstate(over="ignore", under="ignore"):
        bounds = np.asarray(C * (weight * class_weight[y]))
        total = float(bounds.sum())
    least = float(bounds[weight > 0].min())
    if least < SMALLEST_BOUND or not total < LARGEST_TOTAL:
        raise ValueError(
            f"C * sample_weight * class_weight is {least:.3g} for one row and {total:.3g} in all, with "
            f"C={C:g}: double precision needs it to be at least {SMALLEST_BOUND:.3g} for each row, and less "
            f"than {LARGEST_TOTAL:g} in all. Choose C, sample_weight and class_weight nearer to 1."
        )
    return bounds


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
            f"Class {classes.tolist()[members.argmin()]!r} has 1 member: every class needs at least 2, "
            "one to leave out and one to learn from. Merge or drop the class, or add members."
        )


def checked_square(X: Any, n_features: int) -> None:
    """Raise ValueError unless a precomputed training kernel is square."""
    if X.shape[0] != n_features:
        raise ValueError(
            f"kernel='precomputed' needs the square matrix of kernel values between the training "
            f"points, got shape {X.shape[0], n_features}."
        )


def machine_of(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, one_vs_one: bool = False
) -> tuple[Machine, list[DualSolution]]:
    """Machine and exact solutions of an SVC-like or LinearSVC-like estimator on its training data.

    The machine is that of the estimator's parameters as they are now, trained on these data. The
    coefficients of a fitted SVC are the starting point of the solution.

    Parameters
    ----------
    estimator : SVC, BayesSVC or LinearSVC, fitted or not
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    sample_weight : array of shape (n_samples,), optional
    one_vs_one : bool
        For more than two classes, take them in pairs instead of one against the rest.

    Raises
    ------
    TypeError
        If the estimator has not the parameters of :class:`sklearn.svm.SVC` or
        :class:`sklearn.svm.LinearSVC`.
    ValueError
        If X, y are not what a fitted estimator was fitted on, or a LinearSVC has another loss
        than the hinge.
    """
    check_instance(estimator)
    linear = _is_linear_machine(estimator)
    estimator._validate_params()
    y = checked_labels(y)
    X = with_narrow_indices(check_array(X, accept_sparse="csr", dtype=np.float64, accept_large_sparse=True))
    check_consistent_length(X, y)
    weight = checked_weights(sample_weight, X)
    classes, numbers = encode_classes(y, weight)
    fitted = hasattr(estimator, "classes_")
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
    machine = Machine.build(X, numbers, classes, kernel, weight, bounds, int(linear), one_vs_one)
    solutions = []
    for k in range(machine.n_problems):
        problem = machine.problem(k)
        one_fit = fitted and not linear and machine.n_problems == 1
        start = _coefficients_of(estimator, problem) if one_fit else None
        max_iter = step_limit(estimator)
        solutions.append(solve(problem, tol=estimator.tol, max_iter=max_iter, start=start))
    return machine, solutions


def step_limit(estimator: Any) -> int:
    """``max_iter`` of an SVC; -1 for a LinearSVC, whose iterations are passes of another solver."""
    return -1 if _is_linear_machine(estimator) else int(estimator.max_iter)


def _is_linear_machine(estimator: Any) -> bool:
    """False for an SVC-like estimator, True for a LinearSVC-like one with the hinge loss."""
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    missing = [name for name in REQUIRED if name not in parameters]
    if is_classifier(estimator) and not missing:
        return False
    if is_classifier(estimator) and all(name in parameters for name in REQUIRED_LINEAR):
        for name, value in REQUIRED_LINEAR.items():
            if value is not None and parameters[name] != value:
                raise ValueError(
                    f"{type(estimator).__name__}({name}={parameters[name]!r}) is not solved exactly "
                    f"here: use {name}={value!r}."
                )
        return True
    lack = f"it has no parameter {', '.join(missing)}" if missing else "it is not a classifier"
    raise TypeError(
        f"{type(estimator).__name__} is not an SVC, BayesSVC or LinearSVC: {lack}. For a pipeline, pass its "
        "last step and the transformed X."
    )


def _linear_kernel(estimator: Any) -> Kernel:
    """``x'z`` plus the square of the constant feature, whose weight is the intercept."""
    constant = float(estimator.intercept_scaling) if estimator.fit_intercept else 0.0
    return Kernel("poly", gamma=1.0, degree=1, coef0=constant**2)


def _kernel_of(estimator: Any, X: Any, weight: Array) -> Kernel:
    """The kernel that the estimator's parameters mean on X, whatever they were when it was fitted."""
    # SVC's own "scale" knows no weights.
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
        # SVC counts rows, whatever their weight.
        balanced = compute_class_weight(given, classes=known, y=labels)
        return np.asarray(balanced[np.searchsorted(known, classes)])
    return class_weights(given, classes, numbers, weight)


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
    if np.any(beta * problem.label < -slack):
        raise ValueError(
            "The signs of the estimator's dual coefficients do not fit y: pass the X and y it was fitted on."
        )
    if np.any(np.abs(beta) > problem.bound + slack):  # C or a weight has been lowered since
        return np.zeros_like(beta)
    beta = np.clip(beta, problem.lower, problem.upper)
    return beta if abs(beta.sum()) <= 1e-9 * problem.bound.sum() else np.zeros_like(beta)

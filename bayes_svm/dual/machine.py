"""The training data of one SVM, and the dual problems that they mean."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayes_svm._core.matrix import block
from bayes_svm.dual.problem import DualProblem, first_occurrences, is_convex
from bayes_svm.dual.solution import DualSolution
from bayes_svm.kernels.arrays import make_symmetric
from bayes_svm.kernels.gram import FEWER_POINTS, KernelMatrix
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array, Indices

__all__ = ["Machine"]


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
        :class:`bayes_svm.dual.problem.DualProblem`.
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
        the first of the pair positive, as in :class:`sklearn.svm.SVC`. It may have a kernel matrix of its
        own: ask for it once, and leave it to the solution.
        """
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
        group = solution.problem.group
        used = group >= 0
        values[used] = solution.values[group[used]]
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

"""The training data of one SVM, and its dual problems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayes_svm._core.matrix import block
from bayes_svm.dual.order import (
    Words,
    rank_by,
    rank_of_rows,
    rank_of_sets,
    shuffled,
    squared_distances_from_mean,
)
from bayes_svm.dual.problem import DualProblem, distinct_rows, is_convex
from bayes_svm.dual.solution import DualSolution
from bayes_svm.kernels.arrays import make_symmetric
from bayes_svm.kernels.choice import ALL_AT_ONCE, held, kernel_matrix
from bayes_svm.kernels.gram import FEWER_POINTS, KernelMatrix, WholeMatrix
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.types import Array, Indices

__all__ = ["Machine"]

# Distances are rounded to so many decimals of a unit that is no simple fraction of them. It is at least this
# share of the numbers that they are differences of, so that rounding errors are no differences.
GOLDEN, DECIMALS, LEAST_UNIT = 0.6180339887498949, 9, 1e-3
# Bounds of a copy that differ by no more than this share are equal.
SAME_UNIT = 1e-12


@dataclass(frozen=True)
class Machine:
    """Training data of one SVM, its kernel matrix, and one dual problem per decision function.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Feature vectors; the kernel matrix for a precomputed kernel.
    y : array of shape (n_samples,)
        Class numbers.
    classes : array of shape (n_classes,)
        Labels of the classes.
    kernel : Kernel
        The kernel function with its parameters.
    weight : array of shape (n_samples,)
        Sample weights.
    row_bound : array of shape (n_samples,)
        ``C * sample_weight * class_weight``.
    gram : KernelMatrix
        Kernel values between the distinct rows of positive weight, and the null point if there is one.
    row_of : array of shape (n_samples,)
        Number of each sample's distinct row, -1 for weight zero.
    keys : array of shape (n_distinct,)
        First hashes of the distinct rows: see :mod:`bayes_svm.dual.order`. None for a precomputed kernel.
    convex : bool
        Whether the kernel is positive semi-definite on the training points.
    one_vs_one : bool
        For more than two classes, whether there is a problem for each pair of classes, instead of one for
        each class against the rest.
    """

    X: Any
    y: Indices
    classes: NDArray[Any]
    kernel: Kernel
    weight: Array
    row_bound: Array
    gram: KernelMatrix
    row_of: Indices
    keys: Words | None
    convex: bool
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
    ) -> Machine:
        """Evaluate the kernel on the distinct rows. Classes are taken against the rest.

        The parameters are those of the class, and ``n_null``, the number of null points: 1 where the
        intercept is regularised and part of the kernel, see :class:`bayes_svm.dual.problem.DualProblem`.

        Raises
        ------
        MemoryError
            If a kernel matrix that is needed as a whole does not fit.
        ValueError
            If the kernel matrix is not symmetric or not finite.
        """
        gram: KernelMatrix
        used = (row_bound > 0).nonzero()[0]
        if kernel.precomputed:
            n_used = len(used)
            require_bytes(18 * n_used**2, f"An exact SVM on {n_used} different training points", FEWER_POINTS)
            gram_used = np.ascontiguousarray(X[np.ix_(used, used)])
            distinct, number, _ = distinct_rows(gram_used)
            values = np.empty((len(distinct), len(distinct)))
            block(gram_used, distinct, distinct, values)
            same_point = np.array_equal(gram_used, values[np.ix_(number, number)])
            # Equal rows whose columns differ are not one point.
            if not same_point:
                distinct, number, values = np.arange(len(used)), np.arange(len(used)), gram_used
            make_symmetric(values, str(kernel))
            gram, keys = WholeMatrix(values), None
        else:
            distinct, number, keys = distinct_rows(X[used])
            gram = kernel_matrix(kernel, X[used[distinct]], n_null)
        row_of = np.full(X.shape[0], -1, dtype=np.intp)
        row_of[used] = number
        convex = kernel.positive_semidefinite or is_convex(gram.whole())
        return cls(X, y, classes, kernel, weight, row_bound, gram, row_of, keys, convex)

    def for_many_problems(self) -> Machine:
        """The same, with the kernel values in memory if there are not too many: they are read often."""
        return replace(self, gram=held(self.gram))

    @cached_property
    def content_rank(self) -> Indices:
        """Rank of each distinct row by what it holds: see :mod:`bayes_svm.dual.order`."""
        if self.keys is None:
            return rank_of_sets(self.gram.whole())
        return rank_of_rows(self.X, self._distinct, self.keys)

    @cached_property
    def radial_rank(self) -> Indices:
        """Rank of each distinct row by its distance from the mean; of equally far ones, by ``content_rank``.

        The distance is that of the feature vector from the weighted mean of all; beyond 6000 rows, unless the
        kernel is precomputed, from the feature vector of the mean row. Where no rows are equally far, a small
        change of the data changes the rank little, while ``content_rank`` is as good as random.
        """
        return rank_by(self._feature_distances, self.content_rank)

    @cached_property
    def shuffled_rank(self) -> Indices:
        """Rank of each distinct row in an order as good as random, in which strata and folds are dealt.

        It is the rank by the distance of the row itself from the weighted mean, shuffled always in the same
        way. Rows that are equally far follow each other, by ``content_rank``. Noise in the last digits,
        another order of the columns or another unit of all change it nowhere but among these. All kernels
        have the same, except a precomputed one, of which there are no rows. A row more or less deals all anew
        that are farther out.

        Dealt by the distance without shuffling, rows of different classes that are near each other would
        leave together. What they change would cancel, and the left-out values would be too good.
        """
        distances = self._feature_distances if self.kernel.precomputed else self._row_distances
        nearer = np.searchsorted(np.sort(distances), distances)
        return rank_by(shuffled(nearer), self.content_rank)

    @cached_property
    def _feature_distances(self) -> Array:
        """Squared distance of each distinct row's feature vector from their mean, rounded, in some unit."""
        n, used = len(self._distinct), self.row_of >= 0
        mass = np.bincount(self.row_of[used], weights=self.weight[used])
        weight = mass / mass.sum()
        # Not by what memory allows: it must not decide.
        if len(self.gram) > ALL_AT_ONCE and not self.kernel.precomputed:
            rows = self.X[self._distinct]
            mean = np.asarray(weight @ rows)[None]
            near = self.kernel(rows, sparse.csr_matrix(mean) if sparse.issparse(rows) else mean)[:, 0]
        else:
            near = np.einsum("ij,j->i", self.gram.whole()[:n, :n], weight)
        diagonal = self.gram.diagonal[:n]
        with np.errstate(over="ignore", invalid="ignore"):  # any order will do of what overflows
            size = np.median(np.abs(diagonal)) + 2.0 * np.median(np.abs(near))
            return _rounded(diagonal - 2.0 * near, float(size))

    @property
    def _row_distances(self) -> Array:
        """The same of the row itself."""
        present = np.where(self.row_of >= 0, self.weight, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            return _rounded(*squared_distances_from_mean(self.X, self._distinct, present))

    @cached_property
    def _distinct(self) -> Indices:
        """The first of each distinct row."""
        rows = (self.row_of >= 0).nonzero()[0]
        first = np.empty(self.row_of.max() + 1, dtype=np.intp)
        first[self.row_of[rows][::-1]] = rows[::-1]
        return first

    @cached_property
    def kinds(self) -> tuple[Indices, Indices, Array, Array]:
        """Kind of each row; and for each kind one of its rows, the bound of a copy, and the number of copies.

        Rows of one kind have equal features, labels and bounds of a copy; a row of weight 0 has none, -1.
        """
        used = (self.row_bound > 0).nonzero()[0]
        copies = copies_of_weight(self.weight[used])
        unit, point = self.row_bound[used] / copies, self.y[used] * len(self.row_of) + self.row_of[used]
        order = np.lexsort((unit, point))
        unit_in_order, point_in_order = unit[order], point[order]
        new = np.ones(len(used), dtype=bool)
        # C times a weight, divided by the weight, is C but for rounding.
        larger = unit_in_order[1:] > unit_in_order[:-1] * (1.0 + SAME_UNIT)
        new[1:] = (point_in_order[1:] != point_in_order[:-1]) | larger
        number = np.cumsum(new) - 1
        kind = np.full(len(self.y), -1)
        kind[used[order]] = number
        heads = order[new]
        counts: Array = np.bincount(number, weights=copies[order]).astype(float)
        return kind, used[heads], unit[heads], counts

    def kinds_in_order(self, rank: Indices) -> Indices:
        """The numbers of the kinds, class by class, and within a class in the order of a rank of the rows."""
        _, row, _, _ = self.kinds
        # Kinds of the same point follow each other already, in the order of the bound of a copy.
        return np.argsort(self.y[row] * len(self.row_of) + rank[self.row_of[row]], kind="stable")

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The positive and the negative class of each problem, where classes are taken in pairs."""
        return list(combinations(range(len(self.classes)), 2))

    @property
    def n_problems(self) -> int:
        """1 for two classes, otherwise one per class, or one per pair of classes."""
        if len(self.classes) == 2:
            return 1
        return len(self.pairs) if self.one_vs_one else len(self.classes)

    def problem(self, k: int) -> DualProblem:
        """The k-th dual problem.

        For two classes it is class 1 against class 0. For more it is class k against the rest, or the k-th
        pair with its first class positive, as in :class:`sklearn.svm.SVC`. A problem may take a part of the
        kernel matrix with it: ask for each problem once; its solution holds it.

        Parameters
        ----------
        k : int
            Number of the problem.
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
        return DualProblem.merge(self.gram, row_of, label, self.row_bound, self.convex)

    def values_on_rows(self, solution: DualSolution) -> Array:
        """Decision value of every training row, also of the rows that are not in the problem.

        Parameters
        ----------
        solution : DualSolution
            Solution of one of the problems.

        Returns
        -------
        array of shape (n_samples,)
            The decision values.
        """
        values = np.empty(len(self.y))
        group = solution.problem.group
        used = group >= 0
        values[used] = solution.values[group[used]]
        beta = solution.row_beta
        support = beta.nonzero()[0]
        other = (~used & (self.row_of >= 0)).nonzero()[0]
        if len(other):
            summed: Array = np.bincount(
                self.row_of[support], weights=beta[support], minlength=len(self.gram)
            ).astype(float)
            values[other] = self.gram.product(summed)[self.row_of[other]] + solution.intercept
        absent = (self.row_of < 0).nonzero()[0]
        if len(absent):
            values[absent] = solution.intercept
            # There is no support where the numbers are beyond double precision.
            if len(support):
                for part, cross in self.kernel.blocks(self.X[absent], self.X[support], support):
                    values[absent[part]] += cross @ beta[support]
        return values

    def cross(self, problem: DualProblem, X: Any) -> Array:
        """Kernel values between some feature vectors and the points of a problem.

        Parameters
        ----------
        problem : DualProblem
            One of the problems.
        X : array or CSR matrix of shape (n_at, n_features)
            The feature vectors.

        Returns
        -------
        array of shape (n_at, n_points)
            The kernel values; 0 for the null point, which is the last.

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
        values = np.zeros((X.shape[0], n_points))
        if X.shape[0]:
            rows = problem.first_row[problem.first_row >= 0]
            values[:, : len(rows)] = self.kernel.to_training(X, self.X[rows], rows)
        return values


def _rounded(squared: Array, size: float) -> Array:
    """Squared distances, up to a constant, whose rounding errors are those of numbers of this size.

    Rows that are equally far are so despite rounding: no fraction of small numbers is half a unit.
    """
    apart = squared - squared.min()
    unit = max(float(np.median(apart)), LEAST_UNIT * size) or 1.0
    return np.asarray((apart / unit * GOLDEN).round(DECIMALS))

"""Training one machine for each problem, and the decision values of the machines."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from bayes_svm.kernels.arrays import largest_entry, make_symmetric
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.multivariate.cutting_plane import CuttingPlaneResult, minimise
from bayes_svm.multivariate.dask_arrays import DaskProducts, is_dask_array
from bayes_svm.multivariate.losses import loss_of
from bayes_svm.multivariate.planes import Planes
from bayes_svm.multivariate.products import KernelProducts, LinearProducts, Products, refuse_huge_penalty
from bayes_svm.multivariate.tasks import Task, named
from bayes_svm.utils.checks import with_narrow_indices
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.progress import counted
from bayes_svm.utils.triangular import cholesky
from bayes_svm.utils.types import Array, Indices
from bayes_svm.utils.warn import warn

__all__ = ["Machines", "Memory", "left_out_values", "train"]

# A negative curvature of at most this share of the largest kernel value may be rounding, if the kernel matrix
# was computed in single precision. The constant feature is added in double precision.
CURVATURE_ROUNDING, SUM_ROUNDING = 1e-5, 1e-9
# Sums of weights that differ by at most this part of the whole are equal.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Machines:
    """One trained machine for each problem.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    rows : array or CSR matrix of shape (n_samples, n_features), or None
        Training rows; None for a linear or precomputed kernel.
    weights : array of shape (n_problems, n_features) or (n_problems, n_samples)
        Weights of the features for a linear kernel, coefficients of the training rows for others.
    intercept : array of shape (n_problems,)
        Intercepts.
    """

    kernel: Kernel
    rows: Any
    weights: Array
    intercept: Array

    def values(self, X: Any) -> Array:
        """Decision values of shape (n_samples, n_problems)."""
        if is_dask_array(X):
            products = DaskProducts(X, 0.0)
            return np.column_stack([products.scores(w) for w in self.weights]) + self.intercept
        if self.kernel.is_linear:
            return np.asarray(X @ self.weights.T) + self.intercept
        values = np.empty((X.shape[0], len(self.weights)))
        numbers = np.arange(self.weights.shape[1])
        X = with_narrow_indices(X)
        for block, cross in self.kernel.blocks(X, self.rows, numbers):
            values[block] = cross @ self.weights.T
        return values + self.intercept


@dataclass
class Memory:
    """Planes of the last fit, which the next fit may begin with; none after a fit that did not end.

    Parameters
    ----------
    key : tuple
        What the planes depend on: data, labels and loss.
    planes : list of Planes
        Planes of each problem.
    """

    key: tuple[Any, ...] = ()
    planes: list[Planes] = field(default_factory=list)

    def take(self, estimator: Any, products: Products, task: Task, weight: Array) -> Memory:
        """The planes if data, labels and loss are those of the last fit, otherwise empty ones."""
        probe = products.dual(products.combined(np.cos(np.arange(products.n_rows))))
        key = (
            estimator.loss, estimator.beta, estimator.k, probe.tobytes(), weight.tobytes(),
            task.positive.tobytes(),
        )  # fmt: skip
        known, self.key = self.key, ()
        return Memory(key, self.planes if known == key else [Planes.none(products) for _ in task.names])


def train(
    estimator: Any, X: Any, task: Task, weight: Array, k: int | None, memory: Memory | None = None
) -> tuple[Machines, list[CuttingPlaneResult]]:
    """Train one machine for each problem.

    Parameters
    ----------
    estimator : MultivariateSVC
        Holds the parameters.
    X : array, sparse matrix or dask array of shape (n_samples, n_features)
        Training data.
    task : Task
        The problems.
    weight : array of shape (n_samples,)
        Weights of the rows.
    k : int or None
        Number of rows predicted positive, for the losses that need it.
    memory : Memory, optional
        Planes of the last fit to begin with. New planes are added to them.

    Returns
    -------
    Machines
        The machines.
    list of CuttingPlaneResult
        How training each of them ended.

    Raises
    ------
    ValueError
        If C is too large for the size of the rows, or the kernel matrix is not symmetric or not positive
        semi-definite.

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` planes do not reach the gap, or rounding keeps it open.
    """
    kernel = Kernel(estimator.kernel)
    if not (kernel.is_linear or kernel.precomputed):
        X = with_narrow_indices(X)
        kernel = Kernel.of(estimator, X, weight)
    products = _products(kernel, X, estimator.intercept_scaling, weight)
    refuse_huge_penalty(estimator.C, products)
    counts = None if np.all(weight == 1) else weight
    known = None if memory is None else memory.take(estimator, products, task, weight)
    results, thresholds = [], []
    for column, name in enumerate(counted(task.names, "problems")):
        positive = task.positive[:, column]
        with named(name):
            loss = loss_of(estimator.loss, positive, counts, beta=estimator.beta, k=k)
        result = minimise(
            products, loss, estimator.C, tol=estimator.tol, max_iter=estimator.max_iter,
            planes=None if known is None else known.planes[column],
        )  # fmt: skip
        if not result.converged:
            warn(
                f"{result.n_planes} cutting planes left a relative gap of {result.gap:.2g}{name}, more "
                f"than tol={estimator.tol:g}: raise max_iter or tol, lower C, or scale the features.",
                ConvergenceWarning,
            )
        results.append(result)
        predicted = float(k or weight @ positive)
        thresholds.append(_threshold(result.scores, weight, predicted) if loss.ranking else 0.0)
    if memory is not None and known is not None:
        memory.key, memory.planes = known.key, known.planes
    # The caller may change X after the fit.
    rows = None if kernel.is_linear or kernel.precomputed else X.copy()
    weights, intercept = _weights_and_intercept(kernel, results, estimator.intercept_scaling)
    return Machines(kernel, rows, weights, intercept - np.array(thresholds)), results


def _weights_and_intercept(
    kernel: Kernel, results: list[CuttingPlaneResult], constant: float
) -> tuple[Array, Array]:
    """Weights of the features or rows, and the intercept that the constant feature gives."""
    weights: Array = np.vstack([result.w for result in results])
    if not kernel.is_linear:
        return weights, constant**2 * weights.sum(axis=1)
    if constant:
        return weights[:, :-1], constant * weights[:, -1]
    return weights, np.zeros(len(weights))


def _products(kernel: Kernel, X: Any, constant: float, weight: Array) -> Products:
    if is_dask_array(X):
        return DaskProducts(X, constant)
    if kernel.is_linear:
        return LinearProducts(X, constant)
    n_matrices = 2 if kernel.positive_semidefinite else 3
    require_bytes(
        n_matrices * 8 * X.shape[0] ** 2, f"The kernel matrix of {X.shape[0]:,} rows", "Use kernel='linear'."
    )
    gram = X + 0.0 if kernel.precomputed else kernel.gram(X)
    if not kernel.positive_semidefinite:
        used = np.ix_(weight > 0, weight > 0)
        values = gram[used]
        if kernel.precomputed:
            make_symmetric(values, str(kernel))
            gram[used] = values
        _refuse_indefinite(values, kernel, constant)
    gram += constant**2
    return KernelProducts(gram)


def _refuse_indefinite(values: Array, kernel: Kernel, constant: float) -> None:
    """Raise ValueError if ``w'w / 2`` is unbounded below; the kernel values are changed."""
    rounding = CURVATURE_ROUNDING * (largest_entry(values) or 1.0) + SUM_ROUNDING * constant**2
    values += constant**2
    values[np.diag_indices_from(values)] += rounding
    if cholesky(values)[1] != 0:
        raise ValueError(
            f"The kernel {kernel} is not positive semi-definite on the training rows, so the objective is "
            "unbounded below: choose another kernel or other parameters."
        )


def _threshold(scores: Array, weight: Array, k: float) -> float:
    """Midpoint between the k-th highest score and the next one, of rows counted by their weights."""
    order = np.argsort(-scores, kind="stable")
    order = order[weight[order] > 0]
    reached = np.cumsum(weight[order])
    rounding = ROUNDING * reached[-1]
    if k >= reached[-1] - rounding:
        # There is no next one: all rows get a positive value, clear of rounding.
        lowest = float(scores[order[-1]])
        return lowest - max(1.0, abs(lowest))
    last = min(int(np.searchsorted(reached, k - rounding)), len(order) - 1)
    # The next one can be a copy of the same row.
    following = last if reached[last] > k + rounding else min(last + 1, len(order) - 1)
    return float(scores[order[last]] + scores[order[following]]) / 2


def left_out_values(estimator: Any, X: Any, y: Any, task: Task, weight: Array) -> Array:
    """Decision values of all rows, each from machines trained without its fold.

    Parameters
    ----------
    estimator : MultivariateSVC
        Holds the parameters, including ``cv``. Its k is scaled to the size of the training part.
    X : array, sparse matrix or dask array of shape (n_samples, n_features)
        Training data.
    y : array of shape (n_samples,) or (n_samples, n_labels)
        Labels, for stratified folds.
    task : Task
        The problems.
    weight : array of shape (n_samples,)
        Weights of the rows.

    Returns
    -------
    array of shape (n_samples, n_problems)
        The decision values.

    Raises
    ------
    ValueError
        If a row is not in one test part, or is in the training part too.
    """
    # Rows of weight 0 are as good as absent; their values are not read.
    values: Array = np.zeros(task.positive.shape)
    used = drawn = np.flatnonzero(weight > 0.0)
    precomputed = Kernel(estimator.kernel).precomputed
    if not isinstance(estimator.cv, Integral):
        drawn = np.arange(X.shape[0])
    folds = check_cv(estimator.cv, y[drawn], classifier=True).split(drawn, y[drawn])
    splits = [(drawn[training], drawn[test]) for training, test in folds]
    _require_each_once(splits, used, X.shape[0])
    for training, test in counted(splits, "folds left out"):
        columns = training if precomputed else slice(None)
        k = None
        if estimator.k is not None:
            remaining = float(weight[training].sum())
            k = max(1, min(round(estimator.k * remaining / float(weight.sum())), int(remaining)))
        machines, _ = train(estimator, X[training][:, columns], task.rows(training), weight[training], k)
        values[test] = machines.values(X[test][:, columns])
    return values


def _require_each_once(splits: list[tuple[Indices, Indices]], used: Indices, n_rows: int) -> None:
    """Raise ValueError unless each row with weight is left out once, by a machine that has not seen it."""
    times = np.zeros(n_rows, dtype=np.intp)
    for training, test in splits:
        np.add.at(times, test, 1)
        if (both := np.intersect1d(np.intersect1d(training, test), used)).size:
            raise ValueError(
                f"cv trains on rows that it leaves out, such as row {both[0]}: use a splitter such as "
                "StratifiedKFold."
            )
    if (wrong := used[times[used] != 1]).size:
        raise ValueError(
            f"cv leaves out row {wrong[0]} {times[wrong[0]]} times: it must leave out each row once. Use a "
            "splitter such as StratifiedKFold, without repetitions."
        )

"""Class similarity: how well a kernel separates the classes, computed without training a machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length

from bayes_svm.kernels.aggregation import AggregationKernel
from bayes_svm.kernels.arrays import largest_entry
from bayes_svm.kernels.callables import KernelFunction
from bayes_svm.kernels.functions import KERNEL_NAMES
from bayes_svm.kernels.gamma import resolve_gamma
from bayes_svm.kernels.hypersphere import inverse_lengths
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.similarity.pairs import LabelledRows, PairMasses
from bayes_svm.utils.checks import checked_square, checked_weights, encode_classes, with_narrow_indices
from bayes_svm.utils.scikit_learn import Interval, StrOptions, validate_params
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["ClassSimilarity", "angle_slopes", "class_similarity", "row_panels"]

# Every thread holds kernel values between this many rows at a time, which stay in the cache.
PANEL = 512
# A cosine may exceed 1 by this much through rounding, and k(x, z) differ from k(z, x), relative to the
# largest value: in double precision (8 bytes) and in single.
ROUNDING = {8: 1e-8, 4: 1e-5}


@dataclass(frozen=True)
class ClassSimilarity:
    r"""Average similarity of the classes under a kernel, and class similarity.

    .. math:: \mathrm{Avg}_{ij} = E[H(x, z) \mid x \in C_i, z \in C_j], \qquad
              \mathrm{CS} = \arccos W - \arccos B

    :math:`H` is the hypersphere form of the kernel, a cosine in feature space. W is the mean of H
    over pairs of the same class, B that over pairs of different classes. For kernels without
    negative values, CS is between :math:`-\pi/2` (each class is one point, orthogonal to the
    others) and about 0 (the classes are alike). Lower is better.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        The class labels, sorted.
    average : array of shape (n_classes, n_classes)
        Mean of H over the pairs of every two classes, in the order of ``classes``.
    within, between : float
        W and B.
    value : float
        CS, in radians.
    standard_error : float
        First-order standard error of ``value`` as an estimate of the value of all rows; 0 if no
        sample was drawn.
    n_samples : int
        Number of rows that the averages are taken over: all rows of positive weight, or the sample.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import class_similarity
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = class_similarity(scale(X), y)
    >>> round(found.value, 3)
    -0.248
    """

    classes: NDArray[Any]
    average: Array
    within: float
    between: float
    value: float
    standard_error: float
    n_samples: int
    __repr__ = short_repr


def angle_slopes(within: float, between: float) -> tuple[float, float]:
    """Derivatives of CS by W and by B; 0 at a cosine of 1 or -1, which all pairs must share."""
    squared_sines = [1.0 - cosine**2 for cosine in (within, between)]
    slopes = [1.0 / np.sqrt(square) if square > 0 else 0.0 for square in squared_sines]
    return -slopes[0], slopes[1]


@validate_params(
    {
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "degree": [Interval(Real, 0.0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "unbiased": ["boolean"],
        "max_samples": [Interval(Integral, 4, None, closed="left"), None],
        "random_state": ["random_state"],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
    },
    prefer_skip_nested_validation=True,
)
def class_similarity(
    X: Any,
    y: ArrayLike,
    *,
    kernel: str | KernelFunction = "rbf",
    degree: float = 3,
    gamma: str | float = "scale",
    coef0: float = 0.0,
    unbiased: bool = True,
    sample_weight: ArrayLike | None = None,
    max_samples: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> ClassSimilarity:
    r"""Judge a kernel by how similar it makes points of the same class and of different classes.

    .. math:: \mathrm{CS} = \arccos W - \arccos B, \quad
              W = E[H(x, z) \mid \text{same class}], \quad B = E[H(x, z) \mid \text{different classes}]

    where :math:`H(x, z) = k(x, z) / \sqrt{k(x, x) k(z, z)}`, or 0 if k(x, x) or k(z, z) is 0.
    Lower is better. No machine is trained, and C plays no part: class similarity is a cheap filter
    for kernels, not a replacement for the error of a machine. The kernel matrix is never in memory
    as a whole. A linear kernel and :class:`~bayes_svm.AggregationKernel` need no kernel values at
    all.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The points. For ``kernel="precomputed"`` the kernel matrix, of shape (n_samples, n_samples).
    y : array of shape (n_samples,)
        Labels of any type, two classes or more.
    kernel, degree, gamma, coef0
        The kernel and its parameters, as in :class:`sklearn.svm.SVC`.
    unbiased : bool, default=True
        Whether to average over pairs of different rows only, which estimates the expectation
        without bias. If False, the pairs of a row with itself count too and raise W, most of all
        for a narrow kernel.
    sample_weight : array of shape (n_samples,), optional
        Counts of the rows: a weight of 2 is the row given twice, 0 is the row absent.
    max_samples : int, optional
        If there are more rows, about this many are drawn, from each class its share but at least
        2, and the result has a standard error. By default all rows are used.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample. None draws another one each time.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.

    Returns
    -------
    ClassSimilarity
        Class similarity with the averages it is computed from.

    Raises
    ------
    ValueError
        If y has one class only, if a class has one member only and ``unbiased`` is True, or if the
        kernel is not valid: not symmetric, with k(x, x) below 0, or with \|H\| above 1.

    References
    ----------
    Pardi, "Category similarity as a predictor for SVM learning performance".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayes_svm import class_similarity
    >>> X, y = load_iris(return_X_y=True)
    >>> found = class_similarity(X, y)
    >>> found.average.round(2).tolist()
    [[0.96, 0.5, 0.24], [0.5, 0.93, 0.79], [0.24, 0.79, 0.9]]
    >>> round(found.value, 3)
    -0.657
    """
    rows, classes, resolved = _checked(
        X, y, sample_weight, unbiased, Kernel(kernel, 1.0, degree, coef0), gamma
    )
    rows.require_pairs(classes)
    masses = rows.masses()
    counts = np.bincount(rows.y)
    if max_samples is not None and len(rows.y) > max_samples:
        rows, chosen = rows.sampled(max_samples, random_state)
        if resolved.precomputed:
            rows = rows.take(slice(None), rows.X[:, chosen])
    with one_blas_thread():
        resolved, points = _explicit(resolved, rows.X)
        diagonal = np.diagonal(points).astype(float) if resolved.precomputed else resolved.diagonal(points)
        scale = inverse_lengths(diagonal, resolved)
        sums = _row_sums(resolved, points, scale, rows.by_class, n_jobs)
    average = _averages(rows, sums, scale > 0)
    within, between = masses.means(average)
    error = _standard_error(rows, sums, scale > 0, average, masses, counts)
    value = float(np.arccos(within) - np.arccos(between))
    return ClassSimilarity(classes, average, within, between, value, error, len(rows.y))


def _checked(
    X: Any, y: ArrayLike, sample_weight: ArrayLike | None, unbiased: bool, kernel: Kernel, gamma: str | float
) -> tuple[LabelledRows, NDArray[Any], Kernel]:
    """Rows of positive weight, the classes, and the kernel with gamma resolved."""
    X = check_array(
        with_narrow_indices(X),
        input_name="X",
        accept_sparse=False if kernel.precomputed else "csr",
        dtype=[np.float64, np.float32] if kernel.precomputed else np.float64,
        ensure_all_finite=not kernel.is_callable,  # NaN may have a meaning for a callable
    )
    check_consistent_length(X, y)
    if kernel.precomputed:
        checked_square(X, X.shape[1])
    weight = checked_weights(sample_weight, X)
    classes, numbers = encode_classes(y, weight)
    if kernel.takes_gamma:
        kernel = replace(kernel, gamma=resolve_gamma(gamma, X, weight))
    used = np.flatnonzero(weight > 0)
    if len(used) < len(weight):
        X = X[np.ix_(used, used)] if kernel.precomputed else X[used]
    return LabelledRows(X, numbers[used], weight[used], len(classes), unbiased), classes, kernel


def _explicit(kernel: Kernel, X: Any) -> tuple[Kernel, Any]:
    """An aggregation kernel as the linear kernel of its feature map; other kernels unchanged."""
    if isinstance(kernel.function, AggregationKernel):
        return Kernel("linear"), kernel.function.one_hot(X)[0]
    return kernel, X


def row_panels(n_rows: int) -> list[slice]:
    """Slices of the rows; a thread works on one at a time."""
    return [slice(start, min(start + PANEL, n_rows)) for start in range(0, n_rows, PANEL)]


def _row_sums(kernel: Kernel, X: Any, scale: Array, spread: Array, n_jobs: int | None) -> Array:
    """``H @ spread``: weighted sums of the similarities of every row to the members of each class."""
    if kernel.is_linear:
        if sparse.issparse(X):
            unit = sparse.diags(scale) @ X
            return np.asarray(unit @ np.asarray(unit.T @ spread))
        return np.asarray(scale[:, None] * (X @ (X.T @ (scale[:, None] * spread))))
    panels = row_panels(X.shape[0])
    work = joblib.delayed(_panel_sums)
    run = joblib.Parallel(n_jobs=n_jobs, prefer="threads")
    return np.vstack(run(work(kernel, X, scale, spread, panel) for panel in panels))


def _panel_sums(kernel: Kernel, X: Any, scale: Array, spread: Array, rows: slice) -> Array:
    """Some rows of ``H @ spread``."""
    # Each job enters the context itself, because it may run in another process.
    with one_blas_thread():
        sums = np.zeros((rows.stop - rows.start, spread.shape[1]))
        unit, rounding = bool(np.all(scale == 1.0)), ROUNDING[X.dtype.itemsize]
        for columns in row_panels(X.shape[0]):
            values = kernel.to_training(X[rows], X[columns], np.arange(columns.start, columns.stop))
            if columns == rows and not kernel.positive_semidefinite:
                _require_mirrored(values, values, rounding * largest_entry(values), kernel)
            elif kernel.precomputed and columns.start > rows.start:
                largest = largest_entry(np.diagonal(X))
                _require_mirrored(values, X[columns, rows], rounding * largest, kernel)
            if not unit:
                values = values * scale[rows, None] * scale[columns]
            if not kernel.positive_semidefinite:
                _require_cosines(values, kernel, rounding)
            sums += values @ spread[columns]
        return sums


def _require_mirrored(values: Array, mirrored: Array, tolerance: float, kernel: Kernel) -> None:
    difference = float(np.abs(values - mirrored.T).max())
    if difference > tolerance:
        raise ValueError(
            f"The kernel {kernel} is not symmetric: k(x, z) and k(z, x) differ by up to {difference:.3g}."
        )


def _require_cosines(values: Array, kernel: Kernel, rounding: float) -> None:
    largest = largest_entry(values)
    if not largest <= 1.0 + rounding:
        raise ValueError(
            f"The kernel {kernel} is not positive semi-definite: k(x, z) / sqrt(k(x, x) k(z, z)) is a "
            f"cosine, but reaches {largest:.6g}. Choose other parameters, or another kernel."
        )


def _averages(rows: LabelledRows, sums: Array, nonzero: Mask) -> Array:
    """Mean of H over the pairs of every two classes; H(x, x) is 1 where ``nonzero``, elsewhere 0."""
    total = np.zeros((rows.n_classes, rows.n_classes))
    np.add.at(total, rows.y, rows.weight[:, None] * sums)
    own = np.bincount(rows.y, weights=rows.own * nonzero, minlength=rows.n_classes)
    average = (total - np.diag(own)) / rows.masses().mass
    return np.asarray((average + average.T) / 2)


def _standard_error(
    rows: LabelledRows,
    sums: Array,
    nonzero: Mask,
    average: Array,
    masses: PairMasses,
    counts: Indices,
) -> float:
    """First-order standard error of CS for a sample drawn without replacement from each class.

    The influence of each row on CS is linear in its row sums. ``masses`` and ``counts``, the number
    of rows in each class, are those of all rows; ``rows`` and ``sums`` are those of the sample.
    """
    size = np.bincount(rows.y, minlength=rows.n_classes)
    if np.array_equal(size, counts):
        return 0.0
    sampled = rows.masses().mass
    totals = np.bincount(rows.y, weights=rows.weight, minlength=rows.n_classes)
    n = np.arange(len(rows.y))
    share = rows.weight[:, None] * (sums - average[rows.y] * totals)
    share[n, rows.y] -= rows.own * (nonzero - average[rows.y, rows.y])
    share *= 2.0 * masses.mass[rows.y] / sampled[rows.y]
    same = share[n, rows.y]
    slope_w, slope_b = angle_slopes(*masses.means(average))
    influence = slope_w * same / masses.same + slope_b * (share.sum(axis=1) - same) / masses.different
    mean = np.bincount(rows.y, weights=influence) / size
    squares = np.bincount(rows.y, weights=(influence - mean[rows.y]) ** 2)
    return float(np.sqrt(np.sum((1 - size / counts) * size / np.maximum(1, size - 1) * squares)))

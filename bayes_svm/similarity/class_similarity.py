"""Class similarity: how well a kernel keeps the classes apart, known before any training."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from bayes_svm.kernels.aggregation import AggregationKernel
from bayes_svm.kernels.functions import KERNEL_NAMES, Kernel, KernelFunction, make_symmetric, resolve_gamma
from bayes_svm.kernels.hypersphere import inverse_lengths
from bayes_svm.utils.checks import checked_square, checked_weights, encode_classes, with_narrow_indices
from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices

__all__ = ["ClassSimilarity", "LabelledRows", "PairMasses", "angle_slopes", "class_similarity", "row_panels"]


PANEL = 512  # rows and columns of kernel values held at a time, per thread: they stay in the cache
ROUNDING = 1e-8  # by which a cosine may exceed 1


@dataclass(frozen=True)
class ClassSimilarity:
    r"""Average similarity of the classes under a kernel, and what it comes to.

    With :math:`H` the kernel's hypersphere form, a cosine in feature space:

    .. math:: \mathrm{Avg}_{ij} = E[H(x, z) \mid x \in C_i, z \in C_j], \qquad
              \mathrm{CS} = \arccos W - \arccos B

    W is the mean over pairs of one class, B over pairs of two. CS is between
    :math:`-\pi/2` (each class one point, orthogonal to the others) and about 0 (classes alike)
    for kernels without negative values; lower is better.

    Parameters
    ----------
    classes : array of shape (n_classes,)
    average : array of shape (n_classes, n_classes)
        Rows and columns in the order of ``classes``.
    within, between : float
        W and B.
    value : float
        CS, in radians.
    standard_error : float
        Of the sampled value as an estimate of the value of all rows, to first order; 0 where
        no sample was taken.
    n_samples : int
        Rows the averages were taken over: those of positive weight, or the sample.
    """

    classes: NDArray[Any]
    average: Array
    within: float
    between: float
    value: float
    standard_error: float
    n_samples: int


@dataclass(frozen=True)
class LabelledRows:
    """Rows with their class numbers and weights.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
        Above 0.
    n_classes : int
    unbiased : bool
        Whether a row's pair with itself is left out.
    """

    X: Any
    y: Indices
    weight: Array
    n_classes: int
    unbiased: bool

    @property
    def own(self) -> Array:
        """Weight of every row's pairs with itself that are left out.

        A row of weight w is ``max(1, floor(w))`` equal copies, as in leave-one-out: each
        copy's pair with itself is left out, the pairs between copies are not.
        """
        return self.weight**2 / copies_of_weight(self.weight) * float(self.unbiased)

    @property
    def by_class(self) -> Array:
        """Weights of shape (n_samples, n_classes), each in the column of its class."""
        spread = np.zeros((len(self.y), self.n_classes))
        spread[np.arange(len(self.y)), self.y] = self.weight
        return spread

    def masses(self) -> PairMasses:
        """Total weight of the pairs of every two classes."""
        mass = self.by_class.sum(axis=0)
        own = np.bincount(self.y, weights=self.own, minlength=self.n_classes)
        return PairMasses(np.outer(mass, mass) - np.diag(own))

    def require_pairs(self, classes: NDArray[Any]) -> None:
        """Raise ValueError for a class without two members, where a pair needs them."""
        copies = np.bincount(self.y, weights=copies_of_weight(self.weight), minlength=self.n_classes)
        if self.unbiased and copies.min() < 2:
            raise ValueError(
                f"Class {classes.tolist()[copies.argmin()]!r} has 1 member, and no pair of two: merge or "
                "drop the class, add members, or count pairs of a row with itself (unbiased=False)."
            )

    def sampled(self, n: int, random_state: Any) -> tuple[LabelledRows, Indices]:
        """About ``n`` rows, of each class its share and at least 2; and their row numbers."""
        random = check_random_state(random_state)
        chosen = []
        for number in range(self.n_classes):
            members = np.flatnonzero(self.y == number)
            size = min(len(members), max(2, round(n * len(members) / len(self.y))))
            chosen.append(random.choice(members, size, replace=False))
        rows = np.sort(np.concatenate(chosen))
        return self.take(rows, self.X[rows]), rows

    def take(self, rows: Any, X: Any) -> LabelledRows:
        """The given rows, whose points are ``X``."""
        return LabelledRows(X, self.y[rows], self.weight[rows], self.n_classes, self.unbiased)


@dataclass(frozen=True)
class PairMasses:
    """Total weight of the pairs of every two classes, of shape (n_classes, n_classes)."""

    mass: Array

    @property
    def same(self) -> float:
        """Weight of all pairs of one class."""
        return float(np.trace(self.mass))

    @property
    def different(self) -> float:
        """Weight of all pairs of two classes."""
        return float(self.mass[self.apart].sum())

    @property
    def apart(self) -> NDArray[np.bool_]:
        """Where the two classes differ."""
        return ~np.eye(len(self.mass), dtype=bool)

    def means(self, average: Array) -> tuple[float, float]:
        """W and B; rounding must not take a cosine beyond 1."""
        products = self.mass * average
        within = np.trace(products) / self.same
        between = products[self.apart].sum() / self.different
        return float(np.clip(within, -1.0, 1.0)), float(np.clip(between, -1.0, 1.0))


def angle_slopes(within: float, between: float) -> tuple[float, float]:
    """Derivatives of CS in W and in B; 0 at a cosine of 1 or -1, where nothing can vary."""
    spread = [1.0 - cosine**2 for cosine in (within, between)]
    slopes = [1.0 / np.sqrt(s) if s > 0 else 0.0 for s in spread]
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
    r"""Judge a kernel by the similarity it gives to members of one class and of two.

    .. math:: \mathrm{CS} = \arccos W - \arccos B, \quad
              W = E[H(x, z) \mid \text{same class}], \quad B = E[H(x, z) \mid \text{different classes}]

    :math:`H(x, z) = k(x, z) / \sqrt{k(x, x) k(z, z)}`, 0 where a diagonal is 0, is taken of
    every kernel. Lower is better. Nothing is trained: a cheap filter for kernels, not the last
    word, and it knows nothing of C. The kernel matrix is never in memory as a whole; a linear
    kernel and :class:`~bayes_svm.AggregationKernel` need no pairs at all.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The kernel matrix, of shape (n_samples, n_samples), for ``kernel="precomputed"``.
    y : array of shape (n_samples,)
        Labels of any type, two classes or more.
    kernel, degree, gamma, coef0
        As in :class:`sklearn.svm.SVC`.
    unbiased : bool, default=True
        Average over pairs of different rows, as the expectation over independent draws
        demands. With False the pairs of a row with itself count too and raise W, most where
        the kernel is narrow.
    sample_weight : array of shape (n_samples,), optional
        Counts of the rows: a weight of 2 is the row given twice, 0 is the row absent.
    max_samples : int, optional
        With more rows than this, about so many are drawn, of each class its share and at least
        2, and the result has a standard error. By default all rows are taken.
    random_state : int, RandomState instance or None, default=None
        Of the sample.
    n_jobs : int, default=None
        Threads. The result does not depend on it.

    Returns
    -------
    ClassSimilarity

    Raises
    ------
    ValueError
        If a class has one member (with ``unbiased=False`` it may), or y one class only; if the
        kernel is not one: not symmetric, k(x, x) below 0, or \|H\| above 1.

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
        diagonal = np.diagonal(points) if resolved.precomputed else resolved.diagonal(points)
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
        accept_sparse=False if kernel.precomputed else "csr",
        dtype=[np.float64, np.float32] if kernel.precomputed else np.float64,
        ensure_all_finite=not callable(kernel.function),  # a callable may know what NaN means
    )
    check_consistent_length(X, y)
    if kernel.precomputed:
        checked_square(X, X.shape[1])
    weight = checked_weights(sample_weight, X)
    classes, numbers = encode_classes(y, weight)
    if not callable(kernel.function) and not kernel.precomputed:
        kernel = Kernel(kernel.function, resolve_gamma(gamma, X, weight), kernel.degree, kernel.coef0)
    used = np.flatnonzero(weight > 0)
    if len(used) < len(weight):
        X = X[np.ix_(used, used)] if kernel.precomputed else X[used]
    return LabelledRows(X, numbers[used], weight[used], len(classes), unbiased), classes, kernel


def _explicit(kernel: Kernel, X: Any) -> tuple[Kernel, Any]:
    """An aggregation kernel as the linear kernel of its one-hot columns; others as they are."""
    if isinstance(kernel.function, AggregationKernel):
        return Kernel("linear"), kernel.function.one_hot(X)[0]
    return kernel, X


def row_panels(n_rows: int) -> list[slice]:
    """Slices of the rows, the unit of work of a thread."""
    return [slice(start, min(start + PANEL, n_rows)) for start in range(0, n_rows, PANEL)]


def _row_sums(kernel: Kernel, X: Any, scale: Array, spread: Array, n_jobs: int | None) -> Array:
    """``H @ spread``: for every row its similarity to each class, summed with weights."""
    if kernel.function == "linear":
        if sparse.issparse(X):
            unit = sparse.diags(scale) @ X
            return np.asarray(unit @ np.asarray(unit.T @ spread))
        return np.asarray(scale[:, None] * (X @ (X.T @ (scale[:, None] * spread))))
    panels = row_panels(X.shape[0])
    work = joblib.delayed(_panel_sums)
    run = joblib.Parallel(n_jobs=n_jobs, prefer="threads")
    return np.vstack(run(work(kernel, X, scale, spread, panel) for panel in panels))


def _panel_sums(kernel: Kernel, X: Any, scale: Array, spread: Array, rows: slice) -> Array:
    """The rows of ``H @ spread`` that ``rows`` names."""
    sums = np.zeros((rows.stop - rows.start, spread.shape[1]))
    unit = bool(np.all(scale == 1.0))
    for columns in row_panels(X.shape[0]):
        values = kernel.to_training(X[rows], X[columns], np.arange(columns.start, columns.stop))
        if columns == rows and not kernel.positive_semidefinite:
            make_symmetric(np.array(values, dtype=np.float64), str(kernel))
        if not unit:
            values = values * scale[rows, None] * scale[columns]
        if not kernel.positive_semidefinite:
            _require_cosines(values, kernel)
        sums += values @ spread[columns]
    return sums


def _require_cosines(values: Array, kernel: Kernel) -> None:
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not largest <= 1.0 + ROUNDING:
        raise ValueError(
            f"The kernel {kernel} is not positive semi-definite: k(x, z) / sqrt(k(x, x) k(z, z)) is a "
            f"cosine, and reaches {largest:.6g}. Choose other parameters, or another kernel."
        )


def _averages(rows: LabelledRows, sums: Array, nonzero: NDArray[np.bool_]) -> Array:
    """Mean of H over the pairs of every two classes; H(x, x) is 1 where ``nonzero``."""
    total = np.zeros((rows.n_classes, rows.n_classes))
    np.add.at(total, rows.y, rows.weight[:, None] * sums)
    own = np.bincount(rows.y, weights=rows.own * nonzero, minlength=rows.n_classes)
    average = (total - np.diag(own)) / rows.masses().mass
    return np.asarray((average + average.T) / 2)


def _standard_error(
    rows: LabelledRows,
    sums: Array,
    nonzero: NDArray[np.bool_],
    average: Array,
    masses: PairMasses,
    counts: Indices,
) -> float:
    """First-order standard error of CS under draws without replacement within the classes.

    Each row's share in the deviation of the averages is linear in its row sums; ``masses``
    are those of all rows, ``counts`` how many rows each class has among them.
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

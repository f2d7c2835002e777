"""The gradient of class similarity by the parameters of a kernel, and the parameters that minimise it."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length

from bayes_svm.kernels.aggregation import AggregationKernel, checked_codes
from bayes_svm.kernels.gamma import resolve_gamma
from bayes_svm.kernels.hypersphere import GaussianKernel, inverse_lengths
from bayes_svm.similarity.class_similarity import angle_slopes, row_panels
from bayes_svm.similarity.pairs import LabelledRows
from bayes_svm.utils.checks import checked_weights, encode_classes
from bayes_svm.utils.scikit_learn import Interval, validate_params
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices
from bayes_svm.utils.warn import warn

__all__ = ["Evaluation", "KernelOptimum", "optimize_kernel", "similarity_and_gradient"]

Tunable = GaussianKernel | AggregationKernel


@dataclass(frozen=True)
class Evaluation:
    """Class similarity for one choice of the parameters.

    Parameters
    ----------
    parameters : array of shape (n_parameters,)
        Length scales or weights.
    value : float
        Class similarity.
    """

    parameters: Array
    value: float


@dataclass(frozen=True)
class KernelOptimum:
    """The kernel of lowest class similarity that was found.

    Parameters
    ----------
    kernel : GaussianKernel or AggregationKernel
        The kernel, for ``SVC(kernel=...)`` and ``BayesSVC(kernel=...)``. The largest weight of an
        aggregation kernel is 1, since a common factor of the weights does not matter.
    parameters : array of shape (n_parameters,)
        Length scales or weights of the kernel.
    value : float
        Class similarity of the kernel on the rows it was optimised on.
    history : tuple of Evaluation
        All evaluations in order, beginning with the start.
    converged : bool
        Whether the optimiser reached a minimum. Parameters may then lie at the limit set by ``factor``, such
        as the length scale of a feature that does not matter.
    message : str
        Message of the optimiser.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayes_svm import optimize_kernel
    >>> X, y = load_iris(return_X_y=True)
    >>> found = optimize_kernel(X, y)
    >>> found.converged, round(found.value, 3)
    (True, -0.724)
    """

    kernel: Tunable
    parameters: Array
    value: float
    history: tuple[Evaluation, ...]
    converged: bool
    message: str
    __repr__ = short_repr


@dataclass(frozen=True)
class _PairSums:
    """Sums of H over the pairs of the same class and over all pairs, and their gradients."""

    same: float
    total: float
    same_slope: Array
    total_slope: Array

    def similarity(self, rows: LabelledRows, own: float) -> tuple[float, Array]:
        """CS and its gradient; ``own`` is what pairs of a row with itself contribute to the sums."""
        masses = rows.masses()
        within = float(np.clip((self.same - own) / masses.same, -1.0, 1.0))
        between = float(np.clip((self.total - self.same) / masses.different, -1.0, 1.0))
        slope_w, slope_b = angle_slopes(within, between)
        gradient = slope_w * self.same_slope / masses.same
        gradient += slope_b * (self.total_slope - self.same_slope) / masses.different
        return float(np.arccos(within) - np.arccos(between)), gradient


def similarity_and_gradient(
    X: Any,
    y: ArrayLike,
    kernel: Tunable,
    *,
    unbiased: bool = True,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> tuple[float, Array]:
    r"""Class similarity and its gradient by the kernel's parameters.

    .. math:: \frac{\partial\,\mathrm{CS}}{\partial\theta} =
              -\frac{1}{\sqrt{1 - W^2}} \frac{\partial W}{\partial\theta}
              +\frac{1}{\sqrt{1 - B^2}} \frac{\partial B}{\partial\theta}

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The points; for an aggregation kernel their integer codes.
    y : array of shape (n_samples,)
        Labels of any type, two classes or more.
    kernel : GaussianKernel or AggregationKernel
        The kernel.
    unbiased, sample_weight, n_jobs
        As in :func:`~bayes_svm.class_similarity`.

    Returns
    -------
    float
        CS, the value of :func:`~bayes_svm.class_similarity`.
    array of shape (n_parameters,)
        :math:`\partial\,\mathrm{CS} / \partial \ell_k` for every length scale, or
        :math:`\partial\,\mathrm{CS} / \partial w_k` for every weight. The derivative by
        :math:`\gamma = 1 / (2 \sigma^2)` is :math:`-\sigma^3` times the derivative by
        :math:`\sigma`.

    Raises
    ------
    ValueError
        In the cases of :func:`~bayes_svm.class_similarity`.
    """
    return _evaluate(_checked(X, y, kernel, sample_weight, unbiased), kernel, n_jobs)


@validate_params(
    {
        "kernel": [GaussianKernel, AggregationKernel, None],
        "factor": [Interval(Real, 1.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
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
def optimize_kernel(
    X: Any,
    y: ArrayLike,
    *,
    kernel: Tunable | None = None,
    factor: float = 1e3,
    max_iter: int = 200,
    unbiased: bool = True,
    sample_weight: ArrayLike | None = None,
    max_samples: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> KernelOptimum:
    r"""Minimise class similarity over the parameters of a kernel.

    .. math:: \min_\theta \; \arccos W(\theta) - \arccos B(\theta), \qquad
              \theta_k \in [\theta_k^0 / \text{factor}, \; \theta_k^0 \cdot \text{factor}]

    The optimiser is L-BFGS-B in :math:`\log \theta`, with exact gradients. The minimum is a local
    one. Class similarity is a filter: check the kernel it finds by its leave-one-out error.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The points; for an aggregation kernel their integer codes.
    y : array of shape (n_samples,)
        Labels of any type, two classes or more.
    kernel : GaussianKernel or AggregationKernel, optional
        The kernel whose parameters are optimised, beginning with its own values:
        ``GaussianKernel(1.0)`` for one length scale, ``GaussianKernel(np.ones(n_features))`` for
        one per feature, ``AggregationKernel()`` for the weights of the attributes. By default a
        Gaussian kernel with one length scale, which starts from gamma="scale".
    factor : float, default=1e3
        Largest factor by which a parameter may grow or shrink.
    max_iter : int, default=200
        Largest number of iterations of the optimiser.
    unbiased, sample_weight, n_jobs
        As in :func:`~bayes_svm.class_similarity`.
    max_samples : int, optional
        If there are more rows, about this many are drawn once and used for all evaluations. By
        default all rows are used.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample. None draws another one each time.

    Returns
    -------
    KernelOptimum
        The best kernel, its class similarity, and all evaluations.

    Raises
    ------
    ValueError
        If a parameter of ``kernel`` is not finite and above 0, and in the cases of
        :func:`~bayes_svm.class_similarity`.

    Warns
    -----
    ConvergenceWarning
        If the optimiser did not reach a minimum.

    References
    ----------
    Pardi, "Category similarity as a predictor for SVM learning performance".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayes_svm import optimize_kernel
    >>> X, y = load_iris(return_X_y=True)
    >>> best = optimize_kernel(X, y)
    >>> round(best.kernel.length_scale, 2), round(best.value, 3), best.converged
    (1.83, -0.724, True)
    """
    if kernel is None:
        points = check_array(X, input_name="X", dtype=np.float64)
        gamma = resolve_gamma("scale", points, checked_weights(sample_weight, points))
        kernel = GaussianKernel(float(np.sqrt(0.5 / gamma)))
    rows = _checked(X, y, kernel, sample_weight, unbiased)
    if max_samples is not None and len(rows.y) > max_samples:
        rows, _ = rows.sampled(max_samples, random_state)
    start = _checked_start(kernel, rows.X.shape[1])
    history: list[Evaluation] = []

    def objective(logarithms: Array) -> tuple[float, Array]:
        parameters = np.exp(logarithms)
        value, gradient = _evaluate(rows, _with_parameters(kernel, parameters), n_jobs)
        history.append(Evaluation(parameters, value))
        return value, gradient * parameters

    found = _minimise_near(objective, np.log(start), np.log(factor), max_iter)
    best = min(history, key=lambda evaluation: evaluation.value)
    chosen = best.parameters
    if isinstance(kernel, AggregationKernel):
        chosen = chosen / chosen.max()
    optimum = _with_parameters(kernel, chosen)
    return KernelOptimum(optimum, chosen, best.value, tuple(history), bool(found.success), str(found.message))


def _minimise_near(objective: Any, centre: Array, reach: float, max_iter: int) -> Any:
    """L-BFGS-B with every variable at most ``reach`` from the centre; warns if it does not converge."""
    found = minimize(
        objective,
        centre,
        jac=True,
        method="L-BFGS-B",
        bounds=[(c - reach, c + reach) for c in centre],
        options={"maxiter": max_iter},
    )
    if not found.success:
        warn(
            f"No minimum of class similarity was reached: {found.message} Raise max_iter, or start from "
            "another kernel.",
            ConvergenceWarning,
        )
    return found


def _checked(
    X: Any, y: ArrayLike, kernel: Tunable, sample_weight: ArrayLike | None, unbiased: bool
) -> LabelledRows:
    """The rows of positive weight, with class numbers."""
    if isinstance(kernel, AggregationKernel):
        X = checked_codes(X)
        check_array(X, input_name="X")
    else:
        X = check_array(X, input_name="X", dtype=np.float64)
    check_consistent_length(X, y)
    weight = checked_weights(sample_weight, X)
    classes, numbers = encode_classes(y, weight)
    used = weight > 0
    rows = LabelledRows(X[used], numbers[used], weight[used], len(classes), unbiased)
    rows.require_pairs(classes)
    return rows


def _checked_start(kernel: Tunable, n_features: int) -> Array:
    """The parameters of a kernel as an array, for an optimisation that starts from them."""
    if isinstance(kernel, AggregationKernel):
        start = kernel.checked_weights(n_features)
    else:
        start = np.atleast_1d(np.asarray(kernel.length_scale, dtype=np.float64))
    if not (np.all(start > 0) and np.isfinite(start).all()):
        raise ValueError(
            f"kernel={kernel!r} starts from {start.tolist()}: parameters must be finite and above 0, since "
            "they are optimised as logarithms."
        )
    return start


def _with_parameters(kernel: Tunable, parameters: Array) -> Tunable:
    """A kernel of the same kind with other length scales or weights."""
    if isinstance(kernel, AggregationKernel):
        return AggregationKernel(parameters, kernel.hypersphere)
    return GaussianKernel(float(parameters[0]) if np.ndim(kernel.length_scale) == 0 else parameters)


def _evaluate(rows: LabelledRows, kernel: Tunable, n_jobs: int | None) -> tuple[float, Array]:
    """CS and its gradient."""
    with one_blas_thread():
        if isinstance(kernel, AggregationKernel):
            return _aggregation(rows, kernel)
        return _gaussian(rows, kernel, n_jobs)


def _gaussian(rows: LabelledRows, kernel: GaussianKernel, n_jobs: int | None) -> tuple[float, Array]:
    """CS and its gradient from sums over all pairs."""
    # Centred points keep the cancellation in the sums of each panel small.
    points = kernel.scaled(rows.X - rows.X.mean(axis=0))
    run = joblib.Parallel(n_jobs=n_jobs, prefer="threads")
    work = joblib.delayed(_gaussian_panel)
    parts = run(work(points, rows.y, rows.weight, panel) for panel in row_panels(len(points)))
    sums = np.sum(parts, axis=0)
    scale = np.asarray(kernel.length_scale, dtype=np.float64)
    slopes = sums[:, 1:] / scale if scale.ndim else sums[:, 1:].sum(axis=1, keepdims=True) / scale
    pairs = _PairSums(sums[0, 0], sums[1, 0], slopes[0], slopes[1])
    return pairs.similarity(rows, float(rows.own.sum()))


def _gaussian_panel(points: Array, y: Indices, weight: Array, panel: slice) -> Array:
    r"""Sums over the pairs whose first row is in the panel, shape (2, 1 + n_features).

    The first row of the result is over the pairs of the same class, the second over all pairs. The
    first column is :math:`\sum_{ij} k_{ij}`. The others are, for every feature u,
    :math:`2 \sum_i u_i (u_i \sum_j k_{ij} - \sum_j k_{ij} u_j)`. The sum of these over all panels
    is :math:`\sum_{ij} k_{ij} (u_i - u_j)^2`.
    """
    # Each job enters the context itself, because it may run in another process.
    with one_blas_thread():
        left, kernel = points[panel], GaussianKernel()
        sums = np.zeros((2, 1 + points.shape[1]))
        for columns in row_panels(len(points)):
            right = points[columns]
            values = kernel(left, right) * weight[panel, None] * weight[columns]
            for k, weighted in enumerate((values * (y[panel, None] == y[columns]), values)):
                row_sum = weighted.sum(axis=1)
                sums[k, 0] += row_sum.sum()
                sums[k, 1:] += 2 * np.einsum("ik,ik->k", left, left * row_sum[:, None] - weighted @ right)
        return sums


def _aggregation(rows: LabelledRows, kernel: AggregationKernel) -> tuple[float, Array]:
    """CS and its gradient without a sum over pairs: the features of the kernel are summed by class."""
    weights = kernel.checked_weights(rows.X.shape[1])
    columns, attribute = AggregationKernel().one_hot(rows.X)
    known = rows.X >= 0
    scale = inverse_lengths(known @ weights, kernel)
    by_class = np.asarray(columns.T @ (scale[:, None] * rows.by_class)).T
    together = by_class.sum(axis=0)
    # The derivative of 1 / sqrt(k(x, x)) contains its third power.
    share = rows.weight * scale**3
    sums = []
    for square, reached in (
        (
            (by_class**2).sum(axis=0),
            (columns @ (weights[attribute] * by_class).T)[np.arange(len(rows.y)), rows.y],
        ),
        (together**2, columns @ (weights[attribute] * together)),
    ):
        matches = np.bincount(attribute, weights=square, minlength=len(weights))
        sums.append((float(weights @ matches), matches - (share * reached) @ known))
    (same, same_slope), (total, total_slope) = sums
    own = float(rows.own @ (scale > 0))
    return _PairSums(same, total, same_slope, total_slope).similarity(rows, own)

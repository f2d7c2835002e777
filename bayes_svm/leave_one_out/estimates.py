"""Joachims' xi-alpha estimates and the span estimate: performance without leaving anything out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import cho_solve, solve_triangular

from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution
from bayes_svm.dual.solving import RIDGE
from bayes_svm.dual.tableau import FreeSystem
from bayes_svm.leave_one_out.start import pinning_points
from bayes_svm.metrics.confusion import Confusion, PerClass, decisions_per_class
from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.types import Array, Mask

__all__ = ["Span", "XiAlpha", "doubtful_rows", "span_estimate", "xi_alpha"]


@dataclass(frozen=True)
class XiAlpha(PerClass):
    r"""Estimates of the leave-one-out error, recall, precision and F1, which can be bounds.

    With :math:`d_+` (:math:`d_-`) the positive (negative) points with
    :math:`\rho \alpha_i R_\Delta^2 + \xi_i \ge 1`, and :math:`n_+` positives of n:

    .. math:: \mathrm{Err} = \frac{d_+ + d_-}{n}, \quad \mathrm{Rec} = 1 - \frac{d_+}{n_+}, \quad
              \mathrm{Prec} = \frac{n_+ - d_+}{n_+ - d_+ + d_-}, \quad
              F_1 = \frac{2 n_+ - 2 d_+}{2 n_+ - d_+ + d_-}

    If :math:`\rho = 2`, the solutions are exact and stable, and all copies have the same upper bound of
    alpha, these are bounds: the error is at least that of leave-one-out, and recall, precision and F1 are at
    most its. With class weights, or sample weights that are no whole numbers, copies have different upper
    bounds: removing one can then move the intercept by more than the proof allows for, and the estimates are
    no bounds.

    Parameters
    ----------
    confusions : tuple of Confusion
        One for two classes, otherwise one per class against the rest; the doubtful points
        count as errors.
    counts : array of shape (2,) or (n_classes, 2)
        Weighted ``d_plus, d_minus``; one row per class for more than two.
    rho : float
        Factor of the criterion above.
    r_delta_squared : float
        Upper bound :math:`R_\Delta^2` of ``k(x, x) - k(x, x')``.
    stable : bool
        Whether the intercept of every solution is unique: there is a free point, or the interval of
        intercepts is one point. The proof of the bound also needs a free point in the solution without each
        point. Only :func:`~bayes_svm.leave_one_out` knows that: there the status must not be
        "unstable".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.svm import SVC
    >>> from bayes_svm import xi_alpha
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = xi_alpha(SVC(kernel="linear", C=0.01), scale(X), y)
    >>> found.counts.tolist(), round(found.error, 3), found.stable
    ([58.0, 58.0], 0.204, True)
    """

    counts: Array
    rho: float
    r_delta_squared: float
    stable: bool
    __repr__ = short_repr


@dataclass(frozen=True)
class Span(PerClass):
    r"""Leave-one-out estimate with the set of free points frozen (Vapnik and Chapelle 2000).

    .. math:: y_r f^{(-r)}(x_r) \approx y_r f(x_r) - \alpha_r S_r^2

    where S_r is the distance of point r in feature space from the affine hull of the other
    free points. This is the first step of the exact path, continued to the end.

    Parameters
    ----------
    confusions : tuple of Confusion
        One for two classes, otherwise one per class against the rest.
    decision_values : array of shape (n_samples,) or (n_samples, n_classes)
        The estimated leave-one-out decision values.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.svm import SVC
    >>> from bayes_svm import span_estimate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = span_estimate(SVC(), scale(X), y)
    >>> found.decision_values[:2].round(2).tolist(), round(found.error, 3)
    ([-0.88, -1.88], 0.025)
    """

    decision_values: Array
    __repr__ = short_repr


def xi_alpha(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    rho: float = 2.0,
    r_delta_squared: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> XiAlpha:
    """Estimate error, recall, precision and F1 from alpha and xi of one fit.

    Parameters
    ----------
    estimator : SVC, BayesSVC or LinearSVC with the hinge loss, fitted or not
        The machine whose error is estimated.
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data; the kernel matrix between the training points for a precomputed kernel.
    y : array of shape (n_samples,)
        Class labels.
    rho : float in (0, 2], default=2.0
        Factor of alpha. 2 gives the proven bound of the leave-one-out counts of stable solutions, without
        class weights and with sample weights that count rows; 1 is the practical choice for text.
    r_delta_squared : float, optional
        Upper bound of ``k(x, x) - k(x, x')`` over all points. By default
        ``max k(x, x) - min k(x, x')`` over the training points, and exactly 1 for unit-length
        non-negative features with a linear kernel.
    sample_weight : array of shape (n_samples,), optional
        A weight of w counts as ``max(1, floor(w))`` copies, as in
        :func:`~bayes_svm.leave_one_out`.

    Returns
    -------
    XiAlpha
        The estimates, and the counts of doubtful points behind them.

    Raises
    ------
    ValueError
        If rho or r_delta_squared is out of range, or if a LinearSVC has another loss.
    TypeError
        If the estimator is not an SVC, a BayesSVC or a LinearSVC. Of a pipeline give the
        last step, and the transformed X.
    MemoryError
        If the kernel matrix does not fit.

    References
    ----------
    Joachims, "Estimating the generalization performance of a SVM efficiently", ICML 2000,
    definitions 1 to 4.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.svm import SVC
    >>> from bayes_svm import xi_alpha
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> estimate = xi_alpha(SVC(C=1.0), scale(X), y)
    >>> estimate.error >= 0.0228, estimate.stable
    (True, True)
    """
    if not 0 < rho <= 2:
        raise ValueError(f"rho={rho!r} is not in (0, 2].")
    if r_delta_squared is not None and not 0 <= r_delta_squared < np.inf:
        raise ValueError(f"r_delta_squared={r_delta_squared!r} must be finite and at least 0.")
    machine, solutions = machine_of(estimator, X, y, sample_weight)
    radius = _r_delta_squared(machine) if r_delta_squared is None else float(r_delta_squared)
    confusions, stable = [], True
    for k, solution in enumerate(solutions):
        stable &= solution.stable
        doubtful = doubtful_rows(machine, solution, rho * radius)
        positive = machine.y == (1 if machine.n_problems == 1 else k)
        decided = np.where(positive, 1.0, -1.0) * np.where(doubtful, -1.0, 1.0)
        confusions.append(Confusion.from_decisions(positive, decided, machine.weight))
    counts = np.array([(confusion.fn, confusion.fp) for confusion in confusions])
    return XiAlpha(
        confusions=tuple(confusions),
        counts=counts[0] if len(counts) == 1 else counts,
        rho=rho,
        r_delta_squared=radius,
        stable=stable,
    )


def doubtful_rows(machine: Machine, solution: DualSolution, factor: float) -> Mask:
    r"""Rows with :math:`c \alpha_i + \xi_i \ge 1`, which may be wrong when left out.

    Parameters
    ----------
    machine : Machine
        The training data.
    solution : DualSolution
        Solution of one of the machine's problems.
    factor : float
        :math:`c = \rho R_\Delta^2`; alpha is that of one copy of the row.

    Returns
    -------
    array of bool of shape (n_samples,)
        Whether the row may be wrong.
    """
    alpha = np.abs(solution.row_beta) / copies_of_weight(machine.weight)
    slack = np.zeros(len(alpha))
    group = solution.problem.group
    used = group >= 0
    slack[used] = solution.slack[group[used]]
    return np.asarray(factor * alpha + slack >= 1)


def _r_delta_squared(machine: Machine) -> float:
    """Upper bound of ``k(x, x) - k(x, x')``."""
    gram = machine.gram
    if machine.kernel.is_linear:
        unit_length = np.allclose(gram.diagonal, 1.0, rtol=0, atol=1e-9)
        smallest = machine.X.data.min(initial=0.0) if sparse.issparse(machine.X) else machine.X.min()
        if unit_length and smallest >= 0:
            return 1.0
    return float(gram.diagonal.max() - gram.smallest)


def span_estimate(estimator: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Span:
    """Estimate leave-one-out decision values with the set of free points frozen.

    It takes one inverse of the free block of the kernel matrix. Unlike the xi-alpha estimate it is
    not a bound, but usually much closer to the exact leave-one-out error.

    Parameters
    ----------
    estimator : SVC, BayesSVC or LinearSVC with the hinge loss, fitted or not
        The machine whose error is estimated.
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data; the kernel matrix between the training points for a precomputed kernel.
    y : array of shape (n_samples,)
        Class labels.
    sample_weight : array of shape (n_samples,), optional
        A weight of w counts as ``max(1, floor(w))`` copies, as in
        :func:`~bayes_svm.leave_one_out`.

    Returns
    -------
    Span
        The estimated decision values, and the error, recall, precision and F1 that they give.

    Raises
    ------
    ValueError
        If the exact set of free points is not known, for instance because the kernel is not
        positive semi-definite, or if a LinearSVC has another loss.
    TypeError
        If the estimator is not an SVC, a BayesSVC or a LinearSVC. Of a pipeline give the
        last step, and the transformed X.
    MemoryError
        If the kernel matrix does not fit.

    References
    ----------
    Vapnik and Chapelle, "Bounds on error expectation for support vector machines",
    Neural Computation 12(9), 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn.svm import SVC
    >>> from bayes_svm import span_estimate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(span_estimate(SVC(C=1.0), scale(X), y).error, 4)
    0.0246
    """
    machine, solutions = machine_of(estimator, X, y, sample_weight)
    columns = []
    for solution in solutions:
        if solution.tie_break == 0 and not (solution.exact and solution.shared):
            reason = solution.reason or "without a perturbation of the targets they leave the margin"
            raise ValueError(f"The span estimate needs an exact set of free points: {reason}.")
        columns.append(_span_values(machine, solution))
    values = columns[0] if len(columns) == 1 else np.column_stack(columns)
    return Span(
        confusions=decisions_per_class(machine.y, len(machine.classes), values, machine.weight),
        decision_values=values,
    )


def _span_values(machine: Machine, solution: DualSolution) -> Array:
    """``f(x_r) - y_r lost_r S_r^2``, where ``lost_r`` is what alpha loses when one copy of the row leaves."""
    problem = solution.problem
    values = machine.values_on_rows(solution)
    rows = (problem.group >= 0).nonzero()[0]
    points = problem.group[rows]
    unit = problem.row_bound[rows] / copies_of_weight(machine.weight[rows])
    lost = np.maximum(0.0, solution.alpha[points] - np.maximum(0.0, problem.bound[points] - unit))
    values[rows] -= problem.label[points] * lost * _squared_spans(solution)[points]
    return values


def _squared_spans(solution: DualSolution) -> Array:
    """Squared distance of each point from the affine hull of the (other) free points."""
    problem = solution.problem
    gram = problem.gram
    if solution.shared:
        # Each depends on the others, to rounding: the ridge makes its span as good as 0.
        free = solution.between.nonzero()[0]
        system = FreeSystem(gram, free, problem.shift, RIDGE)
    else:
        free = pinning_points(solution)
        system = problem.free_system(free)
    cross = gram.rows(free) + system.shift
    half = solve_triangular(system.factor, cross, lower=True, check_finite=False)
    lack = 1.0 - system.ones @ cross
    spans = gram.diagonal + system.shift - np.square(half).sum(axis=0) + lack**2 / system.total
    inverse = cho_solve((system.factor, True), np.eye(len(free)), check_finite=False)
    pivots = np.diagonal(inverse) - system.ones**2 / system.total
    # If there is only one free point, its span is 0: the intercept makes up for any change.
    spans[free] = np.divide(1.0, pivots, out=np.zeros(len(free)), where=pivots > 1e-14 / system.shift)
    return np.asarray(np.maximum(spans, 0.0))

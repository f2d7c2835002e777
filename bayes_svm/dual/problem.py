"""The signed dual problem of one binary SVM, with equal points merged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from bayes_svm.dual.order import Words, coarse_keys
from bayes_svm.dual.tableau import FreeSystem, kernel_shift
from bayes_svm.kernels.choice import taken
from bayes_svm.kernels.gram import KernelMatrix
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.triangular import cholesky
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = [
    "Distinct",
    "DualProblem",
    "bound_slack",
    "distinct_rows",
    "intercept_interval",
    "interval_of_movable",
    "is_convex",
    "movable",
    "snapped",
]


# A coefficient within this multiple of its bound, or of the largest coefficient, is at the bound: see
# bound_slack.
AT_BOUND = 1e-9
# The bound of a null point.
UNBOUNDED = 1e300
# A negative curvature of at most this multiple of the mean diagonal may be rounding.
CURVATURE_ROUNDING = 1e-9
OVERFLOW = (
    "The solution overflows double precision, with C * sample_weight * class_weight up to {most:.3g}: "
    "scale X (put a StandardScaler before the classifier), or lower C."
)


class Distinct(NamedTuple):
    """The distinct rows of a matrix.

    Parameters
    ----------
    first : array of shape (n_distinct,)
        Row numbers of the first occurrence of each distinct row, ascending.
    row_of : array of shape (n_samples,)
        ``X[i]`` equals ``X[first[row_of[i]]]``.
    keys : array of shape (n_distinct,)
        :func:`~bayes_svm.dual.order.coarse_keys` of the distinct rows.
    """

    first: Indices
    row_of: Indices
    keys: Words


def distinct_rows(X: Any) -> Distinct:
    """Distinct rows of a dense or CSR matrix; 0.0 and -0.0 are equal."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    keys = coarse_keys(X)
    order = np.argsort(keys)
    ascending = keys[order]
    same = ascending[1:] == ascending[:-1]
    # Equal rows have equal keys. Rows whose key no other row has need no comparison.
    representative = np.arange(X.shape[0])
    if same.any():
        tied = np.sort(order[np.append(same, False) | np.append(False, same)])
        representative[tied] = tied[_first_of_equals(X[tied])]
    is_first = representative == np.arange(X.shape[0])
    number = np.cumsum(is_first) - 1
    return Distinct(is_first.nonzero()[0], number[representative], keys[is_first])


def _first_of_equals(X: Any) -> Indices:
    """For each row the number of the first row that equals it."""
    if sparse.issparse(X):
        X.eliminate_zeros()
        contents = (
            X.indices[a:b].tobytes() + X.data[a:b].tobytes()
            for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
        )
        firsts: dict[bytes, int] = {}
        return np.array([firsts.setdefault(content, row) for row, content in enumerate(contents)])
    X = np.ascontiguousarray(X) + 0.0  # -0.0 becomes 0.0
    keys = X.view(np.dtype((np.void, X.itemsize * X.shape[1]))).ravel()
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[of.ravel()])


def is_convex(gram: Array) -> bool:
    """Whether ``beta' K beta >= 0`` for all beta that sum to 0, up to rounding.

    Centring the kernel matrix takes out the part that such beta do not see.

    Parameters
    ----------
    gram : array of shape (n_points, n_points)
        Kernel matrix.
    """
    means = gram.mean(axis=0)
    centred = gram - means - means[:, None] + means.mean()
    scale = float(np.abs(np.diagonal(centred)).mean()) or 1.0
    centred[np.diag_indices_from(centred)] += CURVATURE_ROUNDING * scale
    _, info = cholesky(centred)
    return bool(info == 0)


def bound_slack(beta: Array, bound: Array) -> Array:
    """Distance from a bound within which a coefficient counts as being on it.

    Rounding is relative to the coefficients, which can be far smaller than their bounds. Three places do
    not use this distance: paths and the polish put coefficients on their bounds exactly and compare
    exactly; the end of a path has the tableau's rounding besides
    (:func:`bayes_svm._core.optimality.slack_of`); and the proofs of
    :mod:`bayes_svm.leave_one_out.certified` need what is free beyond doubt.

    Parameters
    ----------
    beta : array of shape (n_points,)
        Signed coefficients.
    bound : array of shape (n_points,)
        Upper bounds of alpha.

    Returns
    -------
    array of shape (n_points,)
        The distance for each point.
    """
    return np.asarray(AT_BOUND * np.minimum(bound, np.abs(beta).max(initial=0.0)))


def snapped(beta: Array, lower: Array, upper: Array) -> Array:
    """The coefficients, with those within rounding of a bound put on it."""
    slack = bound_slack(beta, upper - lower)
    beta = np.where(beta <= lower + slack, lower, beta)
    return np.where(beta >= upper - slack, upper, beta)


def movable(beta: Array, lower: Array, upper: Array) -> tuple[Mask, Mask]:
    """Which coefficients can rise, and which can fall: they are not at that bound. A free one can do both."""
    slack = bound_slack(beta, upper - lower)
    return np.asarray(beta < upper - slack), np.asarray(beta > lower + slack)


def intercept_interval(beta: Array, gradient: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """Ends of the interval of optimal intercepts.

    Parameters
    ----------
    beta : array of shape (n_points,)
        Signed coefficients.
    gradient : array of shape (n_points,)
        ``K beta - label``.
    lower, upper : arrays of shape (n_points,)
        Bounds of beta.

    Returns
    -------
    low, high : float
        The ends; infinite where no point gives one.
    """
    return interval_of_movable(gradient, *movable(beta, lower, upper))


def interval_of_movable(gradient: Array, can_rise: Mask, can_fall: Mask) -> tuple[float, float]:
    """The same, given which coefficients can rise and which can fall."""
    return float((-gradient[can_rise]).max(initial=-np.inf)), float((-gradient[can_fall]).min(initial=np.inf))


class _NoKernelMatrix:
    """Stands for the kernel matrix of a problem that does not keep it."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{name!r} of a kernel matrix that is not kept after the fit: pass the estimator with X and y to "
            "the function that needs it, such as leave_one_out."
        )


@dataclass(frozen=True)
class DualProblem:
    r"""Minimise ``1/2 beta' K beta - label' beta`` over signed coefficients.

    .. math:: \sum_g \beta_g = 0, \qquad \text{lower} \le \beta \le \text{upper},
              \qquad \beta_g = y_g \alpha_g

    Rows with equal x and equal label are merged into one point, whose bound is the sum of theirs.

    A machine whose intercept is regularised, such as :class:`sklearn.svm.LinearSVC`, has no constraint on
    the sum of beta. The constraint is kept, and a *null point* is added: it lies at the origin of feature
    space, has target 0 and no bounds. It takes up any sum at no cost, and holds the intercept at 0.

    The residual of point g is ``f(x_g) - y_g``. At the optimum it is at least 0 where
    beta is at its lower bound, at most 0 at its upper bound, and 0 in between.

    Parameters
    ----------
    gram : KernelMatrix
        Kernel values between the points.
    label : array of shape (n_points,)
        -1 or +1; 0 for a null point, which is then the last.
    bound : array of shape (n_points,)
        Sum of ``C * sample_weight * class_weight`` over the rows of each point.
    group : array of shape (n_samples,)
        The point each row belongs to; -1 for rows of weight zero.
    row_bound : array of shape (n_samples,)
        Each row's own part of the bound.
    convex : bool
        Whether the objective is convex where the coefficients sum to 0. If not, only a stationary point can
        be found.
    """

    gram: KernelMatrix
    label: Array
    bound: Array
    group: Indices
    row_bound: Array
    convex: bool = True
    _last_system: list[FreeSystem] = field(default_factory=list, init=False, repr=False, compare=False)

    __repr__ = short_repr

    @classmethod
    def merge(
        cls,
        gram: KernelMatrix,
        row_of: Indices,
        label: Array,
        row_bound: Array,
        convex: bool = True,
    ) -> DualProblem:
        """Merge rows with equal x and label.

        Parameters
        ----------
        gram : KernelMatrix
            Kernel values between the distinct rows of X, and of null points.
        row_of : array of shape (n_samples,)
            Number of each sample's distinct row; -1 for rows of weight zero.
        label : array of shape (n_samples,)
            -1 or +1.
        row_bound : array of shape (n_samples,)
            Each row's own part of the bound.
        convex : bool
            Whether the kernel is positive semi-definite on the points.
        """
        n_null, used = gram.n_null, row_of >= 0
        key = 2 * row_of[used] + (label[used] > 0)
        present = np.bincount(key).nonzero()[0]
        number = np.empty(present[-1] + 1, dtype=np.intp)
        number[present] = np.arange(len(present))
        rows, group = present // 2, np.full(len(used), -1, dtype=np.intp)
        group[used] = number[key]
        bound: Array = np.bincount(group[used], weights=row_bound[used], minlength=len(present)).astype(float)
        whole = len(rows) + n_null == len(gram) and bool(np.all(rows == np.arange(len(rows))))
        return cls(
            gram=gram if whole else taken(gram, rows),
            label=np.append(np.where(present % 2 == 1, 1.0, -1.0), np.zeros(n_null)),
            bound=np.append(bound, np.full(n_null, UNBOUNDED)),
            group=group,
            row_bound=np.where(used, row_bound, 0.0),
            convex=convex,
        )

    @cached_property
    def shift(self) -> float:
        """Constant added to the kernel where a positive definite matrix is needed."""
        return kernel_shift(self.gram)

    def free_system(self, free: Indices) -> FreeSystem:
        """The factorised system of some free points.

        The last system is kept: the polish, the exact coefficients and the paths of one solution need the
        same.

        Parameters
        ----------
        free : array of shape (n_free,)
            Numbers of the points.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the points are dependent.
        """
        for system in self._last_system:
            if np.array_equal(system.free, free):
                return system
        system = FreeSystem(self.gram, free, self.shift)
        self._last_system[:] = [system]
        return system

    def detached(self) -> DualProblem:
        """The same problem without its kernel matrix, whose memory grows with the square of the rows."""
        return replace(self, gram=cast(KernelMatrix, _NoKernelMatrix()))

    @cached_property
    def first_row(self) -> Indices:
        """The first row of each point; -1 for a null point."""
        first = np.full(len(self.label), -1, dtype=np.intp)
        rows = (self.group >= 0).nonzero()[0][::-1]
        first[self.group[rows]] = rows
        return first

    @cached_property
    def lower(self) -> Array:
        """Lower bounds of beta."""
        return np.where(self.label > 0, 0.0, -self.bound)

    @cached_property
    def upper(self) -> Array:
        """Upper bounds of beta."""
        return np.where(self.label >= 0, self.bound, 0.0)

    def objectives(self, beta: Array, values: Array, intercept: float) -> tuple[float, float]:
        """Primal and dual objective at ``beta``.

        Parameters
        ----------
        beta : array of shape (n_points,)
            Signed coefficients.
        values : array of shape (n_points,)
            Their decision values.
        intercept : float
            The intercept in these values.

        Raises
        ------
        ValueError
            If a decision value overflows.
        """
        if not np.isfinite(values).all():
            raise ValueError(OVERFLOW.format(most=float(self.bound[self.label != 0].max())))
        norm = float(beta @ (values - intercept))
        weight = np.where(self.label != 0, self.bound, 0.0)
        loss = float(weight @ np.maximum(0.0, 1.0 - self.label * values))
        return norm / 2 + loss, float(self.label @ beta) - norm / 2

"""Posterior variance of, and information about, training points that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.problem import DualProblem
from bayes_svm.probability.posterior import Posterior, information_from, posterior_of
from bayes_svm.utils.dealing import copies_of_weight
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array, Indices

__all__ = ["information_across", "leave_one_out_variance", "left_out_variance"]

# Bytes of one block of kernel values.
BLOCK_BYTES = 2**26


def left_out_variance(
    machine: Machine, problem: DualProblem, posterior: Posterior, case: Indices, row: Indices, removed: Array
) -> Array:
    r"""Posterior variance at rows, each left out together with the rest of its case.

    .. math:: s_{(-S)}^2(x_i) = V_{ii} + V_{iS} \left( R_S^{-1} - V_{SS} \right)^{-1} V_{Si}

    where V is the posterior covariance of the decision values and S the rows of the case. For a single row
    this is :math:`s^2 / (1 - r s^2)`. The curvature of the rows that stay is that of the whole solution.
    Leaving out a row without curvature changes nothing.

    Parameters
    ----------
    machine : Machine
        Training data and kernel.
    problem : DualProblem
        One of the machine's problems.
    posterior : Posterior
        Posterior at the solution of that problem.
    case : array of shape (n_parts,)
        Number of the case that each part leaves with, in ascending order.
    row : array of shape (n_parts,)
        Row of each part.
    removed : array of shape (n_parts,)
        How much of the row's upper bound leaves.

    Returns
    -------
    array of shape (n_parts,)
        Variance at the row of each part, its case left out.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite on the active points.
    """
    point = problem.group[row]
    variance, present, absent = np.empty(len(row)), (point >= 0).nonzero()[0], (point < 0).nonzero()[0]
    if len(absent):
        variance[absent] = posterior.variance(machine.X[row[absent]])
    place = np.full(len(problem.label), -1)
    place[posterior.points] = np.arange(len(posterior.points))
    most = max(1, BLOCK_BYTES // (8 * max(1, len(posterior.points))))
    for block in _whole_cases(case[present], most):
        parts = present[block]
        points, active = point[parts], place[point[parts]]
        cross = problem.gram.block(posterior.points, points).T
        half, diagonal = posterior.half_of(cross), problem.gram.diagonal[points]
        found = np.maximum(0.0, diagonal - np.einsum("ij,ij->j", half, half)) / posterior.lam
        # As much of a point's curvature leaves as of its bound.
        gone = removed[parts] / problem.bound[points] * np.append(posterior.curvature, 0.0)[active]
        for one in _whole_cases(case[parts], 1):
            leaving = one.start + (gone[one] > 0.0).nonzero()[0]
            if len(leaving):
                covariance = (
                    cross[one][:, active[leaving]] - half[:, one].T @ half[:, leaving]
                ) / posterior.lam
                found[one] += _without(covariance, leaving - one.start, np.sqrt(gone[leaving]))
        variance[parts] = np.minimum(found, diagonal / posterior.lam)
    return variance


def _whole_cases(case: Indices, most: int) -> Iterator[slice]:
    """Slices that hold whole cases, of at most ``most`` parts unless a single case has more."""
    ends = np.append(np.diff(case).nonzero()[0] + 1, len(case)) if len(case) else np.empty(0, dtype=np.intp)
    first, start = 0, 0
    while first < len(ends):
        first = max(first + 1, int(np.searchsorted(ends, start + most, side="right")))
        yield slice(start, int(ends[first - 1]))
        start = int(ends[first - 1])


def _without(covariance: Array, leaving: Indices, root: Array) -> Array:
    """Increase of the variances of some values when the curvature of some of them is removed.

    Parameters
    ----------
    covariance : array of shape (n_values, n_leaving)
        Posterior covariances of the values with those whose curvature is removed.
    leaving : array of shape (n_leaving,)
        Places of the latter among the values.
    root : array of shape (n_leaving,)
        Square roots of the curvatures that are removed.

    Returns
    -------
    array of shape (n_values,)
        By how much each variance grows.
    """
    scaled = covariance * root
    values, vectors = eigh(root[:, None] * scaled[leaving], check_finite=False)
    rotated = scaled @ vectors
    with np.errstate(over="ignore"):  # no variance will be above the prior's
        return np.asarray(np.square(rotated) @ (1.0 / np.maximum(1.0 - values, np.finfo(float).eps)))


def information_across(
    machine: Machine,
    problem: DualProblem,
    posterior: Posterior,
    *,
    half: Indices,
    row: Indices,
    counted: Array,
    max_rows: int,
) -> Array | None:
    """Information about the rows of each of two halves, under the posterior of the other half.

    What one half of the data says about the other is at most what all data say about new points. Leaving
    out single rows would not do: if few rows in many dimensions have been centred, each row is minus the
    sum of the others, and they determine it.

    Parameters
    ----------
    machine : Machine
        Training data and kernel.
    problem : DualProblem
        One of the machine's problems.
    posterior : Posterior
        Posterior at the solution of that problem.
    half : array of shape (n_parts,)
        Half that each part is in, 0 or 1.
    row : array of shape (n_parts,)
        Row of each part; a row with copies can be in both halves.
    counted : array of shape (n_parts,)
        How much of the row's upper bound is in the half.
    max_rows : int
        Largest number of points of each half's posterior: see :meth:`Posterior.sketch`.

    Returns
    -------
    array of shape (n_parts,), or None
        Information about the row of each part; None for a kernel that is not positive semi-definite.
    """
    point, found = problem.group[row], np.empty(len(row))
    present = point >= 0  # a row of weight 0 is no point of the problem
    for one in (0, 1):
        own, other = ((half == one) & present).nonzero()[0], ((half != one) & present).nonzero()[0]
        unweighted = ((half != one) & ~present).nonzero()[0]
        share = np.bincount(point[own], weights=counted[own], minlength=len(problem.label)) / problem.bound
        part = posterior.sharing(share[posterior.points]).sketch(machine, problem.gram, max_rows)
        if not part.definite:
            return None
        factor = part.factor_of(problem.gram.block(part.points, part.points))
        step = max(1, BLOCK_BYTES // (8 * max(1, len(part.points))))
        for start in range(0, len(other), step):
            some = other[start : start + step]
            explained = part.explained(problem.gram.block(part.points, point[some]).T, factor)
            found[some] = information_from(explained, problem.gram.diagonal[point[some]], part.lam)
        if len(unweighted):
            found[unweighted] = part.information(machine.X[row[unweighted]])
    return found


def leave_one_out_variance(
    estimator: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> Array:
    r"""Posterior variance of the decision value of every training point, the point itself left out.

    .. math:: s_{(-i)}^2 = \frac{s_i^2}{1 - r_i s_i^2}

    The curvature of the other points is that of the whole solution.

    Parameters
    ----------
    estimator : SVC or BayesSVC
        The machine, fitted or not.
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array of shape (n_samples,)
        Labels.
    sample_weight : array of shape (n_samples,), optional
        How often each row counts. Of a row that counts several times, one copy is left out.

    Returns
    -------
    array of shape (n_samples,) or (n_samples, n_classes)
        The variances; one column per machine if there are several.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import SVC
    >>> from bayes_svm.probability.left_out_posterior import leave_one_out_variance
    >>> X, y = make_classification(100, random_state=0)
    >>> leave_one_out_variance(SVC(), X, y).shape
    (100,)
    """
    with one_blas_thread():
        machine, solutions = machine_of(estimator, X, y, sample_weight)
        C = float(estimator.C)
        columns = []
        for solution in solutions:
            problem = solution.problem
            posterior = posterior_of(machine, solution, C)
            rows = np.arange(len(machine.y))
            removed = problem.row_bound / copies_of_weight(machine.weight)
            columns.append(left_out_variance(machine, problem, posterior, rows, rows, removed))
    return columns[0] if len(columns) == 1 else np.column_stack(columns)

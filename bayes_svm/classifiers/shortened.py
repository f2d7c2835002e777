"""A compact model of fewer points and shorter numbers, where its probabilities hardly change."""

from __future__ import annotations

import pickle
from bisect import bisect_left
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr, solve_triangular

from bayes_svm.classifiers.nested_numbers import numbers_in, with_numbers
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array

__all__ = ["CLOSE", "is_long", "shortened", "stacked"]

# Kernels whose machines, one for each class, can have many more support vectors than those of pairs.
LONG = ("poly", "sigmoid")
# Every log-probability may change by so much, and by so much of itself.
CLOSE = 1e-6
# Binary digits of the numbers, the fewest first; a double has 53.
DIGITS = range(20, 52, 2)
# The probabilities are compared at about so many of the rows, and at the same rows times the other numbers.
SAMPLE, FAR = 500, (3.0, 10.0)
# Kernel functions are linearly dependent if what the others leave of one is at most this share.
DEPENDENT = 1e-12


def is_long(model: Any) -> bool:
    """Whether the support vectors can be many more than those of an SVC."""
    return len(model.classes_) > 2 and model.kernel_.function in LONG


def shortened(model: Any) -> Any:
    r"""The smallest copy of a compact model that gives nearly the same probabilities, also far away.

    .. math:: \left| \log \tilde{p}_k(x_i) - \log p_k(x_i) \right| \le 10^{-6} (1 - \log p_k(x_i))

    At most some hundred rows are compared, support vectors and active points of the posterior, and the same
    rows times 3 and times 10. First, kernel functions of a polynomial that are linear combinations of others
    are left out, as there are if the features are few. Then all numbers are rounded to as few digits as will
    do. If none will, the model is returned as it is.

    Parameters
    ----------
    model : BayesSVC
        A compact model.

    Returns
    -------
    BayesSVC
        The copy.
    """
    every = stacked([model.support_vectors_, *(one.rows for one in model._link_posteriors)])
    if not every.shape[0]:
        return model
    sample = every[:: max(1, ceil(every.shape[0] / SAMPLE))]
    with np.errstate(over="ignore"):
        at = stacked([sample, *(_finite(times * sample, model.kernel_) for times in FAR)])
    with one_blas_thread():
        told = model._log_proba(at)

        def is_close(other: Any) -> bool:
            return np.allclose(other._log_proba(at), told, rtol=CLOSE, atol=CLOSE)

        found = [model]
        for one in (model, _of_fewer_points(model, sample)):
            found += _of_fewest_digits(one, is_close)
    return min(found, key=lambda one: len(pickle.dumps(one)))


def _finite(rows: Any, kernel: Kernel) -> Any:
    """Those of the rows that kernel values can be computed at."""
    return rows[np.isfinite(kernel.formula.diagonal(rows))]


def stacked(rows: list[Any]) -> Any:
    """Dense or sparse rows, one after the other."""
    return sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.vstack(rows)


def _of_fewer_points(model: Any, sample: Any) -> Any:
    r"""The same decision functions as sums of fewer kernel functions, if these are linearly dependent.

    .. math:: \sum_i \beta_i k(x_i, x) = \sum_{j \in J} (\beta_j + \sum_{i \notin J} T_{ji} \beta_i) k(x_j, x)

    J and T come from a QR decomposition with pivoting of the kernel values at the sample. Of a polynomial
    this holds everywhere; of other kernels it would near the sample only.
    """
    if model.kernel_.function != "poly" or not len(model.support_):
        return model
    chosen, sums = model._expansion
    numbers, vectors = model.support_[chosen], model.support_vectors_[chosen]
    upper, order = qr(model.kernel_(sample, vectors), mode="r", pivoting=True, check_finite=False)
    left = np.abs(np.diagonal(upper))
    rank = int(np.sum(left > DEPENDENT * left[0]))
    if not 0 < rank < len(left):
        return model
    kept, others = order[:rank], order[rank:]
    shares = solve_triangular(upper[:rank, :rank], upper[:rank, rank:], check_finite=False)
    coefficients = sums[:, kept] + sums[:, others] @ shares.T
    in_order = np.argsort(kept)
    small, kept = copy(model), kept[in_order]
    small.support_, small.support_vectors_ = numbers[kept], vectors[kept]
    small.dual_coef_ = np.ascontiguousarray(coefficients[:, in_order])
    small._expansion = slice(None), small.dual_coef_
    return small


def _of_fewest_digits(model: Any, is_close: Callable[[Any], bool]) -> list[Any]:
    """The model, rounded to the fewest digits with which it is close; none if there are no such digits."""
    fewest = bisect_left(DIGITS, True, key=lambda digits: is_close(_rounded(model, digits)))
    return [_rounded(model, digits) for digits in DIGITS[fewest : fewest + 1]]


def _rounded(model: Any, digits: int) -> Any:
    """The model with numbers of so many binary digits."""
    small = copy(model)
    chosen, sums = model._expansion
    small.support_vectors_ = _rounded_rows(model.support_vectors_, digits)
    small.dual_coef_ = _shorter(model.dual_coef_, digits)
    whole = isinstance(chosen, slice)  # then the sums are the coefficients
    small._expansion = chosen, small.dual_coef_ if whole else _shorter(sums, digits)
    links = [_with_shorter(one, digits) for one in model._probabilities.links]
    if (joint := model._probabilities.joint) is not None:
        joint = replace(joint, weights=_shorter(joint.weights, digits))
    small._probabilities = replace(model._probabilities, links=links, joint=joint)
    small._link_posteriors = [
        replace(one, rows=_rounded_rows(one.rows, digits), curvature=_shorter(one.curvature, digits))
        for one in model._link_posteriors
    ]
    return small


def _with_shorter(link: Any, digits: int) -> Any:
    numbers = numbers_in(link)
    return link if numbers is None else with_numbers(link, iter(_shorter(np.array(numbers), digits).tolist()))


def _rounded_rows(rows: Any, digits: int) -> Any:
    if not sparse.issparse(rows):
        return _shorter(rows, digits)
    short = rows.copy()
    short.data = _shorter(rows.data, digits)
    return short


def _shorter(numbers: Array, digits: int) -> Array:
    """Numbers rounded to so many binary digits: the other bits are 0, and compressed take no room."""
    mantissa, exponent = np.frexp(numbers)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, digits)), exponent - digits))

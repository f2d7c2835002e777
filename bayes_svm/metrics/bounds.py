"""How far an estimate of the error can be from the error, whatever the distribution of the data.

The equation numbers are those of Joachims, "Estimating the generalization performance of a SVM
efficiently", 2000, sections 3 and 5.1.
"""

from __future__ import annotations

import numpy as np

__all__ = [
    "hoeffding_bound",
    "hold_out_deviation",
    "leave_one_out_deviation",
    "leave_one_out_vc_bound",
    "vc_bound",
]


def _check_bound(n: float, delta: float | None = None, vc_dimension: float | None = None) -> None:
    if not 1 <= n < np.inf:
        raise ValueError(f"n={n!r} must be at least 1, and finite.")
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} is not in (0, 1).")
    if vc_dimension is not None and not 0 < vc_dimension < n:
        raise ValueError(f"vc_dimension={vc_dimension!r} must be above 0 and below n={n}.")


def vc_bound(training_error: float, n: int, vc_dimension: float, delta: float = 0.05) -> float:
    r"""Upper bound of the true error, which holds with probability ``1 - delta`` (eq. 10).

    .. math:: \mathrm{Err}_{emp} + 2 \sqrt{\frac{d (\ln(2n/d) + 1) - \ln(\delta/4)}{n}}

    Parameters
    ----------
    training_error : float
        Share of training points that are misclassified.
    n : int
        Number n of training points.
    vc_dimension : float
        Vapnik-Chervonenkis dimension d of the classifiers, above 0 and below n.
    delta : float, default=0.05
        Probability that the bound fails.

    Returns
    -------
    float
        The bound. It is useless where it exceeds 1.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from bayes_svm.metrics.bounds import vc_bound
    >>> round(vc_bound(0.01, n=10_000, vc_dimension=21), 3)
    0.270
    """
    _check_bound(n, delta, vc_dimension)
    if not 0 <= training_error <= 1:
        raise ValueError(f"training_error={training_error!r} is not in [0, 1].")
    inner = vc_dimension * (np.log(2 * n / vc_dimension) + 1) - np.log(delta / 4)
    return float(training_error + 2 * np.sqrt(inner / n))


def hold_out_deviation(k: int) -> float:
    r"""Largest standard deviation that an error measured on k test points can have (eq. 14).

    .. math:: \frac{1}{2 \sqrt{k}}

    Parameters
    ----------
    k : int
        Number of test points, at least 1.

    Returns
    -------
    float
        The largest standard deviation.

    Raises
    ------
    ValueError
        If k is below 1.

    Examples
    --------
    >>> from bayes_svm.metrics.bounds import hold_out_deviation
    >>> round(hold_out_deviation(100), 3)
    0.05
    """
    _check_bound(k)
    return float(0.5 / np.sqrt(k))


def hoeffding_bound(k: int, delta: float = 0.05) -> float:
    r"""Deviation that an error measured on k test points rarely exceeds (eq. 15).

    .. math:: \epsilon = \sqrt{\ln(2/\delta) / (2k)}

    Parameters
    ----------
    k : int
        Number of test points, at least 1.
    delta : float, default=0.05
        Largest probability that the measured error is further from the true error.

    Returns
    -------
    float
        The deviation.

    Raises
    ------
    ValueError
        If k is below 1, or delta is not between 0 and 1.

    Examples
    --------
    >>> from bayes_svm.metrics.bounds import hoeffding_bound
    >>> round(hoeffding_bound(100), 3)
    0.136
    """
    _check_bound(k, delta)
    return float(np.sqrt(np.log(2 / delta) / (2 * k)))


def leave_one_out_deviation(n: int, disagreement: float) -> float:
    r"""Upper bound of the root mean squared deviation of the leave-one-out error (eq. 27).

    .. math:: \sqrt{1/n + 6 \Pr(h_n(x) \ne h_{n-1}(x))}

    Parameters
    ----------
    n : int
        Number n of training points, at least 1.
    disagreement : float
        Probability that the decision at a new point changes when one training point is left out.

    Returns
    -------
    float
        The bound.

    Raises
    ------
    ValueError
        If n is below 1, or the probability is not between 0 and 1.

    Examples
    --------
    >>> from bayes_svm.metrics.bounds import leave_one_out_deviation
    >>> round(leave_one_out_deviation(1000, 0.01), 3)
    0.247
    """
    _check_bound(n)
    if not 0 <= disagreement <= 1:
        raise ValueError(f"disagreement={disagreement!r} is not in [0, 1].")
    return float(np.sqrt(1 / n + 6 * disagreement))


def leave_one_out_vc_bound(n: int, vc_dimension: float, delta: float = 0.05) -> float:
    r"""Bound on the deviation of the leave-one-out error, with probability ``1 - delta`` (eq. 77).

    .. math:: \frac{8}{\delta} \sqrt{\frac{(d + 1)(\ln(9n/d) + 2)}{n}}

    The bound holds for algorithms that minimise the training error.

    Parameters
    ----------
    n : int
        Number n of training points.
    vc_dimension : float
        Vapnik-Chervonenkis dimension d of the classifiers, above 0 and below n.
    delta : float, default=0.05
        Probability that the bound fails.

    Returns
    -------
    float
        The bound.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> from bayes_svm.metrics.bounds import leave_one_out_vc_bound
    >>> round(leave_one_out_vc_bound(10_000_000, 3), 3)
    0.444
    """
    _check_bound(n, delta, vc_dimension)
    return float(8 / delta * np.sqrt((vc_dimension + 1) * (np.log(9 * n / vc_dimension) + 2) / n))

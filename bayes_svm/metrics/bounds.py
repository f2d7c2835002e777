"""How far estimates of the error can be from it, whatever the data: Joachims 2000, sections 3 and 5.1."""

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
    if not n >= 1:
        raise ValueError(f"n={n!r} must be at least 1.")
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} is not in (0, 1).")
    if vc_dimension is not None and not 0 < vc_dimension < n:
        raise ValueError(f"vc_dimension={vc_dimension!r} must be above 0 and below n={n}.")


def vc_bound(training_error: float, n: int, vc_dimension: float, delta: float = 0.05) -> float:
    r"""Upper bound of the error from the training error, with probability ``1 - delta`` (eq. 10).

    .. math:: \mathrm{Err}_{emp} + 2 \sqrt{\frac{d (\ln(2n/d) + 1) - \ln(\delta/4)}{n}}

    Parameters
    ----------
    training_error : float
    n : int
    vc_dimension : float
    delta : float, default=0.05

    Returns
    -------
    float, above 1 where it says nothing.

    Examples
    --------
    >>> from bayes_svm.metrics.bounds import vc_bound
    >>> round(vc_bound(0.01, n=10_000, vc_dimension=21), 3)
    0.270
    """
    _check_bound(n, delta, vc_dimension)
    inner = vc_dimension * (np.log(2 * n / vc_dimension) + 1) - np.log(delta / 4)
    return float(training_error + 2 * np.sqrt(inner / n))


def hold_out_deviation(k: int) -> float:
    """Largest standard deviation of an error measured on k points, ``1 / (2 sqrt(k))`` (eq. 14).

    Parameters
    ----------
    k : int

    Returns
    -------
    float
    """
    _check_bound(k)
    return float(0.5 / np.sqrt(k))


def hoeffding_bound(k: int, delta: float = 0.05) -> float:
    r"""Deviation of an error on k points that is exceeded with probability at most delta (eq. 15).

    .. math:: \epsilon = \sqrt{\ln(2/\delta) / (2k)}

    Parameters
    ----------
    k : int
    delta : float, default=0.05

    Returns
    -------
    float
    """
    _check_bound(k, delta)
    return float(np.sqrt(np.log(2 / delta) / (2 * k)))


def leave_one_out_deviation(n: int, disagreement: float) -> float:
    r"""Root mean squared deviation of the leave-one-out error from the error, at most (eq. 27).

    .. math:: \sqrt{1/n + 6 \Pr(h_n(x) \ne h_{n-1}(x))}

    Parameters
    ----------
    n : int
    disagreement : float
        Probability that leaving a point out changes the decision at a new one.

    Returns
    -------
    float
    """
    _check_bound(n)
    if not 0 <= disagreement <= 1:
        raise ValueError(f"disagreement={disagreement!r} is not in [0, 1].")
    return float(np.sqrt(1 / n + 6 * disagreement))


def leave_one_out_vc_bound(n: int, vc_dimension: float, delta: float = 0.05) -> float:
    r"""Deviation of the leave-one-out error, with probability ``1 - delta`` (eq. 77).

    .. math:: \frac{8}{\delta} \sqrt{\frac{(d + 1)(\ln(9n/d) + 2)}{n}}

    It holds for algorithms that minimise the training error.

    Parameters
    ----------
    n : int
    vc_dimension : float
    delta : float, default=0.05

    Returns
    -------
    float
    """
    _check_bound(n, delta, vc_dimension)
    return float(8 / delta * np.sqrt((vc_dimension + 1) * (np.log(9 * n / vc_dimension) + 2) / n))

"""Confidence intervals of proportions, from statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["INTERVALS", "proportion_interval"]

# The name of each interval in this package, and its name in statsmodels.
INTERVALS = {"wilson": "wilson", "clopper-pearson": "beta"}


def proportion_interval(
    count: ArrayLike, n: ArrayLike, alpha: float = 0.05, interval: str = "wilson"
) -> tuple[Any, Any]:
    """Two-sided confidence interval of the proportion ``count / n``.

    Parameters
    ----------
    count : float or array of float
        Number of successes; it need not be whole.
    n : float or array of float
        Number of trials, above 0.
    alpha : float, default=0.05
        Probability that the interval misses the true proportion: one minus the confidence.
    interval : {"wilson", "clopper-pearson"}, default="wilson"
        The Wilson score interval, or the exact binomial one.

    Returns
    -------
    low, high : float, or arrays of the shape of ``count``
        The two ends.

    Examples
    --------
    >>> from bayes_svm.metrics.intervals import proportion_interval
    >>> low, high = proportion_interval(8, 10)
    >>> round(float(low), 3), round(float(high), 3)
    (0.49, 0.943)
    """
    # Loading statsmodels takes long, and most programs never need it.
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(count, n, alpha=alpha, method=INTERVALS[interval])
    # If the share is 0 or 1, rounding may put it just outside its own interval.
    share = np.divide(count, n)
    return np.minimum(low, share), np.maximum(high, share)

"""The VC bound of a training error, for the machines whose VC dimension is known."""

from __future__ import annotations

from math import comb, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from bayes_svm.metrics.bounds import vc_bound

__all__ = ["training_bound"]


def _of_half_spaces(_machine: SVC, n_features: int) -> float:
    return n_features + 1


def _of_polynomials(machine: SVC, n_features: int) -> float:
    """Dimension of the space of decision functions: polynomials, or homogeneous ones and a constant."""
    if machine.coef0 == 0.0:
        return comb(n_features + machine.degree - 1, machine.degree) + 1
    return comb(n_features + machine.degree, machine.degree)


def _of_all_functions(_machine: SVC, _n_features: int) -> float:
    return inf


# The VC dimension of an SVC's decision functions, or an upper bound of it, by the name of the kernel.
VC_DIMENSIONS = {"linear": _of_half_spaces, "poly": _of_polynomials, "rbf": _of_all_functions}


def training_bound(
    estimator: Any, X: Any, y: NDArray[Any], training_error: float, delta: float
) -> tuple[float | None, str]:
    """Upper bound of the error from the training error, with probability ``1 - delta``.

    The VC dimension must not depend on the data: a margin or radius measured on them does not
    give one.

    Parameters
    ----------
    estimator : classifier
        The classifier whose training error it is.
    X : array or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array of shape (n_samples,)
        Their labels.
    training_error : float
        Share of the rows that the trained classifier gets wrong.
    delta : float
        Probability that the bound does not hold.

    Returns
    -------
    bound : float or None
        The bound, which says nothing where it is above 1; None where there is none.
    note : str
        The VC dimension, or why there is no bound.
    """
    if len(np.unique(y)) > 2:
        return None, "no bound: the VC dimension is for two classes"
    # A BayesSVC is none: it predicts by its probabilities, not by the sign of the decision value.
    if not isinstance(estimator, SVC):
        return None, "no bound: the VC dimension is known for an SVC only"
    if not isinstance(estimator.kernel, str) or estimator.kernel not in VC_DIMENSIONS:
        return None, "no bound: the VC dimension of this kernel is not known"
    dimension = VC_DIMENSIONS[estimator.kernel](estimator, np.shape(X)[1])
    if dimension >= len(y):
        size = "infinite" if dimension == inf else f"{dimension}, not below the {len(y)} rows"
        return None, f"no bound: the VC dimension is {size}"
    return vc_bound(training_error, len(y), dimension, delta), f"VC dimension {dimension}"

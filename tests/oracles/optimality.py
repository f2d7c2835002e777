"""KKT residual and duality gap of a machine, straight from their definitions."""

from typing import NamedTuple

import numpy as np


class Measured(NamedTuple):
    kkt_residual: float
    gap: float  # relative to the dual objective
    scale: float  # max(1, max |f|)


def measure(K, y, bound, beta, intercept, at_bound=1e-9):
    """How far ``f = K beta + intercept`` is from the optimum of the SVM with these bounds."""
    f, alpha, present = K @ beta + intercept, y * beta, bound > 0
    margin = y * f - 1
    wrong = np.zeros(len(y))
    wrong = np.where(present & (alpha < bound * (1 - at_bound)), np.maximum(wrong, -margin), wrong)
    wrong = np.where(present & (alpha > bound * at_bound), np.maximum(wrong, margin), wrong)
    wrong = np.maximum(wrong, np.maximum(-alpha, alpha - bound))
    norm = beta @ K @ beta
    primal = norm / 2 + bound @ np.maximum(0, -margin)
    dual = alpha.sum() - norm / 2
    return Measured(
        kkt_residual=max(wrong.max(), abs(beta.sum())),
        gap=(primal - dual) / max(abs(dual), 1e-300),
        scale=max(1.0, np.abs(f).max()),
    )

"""An independent oracle for the SVM dual: a dense primal-dual interior-point method in float64.

It shares nothing with the package: no merging of rows, no active set, no perturbation.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve


def solve_dual(gram: np.ndarray, y: np.ndarray, C: float, max_iter: int = 200) -> tuple[np.ndarray, float]:
    """Signed coefficients and intercept: Mehrotra's predictor-corrector method.

    Minimises ``1/2 a' Q a - sum(a)`` under ``y' a = 0``, ``0 <= a <= C``, with z and w the
    multipliers of the two bounds, and the intercept b that of the equation:
    ``Q a + b y - 1 = z - w``. Iterates until rounding stops the progress.
    """
    y = y.astype(float)
    Q = gram * np.outer(y, y)
    a, s = np.full(len(y), C / 2), np.full(len(y), C / 2)  # s = C - a, kept apart: it must not round to 0
    z, w, b = np.ones(len(y)), np.ones(len(y)), 0.0
    best, stalled = (np.inf, a * y, b), 0
    for _ in range(max_iter):
        r_dual, r_sum = 1.0 - Q @ a - b * y + z - w, -float(y @ a)
        mu = float(a @ z + s @ w) / (2 * len(y))
        error = max(mu / C, float(np.abs(r_dual).max()), abs(r_sum))
        if error < best[0]:
            best, stalled = (error, a * y, b), 0
        elif (stalled := stalled + 1) > 5:
            break
        try:
            factor = cho_factor(Q + np.diag(z / a + w / s), lower=True)
        except LinAlgError:
            break
        across = cho_solve(factor, y)

        def step(t1, t2, a=a, s=s, z=z, w=w, factor=factor, across=across, r_dual=r_dual, r_sum=r_sum):
            right = cho_solve(factor, r_dual + t1 / a - t2 / s)
            db = float(y @ right - r_sum) / float(y @ across)
            da = right - db * across
            return da, (t1 - z * da) / a, (t2 + w * da) / s, db

        da, dz, dw, _ = step(-a * z, -s * w)
        length = _longest((a, da), (s, -da), (z, dz), (w, dw))
        ahead = float((a + length * da) @ (z + length * dz) + (s - length * da) @ (w + length * dw))
        target = (ahead / (2 * len(y) * mu)) ** 3 * mu
        da, dz, dw, db = step(target - a * z - da * dz, target - s * w + da * dw)
        length = min(1.0, 0.995 * _longest((a, da), (s, -da), (z, dz), (w, dw)))
        a, s, b = a + length * da, s - length * da, b + length * db
        z, w = z + length * dz, w + length * dw
    return best[1], best[2]


def _longest(*pairs: tuple[np.ndarray, np.ndarray]) -> float:
    """Longest step, at most 1, after which nothing is negative."""
    return min(1.0, *(float(np.min(-x[dx < 0] / dx[dx < 0], initial=np.inf)) for x, dx in pairs))

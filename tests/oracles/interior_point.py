"""A dense primal-dual interior-point method for the SVM dual: slow, obvious, and no active-set method."""

from typing import NamedTuple

import numpy as np


class Optimum(NamedTuple):
    beta: np.ndarray
    intercept: float
    gap: float  # relative duality gap


def minimise_box_qp(K, q, lower, upper):
    """Minimise ``1/2 b'Kb - q'b`` subject to ``sum b = 0`` and ``lower <= b <= upper``.

    Mehrotra's predictor and corrector. Variables with no room between their bounds are left out.
    """
    kept = upper > lower
    beta = np.zeros(len(q))
    beta[kept], intercept = _minimise(K[np.ix_(kept, kept)], q[kept], lower[kept], upper[kept])
    return Optimum(beta, intercept, relative_gap(K, q, lower, upper, beta, intercept))


def _minimise(K, q, lower, upper, max_iter=150):
    n = len(q)
    b, intercept = (lower + upper) / 2, 0.0
    s, t = b - lower, upper - b  # kept as variables: recomputed, they would lose their last digits
    z = w = np.full(n, max(1.0, np.abs(K @ b - q).max()))
    border = np.ones((n, 1))
    # Repeated rows make K singular. A proximal term slows the last steps down but moves no optimum.
    proximal = 1e-11 * np.trace(K) / n * np.eye(n)
    # Where an optimal b is at a bound with residual zero, its error is the square root of this.
    enough = 1e-15 * min(1.0, (upper - lower).min())
    for _ in range(max_iter):
        dual, primal = K @ b + intercept - q - z + w, b.sum()
        mu = (s @ z + t @ w) / (2 * n)
        if mu <= enough:
            break
        matrix = np.block([[K + proximal + np.diag(z / s + w / t), border], [border.T, np.zeros((1, 1))]])

        def step(r_s, r_t, s=s, t=t, z=z, w=w, dual=dual, primal=primal, matrix=matrix):
            d = np.linalg.solve(matrix, np.append(-dual + r_s / s - r_t / t, -primal))
            return d[:n], d[n], (r_s - z * d[:n]) / s, (r_t + w * d[:n]) / t

        db, _, dz, dw = step(-s * z, -t * w)
        length = _longest((s, db), (t, -db), (z, dz), (w, dw))
        ahead = (s + length * db) @ (z + length * dz) + (t - length * db) @ (w + length * dw)
        goal = mu * (ahead / (2 * n * mu)) ** 3
        db, di, dz, dw = step(goal - s * z - db * dz, goal - t * w + db * dw)
        length = 0.99 * _longest((s, db), (t, -db), (z, dz), (w, dw))
        b, s, t = b + length * db, s + length * db, t - length * db
        intercept, z, w = intercept + length * di, z + length * dz, w + length * dw
    return b, intercept


def _longest(*pairs):
    """Longest step, at most 1, that keeps every ``x + step * dx`` positive."""
    return min(1.0, *(np.min(-x[dx < 0] / dx[dx < 0], initial=np.inf) for x, dx in pairs))


def relative_gap(K, q, lower, upper, beta, intercept):
    """Primal minus dual objective, over the dual one; the loss is the hinge written on ``[lower, upper]``."""
    residual = K @ beta + intercept - q
    loss = np.maximum(-upper * residual, -lower * residual).sum()
    quadratic = beta @ K @ beta
    dual = q @ beta - quadratic / 2
    return (quadratic / 2 + loss - dual) / max(abs(dual), 1e-300)

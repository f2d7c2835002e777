"""Criteria for kernels beside class similarity: what the paper's leaves out, the kernel's spread and C.

All are lower where the kernel is better, and all take the kernel matrix H of unit diagonal.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

SPREAD, ALIGNMENT = "W - B over spread", "centred alignment"
MEAN_ERROR, MEAN_SPREAD = "nearest mean, error", "nearest mean, spread"
MEAN_HINGE, SQUARES = "nearest mean, hinge and C", "least squares, error and C"
WITHOUT_C, WITH_C = (SPREAD, ALIGNMENT, MEAN_ERROR, MEAN_SPREAD), (MEAN_HINGE, SQUARES)
MEANINGS = {
    SPREAD: "minus W - B, divided by the standard deviation of the kernel over pairs of different rows",
    ALIGNMENT: "minus the alignment of the centred kernel with the centred kernel of equal labels, which "
    "divides by the spread of all kernel values",
    MEAN_ERROR: "exact leave-one-out error of the rule that takes the class whose mean in feature space is "
    "nearest; it takes the same sums as CS",
    MEAN_SPREAD: "minus the mean of that rule's left-out margins, divided by their standard deviation",
    MEAN_HINGE: "those margins times one factor: least hinge loss, the factor penalised as the SVM with C "
    "penalises the weights",
    SQUARES: "exact leave-one-out error of the least-squares SVM with C, in closed form; it costs a matrix "
    "inversion, which is as much as training",
}


def alignment(K: np.ndarray, y: np.ndarray, count: np.ndarray) -> float:
    target = (y[:, None] == y).astype(float)
    share, centred = count / count.sum(), []
    for matrix in (K, target):
        rows = matrix @ share
        centred.append(matrix - rows - rows[:, None] + share @ rows)
    inner = [share @ (centred[j] * centred[k]) @ share for j, k in ((0, 1), (0, 0), (1, 1))]
    return -float(inner[0] / np.sqrt(inner[1] * inner[2]))


def over_spread(K: np.ndarray, member: np.ndarray, count: np.ndarray) -> float:
    n, own = count.sum(), count @ np.diagonal(K)
    weighted = member * count[:, None]
    total, same = float(count @ K @ count), float(np.sum(weighted * (K @ weighted)))
    squares, pairs = float(np.sum(weighted.sum(axis=0) ** 2)), n * (n - 1)
    within, between = (same - own) / (squares - n), (total - same) / (n**2 - squares)
    second = (count @ (K * K) @ count - count @ np.diagonal(K) ** 2) / pairs
    variance = second - ((total - own) / pairs) ** 2
    return -float((within - between) / np.sqrt(max(variance, 1e-300)))


def left_out_distances(K: np.ndarray, member: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Squared distance of each row, up to k(x, x), to each class's mean without one copy of the row."""
    weighted = member * count[:, None]
    size = weighted.sum(axis=0)
    to_mean = K @ weighted / size
    square = np.diagonal(weighted.T @ to_mean) / size
    distance = square - 2.0 * to_mean
    for c in range(member.shape[1]):
        own = np.flatnonzero(member[:, c])
        n, itself = size[c], np.diagonal(K)[own]
        left_to_mean = (n * to_mean[own, c] - itself) / (n - 1)
        left_square = (n**2 * square[c] - 2.0 * n * to_mean[own, c] + itself) / (n - 1) ** 2
        distance[own, c] = left_square - 2.0 * left_to_mean
    return distance


def margins(distance: np.ndarray, number: np.ndarray) -> np.ndarray:
    """How much nearer the own class's mean is than the nearest other, in squared distance."""
    rows = np.arange(len(number))
    others = distance.copy()
    others[rows, number] = np.inf
    return np.asarray(others.min(axis=1) - distance[rows, number])


def hinge_of(margin: np.ndarray, apart: float, C: float, count: np.ndarray) -> float:
    """Least regularised hinge loss of factor times margins; the weights' squared length is factor² apart."""
    n = count.sum()

    def loss(logarithm: float) -> float:
        factor = np.exp(logarithm)
        hinge = np.maximum(0.0, 1.0 - factor * margin)
        return float(count @ hinge / n + factor**2 * apart / (2.0 * n * C))

    return float(min(minimize_scalar(loss, bounds=(-6.0, 12.0), method="bounded").fun, 1.0))


def features_of(K: np.ndarray) -> np.ndarray:
    """Points whose inner products are K."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-12 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def least_squares_error(
    features: np.ndarray, member: np.ndarray, number: np.ndarray, C: float, count: np.ndarray
) -> float:
    """Exact leave-one-out error of the least-squares machine with an intercept, by its hat matrix."""
    share, target = count / count.sum(), 2.0 * member - 1.0
    centred = features - share @ features
    ridge = (centred.T * count) @ centred + np.eye(features.shape[1]) / C
    pull = np.linalg.solve(ridge, centred.T).T
    fitted = share @ target + pull @ ((centred.T * count) @ target)
    leverage = 1.0 / count.sum() + np.einsum("ij,ij->i", pull, centred)
    left_out = target - (target - fitted) / (1.0 - leverage)[:, None]
    return float(share @ (left_out.argmax(axis=1) != number))


def criteria(
    K: np.ndarray, features: np.ndarray, y: np.ndarray, penalties: tuple[float, ...], count: np.ndarray
) -> dict[tuple[str, float], float]:
    """All criteria by name and C, those without C at C = 0.

    ``features`` have the inner products K; each row stands for ``count`` copies.
    """
    classes, number = np.unique(y, return_inverse=True)
    member, share = np.eye(len(classes))[number], count / count.sum()
    distance = left_out_distances(K, member, count)
    margin = margins(distance, number)
    mean = float(share @ margin)
    deviation = float(np.sqrt(share @ (margin - mean) ** 2))
    weighted = member * count[:, None]
    means = weighted / weighted.sum(axis=0)
    gram = means.T @ K @ means
    lengths = np.diagonal(gram)
    apart = float(np.sum(lengths[:, None] + lengths - 2.0 * gram) / (len(gram) * (len(gram) - 1)))
    found = {
        (SPREAD, 0.0): over_spread(K, member, count),
        (ALIGNMENT, 0.0): alignment(K, y, count),
        (MEAN_ERROR, 0.0): float(share @ (distance.argmin(axis=1) != number)),
        (MEAN_SPREAD, 0.0): -mean / deviation if deviation > 0 else 0.0,
    }
    for C in penalties:
        # The difference of two squared distances has weights of twice the distance of the means.
        found[MEAN_HINGE, C] = hinge_of(margin, 4.0 * apart, C, count)
        found[SQUARES, C] = least_squares_error(features, member, number, C, count)
    return found

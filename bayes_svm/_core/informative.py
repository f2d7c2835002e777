"""Which points say most: pivots of a Cholesky factorisation, compiled."""

import cython

if not cython.compiled:
    from math import inf, sqrt

    from bayes_svm._core.arrays import READ, WRITE, doubles, length, numbers, rows

    # Of scores that differ by no more than this share of the largest, the first is taken.
    ALIKE = 1e-6
    # Points are the same if their squared distance is no more than this share of their squared length.
    SAME = 1e-12
    # A score of no more than this share of the first one is 0.
    NOTHING = 1e-12


def _unite(n, gram, curvature, diagonal):
    """Let the first of points that are the same but for small differences have the curvature of all."""
    # Copied, because each entry is in another line of the processor's cache.
    for i in range(n):
        diagonal[i] = gram[i][i]
    for i in range(n):
        row, own = gram[i], diagonal[i]
        if curvature[i] > 0.0:
            for j in range(i + 1, n):
                if own + diagonal[j] - 2.0 * row[j] <= SAME * own:
                    curvature[i] += curvature[j]
                    curvature[j] = 0.0


def _choose(n, most, gram, curvature, ridge, factor, score, chosen):
    """Write the pivots to ``chosen``; returns their number."""
    for i in range(n):
        score[i] = curvature[i] * gram[i][i]
    least = 0.0
    for step in range(most):
        largest = -inf
        for i in range(n):
            largest = max(largest, score[i])
        if not largest > least:
            return step
        if step == 0:
            least = NOTHING * largest
        pivot = 0
        while pivot < n - 1 and score[pivot] < largest * (1.0 - ALIKE):
            pivot += 1
        chosen[step] = pivot
        # The pivot's column of the factor, as a row.
        column, row, own = factor[step], gram[pivot], curvature[pivot]
        for i in range(n):
            column[i] = sqrt(curvature[i] * own) * row[i]
        for j in range(step):
            before, share = factor[j], factor[j][pivot]
            for i in range(n):
                column[i] -= share * before[i]
        scale = 1.0 / sqrt(score[pivot] + ridge)
        for i in range(n):
            column[i] *= scale
            score[i] -= column[i] * column[i]
        score[pivot] = -inf
    return most


def most_informative(gram, curvature, ridge, factor, score, chosen):
    r"""Points chosen one after the other, each the one from which most is learned after those before.

    They are the pivots of the Cholesky factorisation of :math:`R^{1/2} K R^{1/2} + \lambda I`. The score of a
    point is :math:`\lambda r_i s_i^2`, with the variance given the points before, and the point adds
    :math:`\tfrac12 \log (1 + r_i s_i^2)` to what is known: Lawrence, Seeger and Herbrich, "Fast sparse
    Gaussian process methods: the informative vector machine", NIPS 2002. Of equal scores the first is taken.
    Points that are the same but for small differences are one, with the curvature of all.

    Parameters
    ----------
    gram : array of shape (n, n)
        The matrix K, positive semi-definite.
    curvature : array of shape (n,)
        The curvatures r. On return the first of points that are the same has that of all, the others 0.
    ridge : float
        The precision lambda, more than 0.
    factor : array of shape (most, n)
        Memory.
    score : array of shape (n,)
        Memory.
    chosen : array of int of shape (most,)
        Where the points are written.

    Returns
    -------
    int
        The number of points: fewer than ``most`` if the others add nothing.
    """
    keep = []
    n, most = length(score, "score", 0), length(chosen, "chosen", 0)
    held, memory = rows(gram, "gram", n, n, READ, keep), rows(factor, "factor", most, n, WRITE, keep)
    weights = doubles(curvature, "curvature", n, WRITE, keep)
    scores, places = doubles(score, "score", n, WRITE, keep), numbers(chosen, "chosen", most, WRITE, keep)
    added: cython.double = ridge
    with cython.nogil:
        _unite(n, held, weights, scores)
        found = _choose(n, min(most, n), held, weights, added, memory, scores, places)
    return found

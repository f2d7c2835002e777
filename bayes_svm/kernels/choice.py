"""Which form of the kernel matrix suits a problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bayes_svm.kernels.gram import FEWER_POINTS, KernelMatrix, WholeMatrix
from bayes_svm.kernels.kept_rows import KeptRows
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.kernels.recomputed import Recomputed
from bayes_svm.utils.memory import available_bytes, require_bytes
from bayes_svm.utils.types import Indices

__all__ = ["ALL_AT_ONCE", "held", "kernel_matrix", "taken"]


# The kernel matrix of up to this many points is computed as a whole, 288 MB: symmetry halves the work, and
# to read values takes less time than to compute them again.
ALL_AT_ONCE = 6000
# Where many problems share it, the matrix of up to this many points, 1.2 GB, is worth its memory.
SHARED, SHARE = 12_000, 1 / 4
# A value of at most this many features is computed in less time than memory for it is fetched.
FEW_FEATURES = 100
# Rows of more points than this are not kept.
TOO_LONG = 20_000


def kernel_matrix(kernel: Kernel, X: Any, n_null: int = 0) -> KernelMatrix:
    """The kernel matrix of some points.

    A small matrix is computed as a whole. So is the matrix of a kernel that is not known to be
    positive semi-definite. Otherwise values are computed when they are asked for; where they cost
    much and the rows are not too long, rows are kept.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : array or CSR matrix of shape (n_samples, n_features)
        The points.
    n_null : int
        Number of null points, for which rows and columns of zeros are added at the end.

    Raises
    ------
    MemoryError
        If the whole matrix is needed and does not fit into memory.
    ValueError
        If a value is not finite, or the kernel is not symmetric.
    """
    size = X.shape[0] + n_null
    if size <= ALL_AT_ONCE or not kernel.positive_semidefinite:
        # Besides the values, which take 8 bytes each, one byte each to work in.
        require_bytes(9 * size**2, f"An exact SVM on {size} different training points", FEWER_POINTS)
        return WholeMatrix(kernel.gram(X, n_null), n_null, kernel.positive_semidefinite)
    cheap = not sparse.issparse(X) and X.shape[1] <= FEW_FEATURES
    return Recomputed(kernel, X, n_null) if cheap or size > TOO_LONG else KeptRows(kernel, X, n_null)


def held(gram: KernelMatrix) -> KernelMatrix:
    """The same kernel matrix for many problems, which read its values again and again.

    Values that are computed whenever they are asked for are computed once, if they take at most a share of
    the memory that is free: others may do the same, and the problems need memory too.
    """
    free = available_bytes()
    fits = free is None or 8 * len(gram) ** 2 <= SHARE * free
    if not (isinstance(gram, Recomputed) and len(gram) <= SHARED and fits):
        return gram
    return WholeMatrix(gram.whole(), gram.n_null, gram.positive_semidefinite)


def taken(gram: KernelMatrix, points: Indices) -> KernelMatrix:
    """Kernel matrix of some of the points, followed by the null points.

    Raises
    ------
    MemoryError
        If it does not fit into memory.
    """
    if gram.source is not None:
        kernel, X = gram.source
        return kernel_matrix(kernel, X[points], gram.n_null)
    size = len(gram)
    points = np.append(points, np.arange(size - gram.n_null, size))
    return WholeMatrix(gram.block(points, points), gram.n_null, gram.positive_semidefinite)

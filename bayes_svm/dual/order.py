"""Orders of the training rows that depend on what the rows hold, and on nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms

from bayes_svm._core import matrix
from bayes_svm.utils.types import Array, Indices

__all__ = [
    "Words",
    "coarse_keys",
    "rank_by",
    "rank_of_rows",
    "rank_of_sets",
    "seed_of_rows",
    "shuffled",
    "squared_distances_from_mean",
    "uniforms_of_rows",
]

Words = NDArray[np.uint64]

# The first key sees so many bits of a value, counted from the largest value of its row.
COARSE_BITS = 20
# So many values are hashed at a time.
HASHED_AT_A_TIME = 2**20
# A kernel matrix is hashed at most so many times.
HASH_ROUNDS = 3
# Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Of the first 100,000 constants that with which shuffles of 20 to 1000 ranks have least serial correlation.
SHUFFLE = np.uint64(94556)
MIXERS = ((27, np.uint64(0xBF58476D1CE4E5B9)), (31, np.uint64(0x94D049BB133111EB)))


def coarse_keys(X: Any) -> Words:
    """The first hash of :func:`rank_of_rows` of each row of a dense or CSR matrix."""
    if not sparse.issparse(X):
        # What follows takes some thirty passes over the matrix: the compiled loop takes one.
        return np.asarray(matrix.coarse_keys(X))
    return _keys_of_rows(X, np.arange(X.shape[0]), _coarse)


def rank_of_rows(X: Any, rows: Indices, first_keys: Words) -> Indices:
    """Rank of some rows, which are distinct, in an order as good as random.

    The rank follows from two hashes of the row's non-zero values and their columns. The first hash sees 20
    bits of each value. Rows that differ by rounding only, such as those scaled by a scaler that was fitted
    to permuted data, therefore keep their places. The second hash sees all bits, and separates rows that
    have the same first hash. Dense and sparse rows have the same hashes.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Feature vectors.
    rows : array of shape (n_distinct,)
        The rows to rank.
    first_keys : array of shape (n_distinct,)
        Their first hashes.

    Returns
    -------
    array of shape (n_distinct,)
        The ranks, from 0.
    """
    order = np.argsort(first_keys)
    ascending = first_keys[order]
    same = ascending[1:] == ascending[:-1]
    # The second hash is for those whose first hash another row has too.
    if same.any():
        tied = order[np.append(same, False) | np.append(False, same)]
        second_keys = np.zeros_like(first_keys)
        second_keys[tied] = _keys_of_rows(X, rows[tied], _all_bits)
        return rank_by(first_keys, second_keys)
    rank = np.empty(len(rows), dtype=np.intp)
    rank[order] = np.arange(len(rows))
    return rank


def squared_distances_from_mean(X: Any, rows: Indices, weight: Array) -> tuple[Array, float]:
    """Squared distances of some rows of a dense or CSR matrix from the weighted mean row, up to a constant.

    Columns that are far from 0 lose no digits, except those of a CSR matrix of which some entries are 0.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Feature vectors.
    rows : array of shape (n_rows,)
        The rows.
    weight : array of shape (n_samples,)
        Weight of each row in the mean.

    Returns
    -------
    squared : array of shape (n_rows,)
        The squared distances.
    size : float
        Size of the numbers that they are differences of.
    """
    mean = np.asarray(weight / weight.sum() @ X)
    if sparse.issparse(X):
        chosen = X[rows]
        largest = np.abs(chosen.data).max(initial=0.0)
        # Only entries that are stored can be moved to the mean.
        stored = np.bincount(chosen.indices[chosen.data != 0], minlength=X.shape[1]) == len(rows)
        chosen.data = chosen.data - np.where(stored, mean, 0.0)[chosen.indices]
        norms = row_norms(chosen, squared=True)
        squared = norms - 2.0 * (chosen @ np.where(stored, 0.0, mean))
    else:
        norms, largest = np.empty(len(rows)), 0.0
        for part in _blocks(len(rows), X.shape[1]):
            dense = X[rows[part]]
            largest = max(largest, dense.max(), -dense.min())
            norms[part] = row_norms(dense - mean, squared=True)
        squared = norms
    middle = np.median(norms)
    return squared, float(middle + np.sqrt(middle) * largest)


def shuffled(ranks: Indices) -> Words:
    """Keys that put ranks into an order as good as random, which is always the same.

    One rank more leaves the order of the others as it is.
    """
    return _mix((ranks + 1).astype(np.uint64) * GOLDEN + SHUFFLE)


def uniforms_of_rows(X: Any, seed: int, number: int) -> Array:
    """Numbers between 0 and 1 that depend on what a row holds and on a seed, shape (n_samples, number).

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Feature vectors.
    seed : int
        The seed, from 0.
    number : int
        How many numbers each row gets.
    """
    keys = _mix(_keys_of_rows(X, np.arange(X.shape[0]), _all_bits) + np.uint64(seed))
    words = _mix(keys[:, None] + np.arange(1, number + 1).astype(np.uint64) * GOLDEN)
    # The upper 53 bits; never 0 or 1.
    return np.asarray(((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53)


def seed_of_rows(X: Any, y: Indices, seed: int) -> int:
    """A seed that depends on what all rows hold, on their class numbers and on a seed, not on their order.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Feature vectors.
    y : array of shape (n_samples,)
        Class numbers.
    seed : int
        The seed, from 0.
    """
    keys = _mix(_keys_of_rows(X, np.arange(X.shape[0]), _all_bits) + (y + 1).astype(np.uint64) * GOLDEN)
    return int(_mix(keys).sum(keepdims=True)[0] ^ _mix(np.array([seed], dtype=np.uint64))[0])


def rank_of_sets(gram: Array) -> Indices:
    """The same for the rows of a kernel matrix, each of which counts as the set of its values.

    Permuting the points permutes the rows and the columns.
    """
    return rank_by(*_keys_of_sets(gram).T)


def rank_by(first_keys: NDArray[Any], second_keys: NDArray[Any]) -> Indices:
    """Ranks, from 0, by the first keys; where these are equal, by the second ones."""
    rank = np.empty(len(first_keys), dtype=np.intp)
    rank[np.lexsort((second_keys, first_keys))] = np.arange(len(rank))
    return rank


def _keys_of_rows(X: Any, rows: Indices, seen: Callable[[Array, Array], NDArray[Any]]) -> Words:
    """A hash of some rows of a dense or CSR matrix: the sums of their mixed entries.

    ``seen`` says what the hash sees of values, given the largest one of each row.
    """
    keys = np.zeros(len(rows), dtype=np.uint64)
    for part in _blocks(len(rows), X.shape[1]):
        chosen = X[rows[part]]
        if sparse.issparse(chosen):
            row, largest = chosen.tocoo().row, np.zeros(chosen.shape[0])
            np.maximum.at(largest, row, np.abs(chosen.data))
            np.add.at(keys[part], row, _mixed_entries(seen(chosen.data, largest[row]), chosen.indices))
        else:
            largest = np.abs(chosen).max(axis=1)[:, None]
            keys[part] = _mixed_entries(seen(chosen, largest), np.arange(X.shape[1])).sum(axis=1)
    return keys


def _keys_of_sets(gram: Array) -> Words:
    """Both hashes of each row as a set of pairs: a kernel value, and the hash of the row that it is with.

    This is the colour refinement of Weisfeiler and Leman: rows with equal sets of values differ in the next
    round if the rows that they are near to differ.
    """
    keys = np.zeros((len(gram), 2), dtype=np.uint64)
    for _ in range(HASH_ROUNDS):
        mixed, keys = _mix(keys + GOLDEN), np.empty_like(keys)
        for part in _blocks(len(gram), len(gram)):
            values = gram[part] + 0.0
            coarse = _coarse(values, np.abs(values).max(axis=1)[:, None])
            own = np.arange(len(gram))[part]
            for k, bits in enumerate((coarse.view(np.uint64), values.view(np.uint64))):
                with_others = _mix(_mix(bits) + mixed[:, k]).sum(axis=1, dtype=np.uint64)
                itself = bits[np.arange(len(own)), own] + mixed[own, k]
                keys[part, k] = _mix(with_others + _mix(itself * GOLDEN))
        if len(np.unique(keys[:, 0])) == len(keys):
            break
    return keys


def _blocks(n_rows: int, width: int) -> list[slice]:
    """Blocks of rows of this width, to be hashed one after the other."""
    step = max(1, HASHED_AT_A_TIME // max(1, width))
    return [slice(start, start + step) for start in range(0, n_rows, step)]


def _mixed_entries(seen: NDArray[Any], column: NDArray[Any]) -> Words:
    """What each entry contributes to a hash of its row: nothing if it is 0."""
    mixed = _mix(seen.view(np.uint64))
    mixed += (column.astype(np.uint64) + np.uint64(1)) * GOLDEN
    mixed = _mix(mixed)
    mixed[seen == 0] = 0
    return mixed


def _coarse(values: Array, largest: Array) -> NDArray[np.int64]:
    """Values in units of a power of two about ``2^-20`` of the largest.

    The power changes at 0.8 times a power of two. Many data have powers of two as their maxima, and
    rounding must not decide between two units there.
    """
    mantissa, exponent = np.frexp(largest)
    return np.rint(np.ldexp(values, COARSE_BITS - exponent - (mantissa >= 0.8))).astype(np.int64)


def _all_bits(values: Array, largest: Array) -> Array:
    """The values themselves; -0.0 becomes 0.0."""
    return values + 0.0


def _mix(words: Words) -> Words:
    """The finaliser of SplitMix64: each bit of the result depends on every bit."""
    mixed = words ^ (words >> np.uint64(30))
    for shift, factor in MIXERS:
        mixed *= factor
        mixed ^= mixed >> np.uint64(shift)
    return mixed

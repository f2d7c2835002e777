"""Compiled passes over a matrix of numbers, for which NumPy would need a copy or more time."""

import cython
import numpy as np

from bayes_svm.utils.interrupts import slices

if not cython.compiled:
    from math import fabs, frexp, inf, ldexp

    from bayes_svm._core.arrays import (
        READ,
        WRITE,
        doubles,
        is_single,
        length,
        numbers,
        places,
        rows,
        single_rows,
    )

    # The same values as in bayes_svm.dual.order.
    COARSE_BITS = 20
    GOLDEN, FIRST_MIXER, SECOND_MIXER = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
    ALL_BITS = 2**64 - 1
    # A double that this number is added to, and taken from again, is rounded to an integer.
    ROUNDER = 1.5 * 2.0**52

    def ilogb(value):
        """Exponent of a number, as C has it."""
        return frexp(value)[1] - 1


def _gather(matrix, chosen, first, last, columns, m, out):
    """The loop of :func:`block`."""
    for a in range(first, last):
        row, target = matrix[chosen[a]], out[a]
        for c in range(m):
            target[c] = row[columns[c]]


@cython.locals(head=cython.Py_ssize_t, tail=cython.Py_ssize_t)
def block(matrix, chosen, columns, out):
    """``out[:] = matrix[np.ix_(chosen, columns)]``, in a fraction of the time; ``out`` may be single."""
    n, m = length(chosen, "chosen", 0), length(columns, "columns", 0)
    height, width = length(matrix, "matrix", 0), length(matrix, "matrix", 1)
    keep = []
    source = rows(matrix, "matrix", height, width, READ, keep)
    row, column = places(chosen, "chosen", n, 0, height, keep), places(columns, "columns", m, 0, width, keep)
    # A value takes as long as several operations: it is read from one place and written to another.
    passes = slices(n, 8 * m)
    if is_single(out):
        target_f = single_rows(out, "out", n, m, WRITE, keep)
        for head, tail in passes:
            with cython.nogil:
                _gather(source, row, head, tail, column, m, target_f)
    else:
        target = rows(out, "out", n, m, WRITE, keep)
        for head, tail in passes:
            with cython.nogil:
                _gather(source, row, head, tail, column, m, target)


def _add_absolute(matrix, chosen, n, weights, m, sums):
    """``sums += abs(weights) @ abs(matrix[chosen])``; returns the largest sum."""
    for a in range(n):
        row, weight = matrix[chosen[a]], abs(weights[a])
        for i in range(m):
            sums[i] += weight * abs(row[i])
    largest: cython.double = 0.0
    for i in range(m):
        largest = max(largest, sums[i])
    return largest


def largest_sum(matrix, chosen, weights):
    """``max(abs(weights) @ abs(matrix[chosen]))``."""
    n, height, width = length(chosen, "chosen", 0), length(matrix, "matrix", 0), length(matrix, "matrix", 1)
    sums = np.zeros(width)
    keep = []
    source, row = (
        rows(matrix, "matrix", height, width, READ, keep),
        places(chosen, "chosen", n, 0, height, keep),
    )
    weight, target = doubles(weights, "weights", n, READ, keep), doubles(sums, "sums", width, WRITE, keep)
    with cython.nogil:
        largest = _add_absolute(source, row, n, weight, width, target)
    return largest


def _mirror(matrix, n):
    """The loop of :func:`mirror_lower`, in blocks of 64 rows and 8 columns, which stay in the cache."""
    for first in range(0, n, 64):
        last = min(first + 64, n)
        for start in range(0, last, 8):
            for j in range(start, min(start + 8, n)):
                target = matrix[j]
                for i in range(max(first, j + 1), last):
                    target[i] = matrix[i][j]


def mirror_lower(matrix):
    """Copy the lower triangle of a square matrix to its upper triangle."""
    n, keep = length(matrix, "matrix", 0), []
    if is_single(matrix):
        values_f = single_rows(matrix, "matrix", n, n, WRITE, keep)
        with cython.nogil:
            _mirror(values_f, n)
    else:
        values = rows(matrix, "matrix", n, n, WRITE, keep)
        with cython.nogil:
            _mirror(values, n)


def _transpose(matrix, n, m, out):
    """The loop of :func:`transpose`, in the same blocks."""
    for first in range(0, n, 64):
        for start in range(0, m, 8):
            for j in range(start, min(start + 8, m)):
                target = out[j]
                for i in range(first, min(first + 64, n)):
                    target[i] = matrix[i][j]


def transpose(matrix, out):
    """``out[:] = matrix.T``, which NumPy writes one column at a time, each entry to another page."""
    n, m = length(matrix, "matrix", 0), length(matrix, "matrix", 1)
    keep = []
    if is_single(matrix):
        source_f, target_f = (
            single_rows(matrix, "matrix", n, m, READ, keep),
            single_rows(out, "out", m, n, WRITE, keep),
        )
        with cython.nogil:
            _transpose(source_f, n, m, target_f)
    else:
        source, target = rows(matrix, "matrix", n, m, READ, keep), rows(out, "out", m, n, WRITE, keep)
        with cython.nogil:
            _transpose(source, n, m, target)


def _minus_distances(inner, factor, left, right, n, m):
    """The loop of :func:`minus_distances`."""
    for a in range(n):
        row = inner[a]
        for c in range(m):
            # The lengths are added first, so that k(x, z) and k(z, x) have the same bits.
            value = factor * row[c] - (left[a] + right[c])
            row[c] = 0.0 if value > 0.0 else value


def minus_distances(inner, factor, left, right):
    """``inner = min(0, factor * inner - (left[:, None] + right))``.

    With squared lengths on the left and right, and factor 2, these are minus the squared distances.
    """
    n, m = length(inner, "inner", 0), length(inner, "inner", 1)
    twice: cython.double = factor
    keep = []
    values = rows(inner, "inner", n, m, WRITE, keep)
    a, b = doubles(left, "left", n, READ, keep), doubles(right, "right", m, READ, keep)
    with cython.nogil:
        _minus_distances(values, twice, a, b, n, m)


def _smallest(row, n):
    """Smallest of n numbers. Four running minima, so that the CPU can overlap the comparisons."""
    a, b, c, d = row[0], row[0], row[0], row[0]
    for i in range(0, n - 3, 4):
        a, b = min(row[i], a), min(row[i + 1], b)
        c, d = min(row[i + 2], c), min(row[i + 3], d)
    for i in range(n - n % 4, n):
        a = min(row[i], a)
    return min(min(a, b), min(c, d))


@cython.locals(head=cython.Py_ssize_t, tail=cython.Py_ssize_t)
def smallest_of_rows(matrix, chosen):
    """``matrix[chosen].min(axis=1)``."""
    n, height, width = length(chosen, "chosen", 0), length(matrix, "matrix", 0), length(matrix, "matrix", 1)
    if width == 0:
        raise ValueError("matrix must have a column")
    out = np.empty(n)
    keep = []
    source, row = (
        rows(matrix, "matrix", height, width, READ, keep),
        places(chosen, "chosen", n, 0, height, keep),
    )
    target = doubles(out, "out", n, WRITE, keep)
    for head, tail in slices(n, width):
        with cython.nogil:
            for p in range(head, tail):
                target[p] = _smallest(source[row[p]], width)
    return out


def add_rows(matrix, chosen, weights, n, size, out):
    """``out += sum_a weights[a] * matrix[chosen[a]]``."""
    # Four rows at a time, so that ``out`` is read and written a quarter as often.
    a = 0
    while a + 4 <= n:
        row_0, row_1, row_2, row_3 = (
            matrix[chosen[a]],
            matrix[chosen[a + 1]],
            matrix[chosen[a + 2]],
            matrix[chosen[a + 3]],
        )
        w_0, w_1, w_2, w_3 = weights[a], weights[a + 1], weights[a + 2], weights[a + 3]
        for i in range(size):
            out[i] += (w_0 * row_0[i] + w_1 * row_1[i]) + (w_2 * row_2[i] + w_3 * row_3[i])
        a += 4
    while a < n:
        row, weight = matrix[chosen[a]], weights[a]
        for i in range(size):
            out[i] += weight * row[i]
        a += 1


def combine(matrix, start, chosen, weights, n, size, out):
    """``out = start + sum_a weights[a] * matrix[chosen[a]]``."""
    for i in range(size):
        out[i] = start[i]
    add_rows(matrix, chosen, weights, n, size, out)


def sum_of_rows(matrix, chosen, weights):
    """``weights @ matrix[chosen]``."""
    n, height, width = length(chosen, "chosen", 0), length(matrix, "matrix", 0), length(matrix, "matrix", 1)
    out = np.zeros(width)
    keep = []
    source, row = (
        rows(matrix, "matrix", height, width, READ, keep),
        places(chosen, "chosen", n, 0, height, keep),
    )
    weight, target = doubles(weights, "weights", n, READ, keep), doubles(out, "out", width, WRITE, keep)
    with cython.nogil:
        add_rows(source, row, weight, n, width, target)
    return out


def _add_sparse(out, weights, matrix, n, k, m, chosen, some):
    """The loop of :func:`add_sparse_product`, for n rows of k weights, and rows of m values.

    ``chosen`` and ``some`` are memory for the k weights of a row.
    """
    count: cython.Py_ssize_t = 0
    for p in range(n):
        row = weights[p]
        count = 0
        for u in range(k):
            chosen[count], some[count] = u, row[u]
            if row[u] != 0.0:
                count += 1
        add_rows(matrix, chosen, some, count, m, out[p])


def add_sparse_product(out, weights, matrix):
    """``out += weights @ matrix`` for weights most of which are 0; all in one precision, single or double."""
    n, k, m = length(weights, "weights", 0), length(matrix, "matrix", 0), length(matrix, "matrix", 1)
    single = is_single(out)
    chosen, some = np.empty(k, dtype=np.int64), np.empty((1, k), dtype=np.float32 if single else np.float64)
    keep = []
    place = numbers(chosen, "chosen", k, WRITE, keep)
    if single:
        target_f, weight_f = (
            single_rows(out, "out", n, m, WRITE, keep),
            single_rows(weights, "weights", n, k, READ, keep),
        )
        row_f, some_f = (
            single_rows(matrix, "matrix", k, m, READ, keep),
            single_rows(some, "some", 1, k, WRITE, keep),
        )
        with cython.nogil:
            _add_sparse(target_f, weight_f, row_f, n, k, m, place, some_f[0])
    else:
        target, weight = rows(out, "out", n, m, WRITE, keep), rows(weights, "weights", n, k, READ, keep)
        row, some_d = rows(matrix, "matrix", k, m, READ, keep), rows(some, "some", 1, k, WRITE, keep)
        with cython.nogil:
            _add_sparse(target, weight, row, n, k, m, place, some_d[0])


def _mix(word):
    """The finaliser of SplitMix64."""
    word = ((word ^ (word >> 30)) * FIRST_MIXER) & ALL_BITS
    word = ((word ^ (word >> 27)) * SECOND_MIXER) & ALL_BITS
    return word ^ (word >> 31)


def _coarse_key(row, m):
    """The hash of :func:`coarse_keys` of one row."""
    largest = 0.0
    for c in range(m):
        largest = max(largest, fabs(row[c]))
    if largest == 0.0 or largest == inf:
        return 0
    exponent = ilogb(largest) + 1
    power = COARSE_BITS - exponent
    if ldexp(largest, -exponent) >= 0.8:
        power -= 1
    # The whole power of two may not be a double; half of it is.
    half = power // 2
    first, second = ldexp(1.0, half), ldexp(1.0, power - half)
    key, column = 0, 0
    for c in range(m):
        column = (column + GOLDEN) & ALL_BITS
        units = (row[c] * first * second + ROUNDER) - ROUNDER
        # Neither for 0 nor for NaN.
        if fabs(units) >= 1.0:
            word = cython.cast(cython.ulonglong, cython.cast(cython.longlong, units)) & ALL_BITS
            key = (key + _mix((_mix(word) + column) & ALL_BITS)) & ALL_BITS
    return key


@cython.locals(head=cython.Py_ssize_t, tail=cython.Py_ssize_t)
def coarse_keys(matrix):
    """The first hash of each row: see :func:`bayes_svm.dual.order.rank_of_rows`."""
    n, m = length(matrix, "matrix", 0), length(matrix, "matrix", 1)
    keys = np.empty(n, dtype=np.uint64)
    keep = []
    source = rows(matrix, "matrix", n, m, READ, keep)
    target = numbers(keys.view(np.int64) if cython.compiled else keys, "keys", n, WRITE, keep)
    for head, tail in slices(n, 8 * m):
        with cython.nogil:
            for p in range(head, tail):
                target[p] = _coarse_key(source[p], m)
    return keys

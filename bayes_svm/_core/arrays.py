"""From NumPy arrays to the pointers that the loops work with.

Every array is checked for its type, its shape, the order of its values in memory, and for being writable
where a loop writes to it; every index is checked for its range. The loops themselves check nothing.

A pointer is good as long as the array is. A matrix becomes a list of pointers to its rows. This list, and the
copy of an array that is only read and not contiguous, are put in ``keep``: the caller holds it until its loop
has ended. Uncompiled, the loops take the arrays as they are.
"""

from __future__ import annotations

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.cpython.buffer import (
        Py_buffer,
        PyBUF_FORMAT,
        PyBUF_STRIDES,
        PyBuffer_Release,
        PyObject_CheckBuffer,
        PyObject_GetBuffer,
    )
    from cython.cimports.libc.stdint import int64_t
else:
    READ, WRITE = 0, 1

# What NumPy calls the types that the loops know, by the letter that the memory goes by.
_TYPES = {"d": "float64", "f": "float32", "q": "int64", "?": "bool"}


@cython.cfunc
def _letter(view: cython.pointer(Py_buffer)) -> cython.char:
    """The type of the values. What Linux calls a long, Windows calls a long long."""
    # Misaligned values have an = before their letter.
    at: cython.int = 1 if view.format[0] == b"=" else 0
    if view.format[at] == 0 or view.format[at + 1] != 0:
        return 0
    return b"q" if view.format[at] == b"l" and view.itemsize == 8 else view.format[at]


@cython.cfunc
def _memory(
    array: object,
    name: str,
    letter: cython.char,
    n: cython.Py_ssize_t,
    m: cython.Py_ssize_t,
    write: cython.bint,
    stride: cython.pointer(cython.Py_ssize_t),
    keep: list,
) -> cython.p_char:
    """Where the values of an array begin: n of them, or n rows of m, ``stride`` bytes apart.

    ``m`` is -1 for an array of one dimension.
    """
    if not PyObject_CheckBuffer(array):
        raise TypeError(f"{name} must be a NumPy array, not {type(array).__name__}")
    view = cython.declare(Py_buffer)
    PyObject_GetBuffer(array, cython.address(view), PyBUF_STRIDES | PyBUF_FORMAT)
    ndim: cython.int = 1 if m < 0 else 2
    typed: cython.bint = _letter(cython.address(view)) == letter and view.ndim == ndim
    shaped: cython.bint = typed and view.shape[0] == n and (ndim == 1 or view.shape[1] == m)
    # The values must be next to each other and aligned; rows may be apart.
    begin: cython.p_char = cython.cast(cython.p_char, view.buf)
    size: cython.Py_ssize_t = view.shape[ndim - 1] if shaped else 0
    dense: cython.bint = shaped and (size <= 1 or view.strides[ndim - 1] == view.itemsize)
    dense = dense and cython.cast(cython.size_t, begin) % view.itemsize == 0
    if shaped and ndim == 2:
        stride[0] = view.strides[0]
        dense = dense and stride[0] % view.itemsize == 0
    writable: cython.bint = not (write and view.readonly)
    PyBuffer_Release(cython.address(view))
    if typed and shaped and dense and writable:
        return begin
    if typed and shaped and not write:
        # What comes from another process may be misaligned.
        keep.append(np.require(array, requirements="CA"))
        return _memory(keep[-1], name, letter, n, m, True, stride, keep)
    if not typed:
        wanted = f"be an array of {_TYPES[chr(letter)]} with {ndim} dimension(s)"
        found = getattr(array, "dtype", type(array).__name__)
        raise TypeError(f"{name} must {wanted}, not of {found} with {view.ndim}")
    if not shaped:
        wanted = f"({n},)" if m < 0 else f"({n}, {m})"
        raise ValueError(f"{name} must have the shape {wanted}, not {array.shape}")
    if not dense:
        raise ValueError(f"{name} must be aligned and contiguous: use numpy.require(..., requirements='CA')")
    raise ValueError(f"{name} must be writable")


def length(array, name, axis):
    """Number of entries along an axis."""
    shape = getattr(array, "shape", ())
    if axis >= len(shape):
        raise TypeError(f"{name} must be a NumPy array with at least {axis + 1} dimension(s)")
    return shape[axis]


def is_single(array):
    """Whether an array is of single precision."""
    return getattr(array, "dtype", None) == "float32"


def doubles(array, name, n, write, keep):
    """An array of n numbers in double precision."""
    if not cython.compiled:
        return array
    return cython.cast(cython.p_double, _memory(array, name, b"d", n, -1, write, cython.NULL, keep))


def flags(array, name, n, write, keep):
    """An array of n truth values."""
    if not cython.compiled:
        return array
    return cython.cast(cython.p_uchar, _memory(array, name, b"?", n, -1, write, cython.NULL, keep))


def numbers(array, name, n, write, keep):
    """An array of n whole numbers."""
    if not cython.compiled:
        return array
    return cython.cast(cython.pointer(int64_t), _memory(array, name, b"q", n, -1, write, cython.NULL, keep))


def places(array, name, n, least, below, keep):
    """An array of n whole numbers, which are read only, from ``least`` to ``below - 1``."""
    if not cython.compiled:
        return array
    found = numbers(array, name, n, READ, keep)
    for k in range(n):
        if found[k] < least or found[k] >= below:
            raise ValueError(f"{name}[{k}] must be from {least} to {below - 1}, not {found[k]}")
    return found


def starts(array, name, n, n_members, keep):
    """Where each of n groups of members begins, and at last where the last one ends."""
    if not cython.compiled:
        return array
    found = places(array, name, n + 1, 0, n_members + 1, keep)
    for k in range(n):
        if found[k] > found[k + 1]:
            raise ValueError(f"{name} must not fall: {found[k]} is before {found[k + 1]}")
    return found


def rows(array, name, n, m, write, keep):
    """A matrix of n rows of m numbers in double precision."""
    if not cython.compiled:
        return array
    return cython.cast(cython.pp_double, _rows(array, name, b"d", n, m, write, keep))


def single_rows(array, name, n, m, write, keep):
    """The same in single precision."""
    if not cython.compiled:
        return array
    return cython.cast(cython.pp_float, _rows(array, name, b"f", n, m, write, keep))


def number_rows(array, name, n, m, write, keep):
    """A matrix of n rows of m whole numbers."""
    if not cython.compiled:
        return array
    return cython.cast(cython.pointer(cython.pointer(int64_t)), _rows(array, name, b"q", n, m, write, keep))


@cython.cfunc
def _rows(
    array: object,
    name: str,
    letter: cython.char,
    n: cython.Py_ssize_t,
    m: cython.Py_ssize_t,
    write: cython.bint,
    keep: list,
) -> cython.pp_char:
    """Pointers to the rows of a matrix."""
    stride = cython.declare(cython.Py_ssize_t, 0)
    begin = _memory(array, name, letter, n, m, write, cython.address(stride), keep)
    block = bytearray(max(n, 1) * cython.sizeof(cython.p_char))
    keep.append(block)
    found = cython.cast(cython.pp_char, cython.cast(cython.p_char, block))
    k: cython.Py_ssize_t
    for k in range(n):
        found[k] = begin + k * stride
    return found

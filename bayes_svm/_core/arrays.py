"""From NumPy arrays to the pointers that the loops work with.

Every array is checked for its type, its shape, the order of its values in memory, and for being writable
where a loop writes to it; every index is checked for its range. The loops themselves check nothing.

A pointer is good as long as the array is. A matrix becomes a list of pointers to its rows, which is kept in
``keep``: the caller holds it until its loop has ended. Uncompiled, the loops take the arrays as they are.
"""

from __future__ import annotations

import cython

if cython.compiled:
    from cython.cimports.cpython.buffer import (
        PyBUF_FORMAT,
        PyBUF_STRIDES,
        Py_buffer,
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
    if view.format[0] == 0 or view.format[1] != 0:
        return 0
    return b"q" if view.format[0] == b"l" and view.itemsize == 8 else view.format[0]


@cython.cfunc
def _memory(
    array: object,
    name: str,
    letter: cython.char,
    n: cython.Py_ssize_t,
    m: cython.Py_ssize_t,
    write: cython.bint,
    stride: cython.pointer(cython.Py_ssize_t),
) -> cython.p_char:
    """Where the values of an array begin: n of them, or n rows of m, ``stride`` bytes apart.

    ``m`` is -1 for an array of one dimension.
    """
    if not PyObject_CheckBuffer(array):
        raise TypeError(f"{name} must be a NumPy array, not {type(array).__name__}")
    view: Py_buffer
    PyObject_GetBuffer(array, cython.address(view), PyBUF_STRIDES | PyBUF_FORMAT)
    ndim: cython.int = 1 if m < 0 else 2
    typed: cython.bint = _letter(cython.address(view)) == letter and view.ndim == ndim
    shaped: cython.bint = typed and view.shape[0] == n and (ndim == 1 or view.shape[1] == m)
    # Values next to each other; rows may be apart.
    size: cython.Py_ssize_t = view.shape[ndim - 1] if shaped else 0
    dense: cython.bint = size <= 1 or view.strides[ndim - 1] == view.itemsize
    writable: cython.bint = not (write and view.readonly)
    begin: cython.p_char = cython.cast(cython.p_char, view.buf)
    stride[0] = view.strides[0] if shaped else 0
    PyBuffer_Release(cython.address(view))
    if typed and shaped and dense and writable:
        return begin
    if not typed:
        wanted = f"be an array of {_TYPES[chr(letter)]} with {ndim} dimension(s)"
        raise TypeError(f"{name} must {wanted}, not of {array.dtype} with {array.ndim}")
    if not shaped:
        wanted = f"({n},)" if m < 0 else f"({n}, {m})"
        raise ValueError(f"{name} must have the shape {wanted}, not {array.shape}")
    if not dense:
        raise ValueError(f"the values of {name} must be next to each other: use numpy.ascontiguousarray")
    raise ValueError(f"{name} must be writable")


def length(array, name, axis):
    """Number of entries along an axis."""
    shape = getattr(array, "shape", ())
    if axis >= len(shape):
        raise TypeError(f"{name} must be a NumPy array of more than {axis} dimension(s)")
    return shape[axis]


def is_single(array):
    """Whether an array is of single precision."""
    return getattr(array, "dtype", None) == "float32"


def doubles(array, name, n, write):
    """An array of n numbers in double precision."""
    if not cython.compiled:
        return array
    stride: cython.Py_ssize_t
    return cython.cast(cython.p_double, _memory(array, name, b"d", n, -1, write, cython.address(stride)))


def flags(array, name, n, write):
    """An array of n truth values."""
    if not cython.compiled:
        return array
    stride: cython.Py_ssize_t
    return cython.cast(cython.p_uchar, _memory(array, name, b"?", n, -1, write, cython.address(stride)))


def numbers(array, name, n, write):
    """An array of n whole numbers."""
    if not cython.compiled:
        return array
    stride: cython.Py_ssize_t
    begin = _memory(array, name, b"q", n, -1, write, cython.address(stride))
    return cython.cast(cython.pointer(int64_t), begin)


def places(array, name, n, least, below):
    """An array of n whole numbers, which are read only, from ``least`` to ``below - 1``."""
    if not cython.compiled:
        return array
    found = numbers(array, name, n, READ)
    for k in range(n):
        if found[k] < least or found[k] >= below:
            raise ValueError(f"{name}[{k}] must be from {least} to {below - 1}, not {found[k]}")
    return found


def starts(array, name, n, n_members):
    """Where each of n groups of members begins, and at last where the last one ends."""
    if not cython.compiled:
        return array
    found = places(array, name, n + 1, 0, n_members + 1)
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
    stride: cython.Py_ssize_t
    begin = _memory(array, name, letter, n, m, write, cython.address(stride))
    block = bytearray(max(n, 1) * cython.sizeof(cython.p_char))
    keep.append(block)
    found = cython.cast(cython.pp_char, cython.cast(cython.p_char, block))
    k: cython.Py_ssize_t
    for k in range(n):
        found[k] = begin + k * stride
    return found


def placed_rows(array, place, n, keep):
    """Rows of an (n, n) matrix, of which ``array`` holds some: row i is its row ``place[i]``, if that is not -1."""
    if not cython.compiled:
        return array[place]
    n_rows = length(array, "rows", 0)
    held = rows(array, "rows", n_rows, n, READ, keep)
    where = places(place, "place", n, -1, n_rows)
    block = bytearray(max(n, 1) * cython.sizeof(cython.p_double))
    keep.append(block)
    found = cython.cast(cython.pp_double, cython.cast(cython.p_char, block))
    for i in range(n):
        found[i] = held[where[i]] if where[i] >= 0 else cython.NULL
    return found

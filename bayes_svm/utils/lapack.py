"""Routines of LAPACK and BLAS that let other threads go on while they work.

SciPy's own functions hold the interpreter's lock for as long as they work. What SciPy exports to Cython
is the same routines, to the bit; called by ctypes, they do not hold it.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from scipy.linalg import blas, cython_blas, cython_lapack, lapack

from bayes_svm.utils.types import Array

__all__ = ["inverse_from_factor", "lower_factor", "solution_from_factor", "triangular_solution"]

# Of matrices with fewer rows SciPy's functions are called: they begin sooner.
LARGE = 256

_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _exported(module: Any, name: str) -> Any:
    """A routine that SciPy exports to Cython; None if its whole numbers are not C's int."""
    signature = _name_of(module.__pyx_capi__[name])
    if b"(char *, " not in signature or b" int *" not in signature:
        return None
    arguments = [ctypes.c_void_p] * (signature.count(b",") + 1)
    return ctypes.CFUNCTYPE(None, *arguments)(_address_of(module.__pyx_capi__[name], signature))


_potrf, _potri, _potrs = (_exported(cython_lapack, name) for name in ("dpotrf", "dpotri", "dpotrs"))
_trsm = _exported(cython_blas, "dtrsm")


def lower_factor(matrix: Array) -> tuple[Array, int]:
    """Lower Cholesky factor, with zeros above the diagonal, and LAPACK's number of the error."""
    size = len(matrix)
    if size < LARGE or _potrf is None:
        factor, info = lapack.dpotrf(matrix, lower=1, clean=1)
        return np.asarray(factor), int(info)
    factor, failed = _copy(matrix), ctypes.c_int()
    _potrf(b"L", _int(size), *_matrix(factor), ctypes.byref(failed))
    np.copyto(factor, 0.0, where=np.tri(size, k=-1, dtype=bool).T)
    return factor, failed.value


def inverse_from_factor(factor: Array) -> Array:
    """Inverse of a matrix, given its lower Cholesky factor; only its lower triangle is written."""
    size = len(factor)
    if size < LARGE or _potri is None:
        return np.asarray(lapack.dpotri(factor, lower=1)[0])
    inverse, failed = _copy(factor), ctypes.c_int()
    _potri(b"L", _int(size), *_matrix(inverse), ctypes.byref(failed))
    return inverse


def solution_from_factor(factor: Array, right: Array) -> Array:
    """Solution of a positive definite system, given its lower Cholesky factor."""
    size = len(factor)
    if size < LARGE or _potrs is None:
        return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])
    factor, solution, failed = _in_order(factor), _copy(right), ctypes.c_int()
    number = 1 if right.ndim == 1 else right.shape[1]
    _potrs(b"L", _int(size), _int(number), *_matrix(factor), *_matrix(solution), ctypes.byref(failed))
    return solution


def triangular_solution(
    factor: Array, right: Array, *, side: int = 0, transposed: bool = False, overwrite: bool = False
) -> Array:
    """Solution of a system with a lower factor on the left of the unknown; on its right for ``side=1``."""
    if len(factor) < LARGE or _trsm is None:
        solved = blas.dtrsm(1.0, factor, right, side=side, lower=1, trans_a=transposed, overwrite_b=overwrite)
        return np.asarray(solved)
    factor, solution = _in_order(factor), _in_order(right) if overwrite else _copy(right)
    rows, columns = solution.shape
    _trsm(
        b"R" if side else b"L", b"L", b"T" if transposed else b"N", b"N", _int(rows), _int(columns),
        ctypes.byref(ctypes.c_double(1.0)), *_matrix(factor), *_matrix(solution),
    )  # fmt: skip
    return solution


def _copy(array: Array) -> Array:
    """A copy in LAPACK's order, by columns."""
    return np.array(array, dtype=np.float64, order="F")


def _in_order(array: Array) -> Array:
    """The array itself if LAPACK can work on it, else a copy."""
    by_columns = array.strides[0] == array.itemsize and array.strides[-1] >= len(array) * array.itemsize
    usable = (by_columns or array.flags.f_contiguous) and array.flags.behaved
    return array if usable and array.dtype == np.float64 else _copy(array)


def _matrix(array: Array) -> tuple[Any, Any]:
    """Where an array is in memory, and how far its columns are apart."""
    apart = len(array) if array.ndim == 1 else array.strides[1] // array.itemsize
    return array.ctypes, _int(max(1, len(array), apart))


def _int(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))

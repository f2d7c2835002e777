from libc.math cimport INFINITY as inf

from bayes_svm._core.arrays cimport READ, WRITE, doubles, flags, length, places, rows, starts
from bayes_svm._core.check_records cimport Checked, Measured, Points, Removals, Tolerance
from bayes_svm._core.records cimport NEVER

cdef double slack_of(Tolerance tolerance, double bound, double largest_beta) noexcept nogil
cdef void _check_end(
    Py_ssize_t n,
    double* beta,
    double* values,
    double* label,
    double* bounds,
    Tolerance tolerance,
    Py_ssize_t p,
    Checked found,
) noexcept nogil
# The same value as in optimality.py.
cdef enum:
    LANES = 32

cdef (double, double) _clear(Points points, Py_ssize_t i, double alpha, double slack) noexcept nogil
cdef double _gap(Points points, Py_ssize_t i, double alpha, double residual) noexcept nogil
cdef double _largest_after(Points points, double* delta) noexcept nogil
cdef void _exchange(Points points, Removals removals, Py_ssize_t j) noexcept nogil
cdef (double, double, double, double, double) _conditions(
    Points points, double* delta, double* moved, double shift, Tolerance tolerance, double largest
) noexcept nogil
cdef (double, double, double, double) _sums(Points points, double* delta, double* moved) noexcept nogil
cdef void _check_moved(
    Points points,
    Removals removals,
    Py_ssize_t p,
    double* delta,
    double* moved,
    double shift,
    Tolerance tolerance,
    Measured measured,
) noexcept nogil
cdef Tolerance tolerance_of(object tolerance) except *
cdef Points points_of(object points, Py_ssize_t n, list keep) except *
cdef Removals removals_of(object removals, Py_ssize_t n_paths, Py_ssize_t n, list keep) except *
cdef Measured measured_of(object measured, Py_ssize_t n_paths, list keep) except *
cdef Checked checked_of(object checked, Py_ssize_t n_paths, list keep) except *

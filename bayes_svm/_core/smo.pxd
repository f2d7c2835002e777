from libc.math cimport INFINITY as inf

from bayes_svm._core.arrays cimport READ, WRITE, doubles, length, numbers, placed_rows
from bayes_svm._core.pair_records cimport FLAT, Iterate

# The same value as in smo.py.
cdef enum:
    LANES = 32

cdef void mark(Iterate at, Py_ssize_t k) noexcept nogil
cdef double _slope(Iterate at, Py_ssize_t k) noexcept nogil
cdef (Py_ssize_t, double) steepest(Iterate at) noexcept nogil
cdef double _intercept(Iterate at, Py_ssize_t k) noexcept nogil
cdef double _gain(Iterate at, double* row, double own, double high, Py_ssize_t k) noexcept nogil
cdef (Py_ssize_t, double) best_partner(Iterate at, Py_ssize_t first, double high) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t, double, double) working_pair(Iterate at) noexcept nogil
cdef (double, double) move_pair(Iterate at, Py_ssize_t i, Py_ssize_t j) noexcept nogil

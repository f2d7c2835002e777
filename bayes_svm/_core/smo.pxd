from libc.math cimport INFINITY as inf

from bayes_svm._core.arrays cimport READ, WRITE, doubles, length, numbers, placed_rows
from bayes_svm._core.pair_records cimport FLAT, Iterate

cdef (Py_ssize_t, Py_ssize_t, double, double) working_pair(Iterate at) noexcept nogil
cdef (double, double) move_pair(Iterate at, Py_ssize_t i, Py_ssize_t j) noexcept nogil

cimport cython
from libc.math cimport INFINITY as inf
from libc.stdint cimport int64_t

from bayes_svm._core.arrays cimport READ, WRITE, doubles, length, number_rows, numbers, rows
from bayes_svm._core.pair_records cimport FLAT, Iterate, Team
from bayes_svm._core.team cimport DONE, END, FOUND, ask, come, dismiss, has_done, next_task, store

# The same values as in smo.py.
cdef enum:
    LANES = 32
    PARTNER = 0
    MOVE = 1

cdef void mark(Iterate at, Py_ssize_t k) noexcept nogil
cdef double _slope(Iterate at, Py_ssize_t k) noexcept nogil
cdef (Py_ssize_t, double) steepest(Iterate at, Py_ssize_t head, Py_ssize_t tail) noexcept nogil
cdef double _intercept(Iterate at, Py_ssize_t k) noexcept nogil
cdef double _gain(Iterate at, double* row, double own, double high, Py_ssize_t k) noexcept nogil
cdef (Py_ssize_t, double, double) best_partner(
    Iterate at, Py_ssize_t first, double high, Py_ssize_t head, Py_ssize_t tail
) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t, double, double) working_pair(Iterate at) noexcept nogil
cdef (double, double) exchange(Iterate at, Py_ssize_t i, Py_ssize_t j) noexcept nogil
cdef void follow(
    Iterate at, Py_ssize_t i, Py_ssize_t j, double amount, Py_ssize_t head, Py_ssize_t tail
) noexcept nogil
cdef (double, double) move_pair(Iterate at, Py_ssize_t i, Py_ssize_t j) noexcept nogil
cdef Py_ssize_t _end_of_part(Py_ssize_t n, Py_ssize_t parts, Py_ssize_t k) noexcept nogil
cdef (Py_ssize_t, double, double) _part(Iterate at, Team team, Py_ssize_t k) noexcept nogil
cdef (Py_ssize_t, double, double) _together(
    Iterate at, Team team, int64_t task, Py_ssize_t i, Py_ssize_t j, double size
) noexcept nogil
cdef (Py_ssize_t, double) _pair_together(Iterate at, Team team, Py_ssize_t first, double high) noexcept nogil
cdef Iterate _iterate(object at, list keep) except *
cdef Team _team(object team, list keep) except *

from libc.math cimport INFINITY as inf
from libc.stdint cimport int64_t

from bayes_svm._core.pair_records cimport Iterate, Pairs, Whole, Work
from bayes_svm._core.smo cimport mark, move_pair, working_pair

cdef void start_from_whole(Whole whole, Py_ssize_t point, double rest, Work work) noexcept nogil
cdef (double, double, int64_t) seed(Whole whole, Py_ssize_t point, double rest, Work work) noexcept nogil
cdef Iterate iterate_of(Whole whole, Work work) noexcept nogil
cdef Pairs start_descent(Whole whole, Py_ssize_t point, double rest, Work work) noexcept nogil
cdef Pairs descend(Whole whole, Pairs state, double tolerance, int64_t max_moves, Work work) noexcept nogil

from libc.math cimport INFINITY as inf
from libc.stdint cimport int64_t

from bayes_svm._core.arrays cimport READ, WRITE, doubles, flags, length, numbers, places, rows
from bayes_svm._core.descend cimport descend, start_descent, start_from_whole
from bayes_svm._core.pair_records cimport (
    CHECKED,
    FLAT,
    PROVEN,
    UNPROVEN,
    Bounds,
    Pairs,
    Rules,
    SignsFound,
    Whole,
    Work,
)
from bayes_svm._core.primal cimport LANES, gap_of, good_intercept, sensitivity_of

cdef Py_ssize_t largest_at(Py_ssize_t n, double* score) noexcept nogil
cdef double error_of(Whole whole, int64_t steps, double length) noexcept nogil
cdef double start_ascent(Whole whole, Py_ssize_t point, double rest, Work work) noexcept nogil
cdef (double, double, Py_ssize_t) ascend(Whole whole, Py_ssize_t point, Work work) noexcept nogil
cdef void restart_ascent(Whole whole, Py_ssize_t point, Work work) noexcept nogil
cdef bint is_proven(Whole whole, Bounds bounds) noexcept nogil
cdef Bounds raise_bound(
    Whole whole, Py_ssize_t point, Bounds bounds, double enough, int64_t max_ascents, Work work
) noexcept nogil
cdef Bounds check_whole(Whole whole, Py_ssize_t point, double rest, Work work) noexcept nogil
cdef (double, Bounds) look(
    Whole whole, Py_ssize_t point, Pairs state, Bounds bounds, int64_t max_ascents, Work work
) noexcept nogil
cdef (int, Bounds, Pairs, double) solve_left_out(
    Whole whole, Py_ssize_t point, double rest, Rules rules, Work work
) noexcept nogil
cdef void _solve_case(
    Whole whole, Py_ssize_t p, Py_ssize_t point, double rest, Rules rules, Work work, SignsFound found
) noexcept nogil
cdef Whole whole_of(object whole, list keep) except *
cdef Work work_of(object work, Py_ssize_t n, list keep) except *
cdef SignsFound found_of(object found, Py_ssize_t n_cases, list keep) except *

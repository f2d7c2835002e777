from libc.stdint cimport int64_t

from bayes_svm._core.records cimport DEPENDENT, Base, Scratch, flag

cdef bint factorise(double** A, int64_t* pivots, Py_ssize_t size) noexcept nogil
cdef void solve_factorised(double** A, int64_t* pivots, double* x, Py_ssize_t size) noexcept nogil
cdef bint _append_factor(
    Base base, int64_t* changed, Py_ssize_t n, double** A, int64_t* pivots, double lost
) noexcept nogil
cdef bint _next_factor(
    Base base, int64_t* changed, Py_ssize_t n, Py_ssize_t n_changed, double** A, int64_t* pivots, double lost
) noexcept nogil
cdef bint factorise_changed(
    Base base, int64_t* changed, Py_ssize_t n_changed, double lost, Scratch scratch
) noexcept nogil
cdef Py_ssize_t toggle(Py_ssize_t i, flag* is_in, int64_t* changed, Py_ssize_t n_changed) noexcept nogil

from libc.stdint cimport int64_t

from bayes_svm._core.records cimport DEPENDENT, LOST, Base, Scratch, flag

cdef bint factorise(double** A, int64_t* pivots, Py_ssize_t size) noexcept nogil
cdef void solve_factorised(double** A, int64_t* pivots, double* x, Py_ssize_t size) noexcept nogil
cdef bint _append_factor(
    Base base, int64_t* changed, Py_ssize_t n, double** A, double lost
) noexcept nogil
cdef double _usual_pivot(Base base, Py_ssize_t k) noexcept nogil
cdef Py_ssize_t _drop_factor(
    Base base, int64_t* factored, Py_ssize_t p, Py_ssize_t n, double** A, double lost
) noexcept nogil
cdef bint _next_factor(
    Base base, int64_t* changed, Py_ssize_t n, Py_ssize_t n_changed, double** A, double lost
) noexcept nogil
cdef bint factorise_changed(
    Base base, int64_t* changed, Py_ssize_t n_changed, double lost, Scratch scratch
) noexcept nogil
cdef double _dot(double* a, double* b, Py_ssize_t first, Py_ssize_t last) noexcept nogil
cdef void solve_changed(Base base, int64_t* changed, Py_ssize_t n_changed, Scratch scratch) noexcept nogil
cdef Py_ssize_t toggle(Py_ssize_t i, flag* is_in, int64_t* changed, Py_ssize_t n_changed) noexcept nogil

from libc.stdint cimport int64_t

from bayes_svm._core.arrays cimport READ, WRITE, doubles, is_single, length, numbers, places, rows, single_rows

ctypedef fused real:
    float
    double

cdef void _gather(
    double** matrix, int64_t* chosen, Py_ssize_t first, Py_ssize_t last, int64_t* columns, Py_ssize_t m,
    real** out
) noexcept nogil
cdef double _add_absolute(
    double** matrix, int64_t* chosen, Py_ssize_t n, double* weights, Py_ssize_t m, double* sums
) noexcept nogil
cdef void _mirror(real** matrix, Py_ssize_t size) noexcept nogil
cdef void _minus_distances(
    double** inner, double factor, double* left, double* right, Py_ssize_t n, Py_ssize_t m
) noexcept nogil
cdef double _smallest(double* row, Py_ssize_t n) noexcept nogil
cdef void add_rows(
    real** matrix, int64_t* chosen, real* weights, Py_ssize_t n, Py_ssize_t size, real* out
) noexcept nogil
cdef void combine(
    double** matrix, double* start, int64_t* chosen, double* weights, Py_ssize_t n, Py_ssize_t size, double* out
) noexcept nogil
cdef void _add_sparse(
    real** out, real** weights, real** matrix, Py_ssize_t n, Py_ssize_t k, Py_ssize_t m,
    int64_t* chosen, real* some
) noexcept nogil

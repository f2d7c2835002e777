cimport cython
from libc.math cimport INFINITY as inf
from libc.math cimport fabs, ilogb, ldexp
from libc.stdint cimport int64_t, uint64_t

from bayes_svm._core.arrays cimport READ, WRITE, doubles, is_single, length, numbers, places, rows, single_rows

# The same values as in matrix.py.
cdef extern from *:
    """
    #define GOLDEN 0x9E3779B97F4A7C15ULL
    #define FIRST_MIXER 0xBF58476D1CE4E5B9ULL
    #define SECOND_MIXER 0x94D049BB133111EBULL
    #define ALL_BITS 0xFFFFFFFFFFFFFFFFULL
    #define ROUNDER 6755399441055744.0
    """
    const uint64_t GOLDEN, FIRST_MIXER, SECOND_MIXER, ALL_BITS
    const double ROUNDER

cdef enum:
    COARSE_BITS = 20

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
cdef void _mirror(real** matrix, Py_ssize_t n) noexcept nogil
cdef void _transpose(real** matrix, Py_ssize_t n, Py_ssize_t m, real** out) noexcept nogil
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
cdef uint64_t _mix(uint64_t word) noexcept nogil
@cython.locals(
    largest=double, first=double, second=double, units=double, exponent=int, power=int, half=int, key=uint64_t,
    column=uint64_t, word=uint64_t, c=Py_ssize_t,
)
cdef uint64_t _coarse_key(double* row, Py_ssize_t m) noexcept nogil

from libc.math cimport INFINITY as inf
from libc.math cimport sqrt
from libc.stdint cimport int64_t

from bayes_svm._core.arrays cimport READ, WRITE, doubles, length, numbers, rows

# The same values as in informative.py.
cdef extern from *:
    """
    #define ALIKE 1e-6
    #define SAME 1e-12
    #define NOTHING 1e-12
    """
    const double ALIKE, SAME, NOTHING

cdef void _unite(Py_ssize_t n, double** gram, double* curvature, double* diagonal) noexcept nogil
cdef Py_ssize_t _choose(
    Py_ssize_t n,
    Py_ssize_t most,
    double** gram,
    double* curvature,
    double ridge,
    double** factor,
    double* score,
    int64_t* chosen,
) noexcept nogil

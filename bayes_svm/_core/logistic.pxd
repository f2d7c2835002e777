from libc.math cimport exp, fabs, log1p

from bayes_svm._core.arrays cimport READ, doubles, length

cdef (double, double, double, double, double, double) _summed(
    Py_ssize_t n, double* values, double* target, double* other, double* weight, double slope, double offset
) noexcept nogil

from libc.math cimport INFINITY as inf
from libc.math cimport exp, fabs, log1p

from bayes_svm._core.arrays cimport READ, doubles, length

# The same values as in logistic.py.
cdef extern from *:
    """
    #define LOG_SLOPE_DEVIATION 0.6931471805599453
    #define LARGEST_LOG_SLOPE 300.0
    #define SHORTEST 1e-10
    #define NEGLIGIBLE_GAIN 1e-6
    #define SINGULAR_HESSIAN 1e-8
    #define EPSILON 2.220446049250313e-16
    """
    const double LOG_SLOPE_DEVIATION, LARGEST_LOG_SLOPE, SHORTEST, NEGLIGIBLE_GAIN, SINGULAR_HESSIAN, EPSILON

cdef enum:
    MOST_STEPS = 100

cdef (double, double, double, double, double, double, double, double, double) _local(
    Py_ssize_t n,
    double* values,
    double* target,
    double* other,
    double* weight,
    (double, double, double) prior,
    double log_slope,
    double offset,
) noexcept nogil
cdef (double, double, bint, double) _newton(
    Py_ssize_t n,
    double* values,
    double* target,
    double* other,
    double* weight,
    (double, double, double) prior,
    double offset,
) noexcept nogil

from bayes_svm._core.arrays cimport READ, doubles, length

# The same value as in primal.py.
cdef enum:
    LANES = 16

cdef double weighted_quantile(double* position, double* weight, Py_ssize_t n, double level) noexcept nogil
cdef double best_intercept(
    Py_ssize_t n,
    double* label,
    double* bound,
    double* gradient,
    double low,
    double high,
    double* position,
    double* weight,
) noexcept nogil
cdef double _gap_at(
    double* label, double* bound, double* coefficients, double* residual, double shift, Py_ssize_t k
) noexcept nogil
cdef double gap_of(
    Py_ssize_t n, double* label, double* bound, double* coefficients, double* residual, double shift
) noexcept nogil
cdef double _sensitivity_at(
    double* label,
    double* bound,
    double* coefficients,
    double* residual,
    double shift,
    double error,
    Py_ssize_t k,
) noexcept nogil
cdef double sensitivity_of(
    Py_ssize_t n,
    double* label,
    double* bound,
    double* coefficients,
    double* residual,
    double shift,
    double error,
) noexcept nogil

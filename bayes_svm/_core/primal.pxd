from bayes_svm._core.arrays cimport READ, doubles, length

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
cdef double gap_of(
    Py_ssize_t n, double* label, double* bound, double* coefficients, double* residual, double shift
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

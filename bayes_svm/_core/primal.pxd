from bayes_svm._core.arrays cimport READ, doubles, length

# The same value as in primal.py.
cdef enum:
    LANES = 16

cdef double _end_at(double* label, double* bound, double own, Py_ssize_t k) noexcept nogil
cdef double sum_of_ends(
    Py_ssize_t n, double* label, double* bound, double* residual, double shift
) noexcept nogil
cdef double good_intercept(
    Py_ssize_t n, double* label, double* bound, double* residual, double low, double high
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

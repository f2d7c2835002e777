# The records of pair_records.py as the loops see them: structs of pointers, with the sizes of their arrays.
from libc.stdint cimport int64_t

# The same values as in pair_records.py.
cdef extern from *:
    """
    #define FLAT 1e-12
    """
    const double FLAT

cdef enum:
    UNPROVEN = 0
    CHECKED = 1
    PROVEN = 2

cdef struct Iterate:
    double** rows
    double* diagonal
    double* beta
    double* gradient
    double* lower
    double* upper
    double* can_rise
    double* can_fall
    Py_ssize_t n

cdef struct Team:
    int64_t* task
    double* size
    int64_t* number
    int64_t** lines
    double** found
    Py_ssize_t n_helpers

cdef struct Whole:
    double** K
    double* diagonal
    double* label
    double* bound
    double* beta
    double* gradient
    double intercept
    double dual
    double gap
    double largest
    double size
    double rounding
    double gap_rounding
    Py_ssize_t n

cdef struct Work:
    double* beta
    double* gradient
    double* lower
    double* upper
    double* can_rise
    double* can_fall
    double* bound
    double* gamma
    double* slope
    double* curvature
    double* inverse
    double* score

cdef struct Pairs:
    Py_ssize_t first
    Py_ssize_t second
    double low
    double high
    double G
    int64_t moves
    double length
    int64_t columns

cdef struct Rules:
    double share
    double tolerance
    int64_t max_steps

cdef struct Bounds:
    double F
    double value
    double allowance
    double H
    int64_t ascents
    double length
    int64_t columns

cdef struct SignsFound:
    double* values
    int64_t* outcomes
    double* violation
    double* gap
    int64_t* columns
    int64_t* steps

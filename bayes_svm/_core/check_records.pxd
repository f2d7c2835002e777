# The records of check_records.py as the loops see them: structs of pointers, with the sizes of their arrays.
from libc.stdint cimport int64_t

from bayes_svm._core.records cimport flag

cdef struct Tolerance:
    double share
    double rounding

cdef struct Points:
    double* beta
    double* residual
    double* label
    double* bound
    double* part
    double largest
    double norm
    double mass
    Py_ssize_t n

cdef struct Removals:
    int64_t* start
    int64_t* points
    double* rest

cdef struct Measured:
    double* kkt
    double* gap
    double* dual
    double* square
    flag* free

cdef struct Checked:
    double* kkt
    double* gap
    double* scale
    flag* free
    double* low
    double* high

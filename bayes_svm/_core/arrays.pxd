from libc.stdint cimport int64_t

from bayes_svm._core.records cimport flag

# What a loop does with an array.
cdef enum:
    READ = 0
    WRITE = 1

cdef Py_ssize_t length(object array, str name, Py_ssize_t axis) except -1
cdef bint is_single(object array) except -1
cdef double* doubles(object array, str name, Py_ssize_t n, bint write, list keep) except? NULL
cdef int64_t* numbers(object array, str name, Py_ssize_t n, bint write, list keep) except? NULL
cdef int64_t* places(object array, str name, Py_ssize_t n, int64_t least, int64_t below, list keep) except? NULL
cdef int64_t* starts(object array, str name, Py_ssize_t n, Py_ssize_t n_members, list keep) except? NULL
cdef flag* flags(object array, str name, Py_ssize_t n, bint write, list keep) except? NULL
cdef double** rows(object array, str name, Py_ssize_t n, Py_ssize_t m, bint write, list keep) except? NULL
cdef float** single_rows(object array, str name, Py_ssize_t n, Py_ssize_t m, bint write, list keep) except? NULL
cdef int64_t** number_rows(object array, str name, Py_ssize_t n, Py_ssize_t m, bint write, list keep) except? NULL

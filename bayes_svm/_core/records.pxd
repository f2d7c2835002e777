# The records of records.py as the loops see them: structs of pointers, with the sizes of their arrays.
# A pointer to pointers is a matrix: W[k][i] is its entry in row k and column i.
from libc.stdint cimport int64_t

ctypedef unsigned char flag

# The same values as in records.py.
cdef extern from *:
    """
    #define DEPENDENT 1e-10
    #define LOST 1e-4
    #define LOST_ON_THE_WAY 1e-8
    #define NO_RATE 1e-9
    #define NEVER 1e300
    """
    const double DEPENDENT, LOST, LOST_ON_THE_WAY, NO_RATE, NEVER

cdef enum:
    DONE = 0
    TOO_MANY_CHANGES = 1
    TOO_MANY_EVENTS = 2
    NO_WAY_ON = 3
    SETTLED = 4

cdef struct Base:
    double** W
    flag* is_in
    double* lower
    double* upper
    double* flat
    Py_ssize_t m

cdef struct Motion:
    double* direction
    double* goal
    double* drift
    double needed
    int64_t watched
    double sign
    double steepest
    double margin

cdef struct State:
    double* position
    double* low
    double* high
    flag* is_in
    flag* at_upper
    int64_t* changed

cdef struct Scratch:
    double* rate
    double* wait
    double** A
    int64_t* pivots
    double* weights
    int64_t* factored
    Py_ssize_t capacity

cdef struct Moves:
    int64_t* start
    int64_t* rows
    double* change
    double* exact_change
    flag* keeps
    flag* stays
    double* bound
    double** directions
    int64_t* watched
    double* signs
    double* steepest
    Py_ssize_t n_paths

cdef struct BaseState:
    double* position
    double* low
    double* high
    flag* at_upper
    double* exact_beta
    double* exact_residual

cdef struct Ends:
    double** changes
    double* intercepts
    double* times
    int64_t* events
    int64_t* outcomes
    double* kkt

cdef struct Guests:
    double** rows
    double* curvature
    double* flat
    int64_t* which
    double* label
    double* bound
    double* drift
    double* residual
    Py_ssize_t n_paths

cdef struct Room:
    double* goal
    double* drift
    double* direction

cdef struct Screen:
    flag* near
    int64_t* rows
    int64_t* moved
    double* inputs
    Base base
    State state
    Room room

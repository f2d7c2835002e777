from libc.stdint cimport int64_t

from bayes_svm._core.follow cimport follow_path, number_in, rates
from bayes_svm._core.matrix cimport add_rows
from bayes_svm._core.records cimport DONE, NEVER, NO_WAY_ON, SETTLED, Base, Motion, Scratch, Screen, State, flag

# The same values as in screen.py.
cdef extern from *:
    """
    #define REACH 1.5
    #define TOUCH 0.1
    #define SLACK 0.5
    #define SHORTEST 0.02
    """
    const double REACH, TOUCH, SLACK, SHORTEST

cdef enum:
    FEW = 48
    ROUNDS = 12

cdef double _length_of_leg(
    Py_ssize_t m, Motion motion, State state, Scratch scratch, double remaining, double shortest
) noexcept nogil
cdef Py_ssize_t _mark_near(
    Py_ssize_t m, Motion motion, State state, Py_ssize_t n_changed, double length, Scratch scratch, flag* near
) noexcept nogil
cdef Py_ssize_t _place(int64_t* rows, Py_ssize_t n, Py_ssize_t k) noexcept nogil
cdef void _gather(
    Base base, Motion motion, State state, Py_ssize_t n_changed, Screen screen, Py_ssize_t n, int64_t* factored
) noexcept nogil
cdef Base _few(Base base, Py_ssize_t n) noexcept nogil
cdef double _input(Base base, Py_ssize_t k, bint is_in, bint at_upper, double position) noexcept nogil
cdef Py_ssize_t _mark_missed(
    Base base, Motion motion, State state, double time, Screen screen, Py_ssize_t n, Scratch scratch
) noexcept nogil
cdef void _return(
    Py_ssize_t m, State state, double* positions, Py_ssize_t n_changed, Screen screen, Py_ssize_t n
) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t, int, double) _follow_on_few(
    Base base,
    Motion motion,
    State state,
    Py_ssize_t n_in,
    Py_ssize_t n_changed,
    double length,
    Py_ssize_t max_events,
    Scratch scratch,
    Screen screen,
) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t, int, double) follow_screened(
    Base base,
    Motion motion,
    State state,
    Py_ssize_t n_changed,
    double end,
    Py_ssize_t max_events,
    Scratch scratch,
    Screen screen,
) noexcept nogil

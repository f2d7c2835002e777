from libc.stdint cimport int64_t

from bayes_svm._core.follow cimport follow_path, number_in, rates
from bayes_svm._core.matrix cimport add_rows
from bayes_svm._core.records cimport DONE, NEVER, SETTLED, Base, Motion, Scratch, Screen, State, flag

# The same values as in screen.py.
cdef extern from *:
    """
    #define REACH 1.5
    #define TOUCH 0.1
    """
    const double REACH, TOUCH

cdef enum:
    ROUNDS = 12

cdef Py_ssize_t _mark_near(
    Py_ssize_t m, Motion motion, State state, Py_ssize_t n_changed, double end, Scratch scratch, flag* near
) noexcept nogil
cdef Py_ssize_t _place(int64_t* rows, Py_ssize_t n, Py_ssize_t k) noexcept nogil
cdef void _gather(
    Base base, Motion motion, State state, Py_ssize_t n_changed, Screen screen, Py_ssize_t n
) noexcept nogil
cdef Base _few(Base base, Py_ssize_t n) noexcept nogil
cdef Py_ssize_t _mark_missed(
    Base base, Motion motion, State state, double time, Screen screen, Py_ssize_t n, Scratch scratch
) noexcept nogil
cdef void _return(
    Py_ssize_t m, State state, Py_ssize_t n_changed, Screen screen, Py_ssize_t n, Scratch scratch
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

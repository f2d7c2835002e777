from libc.math cimport NAN as nan

from bayes_svm._core.arrays cimport READ, WRITE
from bayes_svm._core.changed_points cimport factorise_changed, solve_changed, toggle
from bayes_svm._core.follow cimport put_in, put_out
from bayes_svm._core.matrix cimport combine
from bayes_svm._core.records cimport DEPENDENT, DONE, LOST, NEVER, SETTLED, Base, BaseState, Ends, Motion, Moves, Room, Scratch, Screen, State
from bayes_svm._core.screen cimport follow_screened
from bayes_svm._core.structs cimport base_of, base_state_of, ends_of, moves_of, room_of, scratch_of, screen_of, state_of

# The same values as in shrink.py.
cdef enum:
    EXCHANGES = 5
    EVENTS_TO_EXACT = 100
cdef extern from *:
    """
    #define AMPLIFIED 100.0
    """
    const double AMPLIFIED

cdef void _exchange_bounds(Base base, Moves moves, Py_ssize_t p) noexcept nogil
cdef Py_ssize_t begin(
    Base base, Moves moves, Py_ssize_t p, BaseState start, State state, double* goal
) noexcept nogil
cdef void _flips(Base base, BaseState start, State state, double* direction) noexcept nogil
cdef double exact_change(
    Base base,
    Moves moves,
    Py_ssize_t p,
    double time,
    BaseState start,
    State state,
    Py_ssize_t n_changed,
    Py_ssize_t n_events,
    double* direction,
    Scratch scratch,
    double* change,
) noexcept nogil
cdef double _excess(
    Base base, BaseState start, State state, Py_ssize_t k, double* change, double* residual
) noexcept nogil
cdef double _largest_excess(
    Base base, BaseState start, State state, double* change, double* residual
) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t) _to_exact_targets(
    Base base,
    Moves moves,
    Py_ssize_t p,
    double time,
    BaseState start,
    State state,
    Py_ssize_t n_changed,
    Scratch scratch,
    Room room,
    Screen screen,
) noexcept nogil
cdef void _clear_goals(Moves moves, Py_ssize_t p, double* goal) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t) _exchange_exceeding(
    Base base,
    BaseState start,
    State state,
    Py_ssize_t n_changed,
    double* change,
    double* residual,
    double beyond,
    Py_ssize_t capacity,
) noexcept nogil
cdef double wrong_side(Py_ssize_t m, State state, double* residual) noexcept nogil
cdef double _kept_parts(Moves moves, Py_ssize_t p, double* residual) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t, int, double) _follow(
    Base base,
    Moves moves,
    Py_ssize_t p,
    BaseState start,
    Py_ssize_t max_events,
    double margin,
    State state,
    Py_ssize_t n_changed,
    Scratch scratch,
    Room room,
    Screen screen,
) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t, double) _settle(
    Base base,
    Moves moves,
    Py_ssize_t p,
    double time,
    BaseState start,
    State state,
    Py_ssize_t n_changed,
    Py_ssize_t events,
    double beyond,
    Scratch scratch,
    Room room,
    Ends ends,
) noexcept nogil
cdef void _shrink(
    Base base,
    Moves moves,
    Py_ssize_t p,
    BaseState start,
    Py_ssize_t max_events,
    double margin,
    double excess,
    State state,
    Scratch scratch,
    Room room,
    Ends ends,
    Screen screen,
) noexcept nogil

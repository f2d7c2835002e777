from libc.stdint cimport int64_t

from bayes_svm._core.arrays cimport READ, doubles, length, places
from bayes_svm._core.changed_points cimport factorise_changed, solve_changed, toggle
from bayes_svm._core.matrix cimport combine
from bayes_svm._core.records cimport (
    DONE,
    LOST_ON_THE_WAY,
    NEVER,
    NO_RATE,
    NO_WAY_ON,
    SETTLED,
    TOO_MANY_CHANGES,
    TOO_MANY_EVENTS,
    Base,
    Motion,
    Scratch,
    State,
)
from bayes_svm._core.structs cimport base_of, motion_of, scratch_of, state_of

cdef bint rates(Base base, Motion motion, State state, Py_ssize_t n_changed, Scratch scratch) noexcept nogil
cdef (Py_ssize_t, double) _first_event(
    Py_ssize_t m, State state, Scratch scratch, Py_ssize_t just_left
) noexcept nogil
cdef Py_ssize_t _smallest_at(Py_ssize_t n, double* values) noexcept nogil
cdef Py_ssize_t _move_intercept(Py_ssize_t m, Motion motion, State state) noexcept nogil
cdef void _still(Py_ssize_t m, Motion motion, Scratch scratch) noexcept nogil
cdef Py_ssize_t put_in(Base base, Py_ssize_t i, double beta, State state, Py_ssize_t n_changed) noexcept nogil
cdef void _set_out(Py_ssize_t i, bint at_upper, State state) noexcept nogil
cdef Py_ssize_t put_out(Py_ssize_t i, bint at_upper, State state, Py_ssize_t n_changed) noexcept nogil
cdef bint _settled(Motion motion, State state, double remaining) noexcept nogil
cdef Py_ssize_t number_in(Py_ssize_t m, State state) noexcept nogil
cdef bint _is_finite(Py_ssize_t m, State state) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t, int, double) follow_path(
    Base base,
    Motion motion,
    State state,
    Py_ssize_t n_in,
    Py_ssize_t n_changed,
    double end,
    Py_ssize_t max_events,
    Scratch scratch,
) noexcept nogil
cdef (Py_ssize_t, double) _response(
    Base base, Py_ssize_t i, double sense, int64_t* changed, Py_ssize_t n_changed, Scratch scratch
) noexcept nogil
cdef void _response_rates(
    Base base,
    Py_ssize_t i,
    double sense,
    Py_ssize_t own,
    int64_t* changed,
    Py_ssize_t n_changed,
    Scratch scratch,
) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t) _exchange(
    Base base,
    Py_ssize_t i,
    double beta,
    double sense,
    Py_ssize_t own,
    State state,
    Py_ssize_t n_changed,
    Scratch scratch,
) noexcept nogil
cdef (Py_ssize_t, Py_ssize_t, Py_ssize_t) _enter(
    Base base,
    Py_ssize_t i,
    double beta,
    double sense,
    State state,
    Py_ssize_t n_in,
    Py_ssize_t n_changed,
    Scratch scratch,
) noexcept nogil

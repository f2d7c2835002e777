from bayes_svm._core.arrays cimport WRITE
from bayes_svm._core.follow cimport follow_path, number_in
from bayes_svm._core.records cimport NEVER, Base, BaseState, Ends, Guests, Motion, Moves, Room, Scratch, State
from bayes_svm._core.shrink cimport begin, exact_change, wrong_side
from bayes_svm._core.structs cimport (
    base_of,
    base_state_of,
    ends_of,
    guests_of,
    moves_of,
    room_of,
    scratch_of,
    state_of,
)

cdef void _seat(Base base, Guests guests, Py_ssize_t g) noexcept nogil
cdef void _grow(
    Base base,
    Guests guests,
    Py_ssize_t p,
    BaseState start,
    Py_ssize_t max_events,
    State state,
    Scratch scratch,
    Room room,
    Moves still,
    Ends ends,
) noexcept nogil

from bayes_svm._core.arrays cimport READ, WRITE, doubles, flags, length, numbers, places, rows, starts
from bayes_svm._core.records cimport Base, BaseState, Ends, Guests, Motion, Moves, Room, Scratch, Screen, State

cdef Base base_of(object base, bint write, bint write_tableau, list keep) except *
cdef Motion motion_of(object motion, Py_ssize_t m, list keep) except *
cdef State state_of(object state, Py_ssize_t m, Py_ssize_t capacity, Py_ssize_t n_changed, list keep) except *
cdef Scratch scratch_of(object scratch, Py_ssize_t m, list keep) except *
cdef Moves moves_of(object moves, Py_ssize_t m, Py_ssize_t capacity, list keep) except *
cdef BaseState base_state_of(object start, Py_ssize_t m, bint write, list keep) except *
cdef Guests guests_of(object guests, Py_ssize_t m, list keep) except *
cdef Ends ends_of(object ends, Py_ssize_t n_paths, Py_ssize_t m, list keep) except *
cdef Room room_of(object room, Py_ssize_t m, bint write, list keep) except *
cdef Screen screen_of(object screen, Py_ssize_t m, Py_ssize_t capacity, list keep) except *

from libc.stdint cimport int64_t

from bayes_svm._core.pair_records cimport Team

# The same values as in team.py.
cdef enum:
    ASKED = 0
    FIRST = 1
    DONE = 8
    FOUND = 9
    LOOKS = 1000
    SHARE = 4
    PATIENCE = 1200

cdef extern from *:
    """
    #define END -1
    /* Without windows.h, which gives names such as near and far another meaning. */
    #if defined(_WIN32)
    __declspec(dllimport) int __stdcall SwitchToThread(void);
    #define team_give_way() SwitchToThread()
    #else
    #include <sched.h>
    #define team_give_way() sched_yield()
    #endif
    #if defined(_MSC_VER) && !defined(__clang__) && defined(_WIN64)
    #include <intrin.h>
    #define team_is_lock_free() 1
    #define team_load(line, k) _InterlockedOr64((volatile __int64 *)(line) + (k), 0)
    #define team_store(line, k, value) _InterlockedExchange64((volatile __int64 *)(line) + (k), (value))
    #if defined(_M_X64)
    #define team_breathe() _mm_pause()
    #else
    #define team_breathe() __yield()
    #endif
    #elif defined(__LP64__) || defined(_WIN64)
    #define team_is_lock_free() 1
    #define team_load(line, k) __atomic_load_n((line) + (k), __ATOMIC_ACQUIRE)
    #define team_store(line, k, value) __atomic_store_n((line) + (k), (value), __ATOMIC_RELEASE)
    #if defined(__x86_64__)
    #define team_breathe() __builtin_ia32_pause()
    #elif defined(__aarch64__)
    #define team_breathe() __asm__ volatile("yield")
    #else
    #define team_breathe() ((void)0)
    #endif
    #else
    #define team_is_lock_free() 0
    #define team_load(line, k) ((line)[k])
    #define team_store(line, k, value) ((line)[k] = (value))
    #define team_breathe() ((void)0)
    #endif
    """
    const int64_t END
    bint is_lock_free "team_is_lock_free"() noexcept nogil
    int64_t load "team_load"(int64_t* line, Py_ssize_t k) noexcept nogil
    void store "team_store"(int64_t* line, Py_ssize_t k, int64_t value) noexcept nogil
    void breathe "team_breathe"() noexcept nogil
    void give_way "team_give_way"() noexcept nogil

cdef void come(int64_t* line) noexcept nogil
cdef int64_t next_task(int64_t* line, int64_t last) noexcept nogil
cdef void ask(Team team) noexcept nogil
cdef bint has_done(Team team, Py_ssize_t h) noexcept nogil
cdef void dismiss(Team team) noexcept nogil

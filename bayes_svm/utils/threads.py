"""Limit BLAS to one thread, so that results and speed do not depend on the number of cores."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from threading import RLock, local
from typing import Any

from threadpoolctl import ThreadpoolController


class _Entered:
    """How often one thread has entered the context, and limits that only this thread had before."""

    def __init__(self) -> None:
        self.times = 0
        self.limits: list[tuple[Any, int]] = []


class _Here(local):
    def __init__(self) -> None:
        self.entered = _Entered()


_here = _Here()
# The threads of this process that are in the context, and limits that all threads had before.
_inside: set[_Entered] = set()
_limits: list[tuple[Any, int]] = []
# While a thread holds the lock, its garbage collector may close a generator that is in the context.
_lock = RLock()


class one_blas_thread:  # noqa: N801
    """Context in which BLAS uses one thread.

    The fit makes many small BLAS calls, for which several threads would spend more time waiting for
    each other than working. Sums taken by several threads also round differently.

    Most BLAS libraries have one limit for the whole process: the first thread to enter sets it, and the
    last to leave restores it. MKL, and OpenBLAS with OpenMP, have one for each thread, so every thread that
    computes must enter. Entering again only counts. In a forked child, the parent's other threads no
    longer count.
    """

    def __enter__(self) -> None:
        self._entered = entered = _here.entered
        with _lock:
            if not entered.times:
                _inside.add(entered)
                for library in _libraries(len(sys.modules)):
                    limit = library.num_threads
                    if _has_limit_per_thread(library):
                        entered.limits.append((library, limit))
                    elif limit != 1:
                        _limits.append((library, limit))
                    else:
                        continue
                    _set_limit(library, 1)
            entered.times += 1

    def __exit__(self, *exception: object) -> None:
        entered = self._entered
        with _lock:
            entered.times -= 1
            if not entered.times:
                _inside.discard(entered)
                _restore(entered.limits)
                if not _inside:
                    _restore(_limits)


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> list[Any]:
    """The loaded BLAS libraries. Looking for them is slow: it is done again if more modules are loaded."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _has_limit_per_thread(library: Any) -> bool:
    """Whether setting the library's limit limits only the thread that sets it."""
    if library.internal_api == "mkl":
        # Before version 3.7, threadpoolctl set MKL's other limit, that of the process.
        return "MKL_Set_Num_Threads_Local" in getattr(library, "check_symbols", ())
    return bool(library.internal_api == "openblas" and library.threading_layer == "openmp")


def _set_limit(library: Any, limit: int) -> None:
    # From version 3.8, threadpoolctl ignores all threads but the first to set the limit of OpenBLAS,
    # until that thread gives up control.
    give_up_control = getattr(library, "clear_controlling_thread", lambda force: None)
    give_up_control(force=True)
    library.set_num_threads(limit)
    give_up_control(force=True)


def _restore(limits: list[tuple[Any, int]]) -> None:
    # If others raised a limit in between, it is in the list twice: what was there first is set last.
    while limits:
        _set_limit(*limits.pop())


def _after_fork() -> None:
    """Keep the only thread that a forked child has."""
    _inside.intersection_update({_here.entered})
    if not _inside:
        _restore(_limits)
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)

"""One BLAS thread inside, so that results and speed do not depend on how many there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import local

from threadpoolctl import ThreadpoolController

_here = local()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries: once is enough


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which BLAS uses one thread.

    The fit makes many small calls, on which several BLAS threads wait for each other longer
    than they work; and sums taken by another number of threads round differently. Inside
    another such context of the same thread it does nothing: to set a limit takes longer than
    many a small call. Most BLAS libraries have one limit for the whole process: who starts
    threads holds a context around them.
    """
    if getattr(_here, "limited", False):
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        _here.limited = True
        try:
            yield
        finally:
            _here.limited = False

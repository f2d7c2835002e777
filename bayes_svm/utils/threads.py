"""Limit BLAS to one thread, so that results and speed do not depend on the number of cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import local

from threadpoolctl import ThreadpoolController

_here = local()


@cache
def _controller() -> ThreadpoolController:
    """Controller of the loaded BLAS libraries. Looking for them is slow, so it is done once."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which BLAS uses one thread.

    The fit makes many small BLAS calls, for which several threads would spend more time waiting for
    each other than working. Sums taken by several threads also round differently.

    Entering the context again in the same thread does nothing, because setting the limit takes longer
    than many small calls. Most BLAS libraries have one limit for the whole process, so callers that
    start threads must enter this context first.
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

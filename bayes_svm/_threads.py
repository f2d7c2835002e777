"""One BLAS thread inside, so that results and speed do not depend on how many there are."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries: once is enough


def one_blas_thread() -> AbstractContextManager[Any]:
    """Context in which BLAS uses one thread.

    The fit makes many small calls, on which several BLAS threads wait for each other longer
    than they work; and sums taken by another number of threads round differently.
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit

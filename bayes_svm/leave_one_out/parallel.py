"""Parallel work over cases that share large, read-only data."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from joblib import Parallel, parallel_config
from joblib.parallel import get_active_backend

__all__ = ["run_all"]


def run_all(n_jobs: int | None, calls: list[Any], shared: list[Any]) -> list[Any]:
    """Results of joblib's ``calls``, by threads, or by what ``joblib.parallel_config`` says.

    A dask cluster is sent the ``shared`` arguments once, each worker its copy before the work
    starts: what a lost worker was doing is done by another.
    """
    if len(calls) == 1:  # nothing to share out
        function, arguments, options = calls[0]
        return [function(*arguments, **options)]
    with _sending(shared):
        results: list[Any] = Parallel(n_jobs=n_jobs, prefer="threads")(calls)
        return results


def _sending(shared: list[Any]) -> AbstractContextManager[Any]:
    backend, _ = get_active_backend(prefer="threads")
    client = getattr(backend, "client", None)
    if client is None:
        return nullcontext()
    config: AbstractContextManager[Any] = parallel_config(backend="dask", client=client, scatter=shared)
    return config

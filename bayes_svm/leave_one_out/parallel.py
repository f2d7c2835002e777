"""Parallel work over cases that share large, read-only data."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

__all__ = ["run_all"]

# What a dask cluster has been sent, for as long as it exists here: the client, and the data's future.
_SENT: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()


def run_all(n_jobs: int | None, calls: list[Any], shared: list[Any]) -> list[Any]:
    """Results of joblib's ``calls``, by threads, or by what ``joblib.parallel_config`` says.

    A dask cluster is sent the ``shared`` arguments once, each worker its copy before the work
    starts: what a lost worker was doing is done by another.
    """
    if len(calls) == 1:  # nothing to share out
        function, arguments, options = calls[0]
        return [function(*arguments, **options)]
    backend, _ = get_active_backend(prefer="threads")
    client = getattr(backend, "client", None)
    if client is not None:
        futures = {id(item): _sent(client, item) for item in shared}
        calls = [
            delayed(function)(*(futures.get(id(argument), argument) for argument in arguments), **options)
            for function, arguments, options in calls
        ]
    results: list[Any] = Parallel(n_jobs=n_jobs, prefer="threads")(calls)
    return results


def _sent(client: Any, item: Any) -> Any:
    """The future of an object on a dask cluster."""
    known, future = _SENT.get(item, (None, None))
    if known is not client:
        [future] = client.scatter([item], broadcast=True, hash=False)
        _SENT[item] = (client, future)
    return future

"""Parallel work over cases that share large, read-only data."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from typing import Any
from weakref import WeakKeyDictionary

from joblib import Parallel
from joblib.parallel import get_active_backend

__all__ = ["run_all"]

# Times that a cluster may lose the data of its work: as often as dask lets a task lose its worker.
LOSSES = 3

FEW = 8  # calls of which the first is timed
THREADS = 0.03  # seconds of work below which threads cost more than they save

# What a dask cluster has been sent, for as long as it exists here: the client, and the data's future.
_SENT: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()


def run_all(n_jobs: int | None, calls: list[Any], shared: list[Any]) -> list[Any]:
    """Results of joblib's ``calls``, by threads, or by what ``joblib.parallel_config`` says.

    A dask cluster is sent the ``shared`` arguments once, each worker its copy before the work
    starts: what a lost worker was doing is done by another.
    """
    if len(calls) == 1:  # nothing to share out
        return _run(calls)
    backend, _ = get_active_backend(prefer="threads")
    if hasattr(backend, "data_futures"):  # joblib's dask backend
        return _run_on_cluster(backend, n_jobs, calls, shared)
    done: list[Any] = []
    if getattr(backend, "uses_threads", False) and len(calls) <= FEW:
        started = time.perf_counter()
        done = _run(calls[:1])
        if (time.perf_counter() - started) * (len(calls) - 1) < THREADS:
            return done + _run(calls[1:])
    return done + list(Parallel(n_jobs=n_jobs, prefer="threads")(calls[len(done) :]))


def _run(calls: list[Any]) -> list[Any]:
    return [function(*arguments, **options) for function, arguments, options in calls]


def _run_on_cluster(
    backend: Any, n_jobs: int | None, calls: list[Any], shared: list[Any], losses: int = 0
) -> list[Any]:
    """Results of joblib's ``calls`` from a dask cluster.

    A cluster keeps no second copy of what it is sent for long, and cancels the work whose data
    went with a worker: the data are sent again, and the calls run again.
    """
    # joblib replaces these arguments where a call goes to the cluster, and only there.
    backend.data_futures.update({id(item): _sent(backend.client, item) for item in shared})
    try:
        return list(Parallel(n_jobs=n_jobs)(calls))
    except CancelledError:
        if losses == LOSSES:
            raise
    finally:
        for item in shared:
            backend.data_futures.pop(id(item))
    for item in shared:
        _SENT.pop(item, None)
    return _run_on_cluster(backend, n_jobs, calls, shared, losses + 1)


def _sent(client: Any, item: Any) -> Any:
    """The future of an object on a dask cluster."""
    known, future = _SENT.get(item, (None, None))
    if known is not client:
        [future] = client.scatter([item], broadcast=True, hash=False)
        _SENT[item] = (client, future)
    return future

"""Run calls of joblib in parallel that share large, read-only data."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from typing import Any
from weakref import WeakKeyDictionary

from joblib import Parallel
from joblib.parallel import get_active_backend

__all__ = ["run_all"]

# How often a cluster may lose the data it was sent: as often as dask lets a task lose its worker.
LOSSES = 3
# Up to this many calls, the first is timed to decide whether the others are worth starting threads for.
FEW = 8
# Below this many seconds of work, threads cost more than they save.
THREADS = 0.03

# Data that were sent to a dask cluster, while they exist here: the client, and the future of the data.
_SENT: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()


def run_all(n_jobs: int | None, calls: list[Any], shared: list[Any]) -> list[Any]:
    """Results of joblib's calls, run by threads or by the backend of ``joblib.parallel_config``.

    Parameters
    ----------
    n_jobs : int or None
        Number of jobs of joblib.
    calls : list of ``joblib.delayed`` calls
        The calls to run.
    shared : list
        Arguments that all calls share. Every worker of a dask cluster gets its copy once, before the
        work starts, so that another can take over the work of one that is lost.

    Returns
    -------
    list
        The result of each call.
    """
    if len(calls) == 1:
        return _run(calls)
    backend, _ = get_active_backend(prefer="threads")
    # Only joblib's dask backend has this attribute.
    if hasattr(backend, "data_futures"):
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
    """Results of joblib's calls from a dask cluster.

    A cluster soon drops second copies of the data, and cancels the work whose data were lost with a
    worker. The data are then sent again, and the calls run again.
    """
    # joblib replaces the arguments that it finds here by their futures when it sends a call.
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

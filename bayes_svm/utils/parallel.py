"""Work in parallel: calls of joblib that share large, read-only data, and pieces of one computation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from math import ceil
from threading import Event, Thread, current_thread
from time import monotonic
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from bayes_svm.utils.interrupts import pause, unless
from bayes_svm.utils.progress import counted
from bayes_svm.utils.threads import one_blas_thread

__all__ = [
    "ahead_in_threads",
    "ask_for_help",
    "equal_parts",
    "in_threads",
    "run_all",
    "run_each",
    "run_in_threads",
    "spare_threads",
    "working_threads",
]

Piece = TypeVar("Piece")
Result = TypeVar("Result")

# How often a cluster may lose the data it was sent: as often as dask lets a task lose its worker.
LOSSES = 3
# After an error, threads are waited for so many seconds.
SOON = 1.0
# Below this many seconds of work, threads cost more than they save.
WORTH = 0.001


class _Workers(NamedTuple):
    """The threads that a context has for pieces of work, and the event that ends what they do."""

    pool: ThreadPoolExecutor
    number: int
    given_up: Event


_workers: ContextVar[_Workers | None] = ContextVar("_workers", default=None)
# A thread among the workers has none itself, and makes none.
_is_worker: ContextVar[bool] = ContextVar("_is_worker", default=False)
# Data that were sent to a dask cluster, while they exist here: the client, and the future of the data.
_SENT: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()


@contextmanager
def working_threads(n_jobs: int | None) -> Iterator[None]:
    """Context in which :func:`in_threads` uses as many threads as joblib would for ``n_jobs``.

    With a backend of joblib that does not use threads, inside the context already, or in one of its threads,
    it changes nothing.
    """
    number = 1
    if _workers.get() is None and not _is_worker.get():
        backend, configured = get_active_backend(prefer="threads")
        if getattr(backend, "uses_threads", False):
            number = backend.effective_n_jobs(configured if n_jobs is None else n_jobs)
    if number == 1:
        yield
        return
    threads: list[Thread] = []

    def begin() -> None:
        _workers.set(None)
        _is_worker.set(True)
        threads.append(current_thread())

    pool = ThreadPoolExecutor(number, "bayes_svm", begin)
    workers = _Workers(pool, number, Event())
    token = _workers.set(workers)
    try:
        yield
    except BaseException:
        # What has not begun is not begun, and what has begun ends soon. It is not waited for longer: after
        # Ctrl-C in the midst of Python's own pool, a thread may be stuck there.
        workers.given_up.set()
        pool.shutdown(wait=False, cancel_futures=True)
        deadline = monotonic() + SOON
        for thread in threads:
            thread.join(max(0.0, deadline - monotonic()))
        raise
    finally:
        _workers.reset(token)
    # A helper that was not dismissed ends by this.
    workers.given_up.set()
    pool.shutdown()


def in_threads(
    function: Callable[[Piece], Result], pieces: Sequence[Piece], seconds: float = np.inf
) -> list[Result]:
    """The result of a function for each piece, computed by the threads of :func:`working_threads`.

    Parameters
    ----------
    function : callable
        What to do with a piece. Its result must not depend on the thread.
    pieces : sequence
        The pieces.
    seconds : float
        Roughly how much work they are in all: little work is not worth threads.

    Returns
    -------
    list
        The results, in the order of the pieces.
    """
    workers = _workers.get()
    if workers is None or len(pieces) < 2 or seconds < WORTH:
        return [function(piece) for piece in _until_given_up(pieces)]

    def run(piece: Piece) -> Result:
        with one_blas_thread():
            found: Result = unless(workers.given_up, function, (piece,), {})
            return found

    return list(workers.pool.map(run, pieces))


def equal_parts(size: int, most: int, whole: int) -> list[slice]:
    """Parts of at most this length, mostly an even number, so that two threads get the same.

    They are equal, but the last may be shorter. Up to ``whole`` there is one.
    """
    number = 1 if size <= whole else 2 * ceil(size / (2 * most))
    length = max(1, ceil(size / number))
    return [slice(first, min(first + length, size)) for first in range(0, size, length)]


def spare_threads() -> int:
    """How many threads of :func:`working_threads` could help this one with a loop."""
    workers = _workers.get()
    return 0 if workers is None else workers.number - 1


def ask_for_help(help: Callable[[int], None], number: int) -> None:
    """Have spare threads help this one with a loop.

    Parameters
    ----------
    help : callable
        What a helper does, given its number from 0. Some may come late, or never: the loop must not need
        them. It must end with the loop, and while it waits it must hear
        :func:`~bayes_svm.utils.interrupts.pause`, which ends it where the loop is never reached.
    number : int
        How many are asked, at most :func:`spare_threads`.
    """
    workers = _workers.get()
    if workers is not None:
        for which in range(number):
            workers.pool.submit(unless, workers.given_up, help, (which,), {})


def _until_given_up(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces, none of which is begun in a thread whose run was given up."""
    for piece in pieces:
        pause()
        yield piece


def ahead_in_threads(function: Callable[[Piece], Result], pieces: Iterable[Piece]) -> Iterator[Result]:
    """The result of a function for each piece, in their order, while this thread makes the next pieces.

    It makes as many pieces ahead as there are threads. When all are made, it does the last one, in which the
    threads that are done with theirs take part. Where there are none, it does one thing at a time.

    Parameters
    ----------
    function : callable
        What to do with a piece. Its result must not depend on the thread.
    pieces : iterable
        Makes the pieces, without the results.

    Yields
    ------
    object
        The result of each piece.
    """
    workers = _workers.get()
    if workers is None:
        yield from map(function, pieces)
        return

    def run(piece: Piece) -> Result:
        with one_blas_thread():
            found: Result = unless(workers.given_up, function, (piece,), {})
            return found

    making, under_way, made = iter(pieces), deque[Future[Result]](), list[Piece]()
    while True:
        # While threads are busy, what this one does in pieces would wait for them.
        token = _workers.set(None if under_way else workers)
        try:
            made.append(next(making))
        except StopIteration:
            break
        finally:
            _workers.reset(token)
        if len(made) > 1:
            under_way.append(workers.pool.submit(run, made.pop(0)))
        if len(under_way) > workers.number:
            yield under_way.popleft().result()
    for piece in made:
        under_way.append(_done(function, piece))
    while under_way:
        yield under_way.popleft().result()


def _done(function: Callable[[Piece], Result], piece: Piece) -> Future[Result]:
    """The result of a piece, or its error: those of the pieces before it come first."""
    found = Future[Result]()
    try:
        found.set_result(function(piece))
    except Exception as error:
        found.set_exception(error)
    return found


def run_all(n_jobs: int | None, calls: list[Any], shared: list[Any], seconds: float = np.inf) -> list[Any]:
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
    seconds : float
        Roughly how much work they are: see :func:`in_threads`.

    Returns
    -------
    list
        The result of each call.
    """
    backend = None if len(calls) == 1 else get_active_backend(prefer="threads")[0]
    if backend is None or getattr(backend, "uses_threads", False):
        with working_threads(n_jobs):
            return in_threads(_run, calls, seconds)
    # Only joblib's dask backend has this attribute.
    if hasattr(backend, "data_futures"):
        return _run_on_cluster(backend, n_jobs, calls, shared)
    return list(Parallel(n_jobs=n_jobs)(calls))


def run_in_threads(parallel: Parallel, calls: list[Any]) -> Iterator[Any]:
    """Results of joblib's calls, run by threads that end soon if one of them fails or after Ctrl-C.

    Parameters
    ----------
    parallel : joblib.Parallel
        How to run them.
    calls : list of ``joblib.delayed`` calls
        The calls to run.

    Yields
    ------
    object
        The result of each call.
    """
    given_up = Event()
    try:
        yield from parallel(delayed(unless)(given_up, *call) for call in calls)
    except BaseException:
        given_up.set()
        raise


def run_each(n_jobs: int | None, calls: list[Any], name: str) -> list[Any]:
    """Results of joblib's calls, each of which is progress.

    Parameters
    ----------
    n_jobs : int or None
        Number of jobs of joblib.
    calls : list of ``joblib.delayed`` calls
        The calls to run.
    name : str
        What they are, as in :class:`~bayes_svm.utils.progress.step`.

    Returns
    -------
    list
        The result of each call. A single one may use threads for its pieces.
    """
    if len(calls) == 1:
        with working_threads(n_jobs):
            return [_run(calls[0])]
    backend, _ = get_active_backend()
    # Only a generator gives the first results before the last.
    how = "generator" if getattr(backend, "supports_return_generator", False) else "list"
    parallel = Parallel(n_jobs=n_jobs, return_as=how)
    in_threads = getattr(backend, "uses_threads", False)
    found = run_in_threads(parallel, calls) if in_threads else iter(parallel(calls))
    return [next(found) for _ in counted(calls, name)]


def _run(call: Any) -> Any:
    function, arguments, options = call
    return function(*arguments, **options)


def _run_on_cluster(
    backend: Any, n_jobs: int | None, calls: list[Any], shared: list[Any], losses: int = 0
) -> list[Any]:
    """Results of joblib's calls from a dask cluster.

    A cluster soon drops second copies of the data, and cancels the work whose data were lost with a
    worker. The data are then sent again, and the calls run again.
    """
    # joblib replaces the arguments that it finds here by their futures when it sends a call.
    futures = [_sent(backend.client, item) for item in shared]
    backend.data_futures.update({id(item): future for item, future in zip(shared, futures, strict=True)})
    try:
        return list(Parallel(n_jobs=n_jobs)(calls))
    except (CancelledError, TypeError) as error:
        # joblib may take what says that a call was cancelled for its result, which then is no list.
        lost = any(future.status != "finished" for future in futures)
        if losses == LOSSES or not (lost or isinstance(error, CancelledError)):
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

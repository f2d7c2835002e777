"""Long calls in slices, between which Ctrl-C is heard and a run that was given up ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from threading import Event, Thread, local
from typing import Any

from bayes_svm.utils.threads import one_blas_thread

__all__ = ["aside", "pause", "slices", "unless"]

# A slice has about so many elementary operations: a tenth of a second.
SLICE = 2**26


class _Here(local):
    """The event that ends what this thread does; None in a thread that nobody waits for."""

    given_up: Event | None = None


_here = _Here()


def pause() -> None:
    """Let Python handle its signals, and end the work of a run that was given up.

    Python hears Ctrl-C in its main thread alone, when a function of its own is called.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, or in a thread whose run was given up.
    """
    if _here.given_up is not None and _here.given_up.is_set():
        raise KeyboardInterrupt


def slices(number: int, operations: int) -> Iterable[tuple[int, int]]:
    """Divide a loop into slices of a fraction of a second, with a :func:`pause` between them.

    Parameters
    ----------
    number : int
        Number of passes of the loop.
    operations : int
        Elementary operations of one pass, about.

    Returns
    -------
    iterable of (first, last)
        The passes from ``first`` to ``last - 1``.
    """
    # Most loops are short, and some are called often.
    if number * operations <= SLICE:
        return ((0, number),)
    return _slices(number, max(1, SLICE // max(1, operations)))


def _slices(number: int, step: int) -> Iterator[tuple[int, int]]:
    for first in range(0, number, step):
        if first:
            pause()
        yield first, min(first + step, number)


def aside(function: Callable[[Any], Any], argument: Any) -> Any:
    """Result of one long call, made in a thread of its own, so that Ctrl-C is heard while it works.

    The function must not hold the interpreter while it works: NumPy's functions do not, SciPy's LAPACK does.
    After Ctrl-C its thread works on until it is done, and then drops what it found.
    """
    found: Future[Any] = Future()

    def work() -> None:
        try:
            with one_blas_thread():
                found.set_result(function(argument))
        except BaseException as error:
            found.set_exception(error)

    Thread(target=work, daemon=True).start()
    return found.result()


def unless(given_up: Event, function: Callable[..., Any], arguments: Any, options: Any) -> Any:
    """Call a function in a thread of a run, whose work ends soon after the run is given up."""
    outer = _here.given_up
    # In a thread that another run waits for already, it is this one that may be given up.
    _here.given_up = given_up if outer is None else outer
    try:
        pause()
        return function(*arguments, **options)
    finally:
        _here.given_up = outer

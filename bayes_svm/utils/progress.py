"""What a long run is doing and how long it still takes, on one line of stderr."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from threading import Event, Thread, local
from typing import TypeVar

from bayes_svm.utils.interrupts import pause

__all__ = ["counted", "on_terminal", "say", "shown", "step"]

# Runs that end within this many seconds show nothing.
PATIENCE = 2.0
# Seconds between two updates: of the line on a terminal, and between two lines in a file.
ON_TERMINAL, IN_FILE = 0.25, 10.0
# Width of the bar, in characters.
WIDTH = 20

Item = TypeVar("Item")


class step:  # noqa: N801
    """Context in which one step of a run is under way; steps may be nested.

    It costs less than a microsecond where nothing is :class:`shown`. What other threads and processes do is
    not shown: the thread that waits for them reports what it knows.

    Parameters
    ----------
    name : str
        What is done, as in "leaving out rows".
    total : int, default=0
        Number of things to do, if it is known.

    Attributes
    ----------
    done : int
        Number of things that are done.
    """

    def __init__(self, name: str, total: int = 0) -> None:
        self.name, self.total, self.done, self._first = name, total, 0, 0
        self._steps = _here.steps

    def __enter__(self) -> step:
        if self._steps is not None:
            self._began = self._last = time.monotonic()
            self._steps.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._steps is not None:
            self._steps.remove(self)

    def advance(self, done: int, skipped: bool = False) -> None:
        """So many things are done by now; if they were ``skipped``, they say nothing about the time."""
        if self._steps is not None:
            if skipped:
                self._first += done - self.done
            self.done, self._last = done, time.monotonic()

    def _left(self) -> float | None:
        """Seconds that the step still takes at the mean speed so far; None if that is not known."""
        done = self.done - self._first
        if done <= 0 or self.total <= self.done:
            return None
        each = (self._last - self._began) / done
        # What is under way counts as done in part, but never as more than one thing.
        return each * (self.total - self.done) - min(each, time.monotonic() - self._last)

    def _text(self) -> str:
        if self.total > 1:
            return f"{self.name} {self.done:,} of {self.total:,}"
        return f"{self.name} {self.done:,}" if self.done and not self.total else self.name


def counted(items: Sequence[Item], name: str) -> Iterator[Item]:
    """Yield the items, each of which is done when the next one is asked for: a :class:`step`, if several.

    Where the run was given up, no further item is begun.
    """
    if len(items) == 1:
        yield items[0]
        return
    with step(name, len(items)) as at:
        for done, item in enumerate(items, 1):
            yield item
            at.advance(done)
            pause()


class _Here(local):
    """The steps that the thread is in, the outermost first; None if they are not shown."""

    steps: list[step] | None = None


_here = _Here()


class shown:  # noqa: N801
    """Context in which the steps of this thread are shown on stderr, after two seconds.

    On a terminal one line is written again and again, and removed in the end. Elsewhere a line is added
    every ten seconds. Within another such context it does nothing: the outermost one shows all steps.

    Parameters
    ----------
    wanted : bool
        Whether to show anything.
    """

    def __init__(self, wanted: bool) -> None:
        self._shows = wanted

    def __enter__(self) -> None:
        self._shows = self._shows and _here.steps is None
        if self._shows:
            self._ended = Event()
            _here.steps = []
            self._thread = Thread(target=_show, args=(_here.steps, self._ended), daemon=True)
            self._thread.start()

    def __exit__(self, *exception: object) -> None:
        if self._shows:
            _here.steps = None
            self._ended.set()
            self._thread.join()


def _show(steps: list[step], ended: Event) -> None:
    """Write what the steps say, until the run has ended."""
    if ended.wait(PATIENCE):
        return
    began, terminal = time.monotonic() - PATIENCE, on_terminal()
    try:
        while True:
            if steps:
                say(_line(list(steps), time.monotonic() - began), end="" if terminal else "\n")
            if ended.wait(ON_TERMINAL if terminal else IN_FILE):
                break
        if terminal:
            say("", end="\r")
    except (OSError, ValueError):
        # Nobody reads it, or the stream is closed: the run goes on.
        return


def on_terminal() -> bool:
    """Whether stderr is a terminal; it is None where it is closed, and in a program without a console."""
    return sys.stderr is not None and not getattr(sys.stderr, "closed", False) and sys.stderr.isatty()


def say(text: str, end: str = "\n") -> None:
    """Write a line to stderr; on a terminal, over what is shown of the progress."""
    if sys.stderr is None:
        return
    if on_terminal():
        width = shutil.get_terminal_size().columns - 1
        text = "\r" + (text.ljust(width) if end == "\n" else text[:width].ljust(width))
    print(text, end=end, file=sys.stderr, flush=True)


def _line(steps: list[step], seconds: float) -> str:
    """All steps, the outermost first, with the time that the first of those that know it still takes."""
    texts, bar = [one._text() for one in steps], ""
    for k, one in enumerate(steps):
        left = one._left()
        if left is not None:
            texts[k] += f" ({_duration(left)} left)"
            bar = f"|{'#' * (WIDTH * one.done // one.total):-<{WIDTH}}| "
            break
    return bar + ": ".join(texts) + ("" if bar else f" ({_duration(seconds)} so far)")


def _duration(seconds: float) -> str:
    """Whole seconds, minutes or hours, rounded up where they are few."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"

"""What a fit says and refuses, told to the user of the command."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import InputError
from .text import one_line

__all__ = ["as_notes", "memory_advice", "refusals"]


@contextmanager
def as_notes(notes: list[str]) -> Iterator[None]:
    """Append warnings that are meant for users to the notes, one line each."""
    with warnings.catch_warnings(record=True) as caught:
        # Other warnings, such as deprecations, are for developers.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        yield
    notes.extend(one_line(one.message) for one in caught)


@contextmanager
def memory_advice(n: int) -> Iterator[None]:
    """Turn a MemoryError into an InputError that says what to do."""
    try:
        yield
    except MemoryError as err:
        advice = f"{n} rows need about {8e-9 * n * n:.1f} GB per kernel matrix; use fewer rows"
        raise InputError(one_line(err) or f"not enough memory: {advice}") from None


@contextmanager
def refusals() -> Iterator[None]:
    """Turn a ValueError of the model into an InputError of one line."""
    try:
        yield
    except InputError:
        raise
    except ValueError as err:
        raise InputError(f"the model could not be fitted: {one_line(err)}") from err

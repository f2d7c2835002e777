"""Compilation of the inner loops, with the machine code kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["compiled", "compiled_with_arrays", "inlined"]


def compiled(loop: Callable[..., Any]) -> Any:
    """Compile ``loop``, which makes no array, at its first call, without the GIL; the result is kept on disk.

    Numba looks for a writable cache beside the source, then in the user's cache
    directory. Where neither can be written (a read-only installation without a home)
    it refuses to cache, and the loop is compiled anew in each process.

    The kept code is renewed when the loop's own file changes, not when a loop or a constant
    in another file does that it uses: after editing one, delete the ``__pycache__`` folders.
    """
    # With Numba's own memory every call counts the references to each array in each tuple it is
    # given, one atomic operation each: more than the work of many a loop here.
    return _compile(loop, memory=False, inline=False)


def inlined(step: Callable[..., Any]) -> Any:
    """The same for a step of a loop, made part of it: to hand over tuples of arrays takes time, too."""
    return _compile(step, memory=False, inline=True)


def compiled_with_arrays(loop: Callable[..., Any]) -> Any:
    """The same for a loop that makes arrays."""
    return _compile(loop, memory=True, inline=False)


def _compile(loop: Callable[..., Any], memory: bool, inline: bool) -> Any:
    # Without numpy's error model every division is a branch, and no loop with one is vectorised.
    # What is not said here a loop takes from the first one that calls it.
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": memory, "forceinline": inline}
    try:
        return numba.njit(cache=True, **options)(loop)
    except RuntimeError:
        return numba.njit(**options)(loop)

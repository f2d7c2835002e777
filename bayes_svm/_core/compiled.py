"""Compilation of the inner loops, with the machine code kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["compiled", "compiled_with_arrays", "inlined"]


def compiled(loop: Callable[..., Any]) -> Any:
    """Compile ``loop`` at its first call, to run without the GIL. The loop must not make arrays.

    The machine code is kept on disk. Numba looks for a writable cache beside the source, then in the user's
    cache directory. Where neither can be written (a read-only installation without a home) it refuses to
    cache, and the loop is compiled anew in each process.

    The code is compiled again when the loop's own file changes, but not when another file does whose loops or
    constants it uses. After editing one, delete the ``__pycache__`` folders.
    """
    # With Numba's own memory every call would count the references to each array that it is given. These
    # atomic operations take longer than many of the loops here.
    return _compile(loop, memory=False, inline=False)


def inlined(step: Callable[..., Any]) -> Any:
    """The same for a step that becomes part of its loop, which saves the time of handing over the arrays."""
    return _compile(step, memory=False, inline=True)


def compiled_with_arrays(loop: Callable[..., Any]) -> Any:
    """The same for a loop that makes arrays."""
    return _compile(loop, memory=True, inline=False)


def _compile(loop: Callable[..., Any], memory: bool, inline: bool) -> Any:
    # With Python's error model every division would be a branch, and keep its loop from being vectorised.
    # Every option is set: a loop would take the others from the first loop that calls it.
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": memory, "forceinline": inline}
    try:
        return numba.njit(cache=True, **options)(loop)
    except RuntimeError:
        return numba.njit(**options)(loop)

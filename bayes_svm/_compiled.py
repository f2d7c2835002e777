"""Compilation of the inner loops, with the machine code kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(loop: Callable[..., Any]) -> Any:
    """Compile ``loop`` at its first call, without the GIL, and keep the result on disk.

    Numba looks for a writable cache beside the source, then in the user's cache
    directory. Where neither can be written (a read-only installation without a home)
    it refuses to cache, and the loop is compiled anew in each process.

    The kept code is renewed when the loop's own file changes, not when a loop in another
    file that it calls does: after editing one, delete the ``__pycache__`` folders.
    """
    # Without numpy's error model every division is a branch, and no loop with one is vectorised.
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(loop)
    except RuntimeError:
        return numba.njit(nogil=True, error_model="numpy")(loop)

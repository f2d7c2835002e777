"""Reprs of result objects that fit on a screen."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

__all__ = ["short_repr"]

# Arrays of more numbers, and sequences of more items, are shown by their size.
MOST = 10


def short_repr(record: Any) -> str:
    """Repr of a dataclass in which long arrays and sequences are shown by their size.

    It is the class's ``__repr__``; a dataclass keeps the one that is written in its body.
    """
    shown = [f"{one.name}={_short(getattr(record, one.name))}" for one in fields(record) if one.repr]
    return f"{type(record).__name__}({', '.join(shown)})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        size = f"<array of shape {value.shape}>"
        return size if value.size > MOST else " ".join(repr(value).split())
    if isinstance(value, (list, tuple)) and len(value) > MOST:
        return f"<{len(value)} items>"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(map(_short, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    return repr(value)

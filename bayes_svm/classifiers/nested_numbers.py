"""The numbers in a dataclass, such as a link, and in those that it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

__all__ = ["numbers_in", "with_numbers"]


def numbers_in(value: Any) -> list[float] | None:
    """The numbers in a dataclass, tuple or number, one after the other; None if it holds anything else."""
    if isinstance(value, float):
        return [value]
    found: list[float] = []
    for part in _parts(value):
        own = numbers_in(part)
        if own is None:
            return None
        found += own
    return found if found else None


def with_numbers(value: Any, numbers: Iterator[float]) -> Any:
    """The same dataclass, tuple or number with other numbers, in the order of :func:`numbers_in`."""
    if isinstance(value, float):
        return next(numbers)
    parts = [with_numbers(part, numbers) for part in _parts(value)]
    if isinstance(value, tuple):
        return tuple(parts)
    return replace(value, **dict(zip((one.name for one in fields(value)), parts, strict=True)))


def _parts(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return list(value)
    return [getattr(value, one.name) for one in fields(value)] if is_dataclass(value) else []

"""Numbers as a reader sees them."""

from __future__ import annotations

import math
from typing import Any

from .record import ValueWithInterval
from .tables.dates import date_of
from .text import shortened

__all__ = [
    "MISSING",
    "counted",
    "decimal",
    "grouped",
    "interval",
    "number",
    "percent",
    "points",
    "short",
    "value_of",
]

# Largest number of characters of a value or a name in a table, and in a chart.
MAX_TEXT, MAX_NAME = 100, 22
# Numbers of this size are written in full, not as 1.235e+04.
FULL, HUGE = 1e4, 1e12
# Stands for a value that is not defined.
MISSING = "–"


def percent(value: float | None, digits: int = 1) -> str:
    """Format 0.0213 as "2.1 %", with a no-break space."""
    return MISSING if value is None or not math.isfinite(value) else f"{100 * value:.{digits}f}\u00a0%"


def decimal(value: float) -> str:
    """Format a number with one decimal."""
    return f"{value:.1f}"


def points(value: float) -> str:
    """Format a difference of shares as percentage points, with two decimals and a minus sign."""
    # Adding 0 turns -0.0 into 0.0.
    return f"{round(100 * value, 2) + 0.0:.2f}".replace("-", "\u2212")


def number(value: Any) -> str:
    """Format a number with four digits, or in full from 10,000 on; shorten the user's text if it is long."""
    if value is None:
        return MISSING
    if isinstance(value, str):
        return shortened(value, MAX_TEXT)
    value = float(value)
    if math.isnan(value):
        return MISSING
    return f"{value:,.0f}" if FULL <= abs(value) < HUGE else f"{value:.4g}"


def value_of(value: Any, date: bool) -> str:
    """Format a value of the table: a number, a text, or a date that is a number of days."""
    if value is None:
        return "missing"
    return date_of(value) if date and math.isfinite(value) else number(value)


def short(text: object) -> str:
    """Shorten a name so that it fits into a chart."""
    return shortened(str(text), MAX_NAME)


def interval(estimate: ValueWithInterval) -> str:
    """Format an interval as "1.2 to 3.6 %"; the empty string if there is none."""
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return ""
    return f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}\u00a0%"


def grouped(n: int) -> str:
    """Format a count with separators of thousands."""
    return f"{n:,}"


def counted(n: int, noun: str) -> str:
    """Format a number with its noun, as "1 row" or "5 rows"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"

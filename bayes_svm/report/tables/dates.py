"""Dates as people write them, read as a number of days."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayes_svm.utils.types import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AS_NUMBERS", "date_formats", "date_of", "days", "days_of_numbers", "days_of_times"]

DAYS = (
    "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y",
    "%d-%b-%Y", "%b %d, %Y",
)  # fmt: skip
# Of every two that give the same dates the first is named. "%z" reads "Z" too.
CLOCKS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f")
TIMES = (
    "", *(f"{apart}{clock}{zone}" for apart in (" ", "T") for zone in ("", "%z") for clock in CLOCKS),
    " %I:%M %p", " %I:%M:%S %p",
)  # fmt: skip
# Dates as whole numbers, of which no other numbers are so likely to be all in this range and all dates.
AS_NUMBERS, EARLIEST, LATEST = "%Y%m%d", 19000101, 21001231
LONGEST = len("Mar 04, 2021 10:00:00.123456789 +00:00")
BEGINS = re.compile(r"\d{1,4}[-/. ]\w|[A-Za-z]{3} \d")
DAY = 86400.0


def date_formats(texts: Sequence[str]) -> tuple[str, ...]:
    """The formats in which all texts are dates; two if it is not clear which number is the month.

    Parameters
    ----------
    texts : sequence of str
        Texts of one column, without the missing values.

    Returns
    -------
    tuple of str
        The formats; formats that give the same dates count once.
    """
    # Nearly every column that is no column of dates ends here.
    if not texts or not all(6 <= len(text) <= LONGEST and BEGINS.match(text) for text in texts[:3]):
        return ()
    found: dict[tuple[float, ...], str] = {}
    for day in DAYS:
        for time in TIMES:
            if not np.isnan(days(texts[:1], day + time)).any():
                values = days(texts, day + time)
                if not np.isnan(values).any():
                    found.setdefault(tuple(values.tolist()), day + time)
    return tuple(found.values())


def days(texts: Sequence[str], form: str) -> Array:
    """Days since 1970-01-01; NaN for a text that is no date in this format."""
    import pandas as pd

    if form == AS_NUMBERS:  # pandas would read "2021045" too
        texts = [text if len(text) == len("20210405") else "" for text in texts]
    return days_of_times(
        pd.to_datetime(pd.Series(list(texts), dtype=object), format=form, errors="coerce", utc=True)
    )


def days_of_numbers(values: Array) -> Array | None:
    """Days since 1970-01-01 of numbers such as 20210405, NaN where they are; None if not all are dates."""
    known = ~np.isnan(values)
    numbers = values[known]
    if not numbers.size or not ((numbers >= EARLIEST) & (numbers <= LATEST) & (numbers % 1.0 == 0.0)).all():
        return None
    found = np.full(len(values), np.nan)
    found[known] = days([f"{number:.0f}" for number in numbers], AS_NUMBERS)
    return None if np.isnan(found[known]).any() else found


def date_of(day: float) -> str:
    """A number of days since 1970-01-01 as a date, with its time if it is not midnight."""
    time = np.datetime64(round(day * DAY), "s")
    date = time.astype("datetime64[D]")
    return str(date) if date == time else str(time).replace("T", " ")


def days_of_times(times: pd.Series) -> Array:
    """Days since 1970-01-01 of times, also beyond those that nanoseconds count; NaN for a missing one."""
    import pandas as pd

    first = pd.Timestamp("1970-01-01", tz="UTC").as_unit("s")
    return np.asarray((times - first).dt.total_seconds(), dtype=float) / DAY

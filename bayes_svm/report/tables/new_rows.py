"""Reading rows to predict, by what is known of the columns of the training table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayes_svm.report.errors import InputError
from bayes_svm.report.optional import needs
from bayes_svm.report.text import printable

from .dates import days
from .names import listed, short, unknown_column
from .numerals import PLAIN, numerals_of, possible_decimals
from .options import Options
from .parsing import parsed
from .reading import HUGE, decimal_of, verbatim
from .source import read_source
from .values import AMONG_NUMBERS, MARKERS, SHORT, as_texts, read_values

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NewRows", "Seen", "read_new_rows"]

# A number further outside the training range than this share of its width is named.
BEYOND = 0.1


@dataclass(frozen=True)
class Seen:
    """What is known of a column of the training table.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"number", "text"}
        How the machine sees it.
    date : str
        Format of its dates; the empty string if it has none.
    low, high : float
        Smallest and largest number.
    values : tuple of str
        The texts.
    missing : tuple of str
        Texts and numbers that were read as missing.
    """

    name: str
    kind: str
    date: str = ""
    low: float = np.nan
    high: float = np.nan
    values: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class NewRows:
    """Rows to predict.

    Parameters
    ----------
    name : str
        File name.
    id_name : str
        Heading of the identifiers.
    identifiers : ndarray of shape (n,)
        Identifiers of the rows, or their numbers from 1.
    numbers : ndarray of shape (n,)
        Numbers of the rows in the file, from 1.
    frame : pandas.DataFrame of shape (n, p)
        The columns that the model needs.
    missing : list of list of str
        The columns in which each row has no value.
    remarks : list of list of str
        What is unlike the training table in each row, in words.
    notes : tuple of str
        What was recognised and ignored.
    """

    name: str
    id_name: str
    identifiers: np.ndarray
    numbers: np.ndarray
    frame: pd.DataFrame
    missing: list[list[str]]
    remarks: list[list[str]]
    notes: tuple[str, ...]


def read_new_rows(
    path: str | Path, columns: Sequence[Seen], ignored: Sequence[str], options: Options
) -> NewRows:
    """Read rows to predict.

    Parameters
    ----------
    path : str or Path
        The file.
    columns : sequence of Seen
        The columns that the model needs.
    ignored : sequence of str
        Columns that are known and not needed.
    options : Options
        What the user said.

    Returns
    -------
    NewRows
        The rows.

    Raises
    ------
    InputError
        If columns are missing, or if the file cannot be read.
    """
    needs("pandas")
    source = read_source(path)
    names = [one.name for one in columns]
    # A code such as "01" is no number.
    as_text = [one.name for one in columns if one.kind == "text"]
    frame, notes = parsed(source, names, as_text if options.id is None else [*as_text, options.id], options)
    if options.id is not None and options.id not in frame.columns:
        raise unknown_column(options.id, list(frame.columns), "--id", source.name)
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        raise InputError(
            f"{source.name!r} lacks columns that the model needs: {listed(lacking)}; add them, or check --sep"
        )
    known = {*names, *ignored, options.id}
    extra = [name for name in frame.columns if name not in known]
    if extra:
        notes.append(f"Columns ignored, which the model does not know: {listed(extra)}.")
    decimal = decimal_of(source, frame[names], options)
    read, missing, remarks = _read_all(frame, columns, decimal, options)
    numbers = frame.index.to_numpy() + 1
    return NewRows(
        name=source.name,
        id_name="row" if options.id is None else options.id,
        identifiers=numbers if options.id is None else verbatim(frame[options.id]),
        numbers=numbers,
        frame=read,
        missing=missing,
        remarks=remarks,
        notes=tuple(notes),
    )


def _read_all(
    frame: pd.DataFrame, columns: Sequence[Seen], decimal: str | None, options: Options
) -> tuple[pd.DataFrame, list[list[str]], list[list[str]]]:
    """The columns that the model needs, and of each row the columns without a value, and remarks."""
    import pandas as pd

    missing: list[list[str]] = [[] for _ in range(len(frame))]
    remarks: list[list[str]] = [[] for _ in range(len(frame))]
    read = {}
    for one in columns:
        values, strange = _read(frame[one.name], one, decimal, options)
        for row, remark in strange.items():
            remarks[row].append(remark)
        for row in np.flatnonzero(pd.isna(values)).tolist():
            if row not in strange:
                missing[row].append(one.name)
        read[one.name] = values
    return pd.DataFrame(read), missing, remarks


def _read(
    column: pd.Series, seen: Seen, decimal: str | None, options: Options
) -> tuple[np.ndarray, dict[int, str]]:
    """The values of one column, NaN where there is none, and remarks by row."""
    missing = {*options.missing, *seen.missing}
    if seen.kind == "text":
        return _texts(column, seen, missing)
    import pandas as pd

    if seen.date and pd.api.types.is_datetime64_any_dtype(column):
        return _in_range(read_values(column, decimal=None, kept=True).values, seen)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        values = column.to_numpy(dtype=float, na_value=np.nan)
        if not seen.date or np.isnan(values).all():
            return _in_range(values, seen)
    texts = [
        None if text is None or text in missing or text.lower() in AMONG_NUMBERS else text
        for text in as_texts(column)
    ]
    known = list(dict.fromkeys(text for text in texts if text is not None))
    by_text = _dates(known, seen) if seen.date else _numbers(known, seen, decimal)
    values = np.array([np.nan if text is None else by_text.get(text, np.nan) for text in texts])
    what = "date" if seen.date else "number"
    values, strange = _in_range(values, seen)
    for row, text in enumerate(texts):
        if text is not None and text not in by_text:
            strange[row] = f"{short(text)} in column {printable(seen.name)} is no {what}"
    return values, strange


def _numbers(texts: list[str], seen: Seen, decimal: str | None) -> dict[str, float]:
    """The numbers among some texts."""
    all_numbers = [text for text in texts if possible_decimals([text])]
    if all_numbers and (found := numerals_of(all_numbers, seen.name, decimal)) is not None:
        return found.values
    by_text: dict[str, float] = {}
    for text in all_numbers:
        if (one := numerals_of([text], seen.name, decimal or ".")) is not None:
            by_text.update(one.values)
    return by_text


def _dates(texts: list[str], seen: Seen) -> dict[str, float]:
    """The dates among some texts, in the format of the training table."""
    found = days(texts, seen.date).tolist() if texts else []
    return {text: day for text, day in zip(texts, found, strict=True) if not np.isnan(day)}


def _in_range(values: np.ndarray, seen: Seen) -> tuple[np.ndarray, dict[int, str]]:
    """Values, and a remark for each that is far outside the training range; none can be computed with that
    is too large.
    """
    stand_ins = [float(text) for text in seen.missing if PLAIN["."].fullmatch(text)]
    values = np.where(np.isin(values, stand_ins), np.nan, values)
    margin = BEYOND * (seen.high - seen.low)
    outside = np.flatnonzero((values < seen.low - margin) | (values > seen.high + margin))
    remarks = {
        row: f"{values[row]:g} in column {printable(seen.name)} is outside {seen.low:g} to {seen.high:g}"
        for row in outside.tolist()
    }
    return np.where(np.abs(values) <= HUGE, values, np.nan), remarks


def _texts(column: pd.Series, seen: Seen, missing: set[str]) -> tuple[np.ndarray, dict[int, str]]:
    """Texts in the spelling of the training table; unknown ones are named."""
    values = np.full(len(column), np.nan, dtype=object)
    strange: dict[int, str] = {}
    by_case = {one.casefold(): one for one in seen.values if len(one) > SHORT}
    for row, text in enumerate(as_texts(column)):
        if text is None or text in missing:
            continue
        if text in seen.values:
            values[row] = text
        elif text.casefold() in by_case:
            values[row] = by_case[text.casefold()]
        elif text.lower() not in MARKERS:
            values[row] = text
            strange[row] = f"unknown value {short(text)} in column {printable(seen.name)}"
    return values, strange

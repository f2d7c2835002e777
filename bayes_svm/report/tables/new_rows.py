"""Reading rows to predict, by what is known of the columns of the training table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom

from bayes_svm.report.errors import InputError
from bayes_svm.report.optional import needs
from bayes_svm.report.text import printable

from .dates import AS_NUMBERS, date_of, days
from .findings import Finding, notes_of
from .leaks import units_in
from .names import listed, short, unknown_column
from .numerals import PLAIN, Numerals, numerals_of, possible_decimals
from .options import Options
from .parsing import parsed
from .reading import HUGE, decimal_of, verbatim
from .source import read_source
from .spellings import as_whole, by_spelling
from .values import (
    AMONG_NUMBERS,
    MARKERS,
    Values,
    as_texts,
    blanks_in,
    markers_in,
    numerals_in,
    read_values,
    unsigned,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NewRows", "Seen", "read_new_rows"]

# A number further outside the training range than this share of its width is named, and one so many widths
# outside always.
BEYOND, FAR = 0.1, 5.0
# With more columns of numbers, a row has some outside by chance: at most so many in 99 of 100 rows.
FEW, CHANCE = 20, 0.99
# Where the user may have new rows read differently: what else was done is part of the model.
ADVISED = ("comma", "thousands", "limit")


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
    per_cent : bool or None
        Whether its numbers have per cent signs; None if that is not known.
    coded : bool
        Whether its numbers are few different ones, as codes and counts are: no other is there by chance.
    """

    name: str
    kind: str
    date: str = ""
    low: float = np.nan
    high: float = np.nan
    values: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    per_cent: bool | None = None
    coded: bool = False


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
        What was recognised and ignored, and how values were read.
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
    path: str | Path,
    columns: Sequence[Seen],
    ignored: Sequence[str],
    options: Options,
    id_name: str | None = None,
    decimal: str | None = None,
    n_training: int | None = None,
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
    id_name : str or None
        The column that names the rows of the training table. It names these too, if it is there and the
        user names no other.
    decimal : {".", ","} or None
        Decimal mark of the training table, if it is known.
    n_training : int or None
        Number of training rows: the fewer, the more values of a new one are outside of their range.

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
    wanted_id = id_name if options.id is None else options.id
    file = parsed(source, names, as_text if wanted_id is None else [*as_text, wanted_id], options)
    frame, notes = file.frame, file.notes
    wanted_id, about_id = _id_of(frame, wanted_id, options, source.name)
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        by_case = {name.casefold(): name for name in frame.columns}
        alike = [by_case[name.casefold()] for name in lacking if name.casefold() in by_case]
        how = f"write {listed(alike)} as in training" if alike else "add them, or check --sep"
        raise InputError(f"{source.name!r} lacks columns that the model needs: {listed(lacking)}; {how}")
    known = {*names, *ignored, wanted_id}
    extra = [name for name in frame.columns if name not in known]
    if extra:
        notes.append(f"Columns ignored, which the model does not know: {listed(extra)}.")
    decimal = decimal_of(source, replace(file, frame=frame[names]), options, usual=decimal)
    read, missing, remarks, findings = _read_all(
        frame, columns, decimal, options, _by_chance(columns, n_training)
    )
    numbers = frame.index.to_numpy() + 1
    return NewRows(
        name=source.name,
        id_name="row" if wanted_id is None else wanted_id,
        identifiers=numbers if wanted_id is None else verbatim(frame[wanted_id]),
        numbers=numbers,
        frame=read,
        missing=missing,
        remarks=remarks,
        notes=(*notes, *about_id, *notes_of(findings, advised=ADVISED)),
    )


def _id_of(
    frame: pd.DataFrame, wanted: str | None, options: Options, name: str
) -> tuple[str | None, list[str]]:
    """The column that names the rows, and a note if the user has not named it for this file."""
    if wanted is None:
        return None, []
    if options.id is None and wanted not in frame.columns:
        return None, [
            f"No column {short(wanted)}, which named the training rows: these are numbered from 1 (--id COL "
            "names them)."
        ]
    if wanted not in frame.columns:
        raise unknown_column(wanted, list(frame.columns), "--id", name)
    if options.id is None:
        return wanted, [
            f"{short(wanted)}: names the rows, as it did the training rows (--id says otherwise)."
        ]
    return wanted, []


def _by_chance(columns: Sequence[Seen], n_training: int | None) -> int:
    """Number of values outside of the training range that a row may have by chance.

    A new value is the smallest or the largest of n + 1 with a probability of 2 / (n + 1).
    """
    n_numbers = sum(one.kind == "number" and not one.coded for one in columns)
    if n_training is None or n_numbers <= FEW:
        return 0
    return int(binom.ppf(CHANCE, n_numbers, min(1.0, 2.0 / (n_training + 1))))


def _read_all(
    frame: pd.DataFrame, columns: Sequence[Seen], decimal: str | None, options: Options, by_chance: int
) -> tuple[pd.DataFrame, list[list[str]], list[list[str]], list[Finding]]:
    """The columns that the model needs; of each row the columns without a value, and remarks; and what was
    done with the values.
    """
    import pandas as pd

    missing: list[list[str]] = [[] for _ in range(len(frame))]
    remarks: list[list[str]] = [[] for _ in range(len(frame))]
    outside: list[list[str]] = [[] for _ in range(len(frame))]
    read = {}
    findings: list[Finding] = []
    for one in columns:
        found, strange, beyond = _read(frame[one.name], one, decimal, options)
        findings += found.findings
        for row, remark in strange.items():
            remarks[row].append(remark)
        for row, remark in beyond.items():
            outside[row].append(remark)
        for row in np.flatnonzero(pd.isna(found.values)).tolist():
            if row not in strange:
                missing[row].append(one.name)
        read[one.name] = found.values
    for told, some in zip(remarks, outside, strict=True):
        if len(some) > by_chance > 0:
            told.append(f"{len(some)} numbers outside of their training range, by chance at most {by_chance}")
        if len(some) > by_chance:
            told += some
    return pd.DataFrame(read), missing, remarks, findings


def _read(
    column: pd.Series, seen: Seen, decimal: str | None, options: Options
) -> tuple[Values, dict[int, str], dict[int, str]]:
    """The values of one column, NaN where there is none, what was done with them, remarks by row, and
    remarks that count only if a row has many of them.
    """
    missing = {*options.missing, *seen.missing}
    if seen.kind == "text":
        return *_texts(column, seen, missing), {}
    import pandas as pd

    if seen.date and pd.api.types.is_datetime64_any_dtype(column):
        return _in_range(read_values(column, decimal=None, kept=True), seen)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        values = column.to_numpy(dtype=float, na_value=np.nan)
        if not seen.date or np.isnan(values).all():
            if seen.per_cent and np.any(values[~np.isnan(values)] != 0.0):
                raise _without_per_cent(seen)
            return _in_range(Values(values, "number"), seen)
        column = column.map("{:.15g}".format, na_action="ignore")  # dates such as 20210405
    texts = as_texts(column)
    different = [text for text in dict.fromkeys(texts) if text is not None]
    marks = [text for text in different if text in missing or text.lower() in AMONG_NUMBERS]
    known = [text for text in different if text not in set(marks)]
    findings = markers_in(texts, marks, seen.name)
    if seen.date:
        by_text = _dates(known, seen, decimal)
        findings += [Finding(seen.name, "dates", 0, text) for text in list(by_text)[:1]]
    else:
        numerals = _numbers(known, seen, decimal)
        by_text = numerals.values
        if seen.per_cent is False and 2 * len(numerals.per_cent) < len(known):
            # A few such cells are for a person to read, like other texts.
            by_text = {text: value for text, value in by_text.items() if text not in numerals.per_cent}
            numerals = replace(numerals, values=by_text, per_cent=())
        elif seen.per_cent is False and numerals.per_cent:
            raise InputError(
                f"column {short(seen.name)} has per cent signs, which it had not in the training table: "
                "write its numbers as they were there"
            )
        if seen.per_cent and unsigned(numerals):
            raise _without_per_cent(seen)
        findings += numerals_in(texts, numerals, seen.name)
    values = np.array([np.nan if text is None else by_text.get(text, np.nan) for text in texts])
    read, strange, beyond = _in_range(Values(values, "number", findings), seen)
    what = "date" if seen.date else "number"
    unread = set(known).difference(by_text)
    for row, text in enumerate(texts):
        if text in unread:
            strange[row] = f"{short(text)} in column {printable(seen.name)} is no {what}"
    return read, strange, beyond


def _without_per_cent(seen: Seen) -> InputError:
    return InputError(
        f"column {short(seen.name)} has numbers without the per cent sign that it had in the training table: "
        "write them with it"
    )


def _numbers(texts: list[str], seen: Seen, decimal: str | None) -> Numerals:
    """The numbers among some texts."""
    all_numbers = [text for text in texts if possible_decimals([text])]
    if all_numbers and (found := numerals_of(all_numbers, seen.name, decimal)) is not None:
        return found
    mark = decimal or "."
    alone = [one for text in all_numbers if (one := numerals_of([text], seen.name, mark)) is not None]
    return Numerals(
        values={text: value for one in alone for text, value in one.values.items()},
        decimal=mark,
        commas=tuple(text for one in alone for text in one.commas),
        grouped=tuple(text for one in alone for text in one.grouped),
        limits=tuple(text for one in alone for text in one.limits),
        per_cent=tuple(text for one in alone for text in one.per_cent),
    )


def _dates(texts: list[str], seen: Seen, decimal: str | None) -> dict[str, float]:
    """The dates among some texts, in the format of the training table."""
    written = {text: text for text in texts}
    if seen.date == AS_NUMBERS:  # as any number may be written: 20210405.0
        numbers = _numbers(texts, seen, decimal).values
        written = {text: f"{number:.15g}" for text, number in numbers.items()}
    found = zip(written, days(list(written.values()), seen.date).tolist(), strict=True)
    return {text: day for text, day in found if not np.isnan(day)}


def _in_range(read: Values, seen: Seen) -> tuple[Values, dict[int, str], dict[int, str]]:
    """Values, a remark for each that is very far outside the training range, and one for each that is
    outside; none can be computed with that is too large.
    """
    values, findings = read.values, list(read.findings)
    for text in () if seen.date else seen.missing:  # days are not as they were written
        if PLAIN["."].fullmatch(text) and (count := int((values == float(text)).sum())):
            findings.append(Finding(seen.name, "marker", count, text))
            values = np.where(values == float(text), np.nan, values)
    width, distance = seen.high - seen.low, np.maximum(seen.low - values, values - seen.high)
    known = np.abs(values) <= HUGE
    written = date_of if seen.date else "{:g}".format
    far, beyond = dict[int, str](), dict[int, str]()
    for row in np.flatnonzero(distance > BEYOND * width).tolist():
        value = written(values[row]) if known[row] else f"{values[row]:g}"
        remark = (
            f"{value} in column {printable(seen.name)} is outside {written(seen.low)} to {written(seen.high)}"
        )
        always = seen.coded or distance[row] > FAR * width or not known[row]
        (far if always else beyond)[row] = remark
    return replace(read, values=np.where(known, values, np.nan), findings=findings), far, beyond


def _texts(column: pd.Series, seen: Seen, missing: set[str]) -> tuple[Values, dict[int, str]]:
    """Texts in the spelling of the training table; unknown ones are named."""
    texts = as_texts(column)
    values = np.full(len(column), np.nan, dtype=object)
    strange: dict[int, str] = {}
    known = by_spelling(seen.values)
    marks: dict[str, None] = {}
    respelled: Counter[tuple[str, str]] = Counter()
    for row, text in enumerate(texts):
        if text is None:
            continue
        if text in missing:
            marks[text] = None
        elif text in seen.values:
            values[row] = text
        elif (one := known.get(as_whole(text).casefold())) is not None:
            values[row] = one
            respelled[one, text] += 1
        elif text.lower() in MARKERS:
            marks[text] = None
        else:
            values[row] = text
            strange[row] = f"unknown value {short(text)} in column {printable(seen.name)}"
    findings = [
        *blanks_in(texts, column),
        *markers_in(texts, marks, seen.name),
        *(Finding(seen.name, "spelling", count, one, (other,)) for (one, other), count in respelled.items()),
        *units_in(np.array([text for text in texts if text is not None], dtype=object), seen.name),
    ]
    return Values(values, "text", findings), strange

"""Reading the values of a column: as numbers, as dates, or as texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_svm.report.errors import InputError

from .dates import AS_NUMBERS, date_formats, days, days_of_numbers, days_of_times
from .findings import Finding
from .names import listed, said, short
from .numerals import PADDED, Numerals, has_deviation, is_odd, numerals_of, possible_decimals
from .spellings import kept_apart, letters_in, merged_spellings, plain

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AMONG_NUMBERS",
    "MARKERS",
    "STAND_INS",
    "Values",
    "as_texts",
    "blanks_in",
    "markers_in",
    "numerals_in",
    "read_values",
    "unsigned",
]

# Texts that mark a missing value, in any case: in every column, and among numbers and dates only.
MARKERS = frozenset({"na", "n/a", "#n/a", "nan", "null", "?", "missing"})
AMONG_NUMBERS = MARKERS | {
    "none", "unknown", "-", "--", ".", "..", "n.a.", "n.d.", "nd", "#null!", "#div/0!", "#value!", "<na>",
}  # fmt: skip
# Numbers that stand for a missing value where they are far from all others of their column.
STAND_INS = (-99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0)
# A column with so many different numbers, and with this share of numbers, is one of numbers.
N_NUMBERS, SHARE = 20, 0.8
# Among numbers in the form of accounts so many are positive; without plain ones they are codes.
PLAIN_SHARE = 0.2


@dataclass(frozen=True)
class Values:
    """The values of one column.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Floats, or texts as objects; NaN where they are missing.
    kind : {"number", "text", "left out"}
        What they are.
    findings : list of Finding
        What was done.
    date : str
        Format of the dates; the empty string if they are none.
    """

    values: np.ndarray
    kind: str
    findings: list[Finding] = field(default_factory=list)
    date: str = ""


def read_values(
    column: pd.Series, *, decimal: str | None, kept: bool, missing: Sequence[str] = (), date: str = ""
) -> Values:
    """Read the values of a column.

    Parameters
    ----------
    column : pandas.Series
        The column as it was parsed.
    decimal : {".", ","} or None
        The decimal mark, if it is known.
    kept : bool
        Whether the user wants the values as they are.
    missing : sequence of str
        Texts that the user calls missing.
    date : str
        Format of the column's dates, if it is known.

    Returns
    -------
    Values
        The values, and what was done.

    Raises
    ------
    InputError
        If it cannot be decided what the values are.
    """
    import pandas as pd

    name = str(column.name)
    if pd.api.types.is_datetime64_any_dtype(column):
        return _of_times(column)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return _stand_ins_and_dates(column.to_numpy(dtype=float, na_value=np.nan), name, kept)
    texts = as_texts(column)
    known = [text for text in dict.fromkeys(texts) if text is not None]
    absent = {text for text in known if text in missing}
    numbers = [text for text in known if text not in absent and (kept or text.lower() not in AMONG_NUMBERS)]
    if not known:
        return Values(np.full(len(texts), np.nan), "number")
    if numbers and (numerals := numerals_of(numbers, name, decimal)) is not None:
        return _of_numbers(texts, numerals, name, kept)
    formats = (date,) if date else date_formats(numbers)
    if formats:
        return _of_dates(texts, numbers, formats, name)
    if not kept:
        _check_strays(numbers, name)
    read = _of_texts(texts, absent, name, kept)
    return Values(read.values, "text", blanks_in(texts, column) + read.findings)


def as_texts(column: pd.Series) -> list[str | None]:
    """The values as texts without blanks around them; None where they are missing."""
    known = column.notna().to_numpy()
    values = column.to_numpy(dtype=object)
    texts = [plain(str(value)) if there else "" for value, there in zip(values, known, strict=True)]
    return [text or None for text in texts]


def _counts(texts: list[str | None], some: Any) -> int:
    chosen = set(some)
    return sum(text in chosen for text in texts)


def blanks_in(texts: list[str | None], column: pd.Series) -> list[Finding]:
    """A finding if values of a column were written with other blanks than the texts read from them."""
    blanks = sum(text is not None and text != str(value) for text, value in zip(texts, column, strict=True))
    return [Finding(str(column.name), "blanks", blanks)] if blanks else []


def markers_in(texts: list[str | None], marks: Iterable[str], name: str) -> list[Finding]:
    """A finding for each of the marks, which are texts that were read as missing."""
    return [Finding(name, "marker", _counts(texts, [text]), text) for text in marks]


def numerals_in(texts: list[str | None], found: Numerals, name: str) -> list[Finding]:
    """A finding for each way in which numbers were not written plainly."""
    ways = {
        "comma": found.commas,
        "thousands": found.grouped,
        "limit": found.limits,
        "per cent": found.per_cent,
        "padded": tuple(text for text in found.values if PADDED.fullmatch(text)),
    }
    return [Finding(name, way, _counts(texts, some), some[0]) for way, some in ways.items() if some]


def unsigned(found: Numerals) -> list[str]:
    """Numbers without a per cent sign; 0 is 0 with and without."""
    signed = set(found.per_cent)
    return [text for text, value in found.values.items() if value != 0.0 and text not in signed]


def _unread(texts: list[str | None], read: Collection[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text is not None and text not in read]


def _of_numbers(texts: list[str | None], found: Numerals, name: str, kept: bool) -> Values:
    if found.per_cent and not kept and (without := unsigned(found)):
        raise InputError(
            f"column {short(name)} has numbers with a per cent sign, such as {short(found.per_cent[0])}, and "
            f"without, such as {short(without[0])}: write them alike in the file, or take them as they are "
            f"with {said('--keep', name)}"
        )
    values = np.array([np.nan if text is None else found.values.get(text, np.nan) for text in texts])
    findings = markers_in(texts, _unread(texts, found.values), name) + numerals_in(texts, found, name)
    read = _stand_ins_and_dates(values, name, kept)
    return replace(read, findings=findings + read.findings)


def _of_dates(texts: list[str | None], known: list[str], formats: Sequence[str], name: str) -> Values:
    if len(formats) > 1:
        return Values(np.full(len(texts), np.nan), "left out", [Finding(name, "unclear dates", 0, known[0])])
    by_text = dict(zip(known, days(known, formats[0]).tolist(), strict=True))
    values = np.array([np.nan if text is None else by_text.get(text, np.nan) for text in texts])
    findings = [*markers_in(texts, _unread(texts, by_text), name), Finding(name, "dates", 0, known[0])]
    return Values(values, "number", findings, formats[0])


def _of_times(column: pd.Series) -> Values:
    """Days of a column that is one of dates already."""
    import pandas as pd

    values = days_of_times(pd.to_datetime(column, utc=True))
    example = str(column.dropna().iloc[0]) if column.notna().any() else ""
    whole = bool((values[~np.isnan(values)] % 1.0 == 0.0).all())
    form = "%Y-%m-%d" if whole else "%Y-%m-%d %H:%M:%S"
    return Values(values, "number", [Finding(str(column.name), "dates", 0, example)], form)


def _of_texts(texts: list[str | None], absent: set[str], name: str, kept: bool) -> Values:
    findings: list[Finding] = []
    if not kept:
        absent = absent | {text for text in texts if text is not None and text.lower() in MARKERS}
    findings += markers_in(texts, sorted(absent), name)
    texts = [None if text in absent else text for text in texts]
    if not kept:
        suspect = AMONG_NUMBERS | {f"{number:g}" for number in STAND_INS}
        others = sorted({text for text in texts if text is not None and text.lower() in suspect})
        findings += [Finding(name, "none", _counts(texts, [text]), text) for text in others]
        letters = letters_in(texts)
        texts, merged = merged_spellings(texts, name, apart=letters)
        findings += merged + kept_apart(texts, letters, name)
    values = np.full(len(texts), np.nan, dtype=object)
    known = np.array([text is not None for text in texts])
    values[known] = [text for text in texts if text is not None]
    return Values(values, "text", findings)


def _stand_ins_and_dates(values: np.ndarray, name: str, kept: bool) -> Values:
    """Read numbers such as -999 as missing, and then numbers such as 20210405 as dates if all are."""
    read = _stand_ins(values, name, kept)
    if kept or (dates := days_of_numbers(read.values)) is None:
        return read
    first = f"{read.values[~np.isnan(read.values)][0]:.0f}"
    return Values(dates, "number", [*read.findings, Finding(name, "numbers as dates", 0, first)], AS_NUMBERS)


def _stand_ins(values: np.ndarray, name: str, kept: bool) -> Values:
    """Read numbers such as -999 as missing where they are further from the others than those are apart."""
    findings = []
    known = values[np.isfinite(values)]
    if not kept and known.size:
        ends = {float(known.min()), float(known.max())}
        for one in [one for one in STAND_INS if one in ends]:
            others = known[known != one]
            if np.unique(others).size > 2 and np.abs(others - one).min() > np.ptp(others):
                findings.append(Finding(name, "marker", int(known.size - others.size), f"{one:g}"))
                values, known = np.where(values == one, np.nan, values), others
    return Values(values, "number", findings)


def _check_strays(texts: list[str], name: str) -> None:
    """Refuse a column of numbers or dates with some texts among them: nobody wants them as categories."""
    _check_stray_dates(texts, name)
    numbers = [text for text in texts if possible_decimals([text])]
    odd = [text for text in texts if has_deviation(text)]
    if not odd and len(numbers) >= PLAIN_SHARE * len(texts):
        odd = [text for text in texts if is_odd(text)]
    if odd and len(texts) >= N_NUMBERS and len(numbers) + len(odd) == len(texts):
        raise InputError(
            f"column {short(name)} has numbers such as {short(odd[0])}: write each as one number, with a "
            f"minus in front if it is negative, take all as texts with {said('--keep', name)}, or leave the "
            f"column out with {said('--drop', name)}"
        )
    if len(numbers) >= N_NUMBERS and len(numbers) >= SHARE * len(texts):
        strays = [text for text in texts if text not in set(numbers)]
        if not strays:
            raise InputError(
                f"column {short(name)} has numbers such as {short(numbers[0])}, with two decimal marks or "
                "another than the table's: check --decimal, or write them alike in the file"
            )
        raise InputError(
            f"column {short(name)} has numbers, and texts among them: {listed(strays)}; read them as missing "
            f"with {said('--missing', strays[0])}, or leave the column out with {said('--drop', name)}"
        )


def _check_stray_dates(texts: list[str], name: str) -> None:
    """The same of dates, of which the first three texts show the format."""
    forms = dict.fromkeys(form for text in texts[:3] for form in date_formats([text]))
    for form in forms:
        no_dates = np.isnan(days(texts, form))
        strays = [text for text, stray in zip(texts, no_dates, strict=True) if stray]
        if len(texts) - len(strays) >= N_NUMBERS and len(strays) <= (1.0 - SHARE) * len(texts):
            raise InputError(
                f"column {short(name)} has dates, and texts among them: {listed(strays)}; correct them, read "
                f"them as missing with {said('--missing', strays[0])}, take all as texts with "
                f"{said('--keep', name)}, or leave the column out with {said('--drop', name)}"
            )

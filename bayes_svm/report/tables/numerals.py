"""Numbers as people write them: decimal commas, separators of thousands, limits of detection, per cent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bayes_svm.report.errors import InputError

from .names import short

__all__ = [
    "LIMIT",
    "PADDED",
    "PLAIN",
    "Numerals",
    "has_deviation",
    "is_odd",
    "numerals_of",
    "only_in_thousands",
    "possible_decimals",
]

EXPONENT = r"(?:[eE][+-]?\d+)?"
SPACES = "[ \u00a0\u2009\u202f'\u2019]"
# What is written for a minus: hyphens, dashes of the length of a digit or an n, and their wide forms.
DASH = "[\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d]"
MINUS = re.compile(rf"^{DASH}(?=[\d.,])|(?<=[eE]){DASH}(?=\d)")
# Numbers with the minus apart, behind or in the brackets of accounts; with a deviation.
ODD = re.compile(rf"\((.+)\)|(.+?)(?:-|{DASH})|(?:-|{DASH})\s+(.+)")
DEVIATION = re.compile(r"(.+?)\s*(?:±|\+/-)\s*[\d.,]+")
# Of each decimal mark: a plain number, and one with separators of thousands.
PLAIN = {
    ".": re.compile(rf"[+-]?(?:\d+\.?\d*|\.\d+){EXPONENT}"),
    ",": re.compile(rf"[+-]?(?:\d+,?\d*|,\d+){EXPONENT}"),
}
GROUPED = {
    ".": re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:(?:,\d{{3}})+|(?:{SPACES}\d{{3}})+)(?:\.\d+)?"),
    ",": re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:(?:\.\d{{3}})+|(?:{SPACES}\d{{3}})+)(?:,\d+)?"),
}
OTHER = {".": ",", ",": "."}
PADDED = re.compile(r"0\d+")
LIMIT = re.compile(r"[<>≤≥]=?\s*")
PER_CENT = re.compile(r"\s*%")


@dataclass(frozen=True)
class Numerals:
    """Numbers read from texts.

    Parameters
    ----------
    values : dict of str to float
        The number of each text.
    decimal : {".", ","}
        The decimal mark.
    commas : tuple of str
        Texts with a decimal comma.
    grouped : tuple of str
        Texts with separators of thousands.
    limits : tuple of str
        Texts such as "<0.01", read as the limit.
    per_cent : tuple of str
        Texts with a per cent sign, read without it.
    """

    values: dict[str, float]
    decimal: str
    commas: tuple[str, ...]
    grouped: tuple[str, ...]
    limits: tuple[str, ...]
    per_cent: tuple[str, ...]


def possible_decimals(texts: Sequence[str]) -> tuple[str, ...]:
    """The decimal marks with which all texts are numbers, the likelier one first."""
    cores = [_core(text) for text in texts]
    return tuple(
        mark
        for mark in (".", ",")
        if all(PLAIN[mark].fullmatch(core) or GROUPED[mark].fullmatch(core) for core in cores)
    )


def numerals_of(texts: Sequence[str], column: str, decimal: str | None) -> Numerals | None:
    """Read texts as numbers.

    Parameters
    ----------
    texts : sequence of str
        Texts of one column, without the missing values.
    column : str
        Name of the column, for the message.
    decimal : {".", ","} or None
        The decimal mark, if it is known.

    Returns
    -------
    Numerals or None
        The numbers; None if a text is no number.

    Raises
    ------
    InputError
        If the texts are numbers with either decimal mark, and different ones.
    """
    marks = possible_decimals(texts)
    if decimal is not None:
        marks = tuple(mark for mark in marks if mark == decimal)
    if not marks:
        return None
    if len(marks) == 2 and not decimal and any("," in text for text in texts):
        example = next(text for text in texts if "," in text)
        raise InputError(
            f"column {short(column)} has numbers such as {short(example)}: say what the comma means with "
            "--decimal , or --decimal ."
        )
    mark = marks[0]
    cores = {text: _core(text) for text in texts}
    return Numerals(
        values={
            text: float(re.sub(SPACES, "", core).replace(OTHER[mark], "").replace(mark, "."))
            for text, core in cores.items()
        },
        decimal=mark,
        commas=tuple(text for text in texts if mark == "," and "," in text),
        grouped=tuple(text for text, core in cores.items() if GROUPED[mark].fullmatch(core)),
        limits=tuple(text for text in texts if LIMIT.match(text)),
        per_cent=tuple(text for text in texts if PER_CENT.search(text)),
    )


def only_in_thousands(texts: Sequence[str]) -> bool:
    """Whether all texts with a point have three digits after each, as if it separated thousands."""
    pointed = [text for text in texts if "." in text]
    return bool(pointed) and all(GROUPED[","].fullmatch(text) for text in pointed)


def _core(text: str) -> str:
    """A text without the sign of a limit and of per cent, and with a plain minus."""
    return MINUS.sub("-", PER_CENT.sub("", LIMIT.sub("", text, count=1)).strip())


def is_odd(text: str) -> bool:
    """Whether a text is a number in another form: "(1.2)", "1.2-" or "- 1.2"."""
    found = ODD.fullmatch(text)
    return found is not None and bool(possible_decimals([next(filter(None, found.groups())).strip()]))


def has_deviation(text: str) -> bool:
    """Whether a text is a number with a deviation, as "0.4±0.1"."""
    found = DEVIATION.fullmatch(text)
    return found is not None and bool(possible_decimals([found[1]]))

"""Recognising how the text of a table is written: its encoding, its separator, its quotation marks."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from bayes_svm.report.errors import InputError
from bayes_svm.report.text import one_line

from .names import short
from .options import Options
from .source import Source

__all__ = ["Layout", "layout_of"]

# The marks at the beginning of a file that name its encoding; the longer ones first.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
# Encodings of one byte a character, tried in this order on what is not UTF-8. Latin-1 has every byte.
ONE_BYTE = (("cp1252", "Windows-1252"), ("latin-1", "Latin-1"))
# Control characters that no text has.
CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f]")
SEPARATORS = (",", ";", "\t", "|")
NAMES_OF_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": r"\s+", "comma": ",", "semicolon": ";"}
SHOWN = {"\t": "tabs", r"\s+": "spaces"}
# Spreadsheets may name the separator in a line before the header.
NAMED = re.compile(r'"?sep=(.)"?\r?\n')
# A line of blanks, up to its end.
BLANK_LINE = re.compile(r"^[ \t]+(?=\r?$)", re.MULTILINE)
# Number of lines, and of characters, that are looked at.
SAMPLE, MOST = 50, 2**20


@dataclass(frozen=True)
class Layout:
    """The text of a table and how it is written.

    Parameters
    ----------
    text : str
        The text; blank lines are empty, and there are none before the header.
    sep : str
        Separator of the cells.
    quote : str
        Quotation mark.
    notes : tuple of str
        What was recognised, if it is not UTF-8 with commas and double quotation marks.
    """

    text: str
    sep: str
    quote: str
    notes: tuple[str, ...]


def layout_of(source: Source, wanted: Sequence[str], options: Options) -> Layout:
    """Recognise encoding, separator and quotation mark.

    Parameters
    ----------
    source : Source
        The bytes.
    wanted : sequence of str
        Names of columns that the table should have.
    options : Options
        What the user said.

    Returns
    -------
    Layout
        The text and how it is written.

    Raises
    ------
    InputError
        If it is no text, or if two separators are equally likely.
    """
    text, notes = _decoded(source, options.encoding)
    sep, quote = options.sep, '"'
    if found := NAMED.match(text):
        text = text[found.end() :]
        sep = sep or found[1]
    if sep is not None:
        sep = NAMES_OF_SEPARATORS.get(sep, sep)
        if (len(sep) != 1 and sep != r"\s+") or sep.isalnum() or sep in "\"'\r\n\\.+-":
            raise InputError(f"--sep {options.sep!r} is no separator; give one mark, tab or space")
    text = BLANK_LINE.sub("", text).lstrip("\r\n")
    if text.startswith("'"):
        likely = sep or _separator(text, "'", wanted, source.name)
        if likely != r"\s+" and all(
            cell.endswith("'") for cell in text.split("\n", 1)[0].strip().split(likely)
        ):
            quote = "'"
            notes.append("Cells are quoted by apostrophes.")
    if sep is None:
        sep = _separator(text, quote, wanted, source.name)
    if sep != "," and options.sep is None:
        notes.append(f"Cells are separated by {SHOWN.get(sep, repr(sep))} (--sep says otherwise).")
    return Layout(text, sep, quote, tuple(notes))


def _decoded(source: Source, encoding: str | None) -> tuple[str, list[str]]:
    """The text, and a note if its encoding is not plain UTF-8."""
    raw, name = source.raw, source.name
    if encoding is not None:
        try:
            return raw.decode(encoding).removeprefix("\ufeff"), []
        except LookupError:
            raise InputError(
                f"--encoding {encoding!r} is no encoding of text; give one such as utf-8, cp1252 or utf-16"
            ) from None
        except ValueError:
            raise InputError(f"{name!r} is not in --encoding {encoding}; leave the option out") from None
    notes: list[str] = []
    codec = "utf-8"
    for mark, of_mark, title in BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            codec = of_mark
            notes.append(f"The encoding is {title}.")
            break
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError as err:
        if codec != "utf-8":
            raise InputError(f"{name!r} is damaged: not all of it is {codec}; export it again") from None
        line = raw.count(b"\n", 0, err.start) + 1
        text, note = _of_one_byte(raw, line)
        notes.append(note)
    if CONTROLS.search(text):
        raise InputError(f"{name!r} contains binary data and is not a CSV file; export it as UTF-8 CSV")
    return text, notes


def _of_one_byte(raw: bytes, line: int) -> tuple[str, str]:
    """The text in the first encoding that has all its bytes, and a note."""
    for codec, title in ONE_BYTE:
        try:
            text = raw.decode(codec)
        except UnicodeDecodeError:
            continue
        note = (
            f"The encoding is not UTF-8 (line {line}); it was read as {title}. If letters look wrong, "
            "name it with --encoding, for example --encoding cp1250."
        )
        return text, note
    raise AssertionError("Latin-1 has every byte")


def _separator(text: str, quote: str, wanted: Sequence[str], name: str) -> str:
    """The separator by which all lines have the same number of cells, and the header the wanted names."""
    fitting: list[tuple[int, str]] = []
    possible: list[tuple[int, int, str]] = []
    for sep in SEPARATORS:
        rows = _sample(text, sep, quote)
        if not rows or len(rows[0]) < 2:
            continue
        header = [one_line(cell) for cell in rows[0]]
        n_wanted = sum(one in header for one in wanted)
        possible.append((n_wanted, len(header), sep))
        if len({len(row) for row in rows}) == 1:
            fitting.append((n_wanted, sep))
    if not fitting:
        # The lines are uneven; the parser will say which.
        return max(possible, key=lambda one: one[:2])[2] if possible else ","
    best = max(n_wanted for n_wanted, _ in fitting)
    found = [sep for n_wanted, sep in fitting if n_wanted == best]
    if len(found) > 1:
        likely = " or ".join(short(SHOWN.get(sep, sep)) for sep in found)
        raise InputError(f"{name!r} may be separated by {likely}: say which with --sep")
    return found[0]


def _sample(text: str, sep: str, quote: str) -> list[list[str]]:
    """The first lines, split; empty if the separator does not go with the quotation marks."""
    lines = io.StringIO(text[:MOST], newline=None)
    try:
        rows = list(islice(csv.reader(lines, delimiter=sep, quotechar=quote), SAMPLE))
    except csv.Error:
        return []
    # The last line may be cut.
    rows = rows[:-1] if len(text) > MOST and 1 < len(rows) < SAMPLE else rows
    return [row for row in rows if row]

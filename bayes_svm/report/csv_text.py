"""CSV files that are safe to open in a spreadsheet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["csv_text"]

# A spreadsheet takes a cell that begins with one of these as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
# A text with one of these is quoted. Spreadsheets of some countries end a cell at a semicolon, and what
# follows may be a formula. Python's writer quotes no text for a semicolon, a tab, or a carriage return.
MARKS = re.compile('[,;\t\r\n"]')


def csv_text(columns: Mapping[str, Iterable[Any]]) -> str:
    """Columns as the text of a CSV file.

    A text that a spreadsheet would take as a formula gets an apostrophe in front; numbers stay as they are.

    Parameters
    ----------
    columns : mapping of str to iterable
        The cells of each column, by its name.

    Returns
    -------
    str
        The text, with a header.
    """
    lines = [columns, *zip(*columns.values(), strict=True)]
    # A line of one empty cell is no empty line.
    return "".join((",".join(map(_written, line)) or '""') + "\n" for line in lines)


def _written(cell: Any) -> str:
    """A cell as it is written."""
    text = str(_safe(cell))
    return '"' + text.replace('"', '""') + '"' if MARKS.search(text) else text


def _safe(cell: Any) -> Any:
    """A cell that is no formula; a text that is a number is none."""
    if not isinstance(cell, str) or not cell.startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell

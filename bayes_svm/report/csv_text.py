"""CSV files that are safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["csv_text"]

# A spreadsheet takes a cell that begins with one of these as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


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
    header = [_safe(name) for name in columns]
    cells = [[_safe(cell) for cell in column] for column in columns.values()]
    # Readers end a line at a carriage return, but Python's writer does not quote a text that contains one.
    texts = [cell for column in [header, *cells] for cell in column if isinstance(cell, str)]
    returns = any("\r" in text for text in texts)
    text = io.StringIO()
    writer = csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    )
    writer.writerow(header)
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()


def _safe(cell: Any) -> Any:
    """A cell that is no formula; a text that is a number is none."""
    if not isinstance(cell, str) or not cell.startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell

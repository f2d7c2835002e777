"""Names of columns, as messages show them and as options give them."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Sequence

from bayes_svm.report.errors import InputError
from bayes_svm.report.text import shortened

__all__ = ["UNNAMED", "counted", "listed", "resolved", "said", "short", "unknown_column"]

# A column without a name is called this, and its number.
UNNAMED = "Unnamed: "


def short(name: object, limit: int = 60) -> str:
    """A name in quotation marks, shortened."""
    return repr(shortened(str(name), limit))


def said(option: str, text: str) -> str:
    """An option with a name or value as it may be typed; whole, for it would not be found otherwise."""
    written = text
    if not re.fullmatch(r"[\w.-]+", text):
        written = shlex.quote(text) if re.search(r'["$`\\!]', text) else f'"{text}"'
    # After a blank it might pass for an option.
    return f"{option}={written}" if text.startswith("-") else f"{option} {written}"


def listed(names: Sequence[object], limit: int = 5) -> str:
    """Names in quotation marks, and how many more there are."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(short(name) for name in names[:limit]) + more


def counted(counts: dict[str, int], limit: int = 5) -> str:
    """Return "'a' (3), 'b' (1)" for the columns with a count above zero."""
    found = [f"{short(name)} ({count})" for name, count in counts.items() if count]
    more = f" and {len(found) - limit} more columns" if len(found) > limit else ""
    return ", ".join(found[:limit]) + more


def resolved(given: Iterable[str], columns: Sequence[str], option: str, name: str) -> list[str]:
    """Columns that an option names: each text is one name, or several with commas between them.

    Parameters
    ----------
    given : iterable of str
        What the user typed.
    columns : sequence of str
        Columns of the table.
    option : str
        The option, for the message.
    name : str
        Name of the file, for the message.

    Returns
    -------
    list of str
        The names, each once.

    Raises
    ------
    InputError
        If the table has no such column.
    """
    known, found = set(columns), []
    for text in given:
        parts = [text] if text in known else [part.strip() for part in text.split(",")]
        for part in parts:
            if not part:
                raise InputError(f"{option} has an empty name; give names of columns, with commas between")
            if part not in known:
                raise unknown_column(part, columns, option, name)
            found.append(part)
    return list(dict.fromkeys(found))


def unknown_column(wanted: str, columns: Sequence[str], option: str, name: str) -> InputError:
    """The error for a column that is not there; the closest names come first."""
    close = difflib.get_close_matches(wanted, columns, n=3)
    if len(columns) == 1:
        advice = (
            f"its only column is {short(columns[0])}; if it has several, say --sep, for example --sep space"
        )
    else:
        others = [column for column in columns if column not in close]
        advice = f"choose {option} from its columns: {listed(close + others)}"
        if any(column.startswith(UNNAMED) for column in columns):
            advice += "; if these are not its names, remove the lines above the header"
    return InputError(f"{name!r} has no column {short(wanted)}; {advice}")

"""What was found in the columns of a table, told per column and as notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from .names import counted, listed, said, short

__all__ = ["Finding", "change_of", "done_of", "notes_of", "weight_of"]

KEEP = "{keep} takes it in"
DROP = "{drop} leaves it out"
# What was done, and how to have it done differently.
TOPICS = {
    # Columns left out.
    "constant": ("left out: the same value in every row", KEEP),
    "copy": ("left out: a copy of the target, one value for each class", KEEP),
    "missing by class": ("left out: missing in one class, and there only", KEEP),
    "row numbers": ("left out: consecutive whole numbers, which number the rows", KEEP),
    "daily dates": (
        "left out: consecutive dates, one for each row, which number the rows",
        "{keep} takes it in as days since 1970-01-01",
    ),
    "amounts": (
        "left out: numbers with a unit, a different text in every row; write the numbers alone in the file",
        KEEP,
    ),
    "all texts": ("left out: a different text in every row, as names have it", KEEP),
    "identifier": ("left out: named like an identifier", KEEP),
    "sorted": ("left out: it follows the order of the file, which is sorted by class too", KEEP),
    "empty": ("left out: all its values are missing", ""),
    "unclear dates": (
        "left out: dates such as {example}, of which day and month are not clear",
        "write them as 2021-04-03 in the file",
    ),
    "dropped": ("left out by --drop", ""),
    "not chosen": ("left out by --only", ""),
    "names rows": ("names the rows (--id)", ""),
    "groups rows": ("groups the rows (--groups)", ""),
    "weighs rows": ("weighs the rows (--weights)", ""),
    "counts rows": ("counts the rows (--counts)", ""),
    # Values.
    "marker": ("{example} read as missing", "{keep} takes it as a value"),
    "comma": ("decimal commas, as in {example}, read as points", "--decimal . says otherwise"),
    "thousands": ("separators of thousands, as in {example}, left out", "--decimal says otherwise"),
    "limit": (
        "a limit such as {example} read as the limit itself",
        "write the value that you want in the file",
    ),
    "per cent": ("per cent signs left out", ""),
    "padded": (
        "read as numbers, without the leading zeros as in {example}",
        "write a letter before each value in the file if they are codes",
    ),
    "dates": ("dates such as {example} read as days since 1970-01-01", DROP),
    "numbers as dates": (
        "numbers such as {example} read as dates, in days since 1970-01-01",
        "{keep} takes them as numbers",
    ),
    "spelling": (
        "{example} read as one value",
        "write them differently in the file, or {keep}",
    ),
    "case": (
        "{example} kept apart, although they differ by case only",
        "write them alike in the file if they are the same",
    ),
    "groups alike": (
        "groups that are written in several ways, such as {example}, read as one each",
        "{keep} takes them apart",
    ),
    "blanks": ("blanks around values removed, and runs of blanks and line ends within them read as one", ""),
    "stand-in": (
        "{example} kept as a class, although it often stands for a missing value",
        "remove these rows from the file if it does",
    ),
    "none": ("{example} kept as a value", "{missing} reads it as missing"),
    # Columns kept.
    "distinct": ("kept, although all its whole numbers are different", DROP),
    "tells class": ("kept, although each of its values is in one class only", DROP),
    "splits classes": ("kept, although it alone tells the class of every row", DROP),
    "near copy": ("kept, although it alone tells the class with so few exceptions", DROP),
    "unit": (
        "kept as text: numbers with a unit, as in {example}, are as different from each other as names",
        "write the numbers alone in the file",
    ),
    "many texts": ("kept as text with more than 50 different values", DROP),
    "repeats": ("its values repeat like those of a subject", "{groups} leaves each out whole"),
}  # fmt: skip
# What to read first: what may make the whole result wrong.
FIRST = (
    "case", "groups alike", "copy", "missing by class", "splits classes", "near copy", "tells class",
    "sorted", "repeats", "row numbers", "daily dates", "identifier",
)  # fmt: skip
# Topics whose notes differ by example.
BY_EXAMPLE = ("case", "marker", "none", "spelling")


@dataclass(frozen=True)
class Finding:
    """One thing found in a column.

    Parameters
    ----------
    column : str
        Name of the column.
    topic : str
        Name in ``TOPICS``.
    count : int
        Number of values concerned; 0 if it is the column as a whole.
    example : str
        One such value.
    spellings : tuple of str
        Other spellings of it.
    """

    column: str
    topic: str
    count: int = 0
    example: str = ""
    spellings: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The example with its other spellings, in quotation marks."""
        return " and ".join(map(short, (self.example, *self.spellings)))


def weight_of(finding: Finding) -> int:
    """Place among what to read: the smaller, the more it matters."""
    return FIRST.index(finding.topic) if finding.topic in FIRST else len(FIRST)


def done_of(findings: Iterable[Finding]) -> str:
    """What was done with one column."""
    return "; ".join(
        _filled(TOPICS[one.topic][0], one) + (f" ({one.count})" if one.count else "") for one in findings
    )


def change_of(findings: Iterable[Finding]) -> str:
    """How to have it done differently."""
    ways = [_filled(TOPICS[one.topic][1], one) for one in findings]
    return "; ".join(dict.fromkeys(way for way in ways if way))


def notes_of(findings: Iterable[Finding], advised: Collection[str] = TOPICS) -> list[str]:
    """One note for each thing found, with the names of its columns.

    Parameters
    ----------
    findings : iterable of Finding
        What was found, column by column.
    advised : collection of str
        Topics whose notes say how to have it done differently.

    Returns
    -------
    list of str
        The notes.
    """
    alike: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        alike.setdefault((one.topic, one.shown if one.topic in BY_EXAMPLE else ""), []).append(one)
    notes = []
    for (topic, _), of_topic in alike.items():
        done, change = TOPICS[topic]
        names = [one.column for one in of_topic]
        counts = {one.column: one.count for one in of_topic}
        shown = counted(counts) if any(counts.values()) else listed(names)
        first = of_topic[0] if len(names) == 1 else replace(of_topic[0], column="COL")
        how = f" ({_filled(change, first)})" if change and topic in advised else ""
        notes.append(f"{shown}: {_filled(done, first)}{how}.")
    return notes


def _filled(template: str, one: Finding) -> str:
    return template.format(
        **{option: said(f"--{option}", one.column) for option in ("keep", "drop", "groups")},
        missing=said("--missing", one.example),
        example=one.shown,
    )

"""How the user wants a table to be read."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """What the user said about a table.

    Parameters
    ----------
    drop : tuple of str
        Columns to leave out.
    only : tuple of str
        Columns to learn from; all if empty.
    keep : tuple of str
        Columns to take as they are: not left out as a leak, and no value read as missing unless it is in
        ``missing``.
    id : str or None
        Column with the identifiers of the rows.
    groups : str or None
        Column with the groups of the rows.
    weights : str or None
        Column with the weights of the rows.
    counts : str or None
        Column with the number of equal cases that each row stands for.
    positive : str or None
        Class that recall, precision and thresholds are about.
    sep : str or None
        Separator of the cells; None to recognise it.
    decimal : {".", ","} or None
        Decimal mark; None to recognise it.
    encoding : str or None
        Encoding of the text; None to recognise it.
    missing : tuple of str
        Further texts that mark a missing value.
    impute : bool
        Whether missing values are accepted, to be filled in.
    """

    drop: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    id: str | None = None
    groups: str | None = None
    weights: str | None = None
    counts: str | None = None
    positive: str | None = None
    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    impute: bool = False

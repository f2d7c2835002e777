"""A table that was read and checked, and what was done with each of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "Table"]


@dataclass(frozen=True)
class Column:
    """One column of the file, and what was done with it.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : {"number", "text", "left out"}
        How the machine sees the column: as a number, as one of several texts, or not at all.
    done : str
        What was done with its values, in words; the empty string if they were read as they are.
    change : str
        How to have it done differently, in words; the empty string if nothing was done.
    date : str
        Format of its dates, which are read as days; the empty string if it has none.
    missing : tuple of str
        Texts and numbers that were read as missing in it.
    per_cent : bool or None
        Whether its numbers have per cent signs; None if it is taken as it is.
    """

    name: str
    kind: str
    done: str = ""
    change: str = ""
    date: str = ""
    missing: tuple[str, ...] = ()
    per_cent: bool | None = False


@dataclass(frozen=True)
class Table:
    """Features and labels of one data set, checked.

    Parameters
    ----------
    name : str
        File name, or the name of the embedded data set.
    target : str
        Name of the column with the labels.
    frame : pandas.DataFrame of shape (n, p)
        Features: numeric columns, and text columns whose values are strings or missing.
    labels : ndarray of shape (n,)
        Class of each row, integers or strings.
    notes : tuple of str
        What the user should know about the way the table was read.
    rows : ndarray of shape (n,) or None
        Number of each row in the file, from 1, without the header; None if they are numbered as they follow.
    identifiers : ndarray of shape (n,) or None
        Identifier of each row: the values of the column of ``--id``, otherwise the row's number, from 1.
    id_name : str or None
        The column of ``--id``.
    decimal : {".", ","} or None
        Decimal mark of the numbers; None if it is not known.
    groups : ndarray of shape (n,) or None
        Group of each row, such as its patient; groups are left out whole.
    weights : ndarray of shape (n,) or None
        How much each row counts, 1 in the mean; or, with ``counted``, how many equal cases it stands for.
    counted : bool
        Whether the weights are counts. One case of a row is then left out, and the others stay.
    positive : object
        The label that recall, precision and thresholds are about, if the user named one; otherwise None.
    fingerprint : str
        SHA-256 hash of the file's bytes; the empty string for embedded data.
    columns : tuple of Column
        The columns of the file in their order, without the target.
    """

    name: str
    target: str
    frame: pd.DataFrame
    labels: np.ndarray
    notes: tuple[str, ...] = ()
    rows: np.ndarray | None = None
    identifiers: np.ndarray | None = None
    id_name: str | None = None
    decimal: str | None = None
    groups: np.ndarray | None = None
    weights: np.ndarray | None = None
    counted: bool = False
    positive: Any = None
    fingerprint: str = ""
    columns: tuple[Column, ...] = ()

    @property
    def weighted(self) -> bool:
        """Whether the rows count differently, each as a whole."""
        return self.weights is not None and not self.counted

    @property
    def units(self) -> np.ndarray | None:
        """What is left out whole, and right or wrong as a whole: groups, or rows that count differently.

        None if every row, or every case that it stands for, is one by itself.
        """
        return np.arange(len(self.labels)) if self.groups is None and self.weighted else self.groups

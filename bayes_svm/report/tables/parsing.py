"""Parsing a table into columns, before anything is known about them."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from bayes_svm.report.errors import InputError
from bayes_svm.report.optional import needs
from bayes_svm.report.text import one_line

from .layout import Layout, layout_of
from .names import listed
from .options import Options
from .source import CELL, Source, memory_limit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["parsed"]

PARQUET, ZIPPED, OLD_EXCEL = b"PAR1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def parsed(
    source: Source, wanted: Sequence[str], as_text: Collection[str], options: Options
) -> tuple[pd.DataFrame, list[str]]:
    """Parse a CSV, parquet or Excel file.

    Parameters
    ----------
    source : Source
        The bytes.
    wanted : sequence of str
        Names of columns that the table should have.
    as_text : collection of str
        Columns whose cells are wanted as they are written.
    options : Options
        What the user said.

    Returns
    -------
    frame : pandas.DataFrame
        The columns, with names that are strings, and at least one row. Empty cells are NaN.
    notes : list of str
        What was recognised.

    Raises
    ------
    InputError
        If it cannot be parsed, or if two columns have the same name.
    """
    if source.raw.startswith(PARQUET):
        frame, notes = _parquet(source), ["The file is in parquet format."]
    elif source.raw.startswith((ZIPPED, OLD_EXCEL)):
        frame, notes = _excel(source), ["The file is a workbook; its first sheet was read."]
    else:
        layout = layout_of(source, wanted, options)
        frame, notes = _csv(layout, source.name, as_text, options)
    blank = frame.isna().all(axis=1).to_numpy()
    if blank.all():
        raise InputError(f"{source.name!r} has a header but no rows; add rows of data")
    if blank.any():
        notes.append(f"Rows without any value left out: {int(blank.sum())}.")
        frame = frame[~blank]
    return frame, notes


def _csv(
    layout: Layout, name: str, as_text: Collection[str], options: Options
) -> tuple[pd.DataFrame, list[str]]:
    """Parse CSV text. No row may have more cells than the header."""
    import pandas as pd

    how = {"sep": layout.sep, "quotechar": layout.quote, "keep_default_na": False}
    notes = list(layout.notes)
    try:
        first = pd.read_csv(io.StringIO(layout.text), header=None, nrows=1, dtype=str, **how).iloc[0]
        written = [str(cell) for cell in first]
        header = _unique([cell.strip() for cell in written], name)
        with warnings.catch_warnings():
            # Without index_col=False, rows longer than the header would silently shift the columns.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(layout.text),
                header=0,
                names=header,
                index_col=False,
                na_values=["", *options.missing],
                dtype={column: str for column in as_text if column in set(header)},
                decimal=options.decimal or ".",
                # A column is of one type, however long it is.
                low_memory=False,
                **how,
            )
    except pd.errors.ParserWarning:
        raise InputError(f"{name!r} has rows with more cells than its header; fix the header line") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as err:
        if isinstance(err, InputError):
            raise
        raise InputError(f"{name!r} is not a readable CSV file: {_advice(str(err))}") from None
    changed = [cell for cell in written if cell.strip() and cell != cell.strip()]
    if changed:
        notes.append(f"Blanks around names of columns removed: {listed(changed)}.")
    return frame, notes


def _unique(header: list[str], name: str) -> list[str]:
    """Names for all columns, those without one too; no two columns may have the same."""
    twice = [cell for cell, count in Counter(header).items() if count > 1 and cell]
    if twice:
        raise InputError(f"{name!r} has more than one column named {listed(twice)}; give each its own name")
    return [cell or f"Unnamed: {k}" for k, cell in enumerate(header)]


def _advice(reason: str) -> str:
    reason = one_line(reason.replace("Error tokenizing data. C error:", ""))
    if "EOF inside string" in reason:
        return f"a quotation mark is not closed ({reason}); close it"
    return f"{reason}; check its separators and quotation marks"


def _parquet(source: Source) -> pd.DataFrame:
    """Parse a parquet file, whose sizes are known before it is unpacked."""
    import pandas as pd

    parquet = needs("pyarrow.parquet", "pyarrow")
    try:
        about = parquet.read_metadata(io.BytesIO(source.raw))
        _check_size(about.num_rows * about.num_columns * CELL, source.name)
        frame = pd.read_parquet(io.BytesIO(source.raw), engine="pyarrow")
    except InputError:
        raise
    except Exception as err:
        # pyarrow raises errors of many kinds for a damaged file.
        raise InputError(f"{source.name!r} is not a readable parquet file: {one_line(err)}") from None
    return _named(frame.reset_index(drop=True), source.name)


def _excel(source: Source) -> pd.DataFrame:
    """Parse the first sheet of a workbook."""
    import pandas as pd

    old = source.raw.startswith(OLD_EXCEL)
    if not old:
        _check_workbook(source)
    needs("xlrd", "xlrd") if old else needs("openpyxl", "openpyxl")
    try:
        frame = pd.read_excel(
            io.BytesIO(source.raw),
            keep_default_na=False,
            na_values=[""],
            engine="xlrd" if old else "openpyxl",
        )
    except InputError:
        raise
    except Exception as err:
        # Both engines raise errors of many kinds for a damaged file.
        raise InputError(f"{source.name!r} is not a readable workbook: {one_line(err)}") from None
    return _named(frame, source.name)


def _check_workbook(source: Source) -> None:
    """Refuse an archive that is no workbook, or one that unpacks to too much."""
    try:
        with zipfile.ZipFile(io.BytesIO(source.raw)) as packed:
            entries = packed.infolist()
    except zipfile.BadZipFile:
        raise InputError(f"{source.name!r} is a damaged zip archive; export it again") from None
    if not any(one.filename.startswith("xl/") for one in entries):
        raise InputError(
            f"{source.name!r} is a zip archive and no workbook; unpack it, and give a table in it"
        )
    _check_size(sum(one.file_size for one in entries), source.name)


def _check_size(needed: int, name: str) -> None:
    limit = memory_limit()
    if limit is not None and needed > limit:
        raise InputError(
            f"{name!r} is too large for the {limit / 2**30:.1f} GiB of memory that are free: give fewer "
            "rows or columns"
        )


def _named(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """A frame whose names of columns are texts."""
    return frame.set_axis(_unique([str(column).strip() for column in frame.columns], name), axis=1)

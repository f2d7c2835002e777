"""Parsing a table into columns, before anything is known about them."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bayes_svm.report.errors import InputError
from bayes_svm.report.optional import needs
from bayes_svm.report.text import one_line

from .layout import Layout, layout_of
from .names import UNNAMED, listed
from .numerals import PADDED, PLAIN
from .options import Options
from .source import CELL, Source, memory_limit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Parsed", "parsed"]

PARQUET, ZIPPED, OLD_EXCEL = b"PAR1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# A whole number with leading zeros, perhaps: the cells are looked at where there is one.
PADDED_SOMEWHERE = re.compile(rf"(?<![\w.]){PADDED.pattern}(?![\w.])")


@dataclass(frozen=True)
class Parsed:
    """The columns of a file.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns, with names that are strings, and at least one row. Empty cells are missing. The index
        counts the rows of the file from 0, without the header.
    notes : list of str
        What was recognised.
    sep : str or None
        What separates the cells; None for a parquet or Excel file, of which each cell has a type.
    padded : pandas.DataFrame or None
        The texts of the columns of numbers of which some have leading zeros.
    """

    frame: pd.DataFrame
    notes: list[str]
    sep: str | None
    padded: pd.DataFrame | None = None


def parsed(source: Source, wanted: Sequence[str], as_text: Collection[str], options: Options) -> Parsed:
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
    Parsed
        The columns.

    Raises
    ------
    InputError
        If it cannot be parsed, or if two columns have the same name.
    """
    sep = padded = None
    if source.raw.startswith(PARQUET):
        frame, notes = _of_cells(_parquet(source), as_text, options), ["The file is in parquet format."]
    elif source.raw.startswith((ZIPPED, OLD_EXCEL)):
        frame = _of_cells(_excel(source), as_text, options)
        notes = ["The file is a workbook; its first sheet was read."]
    else:
        layout = layout_of(source, wanted, options)
        sep = layout.sep
        frame, padded, notes = _csv(layout, source.name, as_text, options)
    blank = frame.isna().all(axis=1).to_numpy()
    if blank.all():
        raise InputError(f"{source.name!r} has a header but no rows; add rows of data")
    if blank.any():
        notes.append(f"Rows without any value left out: {int(blank.sum())}.")
        frame = frame[~blank]
    return Parsed(frame, notes, sep, padded)


def _csv(
    layout: Layout, name: str, as_text: Collection[str], options: Options
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Parse CSV text. No row may have more cells than the header."""
    import pandas as pd

    how = {"sep": layout.sep, "quotechar": layout.quote, "keep_default_na": False}
    notes = list(layout.notes)
    # Blank lines at the end are no rows; those between count, as a spreadsheet counts them.
    text = layout.text.rstrip("\r\n")
    try:
        first = pd.read_csv(io.StringIO(text), header=None, nrows=1, dtype=str, **how).iloc[0]
        written = [str(cell) for cell in first]
        header = _unique(written, name)
        # Labels, names and groups may be written like a missing value among numbers. Lines may end in one
        # more separator than the header: that column has a number.
        empty: dict[str | int, list[str]] = {len(header): [""]}
        empty |= {one: [""] if one in as_text else ["", *options.missing] for one in header}
        with warnings.catch_warnings():
            # Without index_col=False, rows longer than the header would silently shift the columns.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            read = partial(
                pd.read_csv,
                header=0,
                names=header,
                index_col=False,
                skip_blank_lines=False,
                na_values=empty,
                decimal=options.decimal or ".",
                # A column is of one type, however long it is.
                low_memory=False,
                **how,
            )
            frame = read(
                io.StringIO(text), dtype={column: str for column in as_text if column in set(header)}
            )
            padded = frame.iloc[:, :0]
            if PADDED_SOMEWHERE.search(text):
                texts = read(io.StringIO(text), dtype=str).where(frame.notna())
                numbers = [one for one in frame if pd.api.types.is_numeric_dtype(frame[one])]
                padded = texts[[one for one in numbers if _any_padded(texts[one].dropna())]]
    except pd.errors.ParserWarning:
        raise InputError(f"{name!r} has rows with more cells than its header; fix the header line") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as err:
        if isinstance(err, InputError):
            raise
        raise InputError(f"{name!r} is not a readable CSV file: {_advice(str(err))}") from None
    changed = [cell for cell in written if cell.strip() and cell != one_line(cell)]
    if changed:
        notes.append(f"Blanks in names of columns removed, or made single: {listed(changed)}.")
    return frame, padded, notes


def _any_padded(column: pd.Series) -> bool:
    return any(PADDED.fullmatch(str(text).strip()) for text in column.unique())


def _unique(written: list[str], name: str) -> list[str]:
    """Names for all columns, those without one too; no two columns may have the same."""
    header = [one_line(cell) for cell in written]
    twice = [cell for cell, count in Counter(header).items() if count > 1 and cell]
    if twice:
        raise InputError(f"{name!r} has more than one column named {listed(twice)}; give each its own name")
    return [cell or f"{UNNAMED}{k}" for k, cell in enumerate(header)]


def _advice(reason: str) -> str:
    reason = one_line(reason.replace("Error tokenizing data. C error:", ""))
    if "EOF inside string" in reason:
        return f"a quotation mark is not closed ({reason}); close it"
    return f"{reason}; check its separators and quotation marks, and remove lines above the header"


def _parquet(source: Source) -> pd.DataFrame:
    """Parse a parquet file, whose sizes are known before it is unpacked."""
    parquet = needs("pyarrow.parquet", "pyarrow")
    try:
        about = parquet.read_metadata(io.BytesIO(source.raw))
        _check_size(about.num_rows * about.num_columns * CELL, source.name)
        # pyarrow has no words for two columns of one name.
        _unique(about.schema.to_arrow_schema().names, source.name)
        # Whole numbers stay whole beside missing ones.
        frame = parquet.read_table(io.BytesIO(source.raw)).to_pandas(integer_object_nulls=True)
    except InputError:
        raise
    except Exception as err:
        # pyarrow raises errors of many kinds for a damaged file.
        raise InputError(f"{source.name!r} is not a readable parquet file: {one_line(err)}") from None
    # pandas keeps columns as an index, which it gives back as one.
    known = {str(column) for column in frame.columns}
    kept = [level for level in frame.index.names if level is not None and str(level) not in known]
    frame = frame.reset_index(level=kept).reset_index(drop=True) if kept else frame.reset_index(drop=True)
    names = _unique([str(column) for column in frame.columns], source.name)
    return frame.set_axis(names, axis=1)


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
            # With a header, pandas would give columns of the same name others.
            header=None,
            dtype=object,
            keep_default_na=False,
            na_values=[""],
            engine="xlrd" if old else "openpyxl",
        )
    except InputError:
        raise
    except Exception as err:
        # Both engines raise errors of many kinds for a damaged file.
        raise InputError(f"{source.name!r} is not a readable workbook: {one_line(err)}") from None
    if frame.empty:
        raise InputError(f"the first sheet of {source.name!r} is empty; put the sheet with the table first")
    header = frame.iloc[0]
    names = ["" if missing else str(cell) for cell, missing in zip(header, header.isna(), strict=True)]
    return frame.iloc[1:].reset_index(drop=True).set_axis(_unique(names, source.name), axis=1)


def _of_cells(frame: pd.DataFrame, as_text: Collection[str], options: Options) -> pd.DataFrame:
    """A frame of cells that have types, with columns of numbers, of times, and of other objects."""
    import pandas as pd

    types = pd.api.types
    missing = [float(text) for text in options.missing if PLAIN["."].fullmatch(text)]
    columns = {}
    for name in frame.columns:
        column = frame[name]
        if not types.is_numeric_dtype(column) and not types.is_datetime64_any_dtype(column):
            column = _of_objects(column.astype(object), name in as_text)
        if name in as_text:
            known = column.dropna()
            if types.is_float_dtype(column) and (known == known.round()).all():
                column = column.astype("Int64")  # names that are whole numbers, some of which are missing
        elif types.is_numeric_dtype(column) and not types.is_bool_dtype(column) and missing:
            column = column.mask(column.isin(missing))
        columns[name] = column
    return pd.DataFrame(columns, index=frame.index)


def _of_objects(column: pd.Series, as_text: bool) -> pd.Series:
    """Objects as numbers or times if all are, unless texts are wanted; lists and the like become texts."""
    import pandas as pd

    if not all(isinstance(cell, Hashable) for cell in column):
        return column.map(str, na_action="ignore")
    if as_text:
        return column
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return pd.to_numeric(column)
    if kind in ("datetime64", "datetime", "date"):
        # A date such as 9999-12-31 may be out of pandas' range; it stays an object, which is read as a text.
        with suppress(pd.errors.OutOfBoundsDatetime):
            return pd.to_datetime(column)
    return column


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

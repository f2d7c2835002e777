"""Reading a table from the user, and checking its file, target column and features."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import io
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayes_svm.report.errors import InputError
from bayes_svm.report.optional import needs
from bayes_svm.report.text import one_line, shortened
from bayes_svm.utils.memory import ALWAYS_THERE, available_bytes

from .features import numeric_columns
from .table import Column, Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["breast_cancer_table", "read_table"]

# Largest number of classes. One SVM is trained per class, and nobody reads a page with more of them.
MAX_CLASSES = 50
# Largest number in a column. The squares of much larger ones overflow, and so does the variance.
HUGE = 1e150
# A text column with more distinct values than this is more often an identifier than a category.
MANY_CATEGORIES = 50
# A file is read in parts of so many bytes.
PART = 2**22
# Memory that a table takes at least, in bytes: for each byte of its text, while that is read; for each of
# its cells, in the table and in the features; and for each row, of which a fit has some dozens of numbers.
BYTE, CELL, ROW = 4, 24, 500


def breast_cancer_table() -> Table:
    """Return scikit-learn's embedded breast cancer data (Wisconsin, 569 tumours, 30 measurements)."""
    needs("pandas")
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    labels = np.asarray(data.target_names, dtype=str)[data.target.to_numpy()]
    return Table(
        "breast cancer (Wisconsin, embedded in scikit-learn)",
        "diagnosis",
        data.data,
        labels,
        identifiers=np.arange(1, len(labels) + 1),
        columns=tuple(Column(name, "number") for name in data.data.columns),
    )


def read_table(path: str | Path, target: str, *, impute: bool = False) -> Table:
    """Read a CSV file (plain or gzip; UTF-8; comma; with a header) and check it.

    Parameters
    ----------
    path : str or Path
        The file.
    target : str
        Name of the column with the labels. All other columns are features.
    impute : bool
        Whether missing feature values are accepted, for `feature_transformer` to fill in. Columns
        without any value are then left out, with a note.

    Returns
    -------
    Table
        The features and labels.

    Raises
    ------
    InputError
        If anything is wrong with the file or its columns; the message says what to do.
    """
    needs("pandas")
    path = Path(path)
    raw = _raw(path)
    frame = _parse(raw, path.name)
    if target not in frame.columns:
        raise InputError(_no_such_column(target, list(frame.columns), path.name))
    labels = _labels(frame[target], target)
    frame, notes = _features(frame.drop(columns=target), target, impute)
    # A file name may contain bytes that are not UTF-8, which the report is.
    name = path.name.encode("utf-8", "replace").decode("utf-8")
    numeric = set(numeric_columns(frame))
    return Table(
        name,
        target,
        frame,
        labels,
        tuple(notes),
        identifiers=np.arange(1, len(labels) + 1),
        fingerprint=hashlib.sha256(raw).hexdigest(),
        columns=tuple(Column(one, "number" if one in numeric else "text") for one in frame.columns),
    )


def _raw(path: Path) -> bytes:
    """Return the file's content, checked. A gzip file, which its first two bytes show, is unpacked."""
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            raw = _read(gzip.GzipFile(fileobj=file) if packed else file, path.name)
    except FileNotFoundError:
        raise InputError(f"no such file: {str(path)!r}; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{str(path)!r} is a directory; give a CSV file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path.name!r} is a damaged gzip file; compress the CSV again") from None
    except InputError:
        raise
    except (OSError, ValueError) as err:
        raise InputError(f"cannot read {str(path)!r}: {getattr(err, 'strerror', None) or err}") from None
    if b"\0" in raw:
        raise InputError(f"{path.name!r} contains binary data and is not a CSV file; export it as UTF-8 CSV")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = raw.count(b"\n", 0, err.start) + 1
        raise InputError(
            f"{path.name!r} is not UTF-8 (the first invalid byte is in line {line}); save it as a UTF-8 CSV"
        ) from None
    if not text or text.isspace():
        raise InputError(f"{path.name!r} is empty; give a CSV file with a header and rows")
    return raw


def _read(file: io.BufferedIOBase, name: str) -> bytes:
    """Read a stream, unless a table of its size does not fit into memory: it may unpack to anything."""
    available, needed, rows = available_bytes(), 0, 0
    limit = None if available is None else max(available, ALWAYS_THERE)
    parts: list[bytes] = []
    while part := file.read(PART):
        parts.append(part)
        lines = part.count(b"\n")
        needed += BYTE * len(part) + CELL * (part.count(b",") + lines) + ROW * lines
        rows += lines
        if limit is not None and needed > limit:
            fit = rows * limit // needed
            raise InputError(
                f"{name!r} is too large for the {limit / 2**30:.1f} GiB of memory that are free, of which it "
                f"needs more than {needed // max(rows, 1):,} bytes for each row: "
                + (f"give a sample of at most {fit:,} rows" if fit else "give fewer columns")
            )
    return b"".join(parts)


def _parse(raw: bytes, name: str) -> pd.DataFrame:
    """Parse CSV text. No row may have more cells than the header, and no two columns the same name."""
    import pandas as pd

    try:
        first = {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False}
        header = pd.read_csv(io.BytesIO(raw), encoding="utf-8-sig", **first).iloc[0]
        with warnings.catch_warnings():
            # A column of mixed types is turned into text later.
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            # Without index_col=False, rows longer than the header would silently shift the columns.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(io.BytesIO(raw), encoding="utf-8-sig", index_col=False)
    except pd.errors.ParserWarning:
        raise InputError(f"{name!r} has rows with more cells than its header; fix the header line") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as err:
        raise InputError(f"{name!r} is not a readable CSV file: {_parser_advice(str(err))}") from None
    twice = [cell for cell, count in Counter(header).items() if count > 1 and cell.strip()]
    if twice:
        raise InputError(f"{name!r} has more than one column named {_listed(twice)}; give each its own name")
    if frame.empty:
        raise InputError(f"{name!r} has a header but no rows; add rows of data")
    return frame


def _parser_advice(reason: str) -> str:
    reason = one_line(reason.replace("Error tokenizing data. C error:", ""))
    if "EOF inside string" in reason:
        return f"a quotation mark is not closed ({reason}); close it"
    return f"{reason}; check its commas and quotation marks"


def _no_such_column(target: str, columns: list[str], name: str) -> str:
    if len(columns) == 1 and any(mark in columns[0] for mark in ";\t|"):
        mark = next(mark for mark in ";\t|" if mark in columns[0])
        return f"{name!r} is separated by {mark!r}, not by commas; save it as a comma-separated CSV"
    close = difflib.get_close_matches(target, columns, n=3)
    shown = close + [column for column in columns if column not in close]
    return f"{name!r} has no column {_short(target)}; choose --target from its columns: {_listed(shown)}"


def _labels(column: pd.Series, target: str) -> np.ndarray:
    """Return the labels as integers or strings; raise InputError if they are not classes."""
    import pandas as pd

    missing = np.flatnonzero(column.isna().to_numpy())
    if missing.size:
        rows = ", ".join(str(row + 1) for row in missing[:5]) + (", ..." if missing.size > 5 else "")
        raise InputError(
            f"the target {_short(target)} is missing in {missing.size} of {len(column)} rows "
            f"(data rows {rows}); fill in those labels or remove the rows"
        )
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        labels = column.astype(str).to_numpy(dtype=str)
    else:
        values = column.to_numpy(dtype=float)
        if not (np.isfinite(values).all() and (values == np.round(values)).all()):
            raise InputError(
                f"the target {_short(target)} is continuous; choose a --target column with classes"
            )
        labels = column.to_numpy()
        labels = labels if labels.dtype.kind in "iu" else values.astype(np.int64)
    _check_classes(labels, target)
    return labels


def _check_classes(labels: np.ndarray, target: str) -> None:
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) == 1:
        only = _short(classes[0])
        raise InputError(
            f"the target {_short(target)} has one class only ({only}); give rows of two or more classes"
        )
    if len(classes) > MAX_CLASSES:
        raise InputError(
            f"the target {_short(target)} has {len(classes)} different values in {len(labels)} rows, more "
            f"than the {MAX_CLASSES} classes a table may have; choose a --target with classes, or group them"
        )
    if counts.min() == 1:
        single = [str(label) for label in classes[counts == 1]]
        raise InputError(
            f"the target {_short(target)} has classes with one row only: {_listed(single)}; leave-one-out "
            "needs two or more rows of each class, so add rows or remove these"
        )


def _features(frame: pd.DataFrame, target: str, impute: bool) -> tuple[pd.DataFrame, list[str]]:
    """Check the feature columns; return them with text as strings, and notes on what was changed."""
    notes: list[str] = []
    if frame.shape[1] == 0:
        raise InputError(f"the file has no column besides the target {_short(target)}; add feature columns")
    numeric = numeric_columns(frame)
    huge = {name: int((np.abs(frame[name].to_numpy(dtype=float)) > HUGE).sum()) for name in numeric}
    if any(huge.values()):
        raise InputError(
            f"numbers that are infinite or beyond {HUGE:g} in {_counted(huge)}; replace them, or remove the "
            "rows"
        )
    missing = {name: int(frame[name].isna().sum()) for name in frame.columns}
    if any(missing.values()) and not impute:
        raise InputError(
            f"missing values in {_counted(missing)}; fill them in, remove them, or add --impute "
            "(median / most frequent value)"
        )
    empty = [name for name, count in missing.items() if count == len(frame)]
    if empty:
        notes.append(f"Left out, because all their values are missing: {_listed(empty, 10)}.")
        frame = frame.drop(columns=empty)
        if frame.shape[1] == 0:
            raise InputError("all feature columns are empty; add feature columns with values")
    if any(missing.values()):
        filled = sum(count for name, count in missing.items() if name not in empty)
        notes.append(
            f"Missing values filled in with the median or most frequent value of their column: {filled}."
        )
    return _text_as_strings(frame, notes), notes


def _text_as_strings(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Turn every value of a non-numeric column into a string or NaN; the encoder refuses mixed types."""
    frame = frame.copy()
    numeric = set(numeric_columns(frame))
    for name in [column for column in frame.columns if column not in numeric]:
        known = frame[name].notna().to_numpy()
        values = np.full(len(frame), np.nan, dtype=object)
        values[known] = [str(value) for value in frame[name].to_numpy(dtype=object)[known]]
        frame[name] = values
        different = len(set(values[known]))
        if different > MANY_CATEGORIES:
            notes.append(
                f"Column {_short(name)} was read as text with {different} different values: if it is an "
                "identifier, remove it; if it is a number, look for stray characters in it."
            )
    return frame


def _short(name: object, limit: int = 60) -> str:
    return repr(shortened(str(name), limit))


def _listed(names: list[str], limit: int = 5) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(_short(name) for name in names[:limit]) + more


def _counted(counts: dict[str, int], limit: int = 5) -> str:
    """Return "'a' (3), 'b' (1)" for the columns with a count above zero."""
    found = [f"{_short(name)} ({count})" for name, count in counts.items() if count]
    more = f" and {len(found) - limit} more columns" if len(found) > limit else ""
    return ", ".join(found[:limit]) + more

"""The bytes of a table: from a file or from standard input, unpacked, and no more than fit into memory."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayes_svm.report.errors import InputError
from bayes_svm.utils.memory import ALWAYS_THERE, available_bytes

__all__ = ["CELL", "STDIN", "Source", "memory_limit", "read_source"]

# Stands for standard input on the command line.
STDIN = "-"
# A file is read in parts of so many bytes.
PART = 2**22
# Memory that a table takes at least, in bytes: for each byte of its text, while that is read; for each of
# its cells, in the table and in the features; and for each row, of which a fit has some dozens of numbers.
BYTE, CELL, ROW = 4, 24, 500


@dataclass(frozen=True)
class Source:
    """A table before it is parsed.

    Parameters
    ----------
    name : str
        Name of the file.
    raw : bytes
        Its content, unpacked.
    fingerprint : str
        SHA-256 hash of the file as it is stored.
    """

    name: str
    raw: bytes
    fingerprint: str


def read_source(path: str | Path) -> Source:
    """Read a file, or standard input if the path is "-". A gzip file is unpacked.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Source
        Its content.

    Raises
    ------
    InputError
        If it cannot be read, is damaged or empty, or does not fit into memory.
    """
    stdin = str(path) == STDIN
    # A file name may contain bytes that are not UTF-8, which the report is.
    name = "standard input" if stdin else Path(path).name.encode("utf-8", "replace").decode("utf-8")
    try:
        if stdin and sys.stdin is None:
            raise InputError("there is no standard input; give a file")
        if stdin:
            stored = _read(sys.stdin.buffer, name)
        else:
            with Path(path).open("rb") as file:
                stored = _read(file, name)
        # Its first two bytes show a gzip file.
        packed = stored[:2] == b"\x1f\x8b"
        raw = _read(gzip.GzipFile(fileobj=io.BytesIO(stored)), name) if packed else stored
    except FileNotFoundError:
        raise InputError(f"no such file: {str(path)!r}; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{str(path)!r} is a directory; give a CSV file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{name!r} is a damaged gzip file; compress the CSV again") from None
    except InputError:
        raise
    except (OSError, ValueError) as err:
        raise InputError(f"cannot read {str(path)!r}: {getattr(err, 'strerror', None) or err}") from None
    if not raw or raw.isspace():
        raise InputError(f"{name!r} is empty; give a CSV file with a header and rows")
    return Source(name, raw, hashlib.sha256(stored).hexdigest())


def memory_limit() -> int | None:
    """Bytes that a table may take; None if the system does not say how much is free."""
    available = available_bytes()
    return None if available is None else max(available, ALWAYS_THERE)


def _read(file: Any, name: str) -> bytes:
    """Read a stream, unless a table of its size does not fit into memory: it may unpack to anything."""
    limit, needed, rows = memory_limit(), 0, 0
    parts: list[bytes] = []
    while part := file.read(PART):
        parts.append(part)
        lines = part.count(b"\n")
        # One of these marks separates the cells, whichever it is.
        marks = max(part.count(mark) for mark in (b",", b";", b"\t", b"|"))
        needed += BYTE * len(part) + CELL * (marks + lines) + ROW * lines
        rows += lines
        if limit is not None and needed > limit:
            fit = rows * limit // needed
            raise InputError(
                f"{name!r} is too large for the {limit / 2**30:.1f} GiB of memory that are free, of which it "
                f"needs more than {needed // max(rows, 1):,} bytes for each row: "
                + (f"give a sample of at most {fit:,} rows" if fit else "give fewer columns")
            )
    return b"".join(parts)

"""Values of a long run, kept in a file as they are found, so that the run can be interrupted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

__all__ = ["Partial", "keeps_values"]


class Partial:
    """Left-out values found so far, in memory and in a file that survives the process.

    The file has a line that names what it is of, then one line per value: problem, part, value,
    status. It is not there before the first value is.

    Parameters
    ----------
    path : Path
    fingerprint : str
        Of everything that the values depend on.
    shape : tuple of int
        Number of parts of rows, number of problems.

    Attributes
    ----------
    values, status : arrays of the given shape
        NaN and "" where nothing is known.

    Raises
    ------
    InputError
        If the file has another fingerprint, or lines that are no values.
    """

    def __init__(self, path: Path, fingerprint: str, shape: tuple[int, int]) -> None:
        self.path = path
        self.values: NDArray[np.float64] = np.full(shape, np.nan)
        self.status: NDArray[np.str_] = np.full(shape, "", dtype="<U10")
        self._header = json.dumps({"bayes-svm loo": fingerprint}).encode() + b"\n"
        self._begun = False
        with keeps_values(path):
            self._load()

    @property
    def n_known(self) -> int:
        """Number of values that are known."""
        return int(np.count_nonzero(self.status != ""))

    def missing(self, problem: int) -> NDArray[np.intp]:
        """Parts without a value."""
        return np.flatnonzero(self.status[:, problem] == "")

    def add(
        self, problem: int, parts: NDArray[np.intp], values: NDArray[np.float64], status: NDArray[np.str_]
    ) -> None:
        """Keep some values."""
        lines = "".join(
            f"{problem},{part},{value!r},{how}\n"
            for part, value, how in zip(parts.tolist(), values.tolist(), status.tolist(), strict=True)
        )
        with keeps_values(self.path), self.path.open("ab") as file:
            file.write((b"" if self._begun else self._header) + lines.encode())
        self._begun = True
        self.values[parts, problem], self.status[parts, problem] = values, status

    def _load(self) -> None:
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        if content[: len(self._header)] != self._header[: len(content)]:
            raise InputError(
                f"{str(self.path)!r} is of other data, options or version: give the same as then, or delete "
                "it to start over"
            )
        whole = content[: content.rfind(b"\n") + 1]
        for line in whole.decode("ascii", "replace").split("\n")[1:-1]:
            self._take(line)
        # What follows the last end of line was cut off when the process was killed.
        os.truncate(self.path, len(whole))
        self._begun = bool(whole)

    def _take(self, line: str) -> None:
        try:
            problem, part, value, status = line.split(",")
            place = int(part), int(problem)
            self.values[place], self.status[place] = float(value), status
        except (ValueError, IndexError):
            raise InputError(f"{str(self.path)!r} is damaged: delete it to start over") from None


@contextmanager
def keeps_values(path: Path) -> Iterator[None]:
    """Turn a failure of the disk into one line; what the partial file has stays."""
    try:
        yield
    except OSError as err:
        raise InputError(
            f"cannot write {str(path)!r}: {err.strerror}; when that is mended the same command with --resume "
            "goes on"
        ) from None

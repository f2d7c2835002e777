"""The file that keeps the values of a long run, so that the run can be interrupted and resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bayes_svm.utils.types import Array, Indices

from .errors import InputError

__all__ = ["Partial", "keeps_values"]


class Partial:
    """The left-out values found so far, in memory and in a file that survives the process.

    The first line of the file holds the fingerprint. Each further line holds one value: problem, part,
    value and status, separated by commas. The file is created together with the first value.

    Parameters
    ----------
    path : Path
        The file. If it exists, its values are read.
    fingerprint : str
        Hash of everything that the values depend on.
    shape : (int, int)
        Number of parts that are left out, and number of problems.

    Attributes
    ----------
    values : ndarray of the given shape
        The left-out values; NaN where they are not known yet.
    status : ndarray of str of the given shape
        How each value was found; the empty string where it is not known yet.

    Raises
    ------
    InputError
        If the file has another fingerprint or is damaged, or if it cannot be read.
    """

    def __init__(self, path: Path, fingerprint: str, shape: tuple[int, int]) -> None:
        self.path = path
        self.values: Array = np.full(shape, np.nan)
        self.status: NDArray[np.str_] = np.full(shape, "", dtype="<U10")
        self._header = json.dumps({"bayes-svm loo": fingerprint}).encode() + b"\n"
        self._begun = False
        with keeps_values(path):
            self._load()

    def missing(self, problem: int) -> Indices:
        """The parts whose values for a problem are not known yet.

        Parameters
        ----------
        problem : int
            Number of the problem.

        Returns
        -------
        ndarray of int
            Numbers of the parts.
        """
        return np.flatnonzero(self.status[:, problem] == "")

    def add(self, problem: int, parts: Indices, values: Array, status: NDArray[np.str_]) -> None:
        """Keep values, in memory and in the file.

        Parameters
        ----------
        problem : int
            Number of the problem.
        parts : ndarray of int
            Numbers of the parts.
        values : ndarray of float
            Their left-out values.
        status : ndarray of str
            How the values were found.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
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
                f"{str(self.path)!r} was written for other data, options or another version: use the same "
                "again, or delete the file to start over"
            )
        whole = content[: content.rfind(b"\n") + 1]
        for line in whole.decode("ascii", "replace").split("\n")[1:-1]:
            self._take(line)
        # A last line without an end is incomplete: the process was killed while it wrote it.
        os.truncate(self.path, len(whole))
        self._begun = bool(whole)

    def _take(self, line: str) -> None:
        """Read one line."""
        try:
            problem, part, value, status = line.split(",")
            place = int(part), int(problem)
            self.values[place], self.status[place] = float(value), status
        except (ValueError, IndexError):
            raise InputError(f"{str(self.path)!r} is damaged: delete it to start over") from None


@contextmanager
def keeps_values(path: Path) -> Iterator[None]:
    """Turn an OSError into an InputError that says how to resume; the partial file stays as it is."""
    try:
        yield
    except OSError as err:
        raise InputError(
            f"cannot write {str(path)!r}: {err.strerror}; solve this and repeat the command with --resume"
        ) from None

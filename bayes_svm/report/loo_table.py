"""Leave-one-out of a table, row by row, as a CSV file: what the command `bayes-svm loo` writes."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .content import as_notes, features_of, memory_advice, refusals
from .data import InputError, Table
from .record import Settings

__all__ = ["check_partial", "partial_of", "write_loo"]


def partial_of(output: Path) -> Path:
    """The file that keeps finished values while the command runs."""
    return output.with_name(output.name + ".partial")


def check_partial(output: Path, resume: bool) -> None:
    """Refuse to write over what an interrupted run has left.

    Raises
    ------
    InputError
    """
    if partial_of(output).exists() and not resume:
        raise InputError(
            f"an interrupted run left {str(partial_of(output))!r}: add --resume to go on, or delete it"
        )


def write_loo(
    table: Table,
    settings: Settings,
    output: Path,
    *,
    version: str,
    n_jobs: int | None = None,
    step: Callable[[str, int], None] = lambda name, count: None,
) -> str:
    """Leave every row out and write the CSV; return lines that say what was found.

    Values already in the partial file are not computed again, and the CSV is the same, byte for
    byte, as that of a run without interruption.

    Parameters
    ----------
    table : Table
    settings : Settings
    output : Path
    version : str
        Of the package, which the partial file must come from too.
    n_jobs : int, optional
    step : callable
        Called with what was done and the number of rows done by it.

    Raises
    ------
    InputError
        If the data are refused, do not fit into memory, or are not those of the partial file.
    """
    from bayes_svm import BayesSVC
    from bayes_svm._threads import one_blas_thread
    from bayes_svm.leave_one_out import warn_if_inexact
    from bayes_svm.solution import solve

    features = features_of(table, settings)
    notes = list(table.notes)
    with as_notes(notes), memory_advice(len(table.labels)), refusals(), one_blas_thread():
        clf = BayesSVC(C=settings.C, kernel=settings.kernel, gamma=settings.gamma, n_jobs=n_jobs)
        machine = clf._machine(features, table.labels, None)
        solutions = [
            solve(machine.problem(k), tol=clf.tol, max_iter=clf.max_iter) for k in range(machine.n_problems)
        ]
        for solution in solutions:
            warn_if_inexact(solution)
        step("fitted", 0)
        shape = (len(table.labels), machine.n_problems)
        with _Partial(
            partial_of(output), _fingerprint(features, table.labels, settings, version), shape
        ) as kept:
            _leave_out(machine, solutions, kept, n_jobs, step)
            text = _csv(clf, machine, solutions, table.labels, kept)
    complete = output.with_name(output.name + ".new")
    complete.write_text(text, encoding="utf-8", newline="")
    os.replace(complete, output)
    partial_of(output).unlink()
    wrong = _error(machine, kept.values)
    found = f"{len(table.labels)} rows left out; leave-one-out error {wrong:.4f}\n"
    return found + "".join(f"Note: {note}\n" for note in dict.fromkeys(notes))


class _Partial:
    """Values found so far, in memory and in a file that survives the process."""

    def __init__(self, path: Path, fingerprint: str, shape: tuple[int, int]) -> None:
        self.path, self.fingerprint = path, fingerprint
        self.values, self.status = np.full(shape, np.nan), np.full(shape, "", dtype="<U10")

    def __enter__(self) -> _Partial:
        lines = self.path.read_text(encoding="utf-8").split("\n")[:-1] if self.path.exists() else []
        if lines and lines[0] != self._header():
            raise InputError(
                f"{str(self.path)!r} is of other data, options or version: give the same, or delete it"
            )
        for line in lines[1:]:  # what follows the last end of line was cut off, and is not there
            problem, row, value, status = line.split(",")
            self.values[int(row), int(problem)] = float(value)
            self.status[int(row), int(problem)] = status
        self._file = self.path.open("w", encoding="utf-8", newline="")
        self._write([self._header(), *lines[1:]])
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def missing(self, problem: int) -> np.ndarray:
        """Rows without a value."""
        return np.flatnonzero(self.status[:, problem] == "")

    def add(self, problem: int, rows: np.ndarray, values: np.ndarray, status: np.ndarray) -> None:
        """Keep some values."""
        self.values[rows, problem], self.status[rows, problem] = values, status
        self._write(
            f"{problem},{row},{value!r},{how}"
            for row, value, how in zip(rows.tolist(), values.tolist(), status.tolist(), strict=True)
        )

    def _header(self) -> str:
        return json.dumps({"bayes-svm loo": self.fingerprint})

    def _write(self, lines: Any) -> None:
        self._file.write("".join(f"{line}\n" for line in lines))
        self._file.flush()


def _fingerprint(features: np.ndarray, labels: np.ndarray, settings: Settings, version: str) -> str:
    """SHA-256 of everything that the values depend on."""
    digest = hashlib.sha256(np.ascontiguousarray(features).tobytes())
    digest.update(json.dumps([labels.tolist(), list(features.shape), repr(settings), version]).encode())
    return digest.hexdigest()


def _leave_out(
    machine: Any, solutions: list[Any], kept: _Partial, n_jobs: int | None, step: Callable[[str, int], None]
) -> None:
    """Find the values that are missing, part after part."""
    from bayes_svm.leave_one_out.readings import Wanted, iterate_rows, plan_of_rows

    for k, solution in enumerate(solutions):
        missing = kept.missing(k)
        step("found before", len(kept.values) - len(missing))
        problem = machine.problem(k)
        plan = plan_of_rows(problem, machine.weight)
        for rows, part in iterate_rows(problem, solution, plan, Wanted(n_jobs=n_jobs), rows=missing):
            new = np.isin(rows, missing)
            kept.add(k, rows[new], part.values[new], part.status[new])
            step("leaving rows out", int(new.sum()))


def _csv(clf: Any, machine: Any, solutions: list[Any], labels: np.ndarray, kept: _Partial) -> str:
    """The table: row, label, values, probabilities, status."""
    from bayes_svm.links import class_log_odds, fit_sigmoids, log_probabilities

    names = [str(name) for name in machine.classes]
    binary = len(names) == 2
    loo = kept.values[:, 0] if binary else kept.values
    links = fit_sigmoids(loo, machine.y, machine.row_bound / clf.C, clf.smoothing)
    probability = np.exp(log_probabilities(class_log_odds(links, loo, None)))
    whole = np.column_stack([machine.values_on_rows(solution) for solution in solutions])
    columns: dict[str, Any] = {"row": np.arange(1, len(labels) + 1), "label": labels}
    endings = [""] if binary else [f"_{name}" for name in names]
    for title, values in (("decision_value", whole), ("loo_value", kept.values)):
        columns.update({title + ending: values[:, k] for k, ending in enumerate(endings)})
    shown = [1] if binary else range(len(names))
    columns.update({f"probability_{names[k]}": probability[:, k] for k in shown})
    columns.update({f"status{ending}": kept.status[:, k] for k, ending in enumerate(endings)})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue()


def _error(machine: Any, values: np.ndarray) -> float:
    """Share of wrong decisions: by the sign for two classes, by the largest value for more."""
    decided = values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1)
    return float(np.mean(decided != machine.y))

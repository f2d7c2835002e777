"""Leave-one-out of a table, row by row, as a CSV file: what the command `bayes-svm loo` writes."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .content import as_notes, features_of, memory_advice, refusals
from .data import InputError, Table
from .partial import Partial, keeps_values
from .record import Settings

__all__ = ["check_partial", "complete_of", "partial_of", "write_loo"]


def partial_of(output: Path) -> Path:
    """The file that keeps finished values while the command runs."""
    return output.with_name(output.name + ".partial")


def complete_of(output: Path) -> Path:
    """The file that becomes the output once it is complete."""
    return output.with_name(output.name + ".partial.csv")


def check_partial(output: Path, resume: bool) -> None:
    """Refuse to write over what an interrupted run has left.

    Raises
    ------
    InputError
    """
    if partial_of(output).exists() and not resume:
        raise InputError(
            f"an interrupted run left {str(partial_of(output))!r}: add --resume to go on, or delete it to "
            "start over"
        )


def write_loo(
    table: Table,
    settings: Settings,
    output: Path,
    *,
    version: str,
    n_jobs: int | None = None,
    show: Callable[[str, int, int], None] = lambda name, done, total: None,
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
    show : callable
        Called with the name of what is done next, the number of values known and that of all.

    Raises
    ------
    InputError
        If the data are refused, do not fit into memory, or are not those of the partial file; if
        the disk fails.
    """
    from bayes_svm import BayesSVC
    from bayes_svm._threads import one_blas_thread

    notes = list(table.notes)
    with as_notes(notes), memory_advice(len(table.labels)), refusals(), one_blas_thread():
        features = features_of(table, settings)
        clf = BayesSVC(C=settings.C, kernel=settings.kernel, gamma=settings.gamma)
        machine = clf._machine(features, table.labels, None)
        found = Partial(
            partial_of(output),
            _fingerprint(features, table.labels, settings, version),
            (len(table.labels), machine.n_problems),
        )
        show("fitting", found.n_known, found.values.size)
        solutions = _solved(clf, machine)
        show("leaving each row out", found.n_known, found.values.size)
        for _ in _parts(machine, solutions, found, n_jobs):
            show("leaving each row out", found.n_known, found.values.size)
        text = _csv(clf, machine, solutions, table.labels, found)
    with keeps_values(output):
        complete_of(output).write_text(text, encoding="utf-8", newline="")
        os.replace(complete_of(output), output)
        partial_of(output).unlink(missing_ok=True)
    wrong = _error(machine, found.values)
    summary = f"{len(table.labels)} rows left out; leave-one-out error {wrong:.4f}\n"
    return summary + "".join(f"note: {note}\n" for note in dict.fromkeys(notes))


def _fingerprint(features: np.ndarray, labels: np.ndarray, settings: Settings, version: str) -> str:
    """SHA-256 of everything that the values depend on."""
    digest = hashlib.sha256(np.ascontiguousarray(features).tobytes())
    digest.update(json.dumps([labels.tolist(), list(features.shape), repr(settings), version]).encode())
    return digest.hexdigest()


def _solved(clf: Any, machine: Any) -> list[Any]:
    from bayes_svm.leave_one_out import warn_if_inexact
    from bayes_svm.solution import solve

    solutions = [
        solve(machine.problem(k), tol=clf.tol, max_iter=clf.max_iter) for k in range(machine.n_problems)
    ]
    for solution in solutions:
        warn_if_inexact(solution)
    return solutions


def _parts(machine: Any, solutions: list[Any], found: Partial, n_jobs: int | None) -> Iterator[None]:
    """Find the values that are missing; yields after each part of them."""
    from bayes_svm.leave_one_out.readings import Wanted, iterate_rows, plan_of_rows

    for k, solution in enumerate(solutions):
        problem = machine.problem(k)
        plan, wanted = plan_of_rows(problem, machine.weight), Wanted(n_jobs=n_jobs)
        # A part may hold values that are known already: they are found again to the last bit.
        for rows, part in iterate_rows(problem, solution, plan, wanted, rows=found.missing(k)):
            found.add(k, rows, part.values, part.status)
            yield


def _csv(clf: Any, machine: Any, solutions: list[Any], labels: np.ndarray, found: Partial) -> str:
    """The table: row, label, values, probabilities, status."""
    from bayes_svm.links import class_log_odds, fit_links, log_probabilities

    names = [str(name) for name in machine.classes]
    binary = len(names) == 2
    loo = found.values[:, 0] if binary else found.values
    left_out = clf._left_out_uncertainty(machine, solutions)
    links = fit_links(clf.link, loo, machine.y, machine.link_weight, clf.smoothing, left_out)
    probability = np.exp(log_probabilities(class_log_odds(links, loo, left_out)))
    whole = np.column_stack([machine.values_on_rows(solution) for solution in solutions])
    columns: dict[str, Any] = {"row": np.arange(1, len(labels) + 1), "label": labels}
    endings = [""] if binary else [f"_{name}" for name in names]
    for title, values in (("decision_value", whole), ("loo_value", found.values)):
        columns.update({title + ending: values[:, k] for k, ending in enumerate(endings)})
    shown = [1] if binary else range(len(names))
    columns.update({f"probability_{names[k]}": probability[:, k] for k in shown})
    columns.update({f"status{ending}": found.status[:, k] for k, ending in enumerate(endings)})
    text = io.StringIO()
    # Python's writer quotes a carriage return only where lines end with one; readers end lines there.
    returns = any("\r" in name for name in names)
    writer = csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    )
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue()


def _error(machine: Any, values: np.ndarray) -> float:
    """Share of wrong decisions: by the sign for two classes, by the largest value for more."""
    decided = values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1)
    return float(np.mean(decided != machine.y))

"""The CSV file of left-out values that the command `bayes-svm loo` writes."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from bayes_svm.classifiers.resumable import fit_resumably

from .csv_text import csv_text
from .errors import InputError
from .model import features_of, leaving_of, one_machine, weights_of
from .partial import Partial, keeps_values
from .record import Settings
from .refusals import as_notes, memory_advice, refusals
from .tables.table import Table

__all__ = ["check_partial", "complete_of", "partial_of", "write_loo"]


def partial_of(output: Path) -> Path:
    """Name of the file that keeps finished values while the command runs."""
    return output.with_name(output.name + ".partial")


def complete_of(output: Path) -> Path:
    """Name of the file that is renamed to the output once it is complete."""
    return output.with_name(output.name + ".partial.csv")


def check_partial(output: Path, resume: bool) -> None:
    """Make sure that the values of an interrupted run are not overwritten.

    Parameters
    ----------
    output : Path
        The file to write.
    resume : bool
        Whether the user asked to continue an interrupted run.

    Raises
    ------
    InputError
        If there is an interrupted run that the user did not ask to continue.
    """
    if partial_of(output).exists() and not resume:
        raise InputError(
            f"an interrupted run left {str(partial_of(output))!r}: add --resume to continue, or delete it to "
            "start over"
        )


def write_loo(
    table: Table,
    settings: Settings,
    output: Path,
    *,
    version: str,
    n_jobs: int | None = None,
) -> str:
    """Leave out every row, one stratum at a time, and write the CSV file.

    Values that are in the partial file already are not computed again. The CSV file is the same, byte
    for byte, as that of a run without interruption.

    Parameters
    ----------
    table : Table
        The data.
    settings : Settings
        What the user chose.
    output : Path
        The file to write.
    version : str
        Version of the package. The partial file must be from the same version.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    str
        A summary and the notes, one line each.

    Raises
    ------
    InputError
        If the model cannot be fitted to the data, if memory runs out, if the partial file is from
        another run, or if a file cannot be written.
    """
    notes = list(table.notes)
    with as_notes(notes), memory_advice(len(table.labels)), refusals():
        _, features = features_of(table, settings)
        fingerprint = _fingerprint(features, table, settings, version)

        def open_store(shape: tuple[int, int]) -> Partial:
            return Partial(partial_of(output), fingerprint, shape)

        clf = one_machine(settings, table).set_params(n_jobs=n_jobs)
        fit_resumably(clf, features, table.labels, open_store, weights_of(table, notes), leaving_of(table))
        text = _csv(clf, table)
    with keeps_values(output):
        complete_of(output).write_text(text, encoding="utf-8", newline="")
        os.replace(complete_of(output), output)
        partial_of(output).unlink(missing_ok=True)
    together = "strata" if table.groups is None else "groups"
    summary = f"{len(table.labels)} rows left out, by {together}; error {clf.left_out_.error:.4f}\n"
    return summary + "".join(f"note: {note}\n" for note in dict.fromkeys(notes))


def _fingerprint(features: np.ndarray, table: Table, settings: Settings, version: str) -> str:
    """SHA-256 hash of everything that the values depend on."""
    digest = hashlib.sha256(np.ascontiguousarray(features).tobytes())
    of_rows = [
        None if values is None else values.tolist()
        for values in (table.labels, leaving_of(table), table.weights)
    ]
    digest.update(json.dumps([of_rows, list(features.shape), repr(settings), version]).encode())
    return digest.hexdigest()


def _csv(clf: Any, table: Table) -> str:
    """The text of the CSV file."""
    labels = table.labels
    left_out, names = clf.left_out_, [str(name) for name in clf.classes_]
    binary = len(names) == 2
    rows = np.arange(1, len(labels) + 1) if table.identifiers is None else table.identifiers
    columns: dict[str, Any] = {"row": rows, "label": labels}
    endings = [""] if binary else [f"_{name}" for name in names]
    shown = [int(clf.classes_[0] != table.positive)] if binary else range(len(names))
    sign = -1.0 if binary and shown == [0] else 1.0
    for title, values in (
        ("decision_value", left_out.train_decision_values),
        ("left_out_value", left_out.decision_values),
    ):
        per_class = sign * values.reshape(len(labels), -1)
        columns.update({title + ending: per_class[:, k] for k, ending in enumerate(endings)})
    columns.update({f"probability_{names[k]}": clf.left_out_proba_[:, k] for k in shown})
    columns["predicted"] = left_out.predictions
    status = left_out.status.reshape(len(labels), -1)
    columns.update({f"status{ending}": status[:, k] for k, ending in enumerate(endings)})
    return csv_text({name: column.tolist() for name, column in columns.items()})

"""Runs of `bayes-svm loo` in the working folder, and their interruption."""

import csv
import importlib
from pathlib import Path

from bayes_svm.report.cli import main

readings = importlib.import_module("bayes_svm.leave_one_out.methods")
api = importlib.import_module("bayes_svm.leave_one_out.api")

PARTIAL = Path("bayes-svm-loo.csv.partial")
OUTPUT = Path("bayes-svm-loo.csv")


def run(*options):
    return main(["loo", "data.csv", "--target", "kind", *options])


def written(name="bayes-svm-loo.csv"):
    with open(name, newline="") as file:
        return list(csv.DictReader(file))


def n_kept():
    """Number of values in the partial file, which does not exist before the first value."""
    return PARTIAL.read_text().count("\n") - 1 if PARTIAL.exists() else 0


def interrupted_after(parts, monkeypatch):
    """Let the next run stop, as if by Ctrl-C, after some parts of at most seven cases."""
    monkeypatch.setattr(readings, "SECTION", 7)
    original = readings.iterate_parts

    def stopping(*arguments, **options):
        for count, part in enumerate(original(*arguments, **options)):
            if count == parts:
                raise KeyboardInterrupt
            yield part

    monkeypatch.setattr(api, "iterate_parts", stopping)
    return original


def refused(capsys, *options):
    assert run(*options) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err

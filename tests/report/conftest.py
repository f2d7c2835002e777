"""Reports of few rows with awkward names, and a table to write."""

import csv

import numpy as np
import pytest


@pytest.fixture
def report():
    """Return a function that makes a report of a few rows, with awkward names of columns and classes."""

    def make(labels=("<script>alert(1)</script>", "well"), n=40, name="data.csv", more=None, **settings):
        import pandas as pd

        from bayes_svm.report.content import make_report
        from bayes_svm.report.model import fit_table
        from bayes_svm.report.record import Settings
        from bayes_svm.report.tables.table import Table

        random = np.random.default_rng(0)
        y = np.arange(n) % len(labels)
        frame = pd.DataFrame(
            {
                '"><img onerror=alert(2)>': y + 0.4 * random.normal(size=n),
                "colour": np.where(y > 0, "<i>", "blue"),
            }
        )
        table = Table(name, "di'ag\"nosis<", frame, np.array(labels)[y], ("note <1>",), **(more or {}))
        return make_report(fit_table(table, Settings(**{"quick": True, **settings})))

    return make


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Return a function that writes a CSV with any number of classes and changes to its folder."""
    monkeypatch.chdir(tmp_path)

    def write(n_classes=2, names="abc", missing=False, rows=30):
        random = np.random.default_rng(0)
        lines = [["size", "width", "colour", "kind"]]
        for k in range(rows * n_classes):
            label = k % n_classes
            size = "" if missing and k == 5 else f"{(label == 1) + 0.7 * random.normal():.3f}"
            width = f"{(label == 2) + 0.7 * random.normal():.3f}"
            colour = "red" if random.random() < 0.5 else "blue"
            lines.append([size, width, colour, names[label]])
        with open("data.csv", "w", newline="") as file:
            csv.writer(file).writerows(lines)

    return write

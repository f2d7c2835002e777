"""Ten messy tables: each ends in a right answer, or in one line that says what to do."""

import json
from pathlib import Path

import pytest

from bayes_svm.report.cli import main

pytest.importorskip("pandas")
TABLES = Path(__file__).parent


@pytest.fixture
def report(tmp_path, monkeypatch, capsys):
    """Return a function that makes the report of a table; it returns its columns, its error and the notes."""
    monkeypatch.chdir(tmp_path)

    def make(name, target, *options):
        argv = ["report", str(TABLES / name), "--target", target, "--quick", "--output", "r.json", *options]
        assert main(argv) == 0
        out, err = capsys.readouterr()
        assert err == ""
        data = json.loads((tmp_path / "r.json").read_text())
        notes = [line.removeprefix("note: ") for line in out.splitlines() if line.startswith("note: ")]
        return data["source"]["n_columns"], data["performance"]["error"]["value"], notes

    return make


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Return a function that runs a report that must fail, and returns the line."""
    monkeypatch.chdir(tmp_path)

    def run(name, target, *options):
        assert main(["report", str(TABLES / name), "--target", target, "--quick", *options]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        return err

    return run


def said(notes, *texts):
    """Whether each text begins one of the notes."""
    return [text for text in texts if not any(note.startswith(text) for note in notes)] == []


def test_clinic(report):
    n_columns, error, notes = report("clinic.csv", "Befund")
    assert n_columns == 4
    assert error < 0.25
    assert said(
        notes,
        "The encoding is not UTF-8 (line 1); it was read as Windows-1252.",
        "Cells are separated by ';'",
        "'Patient': left out: a different text in every row",
        "'Größe' (60), 'Blutdruck' (60): decimal commas",
        "'Aufnahme': dates such as '10.06.2023' read as days",
    )
    assert len(notes) == 5


def test_noise_sorted_by_class(report):
    n_columns, error, notes = report("sorted_noise.csv", "group")
    assert n_columns == 3
    assert 0.35 < error < 0.65
    assert said(notes, "'sample_no': left out: it follows the order of the file, which is sorted by class")
    # With the number of the sample the noise would seem easy to tell.
    _, told, _ = report("sorted_noise.csv", "group", "--keep", "sample_no")
    assert told < 0.1


def test_census(report, refused):
    line = refused("census.csv", "income")
    assert "missing values in 'workclass' (7), 'hours' (2) ('?' read as missing)" in line
    assert "add --impute" in line
    n_columns, error, notes = report("census.csv", "income", "--impute")
    assert n_columns == 4
    assert error < 0.4
    assert said(
        notes,
        "'workclass' (7), 'hours' (2): '?' read as missing (--keep COL takes it as a value)",
        "'education' (28): 'none' kept as a value",
        "Missing values filled in with the median or most frequent value of their column: 9.",
    )


def test_water(report):
    n_columns, error, notes = report("water.csv", "contaminated")
    assert n_columns == 3
    assert error < 0.2
    assert said(
        notes,
        "'well': left out: a different text in every row",
        "'lead' (15): a limit such as '<0.01' read as the limit itself",
    )


def test_sensors(report, refused):
    assert "'temperature' (5), 'humidity' (3) ('-999' read as missing)" in refused("sensors.csv", "fault")
    n_columns, error, notes = report("sensors.csv", "fault", "--impute")
    assert n_columns == 3
    assert error < 0.3
    assert said(notes, "'temperature' (5), 'humidity' (3): '-999' read as missing")


def test_gait(report):
    n_columns, alone, notes = report("gait.csv", "disease")
    assert n_columns == 3
    assert said(
        notes,
        "'subject': left out: named like an identifier",
        "'subject': its values repeat like those of a subject (--groups subject leaves each out whole)",
    )
    _, together, notes = report("gait.csv", "disease", "--groups", "subject")
    assert said(notes, "'subject': groups the rows (--groups).")
    # A subject's other rows give it away.
    assert together > alone


def test_loans(report):
    n_columns, error, notes = report("loans.csv", "decision")
    assert n_columns == 2
    assert 0.1 < error < 0.4
    assert said(
        notes,
        "'decision' (5): 'approved' and 'APPROVED' and 'Approved' read as one value",
        "'decision' (5): 'rejected' and 'Rejected' read as one value",
        "'loan_id': left out: named like an identifier",
        "'status_code': left out: a copy of the target",
        "'amount' (80): separators of thousands, as in '11,450.77', left out",
        "'purpose' (18): 'home' and 'Home' read as one value",
    )


def test_tickets(report, tmp_path):
    n_columns, error, _ = report("tickets.csv", "escalated")
    assert n_columns == 3
    assert error < 0.4
    assert main(["loo", str(TABLES / "tickets.csv"), "--target", "escalated", "--id", "channel"]) == 0
    rows = (tmp_path / "bayes-svm-loo.csv").read_text().splitlines()
    assert any(row.startswith("'=mail,") for row in rows)
    assert not any(row.startswith(("=", "@")) for row in rows)


def test_survey(report):
    n_columns, error, notes = report("survey.txt", "ответ")
    assert n_columns == 3
    assert error < 0.4
    assert said(
        notes,
        "The encoding is UTF-16.",
        "Cells are separated by tabs",
        "'№': left out: consecutive whole numbers",
        "'доход' (60): decimal commas",
    )


def test_lab(report, refused):
    line = refused("lab.csv", "response")
    assert "column 'cells' has numbers such as '8,803': say what the comma means with --decimal ," in line
    n_columns, _, notes = report("lab.csv", "response", "--decimal", ",")
    assert n_columns == 2
    assert said(notes, "'visit': left out: dates such as")

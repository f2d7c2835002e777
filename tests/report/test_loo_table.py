"""`bayes-svm loo`: the same numbers as the estimator, also after an interruption."""

import csv
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bayes_svm import BayesSVC
from bayes_svm.cli import main
from bayes_svm.report.content import features_of
from bayes_svm.report.data import read_table
from bayes_svm.report.record import Settings

readings = importlib.import_module("bayes_svm.leave_one_out.readings")


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


def run(*options):
    return main(["loo", "data.csv", "--target", "kind", *options])


def written(name="bayes-svm-loo.csv"):
    with open(name, newline="") as file:
        return list(csv.DictReader(file))


def fitted(**parameters):
    data = read_table("data.csv", "kind")
    features = features_of(data, Settings(1.0, "rbf", "scale", False))
    return data.labels, features, BayesSVC(**parameters).fit(features, data.labels)


def interrupted_after(parts, monkeypatch):
    """Let the next run stop as by Ctrl-C after some parts of at most seven cases."""
    monkeypatch.setattr(readings, "PART", 7)
    original = readings.iterate_rows

    def stopping(*arguments, **options):
        for count, part in enumerate(original(*arguments, **options)):
            if count == parts:
                raise KeyboardInterrupt
            yield part

    monkeypatch.setattr(readings, "iterate_rows", stopping)
    return original


def test_two_classes_as_the_estimator_has_them(table, capsys):
    table()
    assert run() == 0
    labels, _, clf = fitted()
    rows = written()
    assert [row["label"] for row in rows] == labels.tolist()
    assert [int(row["row"]) for row in rows] == list(range(1, 61))
    for name, values in (
        ("decision_value", clf.leave_one_out_.train_decision_values),
        ("loo_value", clf.loo_decision_values_),
        ("probability_b", clf.loo_proba_[:, 1]),
    ):
        np.testing.assert_array_equal([float(row[name]) for row in rows], values)
    assert [row["status"] for row in rows] == clf.leave_one_out_.status.tolist()
    assert f"leave-one-out error {clf.leave_one_out_.error:.4f}" in capsys.readouterr().out
    assert not Path("bayes-svm-loo.csv.partial").exists()


def test_several_classes_have_columns_of_their_own(table):
    table(n_classes=3, names=["x, y", 'say "z"', "ü"])
    assert run("--output", "out.csv", "--C", "2", "--kernel", "linear", "--n-jobs", "2") == 0
    labels, _, clf = fitted(C=2.0, kernel="linear")
    rows = written("out.csv")
    assert [row["label"] for row in rows] == labels.tolist()
    for k, name in enumerate(clf.classes_):
        for title, values in (
            ("decision_value", clf.leave_one_out_.train_decision_values),
            ("loo_value", clf.loo_decision_values_),
            ("probability", clf.loo_proba_),
        ):
            np.testing.assert_array_equal([float(row[f"{title}_{name}"]) for row in rows], values[:, k])
        assert [row[f"status_{name}"] for row in rows] == clf.leave_one_out_.status[:, k].tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("parts", [0, 1, 4])
def test_an_interrupted_run_goes_on_to_the_same_bytes(table, monkeypatch, capsys, n_classes, parts):
    table(n_classes)
    monkeypatch.setattr(readings, "PART", 7)
    assert run("--output", "whole.csv") == 0
    original = interrupted_after(parts, monkeypatch)
    assert run() == 130
    assert "--resume goes on" in capsys.readouterr().err
    kept = Path("bayes-svm-loo.csv.partial").read_text().count("\n") - 1
    assert (kept > 0) == (parts > 0)
    asked = []

    def counted(*arguments, **options):
        for rows, part in original(*arguments, **options):
            asked.extend(rows.tolist())
            yield rows, part

    monkeypatch.setattr(readings, "iterate_rows", counted)
    assert run("--resume") == 0
    assert Path("bayes-svm-loo.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert len(asked) == 30 * n_classes * (1 if n_classes == 2 else n_classes) - kept


def test_a_line_that_was_cut_off_is_found_again(table, monkeypatch):
    table()
    monkeypatch.setattr(readings, "PART", 7)
    assert run("--output", "whole.csv") == 0
    original = interrupted_after(3, monkeypatch)
    assert run() == 130
    partial = Path("bayes-svm-loo.csv.partial")
    partial.write_text(partial.read_text()[:-9])
    monkeypatch.setattr(readings, "iterate_rows", original)
    assert run("--resume") == 0
    assert Path("bayes-svm-loo.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_a_process_that_is_killed_loses_no_finished_value(table):
    table(rows=40)
    assert run("--output", "whole.csv") == 0
    slow = (
        "import importlib, time\n"
        "readings = importlib.import_module('bayes_svm.leave_one_out.readings')\n"
        "from bayes_svm.cli import main\n"
        "original = readings.iterate_rows\n"
        "def slowly(*a, **o):\n"
        "    for part in original(*a, **o):\n"
        "        yield part\n"
        "        time.sleep(60)\n"
        "readings.iterate_rows = slowly\n"
        "main(['loo', 'data.csv', '--target', 'kind'])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", slow])
    partial = Path("bayes-svm-loo.csv.partial")
    deadline = time.monotonic() + 60
    while not (partial.exists() and partial.read_text().count("\n") > 1) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert partial.read_text().count("\n") > 1
    assert not Path("bayes-svm-loo.csv").exists()
    assert run("--resume") == 0
    assert Path("bayes-svm-loo.csv").read_bytes() == Path("whole.csv").read_bytes()


def refused(capsys, *options):
    assert run(*options) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_what_an_interrupted_run_left_is_not_written_over(table, monkeypatch, capsys):
    table()
    interrupted_after(2, monkeypatch)
    run()
    capsys.readouterr()
    before = Path("bayes-svm-loo.csv.partial").read_bytes()
    assert "add --resume to go on, or delete it" in refused(capsys)
    assert "is of other data, options or version" in refused(capsys, "--resume", "--C", "3")
    assert Path("bayes-svm-loo.csv.partial").read_bytes() == before


def test_to_resume_nothing_is_to_begin(table):
    table()
    assert run("--resume") == 0
    assert len(written()) == 60


def test_missing_values_are_refused_or_filled_in(table, capsys):
    table(missing=True)
    assert "--impute" in refused(capsys)
    assert run("--impute") == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--n-jobs", "0"], "0 threads do nothing"),
        (["--n-jobs", "two"], "'two' is not a whole number"),
        (["--C", "-1"], "is not a number above 0"),
        (["--output", "data.csv"], "is the data itself"),
        (["--output", "nowhere/out.csv"], "no such directory"),
    ],
)
def test_bad_options_are_refused_in_one_line(table, capsys, options, message):
    table()
    assert message in refused(capsys, *options)
    assert os.listdir() == ["data.csv"]


def test_data_the_model_refuses_are_refused(table, capsys):
    table()
    Path("data.csv").write_text("size,kind\n1,a\n2,a\n3,b\n")
    assert "classes with one row only: 'b'" in refused(capsys)


def test_a_warning_is_a_note(table, capsys):
    table()
    random = np.random.default_rng(1)
    rows = "".join(f"{random.normal():.3f},{'ab'[k % 2]}\n" for k in range(40))
    Path("data.csv").write_text("size,kind\n" + rows)
    assert run("--C", "1e-4") == 0
    assert "Note: The decision values do not separate the classes" in capsys.readouterr().out

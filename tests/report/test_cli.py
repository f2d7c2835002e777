import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from _progress import Terminal, lines_of
from bayes_svm.report.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table(here):
    """Return a function that writes a CSV of numbers and a text column for any number of classes."""

    def write(n_classes=2, missing=False, name="data.csv"):
        random = np.random.default_rng(0)
        y = np.arange(20 * n_classes) % n_classes
        lines = ["size,colour,kind"]
        for k, label in enumerate(y):
            size = "" if missing and k == 3 else f"{2 * label + random.normal():.4f}"
            lines.append(f"{size},{'red' if random.random() < 0.5 else 'blue'},{'abcdef'[label]}")
        (here / name).write_text("\n".join(lines))
        return name

    return write


def refused(capsys, *argv):
    """Run the command, which must fail with one line; return that line."""
    assert main([str(word) for word in argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("bayes-svm: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    return err


def raising(monkeypatch, error):
    class Broken:
        def __init__(self, **parameters):
            pass

        def fit(self, X, y, **options):
            raise error

    monkeypatch.setattr("bayes_svm.report.model.BayesSVC", Broken)
    monkeypatch.setattr("bayes_svm.report.model.BayesSVCSearch", lambda machine, grid, combine: machine)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "say what to do, for example: bayes-svm report"),
        (["reprot"], "invalid choice: 'reprot'"),
        (["report", "--C", "-1"], "--C: -1 is not a number above 0"),
        (["report", "--C", "0"], "--C: 0 is not a number above 0"),
        (["report", "--C", "nan"], "--C: nan is not a number above 0"),
        (["report", "--C", "ten"], "--C: 'ten' is not a number"),
        (["report", "--kernel", "rbff"], "argument --kernel: invalid choice: 'rbff'"),
        (["report", "--gamma", "wide"], "--gamma: 'wide' is not a number"),
        (
            ["report", "--kernel", "linear", "--gamma", "2"],
            "the linear kernel has no gamma: leave out --gamma",
        ),
        (["report", "--gamma", "-2"], "--gamma: -2 is not a number above 0"),
        (["report", "--format", "pdf"], "argument --format: invalid choice: 'pdf'"),
        (["report", "--colour"], "unrecognized arguments: --colour"),
        (["report", "data.csv"], "give both a CSV file and --target COL"),
        (["report", "--target", "y"], "give both a CSV file and --target COL"),
        (["report", "nothing.csv", "--target", "y"], "no such file: 'nothing.csv'"),
        (
            ["report", "--output", "no/where.html"],
            "no such directory: 'no'; create it or choose another --output",
        ),
        (["report", "--output", "a" * 300], "File name too long; choose another --output"),
        (["report", "a" * 300, "--target", "y"], "cannot read 'aaa"),
        (["report", "--output", "."], "is a directory; give --output a file name"),
        (["report", "--output", "-"], "--output - is no file; give --output a file name"),
    ],
)
def test_wrong_options(here, capsys, options, message):
    assert message in refused(capsys, *options)


def test_wrong_table(table, capsys):
    assert "has no column 'kin'; choose --target from its columns: 'kind'" in refused(
        capsys, "report", table(), "--target", "kin"
    )


def test_missing_values_name_their_columns(table, capsys):
    assert "missing values in 'size' (1)" in refused(
        capsys, "report", table(missing=True), "--target", "kind"
    )


def test_unwritable_output(here, capsys, monkeypatch):
    # The tests may be run by root, who may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "permission denied; choose another --output" in refused(capsys, "report")


def test_the_input_is_not_overwritten(table, capsys):
    name = table()
    assert "is the data itself" in refused(
        capsys, "report", name, "--target", "kind", "--output", f"./{name}"
    )


def test_missing_template_engine(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "this command needs jinja2: run pip install 'bayes-svm[report]'" in refused(capsys, "report")


def test_missing_pandas(table, capsys, monkeypatch):
    name = table()
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "this command needs pandas: run pip install 'bayes-svm[report]'" in refused(
        capsys, "report", name, "--target", "kind"
    )


def test_refusals_of_the_fit_are_one_line(table, capsys, monkeypatch):
    raising(monkeypatch, ValueError("kernel 'poly'\nhas infinite values"))
    line = refused(capsys, "report", table(), "--target", "kind")
    assert "the model could not be fitted: kernel 'poly' has infinite values" in line


def test_too_large_for_memory(table, capsys, monkeypatch):
    raising(monkeypatch, MemoryError())
    assert "40 rows need about 0.0 GB per kernel matrix; use fewer rows" in refused(
        capsys, "report", table(), "--target", "kind"
    )


def test_bugs_are_not_hidden(table, monkeypatch):
    raising(monkeypatch, TypeError("a bug"))
    with pytest.raises(TypeError, match="a bug"):
        main(["report", table(), "--target", "kind"])


def test_numbers_too_large_to_scale(here, capsys):
    (here / "d.csv").write_text("x,y\n1e308,a\n-1e308,b\n1.5e308,a\n1,b\n")
    assert "numbers that are infinite or beyond 1e+150 in 'x' (3)" in refused(
        capsys, "report", "d.csv", "--target", "y"
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_report_of_a_file(table, here, capsys, n_classes):
    assert main(["report", table(n_classes), "--target", "kind", "--C", "2", "--gamma", "0.5"]) == 0
    out, err = capsys.readouterr()
    # There is no progress bar in a pipe.
    assert err == ""
    assert f"data.csv: {20 * n_classes} rows, 2 columns; a 20, b 20" in out
    assert "exact leave-one-out" in out
    assert out.endswith("Written: bayes-svm-report.html\n")
    assert "exact leave-one-out" in (here / "bayes-svm-report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [["--format", "json"], ["--output", "r.json"]])
def test_json_report(table, here, capsys, options):
    name = table(missing=True)
    assert main(["report", name, "--target", "kind", "--impute", "--kernel", "linear", *options]) == 0
    path = here / ("r.json" if "--output" in options else "bayes-svm-report.json")
    data = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert {one["gamma_value"] for one in data["model"]["members"]} == {None}
    assert data["source"]["n_rows"] == 40
    assert "filled in" in data["source"]["notes"][0]
    assert data["performance"]["name"] == "left out"
    assert [row["name"] for row in data["papers"]] == [
        "training",
        "xi-alpha",
        "span",
        "exact leave-one-out",
    ]


@pytest.mark.parametrize(("stream", "n_shown"), [(Terminal, 1), (io.StringIO, 0)])
def test_progress_on_a_terminal_only(table, monkeypatch, stream, n_shown):
    lines = lines_of(monkeypatch)
    monkeypatch.setattr(sys, "stderr", stream())
    assert main(["report", table(), "--target", "kind", "--quick"]) == 0
    for text in ("reading the table", "fitting: solving", "fitting: leaving out", "estimating the error"):
        assert any(line.startswith(text) for line in lines) == n_shown


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("bayes-svm ")
    with pytest.raises(SystemExit) as caught:
        main(["report", "--help"])
    assert caught.value.code == 0
    assert "--target COL" in capsys.readouterr().out


def test_the_package_as_a_command(table):
    command = [sys.executable, "-m", "bayes_svm", "loo", table(), "--target", "kin"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("bayes-svm: ")
    assert "has no column 'kin'" in done.stderr


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from bayes_svm.report.cli import main; main(['--version']);"
        "sys.exit(bool({'jinja2', 'pandas', 'statsmodels'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0
    )


def test_any_name_can_be_printed(table, monkeypatch):
    name = table(name="dätä.csv")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["report", name, "--target", "kind"]) == 0
    assert b"d?t?.csv: 40 rows" in stream.buffer.getvalue()

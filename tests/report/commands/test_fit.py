"""`bayes-svm fit`: the report, and a model that can be used again."""

import json
import sys

import numpy as np
import pytest

from bayes_svm.report.cli import main
from bayes_svm.report.saved import load_model

pytest.importorskip("pandas")
pytest.importorskip("skops.io", reason="skops is not installed")


def test_the_report_and_the_model_are_written(model, here):
    out = model("--output", "r.json", "--positive", "fit", "--id", "who", "--C", "3").out
    assert out.endswith("Written: r.json\nWritten: m.skops\n")
    report = json.loads((here / "r.json").read_text())
    assert report["positive"] == "fit"
    saved, notes = load_model("m.skops")
    assert notes == []
    assert (saved.target, saved.positive, saved.impute, saved.threshold) == ("kind", "fit", False, None)
    assert [one.name for one in saved.columns] == ["size", "width", "colour"]
    assert saved.columns[2].values == ("blue", "red")
    assert saved.identifiers[0] == "p000"
    assert saved.about["settings"]["C"] == 3.0
    assert saved.about["error"] == pytest.approx(report["performance"]["error"]["value"])
    assert saved.about["fingerprint"] == load_model("m.skops")[0].about["fingerprint"]
    assert len(saved.about["fingerprint"]) == 64


def test_a_mixture_is_saved_by_default(table):
    table()
    assert main(["fit", "data.csv", "--target", "kind", "--save", "m.skops", "--output", "r.html"]) == 0
    saved, _ = load_model("m.skops")
    assert saved.machine.C in {one.C for one in saved.estimator.estimators_}
    assert saved.approximate == "approximate: the preprocessing and the choice saw these rows"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "the following arguments are required: --save"),
        (["--save", "no/m.skops"], "no such directory: 'no'; create it or choose another --save"),
        (["--save", "data.csv"], "--save 'data.csv' is the data itself"),
        (["--save", "m", "--output", "m"], "--save and --output are the same file"),
        (["--save", "m", "--max-risk", "0.1", "--recall", "0.9"], "give one of them"),
        (["--save", "m", "--positive", "sick"], "--positive 'sick' is no class of 'kind'"),
        (["--save", "m", "--class-weight", "sick=3"], "--class-weight names 'sick', which is no class"),
        (["--save", "m", "--class-weight", "sick"], "is neither balanced nor of the form CLASS=COST"),
        (["--save", "m", "--recall", "0.9", "--kernel", "linear", "--C", "1e308"], "nearer to 1"),
    ],
)
def test_what_cannot_be_is_refused(table, refused, here, options, message):
    table()
    assert message in refused("fit", "data.csv", "--target", "kind", *options)
    assert not list(here.glob("m*"))


def test_a_threshold_out_of_reach_leaves_the_report_that_says_so(refused, here):
    random = np.random.default_rng(0)
    lines = [f"{random.normal():.3f},{'ab'[k % 2]}" for k in range(40)]
    (here / "noise.csv").write_text("\n".join(["x,y", *lines]) + "\n", encoding="utf-8")
    line = refused("fit", "noise.csv", "--target", "y", "--save", "m.skops", "--quick", "--precision", "0.99")
    assert "no model is saved. No threshold shows precision >= 0.99: the most that one shows is " in line
    assert "; ask for less, or for no threshold" in line
    assert line.rstrip().endswith("(the report is written: 'bayes-svm-report.html')")
    assert (here / "bayes-svm-report.html").exists()
    assert not (here / "m.skops").exists()


def test_missing_skops(table, refused, monkeypatch):
    table()
    monkeypatch.setitem(sys.modules, "skops.io", None)
    line = refused("fit", "data.csv", "--target", "kind", "--save", "m.skops")
    assert "this command needs skops.io: run pip install 'bayes-svm[report]'" in line


def test_an_interruption_leaves_no_files(table, here, monkeypatch, capsys):
    def stopped(table, settings):
        raise KeyboardInterrupt

    table()
    monkeypatch.setattr("bayes_svm.report.model.fit_table", stopped)
    before = sorted(here.iterdir())
    assert main(["fit", "data.csv", "--target", "kind", "--save", "m.skops"]) == 130
    assert capsys.readouterr().err == "bayes-svm: interrupted\n"
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    "option",
    [["--positive", "benign"], ["--drop", "x"], ["--missing", "0"], ["--decimal", ","], ["--impute"]],
)
def test_without_a_table_there_is_nothing_to_say_about_columns(refused, here, option):
    assert "give a CSV file for options on columns" in refused("report", *option)


@pytest.mark.parametrize("mark", ["---", "--", "-neg"])
def test_a_text_that_begins_with_a_hyphen_may_follow_an_option(here, capsys, mark):
    rows = "".join(f"{mark if k == 3 else k * k % 31},{k % 7},{'pq'[k % 2]}\n" for k in range(40))
    (here / "data.csv").write_text("a,b,y\n" + rows)
    assert main(["report", "data.csv", "--target", "y", "--quick", "--impute", "--missing", mark]) == 0
    assert "Missing values filled in" in capsys.readouterr().out


def test_the_report_names_the_rows_of_the_file(here, capsys):
    random = np.random.default_rng(0)
    values = random.normal(size=40)
    labels = np.where(np.arange(40) % 2, "p", "q")
    lines = [f"{one + 3 * (label == 'p'):.2f},{label}" for one, label in zip(values, labels, strict=True)]
    lines[30] = "-9,p"
    (here / "data.csv").write_text("a,y\n,\n\n" + "\n".join(lines) + "\n")
    assert main(["report", "data.csv", "--target", "y", "--quick"]) == 0
    assert "most surprising rows: 33," in capsys.readouterr().out


def test_a_model_with_per_cent_signs_as_they_are_predicts_its_own_table(here, capsys):
    rows = "".join(f"{3.5 + k % 9}{'' if k == 5 else '%'},{'pq'[k % 2]}\n" for k in range(40))
    (here / "data.csv").write_text("a,y\n" + rows)
    options = ["--target", "y", "--quick", "--save", "m.skops"]
    assert main(["fit", "data.csv", *options]) == 2
    assert "or take them as they are with --keep a" in capsys.readouterr().err
    assert main(["fit", "data.csv", *options, "--keep", "a"]) == 0
    assert main(["predict", "data.csv", "--model", "m.skops"]) == 0

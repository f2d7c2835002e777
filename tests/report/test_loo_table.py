"""`bayes-svm loo` finds the same numbers as the estimator, also after an interruption."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from _loo_command import OUTPUT, PARTIAL, api, interrupted_after, n_kept, readings, refused, run, written
from _progress import Terminal, lines_of
from bayes_svm import BayesSVC
from bayes_svm.report.cli import main
from bayes_svm.report.model import features_of
from bayes_svm.report.record import Settings
from bayes_svm.report.tables.options import Options
from bayes_svm.report.tables.reading import read_table


def fitted(**parameters):
    data = read_table("data.csv", "kind")
    _, features = features_of(data, Settings(1.0, "rbf", "scale", False))
    return data.labels, features, BayesSVC(**parameters).fit(features, data.labels)


def test_two_classes_as_the_estimator_has_them(table, capsys):
    table()
    assert run() == 0
    labels, _, clf = fitted()
    rows = written()
    assert [row["label"] for row in rows] == labels.tolist()
    assert [int(row["row"]) for row in rows] == list(range(1, 61))
    for name, values in (
        ("decision_value", clf.left_out_.train_decision_values),
        ("left_out_value", clf.left_out_decision_values_),
        ("probability_b", clf.left_out_proba_[:, 1]),
    ):
        np.testing.assert_array_equal([float(row[name]) for row in rows], values)
    assert [row["status"] for row in rows] == clf.left_out_.status.tolist()
    assert [row["predicted"] for row in rows] == clf.left_out_.predictions.tolist()
    wrong = np.mean([row["predicted"] != row["label"] for row in rows])
    assert wrong == pytest.approx(clf.left_out_.error)
    assert f"60 rows left out, by strata; error {wrong:.4f}" in capsys.readouterr().out
    assert not PARTIAL.exists()


def test_values_are_those_of_the_class_whose_probability_is_told(table):
    table()
    assert run() == 0
    second = written()
    assert run("--positive", "a", "--output", "a.csv") == 0
    for one, other in zip(written("a.csv"), second, strict=True):
        for name in ("decision_value", "left_out_value"):
            assert float(one[name]) == -float(other[name])
        assert float(one["probability_a"]) == pytest.approx(1.0 - float(other["probability_b"]))
        assert one["predicted"] == other["predicted"]


def test_several_classes_have_columns_of_their_own(table):
    table(n_classes=3, names=["x, y", 'say "z"', "ü"])
    assert run("--output", "out.csv", "--C", "2", "--kernel", "linear", "--n-jobs", "2") == 0
    labels, _, clf = fitted(C=2.0, kernel="linear")
    rows = written("out.csv")
    assert [row["label"] for row in rows] == labels.tolist()
    for k, name in enumerate(clf.classes_):
        for title, values in (
            ("decision_value", clf.left_out_.train_decision_values),
            ("left_out_value", clf.left_out_decision_values_),
            ("probability", clf.left_out_proba_),
        ):
            np.testing.assert_array_equal([float(row[f"{title}_{name}"]) for row in rows], values[:, k])
        assert [row[f"status_{name}"] for row in rows] == clf.left_out_.status[:, k].tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("parts", [0, 1, 4])
def test_an_interrupted_run_goes_on_to_the_same_bytes(table, monkeypatch, capsys, n_classes, parts):
    table(n_classes)
    monkeypatch.setattr(readings, "SECTION", 7)
    assert run("--output", "whole.csv") == 0
    original = interrupted_after(parts, monkeypatch)
    assert run() == 130
    kept = n_kept()
    assert (kept > 0) == (parts > 0)
    assert ("with --resume" in capsys.readouterr().err) == (parts > 0)
    asked = []

    def counted(*arguments, **options):
        for rows, *rest in original(*arguments, **options):
            asked.extend(rows.tolist())
            yield rows, *rest

    monkeypatch.setattr(api, "iterate_parts", counted)
    assert run("--resume") == 0
    assert OUTPUT.read_bytes() == Path("whole.csv").read_bytes()
    assert len(asked) == 30 * n_classes * (1 if n_classes == 2 else n_classes) - kept


def test_an_interruption_while_the_output_is_written_loses_nothing(table, monkeypatch):
    table()
    assert run("--output", "whole.csv") == 0
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", interrupt)
        assert run() == 130
    assert n_kept() == 60
    assert not OUTPUT.exists()
    assert run("--resume") == 0
    assert OUTPUT.read_bytes() == Path("whole.csv").read_bytes()
    assert sorted(os.listdir()) == ["bayes-svm-loo.csv", "data.csv", "whole.csv"]


def interrupt(*arguments, **options):
    raise KeyboardInterrupt


def test_what_an_interrupted_run_left_is_not_written_over(table, monkeypatch, capsys):
    table()
    interrupted_after(2, monkeypatch)
    run()
    capsys.readouterr()
    before = PARTIAL.read_bytes()
    assert "add --resume to continue, or delete it" in refused(capsys)
    assert "was written for other data, options or another version" in refused(capsys, "--resume", "--C", "3")
    assert PARTIAL.read_bytes() == before


def test_places_that_cannot_be_written_are_refused(table, capsys):
    table()
    Path("out.csv.partial").mkdir()
    assert "'out.csv.partial' is a directory" in refused(capsys, "--output", "out.csv", "--resume")
    assert "File name too long" in refused(capsys, "--output", "a" * 250)
    os.mkfifo("pipe")
    assert "'pipe' is not a regular file" in refused(capsys, "--output", "pipe")
    os.rename("data.csv", "out.csv.partial.csv")
    os.rmdir("out.csv.partial")
    assert main(["loo", "out.csv.partial.csv", "--target", "kind", "--output", "out.csv"]) == 2
    assert "is the data itself" in capsys.readouterr().err


def test_labels_with_ends_of_lines_are_read_back(table):
    names = ["one\rtwo", "three\nfour"]
    table(names=names)
    assert run("--keep", "kind") == 0
    assert [row["label"] for row in written()] == names * 30
    assert run() == 0
    assert [row["label"] for row in written()] == ["one two", "three four"] * 30


def test_progress_counts_the_strata_on_a_terminal(table, monkeypatch):
    table()
    monkeypatch.setattr(readings, "SECTION", 7)
    monkeypatch.setattr(sys, "stderr", Terminal())
    lines = lines_of(monkeypatch)
    assert run() == 0
    assert any("leaving out 14 of 30 (1 s left)" in line for line in lines)


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
    assert "note: The decision values do not separate the classes" in capsys.readouterr().out


def test_groups_and_weights_and_identifiers(table, capsys):
    table()
    lines = Path("data.csv").read_text().splitlines()
    more = [f"{line},=g{k // 3},{1 + k % 2}" for k, line in enumerate(lines[1:])]
    Path("data.csv").write_text("\n".join([f"{lines[0]},ward,times", *more]) + "\n")
    options = ["--groups", "ward", "--weights", "times", "--id", "ward"]
    assert run(*options) == 0
    assert "60 rows left out, by groups; error" in capsys.readouterr().out
    data = read_table("data.csv", "kind", Options(groups="ward", weights="times"))
    _, features = features_of(data, Settings())
    clf = BayesSVC().fit(features, data.labels, sample_weight=data.weights, groups=data.groups)
    rows = written()
    np.testing.assert_array_equal(
        [float(row["left_out_value"]) for row in rows], clf.left_out_decision_values_
    )
    assert [row["row"] for row in rows[:4]] == ["'=g0", "'=g0", "'=g0", "'=g1"]


def test_the_probability_is_that_of_the_class_the_user_named(table):
    table()
    assert run("--positive", "a") == 0
    _, _, clf = fitted()
    found = [float(row["probability_a"]) for row in written()]
    np.testing.assert_array_equal(found, clf.left_out_proba_[:, 0])

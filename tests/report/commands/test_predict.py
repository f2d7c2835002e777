"""`bayes-svm predict`: a row for each row, with an answer or the reason why there is none."""

import csv
import io

import numpy as np
import pytest

from bayes_svm.report.cli import main
from bayes_svm.report.predicting import outside_intervals
from bayes_svm.report.saved import load_model

pytest.importorskip("pandas")
pytest.importorskip("skops.io", reason="skops is not installed")


def predicted(capsys, *options):
    """The rows printed, and what is said on stderr."""
    assert main(["predict", "new.csv", "--model", "m.skops", *options]) == 0
    out, err = capsys.readouterr()
    return list(csv.DictReader(io.StringIO(out))), err


def test_answers_and_reasons(model, capsys):
    model()
    rows, err = predicted(capsys, "--id", "who")
    assert list(rows[0]) == ["who", "predicted", "probability_ill", "low_ill", "high_ill", "answer", "reason"]
    assert [row["who"] for row in rows] == ["n1", "n2", "n3", "n4", "n5"]
    assert [row["answer"] for row in rows] == ["fit", "ill", *["ask a person"] * 3]
    assert [row["reason"] for row in rows[:4]] == [
        "",
        "",
        "missing value in column size",
        "unknown value 'green' in column colour",
    ]
    assert rows[4]["reason"].startswith("900 in column size is outside")
    assert rows[4]["reason"].endswith("unlike the training data")
    assert (rows[2]["predicted"], rows[2]["probability_ill"]) == ("", "")
    assert "5 rows: 2 answered, 3 for a person (approximate: the preprocessing saw these rows)" in err
    assert "they are not a confidence interval" in err


def test_the_numbers_are_those_of_the_estimator(model, capsys):
    model("--positive", "fit")
    rows, _ = predicted(capsys)
    saved, _ = load_model("m.skops")
    import pandas as pd

    frame = pd.read_csv("new.csv").iloc[:2]
    X = saved.transformer.transform(frame)
    known = rows[:2]
    np.testing.assert_allclose(
        [float(row["probability_fit"]) for row in known], saved.estimator.predict_proba(X)[:, 0], rtol=1e-5
    )
    low, high = 1.0 - saved.estimator.predict_interval(X).T[::-1]
    np.testing.assert_allclose([float(row["low_fit"]) for row in known], low, rtol=1e-5)
    np.testing.assert_allclose([float(row["high_fit"]) for row in known], high, rtol=1e-5)
    assert [row["row"] for row in rows] == ["1", "2", "3", "4", "5"]


def test_probabilities_outside_their_intervals_are_counted_and_explained(model, capsys):
    model(n_classes=3)
    rows, err = predicted(capsys)
    outside = [
        not float(row[f"low_{name}"]) <= float(row[f"probability_{name}"]) <= float(row[f"high_{name}"])
        for row in rows
        if row["predicted"]
        for name in [key.removeprefix("low_") for key in row if key.startswith("low_")]
    ]
    assert sum(outside) > 1
    assert (
        f"{sum(outside)} probabilities do not lie between them: a probability comes from a smooth curve"
        in err
    )
    within = {"row": [1, 2], "probability_a": [0.5, ""], "low_a": [0.4, ""], "high_a": [0.6, ""]}
    assert outside_intervals(within | {"probability_b": ["name", "another"]}) == 0
    assert outside_intervals(within | {"low_a": [0.51, ""]}) == 1


def test_several_classes_have_columns_of_their_own(model, capsys):
    model(n_classes=3)
    rows, _ = predicted(capsys)
    for name in ("fit", "ill", "worn"):
        assert float(rows[0][f"low_{name}"]) <= float(rows[0][f"high_{name}"])
    total = sum(float(rows[0][f"probability_{name}"]) for name in ("fit", "ill", "worn"))
    assert total == pytest.approx(1.0, abs=1e-5)


def test_a_promise_is_kept_by_asking(model, capsys):
    out = model("--max-risk", "0.4").out
    assert "at most 40 % wrong: answer from a confidence of" in out
    saved, _ = load_model("m.skops")
    with open("new.csv", "a") as file:
        file.write("n6,0.75,0,red\n")
    rows, _ = predicted(capsys)
    threshold = saved.promise["threshold"]
    assert 0.5 <= threshold < 1.0
    for row in rows:
        if row["answer"] != "ask a person":
            p = float(row["probability_ill"])
            assert max(p, 1 - p) >= threshold
    p = float(rows[5]["probability_ill"])
    assert (f"below {threshold:.3g}" in rows[5]["reason"]) == (max(p, 1 - p) < threshold)


def test_a_promise_that_nothing_keeps_leaves_all_rows_to_a_person(model, capsys):
    model("--max-risk", "0.0001")
    rows, _ = predicted(capsys)
    assert {row["answer"] for row in rows} == {"ask a person"}
    assert rows[0]["reason"] == "nothing keeps the risk below 0.0001"


def test_a_threshold_is_part_of_the_model(model, capsys):
    model("--cost", "fp=1,fn=30")
    saved, _ = load_model("m.skops")
    assert saved.threshold < 0.3
    rows, err = predicted(capsys)
    assert (
        f"note: the answer is ill from a probability of {saved.threshold:.3g} on, as the fit was asked" in err
    )
    for row in rows:
        if row["predicted"]:
            assert (row["predicted"] == "ill") == (float(row["probability_ill"]) >= saved.threshold)


def test_missing_values_are_filled_in_as_in_training(model, capsys):
    model("--impute", missing=True)
    rows, err = predicted(capsys)
    assert (rows[2]["answer"] != "ask a person", rows[2]["reason"]) == (True, "")
    assert "missing values filled in as in training: row 3 (1 of 5)" in err


def test_marks_of_missing_values_are_part_of_the_model(model, capsys, here):
    model("--missing", "-1")
    rows, _ = predicted(capsys)
    assert (rows[0]["predicted"], rows[0]["reason"]) == ("", "missing value in column size")


def test_texts_that_a_spreadsheet_would_run(table, capsys, here):
    table(names=("=1+1", "@ill", "-3"))
    assert main(["fit", "data.csv", "--target", "kind", "--save", "m.skops", "--quick"]) == 0
    (here / "new.csv").write_text("who,size,width,colour\n=cmd(),0,0,red\n-5,3,0,+red\n")
    capsys.readouterr()
    rows, _ = predicted(capsys, "--id", "who")
    assert [row["who"] for row in rows] == ["'=cmd()", "-5"]
    assert {row["predicted"] for row in rows} <= {"'=1+1", "'@ill"}
    # The name of the column does not begin with the formula.
    assert "probability_@ill" in rows[0]
    assert rows[1]["reason"] == "unknown value '+red' in column colour"


def test_a_file_is_written_whole(model, capsys, here):
    model()
    assert main(["predict", "new.csv", "--model", "m.skops", "--output", "p.csv"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "note: Written: p.csv" in err
    assert (here / "p.csv").read_text().count("\n") == 6
    assert not list(here.glob("*.unfinished"))
    assert main(["predict", "new.csv", "--model", "m.skops", "--output", "-"]) == 0
    assert capsys.readouterr().out == (here / "p.csv").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["new.csv"], "the following arguments are required: --model"),
        (["new.csv", "--model", "no.skops"], "cannot read the model 'no.skops': No such file"),
        (["new.csv", "--model", "new.csv"], "'new.csv' is no model"),
        (["no.csv", "--model", "m.skops"], "no such file: 'no.csv'"),
        (["m.skops", "--model", "m.skops"], "'m.skops' is a zip archive and no workbook"),
        (["new.csv", "--model", "m.skops", "--output", "new.csv"], "is the data itself"),
        (["new.csv", "--model", "m.skops", "--output", "m.skops"], "is the model itself"),
        (["new.csv", "--model", "m.skops", "--sep", ";"], "lacks columns that the model needs"),
    ],
)
def test_what_cannot_be_is_refused(model, refused, options, message):
    model()
    assert message in refused("predict", *options)


def test_a_threshold_of_one_class_against_the_others(model, capsys):
    model("--recall", "0.9", "--positive", "worn", n_classes=3)
    saved, _ = load_model("m.skops")
    assert 0.0 < saved.threshold < 0.5
    with open("new.csv", "a") as file:
        file.writelines(f"more,{k / 4},0,red\n" for k in range(17))
    rows, _ = predicted(capsys)
    found = set()
    for row in rows:
        if row["predicted"]:
            own = float(row["probability_worn"])
            assert (row["predicted"] == "worn") == (own >= saved.threshold)
            found.add((row["predicted"], own < 0.5))
    # Some rows are called so although another class is more probable.
    assert ("worn", True) in found


def test_the_model_remembers_which_column_names_the_rows(model, capsys, here):
    model("--id", "who")
    rows, err = predicted(capsys)
    assert [row["who"] for row in rows] == ["n1", "n2", "n3", "n4", "n5"]
    assert "note: 'who': names the rows, as it did the training rows (--id says otherwise).\n" in err
    rows, err = predicted(capsys, "--id", "colour")
    assert [row["colour"] for row in rows] == ["red", "blue", "red", "green", "red"]
    assert "as it did" not in err
    (here / "new.csv").write_text("size,width,colour\n0,0,red\n")
    rows, err = predicted(capsys)
    assert rows[0]["row"] == "1"
    assert "note: No column 'who', which named the training rows" in err


def test_how_the_file_was_read_is_said_beside_the_rows(model, capsys, here):
    model()
    (here / "new.csv").write_text("size;width;colour\n1,5;?;red\n0,5;0,1;Red\n", encoding="utf-16")
    rows, err = predicted(capsys)
    assert len(rows) == 2
    for note in (
        "The encoding is UTF-16.",
        "Cells are separated by ';' (--sep says otherwise).",
        "'size' (2), 'width' (1): decimal commas, as in '1,5', read as points (--decimal . says otherwise).",
        "'width' (1): '?' read as missing.",
        "'colour' (1): 'red' and 'Red' read as one value.",
    ):
        assert f"note: {note}\n" in err


@pytest.mark.parametrize("name", ["predicted", "reason", "low_ill"])
def test_names_of_rows_are_not_lost_where_their_column_is_called_like_one_of_ours(model, capsys, here, name):
    model()
    text = (here / "new.csv").read_text().replace("who", name, 1)
    (here / "new.csv").write_text(text)
    rows, _ = predicted(capsys, "--id", name)
    assert [row[f"id_{name}"] for row in rows] == ["n1", "n2", "n3", "n4", "n5"]
    assert rows[0]["predicted"] in ("fit", "ill")


def test_a_class_may_be_called_like_the_advice(model, capsys):
    model(names=("ask a person", "ill"))
    _, err = predicted(capsys)
    assert "5 rows: 2 answered, 3 for a person" in err


def test_a_model_that_knows_nothing_says_so_with_its_predictions(here, capsys):
    random = np.random.default_rng(0)
    lines = [f"{random.normal():.3f},{'ab'[k % 2]}" for k in range(40)]
    (here / "noise.csv").write_text("\n".join(["x,y", *lines]) + "\n", encoding="utf-8")
    assert main(["fit", "noise.csv", "--target", "y", "--save", "m.skops", "--quick"]) == 0
    assert main(["predict", "noise.csv", "--model", "m.skops"]) == 0
    caution = "the report could not show that this model knows more than how common each class is"
    assert caution in capsys.readouterr().err
    assert main(["explain", "noise.csv", "--model", "m.skops", "--row", "1"]) == 0
    assert caution in capsys.readouterr().err

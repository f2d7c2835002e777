"""`bayes-svm explain`: what the prediction of one row rests on."""

import re
from dataclasses import replace

import pytest

from bayes_svm.report.cli import main
from bayes_svm.report.predicting import explained_row

pytest.importorskip("pandas")
pytest.importorskip("skops.io", reason="skops is not installed")


def explained(capsys, row):
    assert main(["explain", "new.csv", "--row", str(row), "--model", "m.skops"]) == 0
    return capsys.readouterr()


def test_a_row_is_explained_by_training_rows(model, capsys):
    model("--id", "who")
    out, err = explained(capsys, 2)
    assert out.startswith("Row 2 of new.csv (who n2)\nExplanation: ill with probability 0.")
    # The training rows have their identifiers.
    assert re.search(r"speak most for ill:\n.*\n +p\d{3} +ill ", out)
    assert "note: approximate: the preprocessing saw these rows" in out
    assert err == "note: 'who': names the rows, as it did the training rows (--id says otherwise).\n"


def test_of_a_mixture_the_heaviest_machine(table, capsys):
    table()
    assert main(["fit", "data.csv", "--target", "kind", "--save", "m.skops"]) == 0
    capsys.readouterr()
    out, _ = explained(capsys, 2)
    assert re.search(
        r"this is the heaviest of \d machines, with weight \d\.\d\d; the whole gives ill a ", out
    )


def test_a_threshold_may_choose_another_class(model, capsys, here):
    model("--cost", "fp=1,fn=30")
    with open("new.csv", "a") as file:
        file.write("n6,0.3,0,red\n")
    assert main(["predict", "new.csv", "--model", "m.skops"]) == 0
    assert capsys.readouterr().out.splitlines()[6].startswith("6,ill,0.")
    out, _ = explained(capsys, 6)
    assert out.splitlines()[1].startswith("Explanation: fit with probability 0.")
    assert re.search(r"note: bayes-svm predict says ill: it says ill from 0\.\d+ on; approximate", out)


def test_a_mixture_may_say_another_class_than_the_machine_explained(model, monkeypatch, capsys):
    model()
    assert "bayes-svm predict says" not in explained(capsys, 1).out
    monkeypatch.setattr("bayes_svm.report.predicting._predicted", lambda *_: [1])
    out, _ = explained(capsys, 1)
    assert out.splitlines()[1].startswith("Explanation: fit with")
    assert "note: bayes-svm predict says ill; approximate" in out


def test_a_probability_outside_its_interval_is_said(model, monkeypatch, capsys):
    model()
    for interval, said in (((0.0, 1.0), False), ((0.0, 0.001), True), ((0.999, 1.0), True)):
        monkeypatch.setattr(
            "bayes_svm.report.predicting.explained_row",
            lambda *given, ends=interval: replace(explained_row(*given), interval=ends),
        )
        assert ("The probability is outside its interval: it comes" in explained(capsys, 2).err) is said


def test_what_is_strange_is_said(model, capsys):
    model()
    assert (
        "bayes-svm predict asks a person: unknown value 'green' in column colour" in explained(capsys, 4).out
    )
    assert "asks a person" not in explained(capsys, 2).out


def test_a_cell_that_is_no_number_is_not_a_missing_one(model, refused):
    model()
    with open("new.csv", "a") as file:
        file.write("n6,tall,0,green\n")
    message = refused("explain", "new.csv", "--model", "m.skops", "--row", "6")
    assert "row 6: what is in column 'size' cannot be read; correct it" in message


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("9", "'new.csv' has no row 9 with values; rows count from 1, without the header, to 5"),
        ("0", "'new.csv' has no row 0"),
        ("3", "row 3 has no value in column 'size'; fill it in, or fit with --impute"),
        ("x", "invalid int value: 'x'"),
    ],
)
def test_rows_that_cannot_be_explained(model, refused, row, message):
    model()
    assert message in refused("explain", "new.csv", "--model", "m.skops", "--row", row)

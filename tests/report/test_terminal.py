import re
from dataclasses import replace

from _data import THREE
from bayes_svm.report.aims import Aims
from bayes_svm.report.importance import Importance
from bayes_svm.report.terminal import to_text
from bayes_svm.report.words import words_of


def test_text_table(report):
    made = report(("a\x1b[31m", "well"))
    text = to_text(made)
    assert "\x1b" not in text
    for name in ("left out", "exact leave-one-out"):
        assert re.search(rf"^{name} +\d+\.\d % \(\d+\.\d to \d+\.\d\)", text, re.MULTILINE)
    assert "positive class: well" in text
    assert "most surprising rows: " in text
    assert f"probabilities to be trusted? {words_of(made).verdict}" in text
    assert "BayesSVC(C=1, kernel=rbf, gamma=" in text


def test_columns_that_matter_are_named(report):
    made = report()
    (line,) = [line for line in to_text(made).splitlines() if line.startswith("columns that matter most: ")]
    assert line.split(": ")[1].split(", ")[0] == made.importance.columns[0].name


def test_where_no_column_is_clear_of_chance_none_is_named(report):
    made = report()
    noise = tuple(replace(one, probability_lost=one.probability_error) for one in made.importance.columns)
    text = to_text(replace(made, importance=replace(made.importance, columns=noise)))
    assert "columns that matter: none is clear of chance (40 rows tried)" in text
    none = to_text(replace(made, importance=Importance(reason="too many rows")))
    assert "columns that matter" not in none


def test_a_mixture_is_told(report):
    text = to_text(report(quick=False))
    assert re.search(r"mixture of \d+ settings? of BayesSVC \(intervals and promises are approximate", text)


def test_estimates_of_a_machine_with_costs_are_told_apart(report):
    made, said = (
        report(quick=False),
        "are of the heaviest machine, in which mistakes in the rare class cost more",
    )
    assert said not in to_text(made)
    members = tuple(replace(one, balanced=True) for one in made.model.members)
    assert said in to_text(replace(made, model=replace(made.model, members=members)))


def test_aims_about_one_of_several_classes(report):
    text = to_text(report(THREE, more={"positive": "c"}, aims=Aims(recall=0.8)))
    assert re.search(r"recall of at least 80 %: call it c from a probability of \d+\.\d %", text)

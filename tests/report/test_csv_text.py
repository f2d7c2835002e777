"""CSV files that are safe to open in a spreadsheet."""

import csv
import io

import pytest

from bayes_svm.report.csv_text import csv_text


def cells(text):
    return [row[0] for row in csv.reader(io.StringIO(text))]


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\tx", "\rx", "-1+1"])
def test_a_formula_begins_with_an_apostrophe(text):
    assert cells(csv_text({text: [text]})) == ["'" + text] * 2


@pytest.mark.parametrize("text", ["-5", "+3.2", "-1e-3", "a=b", "x", "", "'=1"])
def test_other_texts_and_numbers_stay_as_they_are(text):
    assert cells(csv_text({"name": [text]}))[1:] == ([text] if text else [""])


def test_numbers_of_ours_are_not_touched():
    assert csv_text({"value": [-0.5, 2], "name": ["a,b", 'say "c"']}) == (
        'value,name\n-0.5,"a,b"\n2,"say ""c"""\n'
    )


@pytest.mark.parametrize("mark", [";", "\t"])
def test_what_another_country_takes_for_two_cells_is_quoted(mark):
    text = csv_text({"name": [f"a{mark}=cmd", "b"], "value": [1.5, 2.0]})
    assert text == f'name,value\n"a{mark}=cmd",1.5\nb,2.0\n'


def test_texts_with_a_carriage_return_are_read_back():
    text = csv_text({"name": ["a\rb", "c"], "value": [1.5, 2.0]})
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows == [["name", "value"], ["a\rb", "1.5"], ["c", "2.0"]]

import math

import pytest

from bayes_svm.report.formats import counted, grouped, interval, number, percent, points, short, value_of
from bayes_svm.report.record import ValueWithInterval


def test_shares():
    assert percent(0.0213) == "2.1\u00a0%"
    assert percent(0.9, 0) == "90\u00a0%"
    assert percent(None) == percent(math.nan) == "–"
    assert interval(ValueWithInterval(0.02, 0.012, 0.036)) == "1.2 to 3.6\u00a0%"
    assert interval(ValueWithInterval(0.02)) == ""


@pytest.mark.parametrize(
    ("value", "text"), [(0.0123, "1.23"), (-0.0123, "\u22121.23"), (-1e-9, "0.00"), (0.0, "0.00")]
)
def test_differences_of_shares_are_percentage_points(value, text):
    assert points(value) == text


def test_numbers_and_texts():
    assert number(1234.567) == "1235"
    assert (number(-11450.77), number(1e300), number(0.00001234)) == ("-11,451", "1e+300", "1.234e-05")
    assert number(None) == number(math.nan) == "–"
    assert number("a" * 200) == "a" * 99 + "…"
    assert short("b" * 30) == "b" * 21 + "…"


def test_counts():
    assert grouped(12345) == "12,345"
    assert (counted(1, "row"), counted(0, "row"), counted(5000, "row")) == ("1 row", "0 rows", "5,000 rows")


def test_values_of_a_table():
    assert (value_of(None, True), value_of(None, False)) == ("missing", "missing")
    assert (value_of(18690.0, True), value_of(18690.0, False), value_of("red", False)) == (
        "2021-03-04",
        "18,690",
        "red",
    )

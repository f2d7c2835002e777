"""Numbers as people write them."""

import pytest

from bayes_svm.report.errors import InputError
from bayes_svm.report.tables.numerals import (
    has_deviation,
    is_odd,
    numerals_of,
    only_in_thousands,
    possible_decimals,
)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("5", ".,"),
        ("-5", ".,"),
        ("\u22125", ".,"),
        ("\u20135", ".,"),
        ("\u2010.5", "."),
        ("\uff0d1,5", ","),
        ("- 5", ""),
        ("1.2e\u22125", "."),
        ("--5", ""),
        ("5-", ""),
        ("(5)", ""),
        ("1.5", "."),
        ("1,5", ","),
        (".5e3", "."),
        ("1,5e-3", ","),
        # With a point the comma separates thousands; with a comma it is the mark.
        ("1,234", ".,"),
        ("1.234", ".,"),
        ("0,123", ","),
        ("1.234,5", ","),
        ("1,234.5", "."),
        ("12 345,6", ","),
        ("1'234'567.8", "."),
        ("1\u2019234.5", "."),
        ("<0.01", "."),
        ("≥ 3,5", ","),
        ("45 %", ".,"),
        ("", ""),
        ("abc", ""),
        ("1,2,3", ""),
        ("12a", ""),
        ("1 2", ""),
        ("0x10", ""),
        ("1_000", ""),
    ],
)
def test_marks_with_which_a_text_is_a_number(text, marks):
    assert "".join(possible_decimals([text])) == marks


def values(texts, decimal=None):
    found = numerals_of(texts, "dose", decimal)
    return found if found is None else list(found.values.values())


def test_one_mark_for_all_values_of_a_column():
    assert values(["1,5", "2"]) == [1.5, 2.0]
    # The first value tells what the comma means in the second.
    assert values(["1,5", "1,234"]) == [1.5, 1.234]
    assert values(["1.5", "1,234"]) == [1.5, 1234.0]
    assert values(["1.234,5", "12"]) == [1234.5, 12.0]
    assert values(["1,5", "1.5"]) is None
    assert values(["1,5", "abc"]) is None


def test_a_comma_that_may_mean_either_is_asked_for():
    with pytest.raises(InputError, match=r"'dose' has numbers such as '1,234': say what .* --decimal , or"):
        values(["1,234", "5"])
    assert values(["1,234", "5"], ",") == [1.234, 5.0]
    assert values(["1,234", "5"], ".") == [1234.0, 5.0]


def test_what_was_done_is_told():
    found = numerals_of(["<0,01", "12 345,6", "45 %", "7"], "dose", None)
    assert found.values == {"<0,01": 0.01, "12 345,6": 12345.6, "45 %": 45.0, "7": 7.0}
    assert (found.decimal, found.commas) == (",", ("<0,01", "12 345,6"))
    assert (found.grouped, found.limits, found.per_cent) == (("12 345,6",), ("<0,01",), ("45 %",))


def test_points_that_could_separate_thousands():
    assert only_in_thousands(["1.234", "500", "12.000"])
    assert not only_in_thousands(["1.234", "1.5"])
    assert not only_in_thousands(["1234", "5"])


def test_numbers_in_forms_that_are_not_read():
    assert all(map(is_odd, ["(1.2)", "(1,234.5)", "1.2-", "1,2\u2212", "- 1.2", "\u2013 5"]))
    assert not any(map(is_odd, ["1.2", "-1.2", "(a)", "B-", "()", "-", "1-2", "- a"]))
    assert all(map(has_deviation, ["0.4±0.1", "0,4 +/- 0,1"]))
    assert not any(map(has_deviation, ["±1", "a±1", "0.4", "1-2"]))

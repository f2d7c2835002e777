"""Texts that are written in several ways."""

import pytest

from bayes_svm.report.tables.findings import done_of
from bayes_svm.report.tables.spellings import as_whole, by_spelling, letters_in, merged_spellings


def test_the_most_frequent_spelling_is_taken():
    texts, findings = merged_spellings(["Red", "red", None, "red", "blue"], "colour")
    assert texts == ["red", "red", None, "red", "blue"]
    assert done_of(findings) == "'red' and 'Red' read as one value (1)"
    texts, _ = merged_spellings(["1", "1.0", "1"], "group", key=as_whole)
    assert texts == ["1", "1", "1"]


@pytest.mark.parametrize(
    ("texts", "letters"),
    [
        (["A", "a"], {"a"}),
        (["AA", "Aa", "aa"], {"aa"}),
        (["AA", "bb"], {"aa", "bb"}),
        (["Aa", "wild"], {"aa"}),
        (["AA", "aa", "wild"], {"aa"}),
        (["AB", "Ab", "aB", "ab"], {"ab"}),
        (["D", "d", "Dd"], {"d", "dd"}),
        (["A", "a", "AA", "other"], {"a", "aa"}),
        (["m", "M", "f", "F"], set()),
        (["no", "NO", None], set()),
    ],
)
def test_letters_that_may_be_alleles(texts, letters):
    assert letters_in(texts) == letters


def test_what_a_spelling_means():
    # Of "m" and "M" nobody knows which one is meant by "M" if both were there.
    assert by_spelling(["Yes", "no", "m", "M"]) == {"yes": "Yes", "no": "no"}
    assert by_spelling(["AA", "Aa"]) == {}
    assert by_spelling(["AA", "GG"]) == {}

"""The classes of a table."""

import pytest

from bayes_svm.report.errors import InputError
from bayes_svm.report.tables.findings import notes_of
from bayes_svm.report.tables.labels import labels_of, positive_of

pd = pytest.importorskip("pandas")


def labels(values, **options):
    return labels_of(pd.Series(values, name="y"), **{"kept": False, **options})


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["0.0", "1.0", "0", "1"], [0, 1, 0, 1]),
        (["-1", "+1", "-1", "1"], [-1, 1, -1, 1]),
        (["1,0", "2,0", "1,0", "2"], [1, 2, 1, 2]),
        (["1,000", "a", "1,000", "a"], ["1,000", "a", "1,000", "a"]),
        # Codes are no numbers.
        (["01", "02", "01", "02"], ["01", "02", "01", "02"]),
        (["True", "False", "True", "False"], ["True", "False", "True", "False"]),
        (["a", "b ", " a", "b"], ["a", "b", "a", "b"]),
        (["<50", ">= 50", "<50", ">= 50"], ["<50", ">= 50", "<50", ">= 50"]),
    ],
)
def test_numbers_and_texts(texts, found):
    assert labels(texts)[0].tolist() == found


def test_spellings_are_one_class_and_that_is_said():
    found, findings = labels(["approved", "Approved ", "denied", "DENIED", "denied", "approved"])
    assert found.tolist() == ["approved", "approved", "denied", "denied", "denied", "approved"]
    how = "write them differently in the file, or --keep y"
    assert notes_of(findings)[0].startswith("'y' (1): blanks around values removed")
    assert notes_of(findings)[1:] == [
        f"'y' (1): 'approved' and 'Approved' read as one value ({how}).",
        f"'y' (1): 'denied' and 'DENIED' read as one value ({how}).",
    ]
    kept, none = labels(["a", "A", "a", "A", "A ", "A "], kept=True)
    assert (kept.tolist(), none) == (["a", "A", "a", "A", "A ", "A "], [])


def test_letters_may_be_alleles():
    genotypes = ["AA", "Aa", "aa"] * 2
    found, findings = labels(genotypes)
    assert found.tolist() == genotypes
    assert notes_of(findings) == [
        "'y': 'AA' and 'Aa' and 'aa' kept apart, although they differ by case only (write them alike in the "
        "file if they are the same)."
    ]
    for some in (["B", "b"] * 2, ["Tt", "tt"] * 2, ["AA", "Aa", "wild", "aa"] * 2, ["AA", "aa", "BB"] * 2):
        assert labels(some)[0].tolist() == some
    assert labels(genotypes, kept=True)[1] == []


@pytest.mark.parametrize(
    ("texts", "classes"),
    [
        (["Y", "y", "N", "n"], {"N", "Y"}),
        (["f", "M", "F", "m", "m"], {"F", "m"}),
        (["B", "B", "b", "M", "M"], {"B", "M"}),
        (["n", "N", "U", "Y", "y", "U"], {"N", "U", "Y"}),
        (["OO", "oo", "OO", "ab", "ab"], {"OO", "ab"}),
        (["WT", "wt", "KO", "KO"], {"WT", "KO"}),
        (["No", "no", "no", "yes", "Yes", "yes"], {"no", "yes"}),
    ],
)
def test_short_words_are_one_class_in_any_case(texts, classes):
    found, findings = labels(texts)
    assert set(found.tolist()) == classes
    assert {one.topic for one in findings} == {"spelling"}


def test_spellings_that_leave_one_class_are_named():
    message = "one class only, with 'WT' and 'wt' read as one; --keep y takes them as classes"
    with pytest.raises(InputError, match=message):
        labels(["WT", "wt", "wt", "WT"])


def test_blanks_within_a_label():
    found, findings = labels(["not ok", "not  ok", "fine", "fine "])
    assert found.tolist() == ["not ok", "not ok", "fine", "fine"]
    assert [(one.topic, one.count) for one in findings] == [("blanks", 2)]
    assert labels(["a  b", "a b"] * 2, kept=True)[0].tolist() == ["a  b", "a b"] * 2


def test_a_class_can_be_named_as_the_file_writes_it():
    found, _ = labels(["very  high", "low"] * 2)
    assert positive_of("very  high", found, "y") == positive_of("VERY HIGH", found, "y") == "very high"


def test_a_class_that_may_stand_for_a_missing_value_is_named():
    found, findings = labels([0, 1, 0, 1, -999, -999])
    assert sorted(set(found.tolist())) == [-999, 0, 1]
    said = "'y' (2): '-999' kept as a class, although it often stands for a missing value"
    assert notes_of(findings)[0].startswith(said)
    assert labels([998, 999] * 2)[1] == labels(["-999", "low"] * 2)[1] == labels([0, 1] * 2)[1] == []
    with pytest.raises(InputError, match="missing in 2 of 6 rows"):
        labels([0, 1, 0, 1, -999, -999], missing=("-999",))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", None, "b"], r"missing in 1 of 3 rows \(data rows 2\)"),
        (["a", "?", "b", " "], r"missing in 2 of 4 rows \(data rows 2, 4, written as '\?'\)"),
        (["a", "a"], r"one class only \('a'\)"),
        (["a", "a", "b"], "classes with one row only: 'b'"),
        ([f"c{k // 2}" for k in range(120)], "has 60 different values in 120 rows"),
        (["0.5", "1.5", "0.5", "1.5"], "such as '0.5'; choose a --target column with classes, or --keep y"),
        (["0,5", "1,5", "0,5", "1,5"], "'y' has numbers that are not whole, such as '0,5'"),
        (["0", "inf", "0", "inf"], "such as 'inf'"),
    ],
)
def test_what_is_refused(texts, message):
    with pytest.raises(InputError, match=message):
        labels(texts)


def test_a_marker_can_be_a_class():
    assert labels(["NA", "EU", "NA", "EU"], kept=True)[0].tolist() == ["NA", "EU", "NA", "EU"]
    with pytest.raises(InputError, match="written as 'none'"):
        labels(["none", "some", "none", "some"], missing=("none",))
    assert labels(["1.5", "10%"] * 2, kept=True)[0].tolist() == ["1.5", "10%"] * 2
    assert labels(["1.0", "2"] * 2, kept=True)[0].tolist() == [1, 2] * 2


def test_the_positive_class():
    found, _ = labels(["1", "0", "1", "0"])
    assert positive_of("1", found, "y") == positive_of(" 1.0", found, "y") == 1
    assert positive_of(None, found, "y") is None
    texts, _ = labels(["Yes", "no", "Yes", "no"])
    assert positive_of("yes", texts, "y") == "Yes"
    with pytest.raises(InputError, match="'maybe' is no class of 'y'; its classes are 'Yes', 'no'"):
        positive_of("maybe", texts, "y")

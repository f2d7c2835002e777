"""What the values of a column are, and what is said about them."""

import numpy as np
import pytest

from bayes_svm.report.errors import InputError
from bayes_svm.report.tables.findings import done_of, notes_of
from bayes_svm.report.tables.values import read_values

pd = pytest.importorskip("pandas")


def read(values, *, decimal=None, kept=False, missing=()):
    return read_values(pd.Series(values, name="dose"), decimal=decimal, kept=kept, missing=missing)


def test_numbers_are_read_as_they_are():
    found = read([1, 2, 3])
    assert (found.kind, found.values.tolist(), found.findings) == ("number", [1.0, 2.0, 3.0], [])


def test_markers_among_numbers():
    found = read(["1.5", "?", "Missing", None, "2", "?"])
    np.testing.assert_array_equal(found.values, [1.5, np.nan, np.nan, np.nan, 2.0, np.nan])
    assert done_of(found.findings) == "'?' read as missing (2); 'Missing' read as missing (1)"


def test_markers_among_texts():
    found = read(["red", "NA", " red ", "none", "blue"])
    assert found.kind == "text"
    assert found.values[[0, 2, 3, 4]].tolist() == ["red", "red", "none", "blue"]
    assert np.isnan(found.values[1])
    notes = notes_of(found.findings)
    assert notes == [
        "'dose' (1): blanks around values removed, and runs of blanks and line ends within them read as one.",
        "'dose' (1): 'NA' read as missing (--keep dose takes it as a value).",
        "'dose' (1): 'none' kept as a value (--missing none reads it as missing).",
    ]
    assert read(["red", "NA"], kept=True).values.tolist() == ["red", "NA"]
    assert np.isnan(read(["red", "none"], missing=("none",)).values[1])
    assert done_of(read(["red", "-999", "blue"]).findings) == "'-999' kept as a value (1)"


def test_decimal_commas_and_limits():
    found = read(["1,5", "<0,5", "2"])
    assert found.values.tolist() == [1.5, 0.5, 2.0]
    assert done_of(found.findings) == (
        "decimal commas, as in '1,5', read as points (2); a limit such as '<0,5' read as the limit itself (1)"
    )


def test_a_number_far_from_all_others_that_stands_for_missing():
    found = read([1.0, 2.5, 3.0, 4.0, -999.0, -999.0])
    assert np.isnan(found.values[4:]).all()
    assert done_of(found.findings) == "'-999' read as missing (2)"
    assert read([1.0, 2.5, 3.0, -999.0], kept=True).values[3] == -999.0
    # Here it is one of the values.
    assert read([-999.0, -500.0, 0.0, 800.0]).values[0] == -999.0
    assert read([0.0, 999.0, 0.0, 999.0]).findings == []


def test_dates_are_days():
    found = read(["1970-01-03", "1970-01-01", "?"])
    np.testing.assert_array_equal(found.values, [2.0, 0.0, np.nan])
    assert (found.kind, found.date) == ("number", "%Y-%m-%d")
    times = read(pd.to_datetime(["1970-01-03", None]))
    np.testing.assert_array_equal(times.values, [2.0, np.nan])


@pytest.mark.parametrize("cells", [[20210405, None, 20201231], ["20210405", "?", "20201231"]])
def test_numbers_that_are_all_dates_are_days(cells):
    found = read(cells)
    np.testing.assert_array_equal(found.values, [18722.0, np.nan, 18627.0])
    assert (found.kind, found.date) == ("number", "%Y%m%d")
    assert "numbers such as '20210405' read as dates" in done_of(found.findings)
    assert read(cells, kept=True).date == read([*cells, 20210431]).date == read([*cells, 7]).date == ""


def test_dates_that_are_not_clear_are_left_out():
    found = read(["04/03/2021", "05/06/2020"])
    assert found.kind == "left out"
    assert "dates such as '04/03/2021', of which day and month are not clear" in done_of(found.findings)


def test_texts_among_many_numbers_are_refused():
    numbers = [f"{k}.5" for k in range(30)]
    with pytest.raises(InputError, match=r"numbers, and texts among them: 'high'; .*--missing high,"):
        read([*numbers, "high"])
    assert read([*numbers, "high"], missing=("high",)).kind == "number"
    assert read(["1", "2", "3+"]).kind == "text"


def test_truth_values_are_texts():
    assert read([True, False]).values.tolist() == ["True", "False"]


def test_spellings():
    found = read(["Red", "red", "No", "no", "no", "M", "m", "m", "red"])
    assert found.values.tolist() == ["red", "red", "no", "no", "no", "m", "m", "m", "red"]
    assert [one.shown for one in found.findings] == ["'m' and 'M'", "'no' and 'No'", "'red' and 'Red'"]
    # Genotypes are left alone, and that is said.
    found = read(["AA", "Aa", "aa"])
    assert found.values.tolist() == ["AA", "Aa", "aa"]
    assert done_of(found.findings).startswith("'AA' and 'Aa' and 'aa' kept apart, although they differ")


@pytest.mark.parametrize(
    ("decimal", "texts"),
    [(",", [f"{k}.25" for k in range(30)]), (None, [f"{k}.25" for k in range(29)] + ["3,5"])],
)
def test_numbers_that_the_decimal_mark_does_not_fit_are_refused(decimal, texts):
    with pytest.raises(InputError, match=r"column 'x' has numbers such as '0.25', .*: check --decimal"):
        read_values(pd.Series(texts, name="x"), decimal=decimal, kept=False)


def test_texts_among_many_dates_are_refused():
    dates = [f"2021-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(30)]
    with pytest.raises(
        InputError, match=r"dates, and texts among them: '2021-02-30'; .*--missing 2021-02-30,"
    ):
        read([*dates, "2021-02-30"])
    assert read([*dates, "unknown date"], missing=("unknown date",)).date == "%Y-%m-%d"


def test_per_cent_signs_on_some_numbers_only_are_refused():
    with pytest.raises(InputError, match=r"per cent sign, such as '45 %', and without, such as '0.3': write"):
        read(["45 %", "0.3", "0"])
    assert read(["45 %", "30%", "0"]).values.tolist() == [45.0, 30.0, 0.0]


@pytest.mark.parametrize("form", ["({})", "{}-", "{}±0.1"])
def test_numbers_in_forms_of_accounts_are_no_categories(form):
    texts = [f"{k}.5" if k % 2 else form.format(f"{k}.5") for k in range(40)]
    with pytest.raises(InputError, match=r"'dose' has numbers such as .*: write each as one number"):
        read(texts)
    assert read(texts, kept=True).kind == "text"
    for codes in (
        ["A", "B-", "B", "1-"] * 10,
        [f"({k})" for k in range(200, 240)],
        [f"{k}-" for k in range(40)],
    ):
        assert read(codes).kind == "text"
    with pytest.raises(InputError, match="has numbers, and texts among them: '90-', 'pos'"):
        read([*map(str, range(40)), "90-", "pos"])

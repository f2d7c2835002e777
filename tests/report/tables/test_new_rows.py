"""Rows to predict, read by what the training table was like."""

import numpy as np
import pytest

from bayes_svm.report.errors import InputError
from bayes_svm.report.tables.new_rows import Seen, read_new_rows
from bayes_svm.report.tables.options import Options

pytest.importorskip("pandas")
COLUMNS = (
    Seen("size", "number", "", 0.0, 10.0),
    Seen("seen", "number", "%d.%m.%Y", 18000.0, 19000.0),
    Seen("colour", "text", values=("blue", "red")),
)
HEADER = "colour,size,seen\n"


def read(write, text, **options):
    return read_new_rows(write(text), COLUMNS, ("number", "y"), Options(**options))


def test_columns_are_found_by_name(write):
    found = read(write, "y,colour,more,size,seen,number\np,red,1,5,01.06.2020,7\n")
    assert list(found.frame.columns) == ["size", "seen", "colour"]
    assert found.frame.iloc[0].tolist() == [5.0, 18414.0, "red"]
    assert found.notes == ("Columns ignored, which the model does not know: 'more'.",)
    assert (found.missing, found.remarks) == ([[]], [[]])
    assert (found.id_name, found.identifiers.tolist()) == ("row", [1])


def test_columns_that_are_not_there_are_named(write):
    with pytest.raises(InputError, match="lacks columns that the model needs: 'size', 'seen'; add them"):
        read(write, "colour\nred\n")
    with pytest.raises(InputError, match="has no column 'who'; choose --id"):
        read(write, HEADER + "red,5,01.06.2020\n", id="who")


def test_the_file_may_be_written_differently(write):
    text = "colour;size;seen\n Red ;5,5;01.06.2020\nblue;?;NA\n"
    found = read(write, text.encode("utf-16"))
    assert found.frame["size"].tolist()[0] == 5.5
    assert found.frame["colour"].tolist() == ["red", "blue"]
    assert found.missing == [[], ["size", "seen"]]
    assert found.notes == ("The encoding is UTF-16.", "Cells are separated by ';' (--sep says otherwise).")


def test_what_is_strange_is_told_row_by_row(write):
    found = read(
        write,
        HEADER
        + "green,5,01.06.2020\nred,11,01.06.2020\nred,99,01.06.2020\nred,abc,01.06.2020\nred,5,June\n"
        + "red,inf,01.06.2020\nred,5,01.01.1999\n",
    )
    assert found.remarks == [
        ["unknown value 'green' in column colour"],
        # A little outside is nothing to speak of.
        [],
        ["99 in column size is outside 0 to 10"],
        ["'abc' in column size is no number"],
        ["'June' in column seen is no date"],
        ["'inf' in column size is no number"],
        ["10592 in column seen is outside 18000 to 19000"],
    ]
    assert found.missing == [[]] * 7
    np.testing.assert_array_equal(found.frame["size"], [5.0, 11.0, 99.0, np.nan, 5.0, np.nan, 5.0])


def test_codes_of_digits_stay_as_they_are_written(write):
    columns = (Seen("code", "text", values=("01", "02", "A1", "True")),)
    found = read_new_rows(write("code\n01\n02\n"), columns, (), Options())
    assert (found.frame["code"].tolist(), found.remarks) == (["01", "02"], [[], []])
    # pandas reads this column as truth values.
    assert read_new_rows(write("code\ntrue\ntrue\n"), columns, (), Options()).frame["code"][0] == "True"


def test_a_comma_that_may_mean_either_is_asked_for(write):
    text = "colour;size;seen\nred;1,234;01.06.2020\n"
    with pytest.raises(InputError, match="say what the comma means"):
        read(write, text)
    assert read(write, text, decimal=",").frame["size"].tolist() == [1.234]


def test_rows_without_values_keep_the_numbers_of_the_others(write):
    found = read(write, HEADER + "red,5,01.06.2020\n,,\nblue,6,01.06.2020\n")
    assert found.identifiers.tolist() == found.numbers.tolist() == [1, 3]
    named = read(write, "who," + HEADER + "007,red,5,01.06.2020\n", id="who")
    assert (named.id_name, named.identifiers.tolist()) == ("who", ["007"])


def test_what_was_missing_in_training_is_missing_here(write):
    columns = (
        Seen("size", "number", "", 0.0, 10.0, missing=("-999", "?")),
        Seen("level", "number", "", 0.0, 10.0, missing=("high",)),
        Seen("colour", "text", values=("NA", "red"), missing=("none",)),
    )
    text = "size,level,colour\n-999,high,none\n5,5,NA\n"
    found = read_new_rows(write(text), columns, (), Options())
    assert found.missing == [["size", "level", "colour"], []]
    assert found.remarks == [[], []]
    # Here it is a text that the model knows.
    assert found.frame["colour"].tolist()[1] == "NA"


def test_a_whole_column_may_be_empty(write):
    found = read(write, HEADER + "red,5,\nblue,6,\n")
    assert found.missing == [["seen"], ["seen"]]

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
    assert found.notes == (
        "Columns ignored, which the model does not know: 'more'.",
        "'seen': dates such as '01.06.2020' read as days since 1970-01-01.",
    )
    assert (found.missing, found.remarks) == ([[]], [[]])
    assert (found.id_name, found.identifiers.tolist()) == ("row", [1])


def test_columns_that_are_not_there_are_named(write):
    with pytest.raises(InputError, match="needs: 'size'; write 'Size' as in training"):
        read(write, "Size,seen,colour\n1,2020-01-01,red\n")
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
    assert found.notes == (
        "The encoding is UTF-16.",
        "Cells are separated by ';' (--sep says otherwise).",
        "'size' (1): '?' read as missing.",
        "'size' (1): decimal commas, as in '5,5', read as points (--decimal . says otherwise).",
        "'seen' (1): 'NA' read as missing.",
        "'seen': dates such as '01.06.2020' read as days since 1970-01-01.",
        "'colour' (1): blanks around values removed, and runs of blanks and line ends within them read as "
        "one.",
        "'colour' (1): 'red' and 'Red' read as one value.",
    )


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
        ["1999-01-01 in column seen is outside 2019-04-14 to 2022-01-08"],
    ]
    assert found.missing == [[]] * 7
    np.testing.assert_array_equal(found.frame["size"], [5.0, 11.0, 99.0, np.nan, 5.0, np.nan, 5.0])


def test_codes_of_digits_stay_as_they_are_written(write):
    columns = (Seen("code", "text", values=("01", "02", "A1", "True")),)
    found = read_new_rows(write("code\n01\n02\n"), columns, (), Options())
    assert (found.frame["code"].tolist(), found.remarks) == (["01", "02"], [[], []])
    # pandas reads this column as truth values.
    assert read_new_rows(write("code\ntrue\ntrue\n"), columns, (), Options()).frame["code"][0] == "True"


def test_dates_written_as_numbers(write):
    columns = (Seen("seen", "number", "%Y%m%d", 18000.0, 19000.0),)
    found = read_new_rows(write("seen\n20200601\n20200602\n"), columns, (), Options())
    assert found.frame["seen"].tolist() == [18414.0, 18415.0]
    assert found.notes == ("'seen': dates such as '20200601' read as days since 1970-01-01.",)
    # With an empty cell pandas reads them as floats.
    found = read_new_rows(write("seen,kind\n20200601,a\n2020061,a\n,a\n20200631,a\n"), columns, (), Options())
    np.testing.assert_array_equal(found.frame["seen"], [18414.0, np.nan, np.nan, np.nan])
    strange = ["'2020061' in column seen is no date"], ["'20200631' in column seen is no date"]
    assert found.remarks == [[], strange[0], [], strange[1]]
    # Beside a text they are texts, written as any number may be.
    for cells in (
        "20200601.0\n20200602.0\nNA",
        '"20200601,0"\n"20200602,0"\nNA',
        '"20,200,601"\n"20,200,602"\n?',
    ):
        found = read_new_rows(write(f"seen\n{cells}\n"), columns, (), Options())
        np.testing.assert_array_equal(found.frame["seen"], [18414.0, 18415.0, np.nan])
        assert found.remarks == [[], [], []]


def test_a_day_is_not_missing_because_its_number_is(write):
    columns = (Seen("seen", "number", "%Y%m%d", 9000.0, 11000.0, missing=("9999",)),)
    found = read_new_rows(write("seen\n19970518\n9999\n"), columns, (), Options())
    np.testing.assert_array_equal(found.frame["seen"], [9999.0, np.nan])
    assert found.missing == [[], ["seen"]]


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


def test_how_numbers_were_read_is_said(write):
    columns = (
        Seen("level", "number", "", 0.0, 10.0, missing=("-999",)),
        Seen("share", "number", "", 0.0, 100.0),
        Seen("count", "number", "", 0.0, 9000.0),
    )
    found = read_new_rows(write('level,share,count\n-999,5 %,"1,200.5"\n5,<7,30\n'), columns, (), Options())
    assert found.frame.iloc[:, 1:].to_numpy().tolist() == [[5.0, 1200.5], [7.0, 30.0]]
    assert found.notes == (
        "'level' (1): '-999' read as missing.",
        "'share' (1): a limit such as '<7' read as the limit itself (write the value that you want in the "
        "file).",
        "'share' (1): per cent signs left out.",
        "'count' (1): separators of thousands, as in '1,200.5', left out (--decimal says otherwise).",
    )


def test_numbers_that_cannot_be_read_together_are_read_one_by_one(write):
    columns = (Seen("size", "number", "", 0.0, 10.0),)
    found = read_new_rows(write('size\n"1.5"\n"2,5"\n"<3"\n'), columns, (), Options())
    assert found.frame["size"].tolist()[::2] == [1.5, 3.0]
    assert found.remarks[1] == ["'2,5' in column size is no number"]
    assert found.notes == (
        "'size' (1): a limit such as '<3' read as the limit itself (write the value that you want in the "
        "file).",
    )


def test_what_was_missing_or_spelt_otherwise_among_texts_is_said(write):
    columns = (Seen("colour", "text", values=("blue", "red"), missing=("none",)),)
    found = read_new_rows(write("colour\nnone\nRED\nRed\nRED\nNA\nblue\n"), columns, (), Options())
    assert found.notes == (
        "'colour' (1): 'none' read as missing.",
        "'colour' (1): 'NA' read as missing.",
        "'colour' (2): 'red' and 'RED' read as one value.",
        "'colour' (1): 'red' and 'Red' read as one value.",
    )


def test_numbers_with_a_unit_are_named_here_too(write):
    ages = [f"{age}y" for age in range(30, 40)]
    columns = (Seen("age", "text", values=tuple(ages)),)
    found = read_new_rows(write("age\n" + "\n".join(ages) + "\n"), columns, (), Options())
    assert found.notes == (
        "'age' (10): kept as text: numbers with a unit, as in '30y', are as different from each other as "
        "names.",
    )


def test_the_column_that_named_the_training_rows_names_these(write):
    columns = (Seen("size", "number", "", 0.0, 10.0),)
    path = write("who,nr,size\n007,1,5\n008,2,6\n")
    found = read_new_rows(path, columns, (), Options(), "who")
    assert (found.id_name, found.identifiers.tolist()) == ("who", ["007", "008"])
    assert found.notes == (
        "Columns ignored, which the model does not know: 'nr'.",
        "'who': names the rows, as it did the training rows (--id says otherwise).",
    )
    other = read_new_rows(path, columns, ("who",), Options(id="nr"), "who")
    assert (other.id_name, other.identifiers.tolist(), other.notes) == ("nr", ["1", "2"], ())
    gone = read_new_rows(write("size\n5\n6\n"), columns, (), Options(), "who")
    assert (gone.id_name, gone.identifiers.tolist()) == ("row", [1, 2])
    assert gone.notes == (
        "No column 'who', which named the training rows: these are numbered from 1 (--id COL names them).",
    )
    two = write("nr,size\n1,5\n")
    with pytest.raises(InputError, match="has no column 'whom'; choose --id"):
        read_new_rows(two, columns, (), Options(id="whom"), "who")


def test_the_decimal_mark_of_the_training_table_makes_a_point_unclear(write):
    columns, text = (Seen("leuko", "number", "", 0.0, 9000.0),), "leuko;b\n1.234;12\n4.500;13\n"
    with pytest.raises(InputError, match=r"'leuko' has numbers such as '1.234': say what the point means"):
        read_new_rows(write(text), columns, (), Options(), decimal=",")
    found = read_new_rows(write(text), columns, (), Options(decimal=","), decimal=",")
    assert found.frame["leuko"].tolist() == [1234.0, 4500.0]
    assert read_new_rows(write(text), columns, (), Options(), decimal=".").frame["leuko"].tolist() == [
        1.234,
        4.5,
    ]


@pytest.mark.parametrize(
    ("per_cent", "cells", "what"),
    [
        (True, "45\n30%\n", "numbers without the per cent sign that it had"),
        (True, "0.45\n0.3\n", "numbers without the per cent sign that it had"),
        (False, "45 %\n0.3\n", "per cent signs, which it had not"),
    ],
)
def test_per_cent_signs_are_as_in_the_training_table(write, per_cent, cells, what):
    with pytest.raises(InputError, match=f"column 'ef' has {what} in the training table"):
        read_new_rows(
            write("ef\n" + cells), (Seen("ef", "number", "", 0.0, 90.0, per_cent=per_cent),), (), Options()
        )
    seen = (Seen("ef", "number", "", 0.0, 90.0, per_cent=True),)
    assert read_new_rows(write("ef\n45 %\n0\n"), seen, (), Options()).frame["ef"].tolist() == [45.0, 0.0]


def test_a_comma_that_could_be_either_mark_is_that_of_the_training_table(write):
    columns = (Seen("leuko", "number", "", 0.0, 9000.0),)
    text = "leuko;b\n1,234;5\n"
    assert read_new_rows(write(text), columns, (), Options(), decimal=",").frame["leuko"].tolist() == [1.234]
    assert read_new_rows(write(text), columns, (), Options(), decimal=".").frame["leuko"].tolist() == [1234.0]
    with pytest.raises(InputError, match="say what the comma means"):
        read_new_rows(write(text), columns, (), Options())


@pytest.mark.parametrize("n_training", [60, 5000])
def test_in_a_wide_table_some_numbers_are_outside_by_chance(write, n_training):
    columns = [Seen(f"c{k}", "number", "", 0.0, 10.0) for k in range(400)]
    header, inside = ",".join(one.name for one in columns), ["5"] * 400
    few, many = inside.copy(), inside.copy()
    few[:2], many[:60] = ["12"] * 2, ["12"] * 60
    huge = [*few[:2], "1e9", *inside[3:]]
    text = "\n".join([header, *(",".join(row) for row in (inside, few, many, huge))]) + "\n"
    found = read_new_rows(write(text), columns, (), Options(), n_training=n_training)
    assert [len(one) for one in found.remarks] == [0, 0, 61, 1]
    assert found.remarks[2][0].startswith("60 numbers outside of their training range, by chance at most ")
    assert found.remarks[3] == ["1e+09 in column c2 is outside 0 to 10"]
    # In a narrow table, and where nothing is known of the training rows, each of them counts.
    found = read_new_rows(write(text), columns, (), Options())
    assert [len(one) for one in found.remarks] == [0, 2, 60, 3]


def test_new_rows_like_the_training_rows_stand_in_a_wide_table(write):
    rng = np.random.default_rng(0)
    known, new = rng.normal(size=(60, 300)), rng.normal(size=(200, 300))
    ends_of = zip(known.min(axis=0), known.max(axis=0), strict=True)
    columns = [Seen(f"c{k}", "number", "", *ends) for k, ends in enumerate(ends_of)]
    text = ",".join(one.name for one in columns) + "\n"
    text += "\n".join(",".join(f"{value:.6f}" for value in row) for row in new) + "\n"
    found = read_new_rows(write(text), columns, (), Options(), n_training=60)
    assert sum(bool(one) for one in found.remarks) <= 4


def test_a_cell_with_a_per_cent_sign_concerns_its_row(write):
    columns = (Seen("size", "number", "", 0.0, 10.0, per_cent=False), *COLUMNS[1:])
    text = HEADER + "red,5,01.06.2020\nred,0.5 %,01.06.2020\nred,6,01.06.2020\n"
    found = read_new_rows(write(text), columns, ("number", "y"), Options())
    assert found.frame["size"].tolist()[0] == 5.0
    assert found.remarks == [[], ["'0.5 %' in column size is no number"], []]
    with pytest.raises(InputError, match="has per cent signs, which it had not in the training table"):
        read_new_rows(write(HEADER + "red,0.5 %,01.06.2020\n"), columns, ("number", "y"), Options())


def test_values_are_found_by_their_spelling(write):
    codes = (Seen("stage", "text", values=("1", "2", "3a", "No")), Seen("gene", "text", values=("AA", "aa")))
    text = "stage,gene\n1.0,AA\n2,Aa\n,aa\n3A,AA\nno,AA\n4.0,AA\n"
    found = read_new_rows(write(text), codes, ("number", "y"), Options())
    assert found.frame["stage"].tolist()[:2] == ["1", "2"]
    assert found.frame["stage"].tolist()[3:] == ["3a", "No", "4.0"]
    assert found.remarks == [
        [], ["unknown value 'Aa' in column gene"], [], [], [], ["unknown value '4.0' in column stage"],
    ]  # fmt: skip
    assert "'stage' (1): '1' and '1.0' read as one value." in found.notes

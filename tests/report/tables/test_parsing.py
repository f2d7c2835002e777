"""Files of other kinds than CSV."""

import importlib
import sys
import zipfile
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from bayes_svm.report.errors import InputError
from bayes_svm.report.tables.new_rows import Seen, read_new_rows
from bayes_svm.report.tables.options import Options
from bayes_svm.report.tables.reading import read_table

pd = pytest.importorskip("pandas")
FRAME = pd.DataFrame(
    {
        "size": [1.5, 2.0, 0.5, 7.0],
        "seen": pd.to_datetime(["2021-03-04", "2021-03-01", "2021-02-01", "2021-03-04"]),
        "colour": ["red", "blue", "blue", "red"],
        "y": ["p", "q", "p", "q"],
    }
)


def check(path, what):
    table = read_table(path, "y")
    assert table.frame["size"].tolist() == [1.5, 2.0, 0.5, 7.0]
    assert table.frame["colour"].tolist() == ["red", "blue", "blue", "red"]
    assert np.diff(table.frame["seen"]).tolist() == [-3.0, -28.0, 31.0]
    assert what in table.notes[-1]


def test_workbooks(tmp_path):
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    FRAME.to_excel(tmp_path / "rows.xlsx", index=False)
    check(tmp_path / "rows.xlsx", "The file is a workbook; its first sheet was read.")


def test_parquet(tmp_path):
    # A pyarrow that is too new for the installed NumPy is there, and cannot be imported.
    pytest.importorskip("pyarrow", reason="pyarrow cannot be imported", exc_type=ImportError)
    FRAME.to_parquet(tmp_path / "rows.parquet")
    check(tmp_path / "rows.parquet", "The file is in parquet format.")


def workbook(tmp_path, size=10):
    """A file that begins as a workbook does."""
    with zipfile.ZipFile(tmp_path / "rows.xlsx", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/workbook.xml", "0" * size)
    return tmp_path / "rows.xlsx"


@pytest.mark.parametrize(
    ("raw", "missing"),
    [(b"PAR1", "pyarrow"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xlrd"), (None, "openpyxl")],
)
def test_what_is_not_installed_is_named(tmp_path, write, monkeypatch, raw, missing):
    for module in (missing, f"{missing}.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    path = workbook(tmp_path) if raw is None else write(raw)
    with pytest.raises(InputError, match=f"needs {missing}.*: run pip install '{missing}'"):
        read_table(path, "y")


def test_what_cannot_be_loaded_is_refused(write, monkeypatch):
    load = importlib.import_module

    def too_new(name):
        if name.startswith("pyarrow"):
            raise ImportError("pyarrow requires\nanother NumPy")
        return load(name)

    monkeypatch.setattr(importlib, "import_module", too_new)
    with pytest.raises(
        InputError, match=r"needs pyarrow.*, which cannot be loaded: pyarrow requires another"
    ):
        read_table(write(b"PAR1"), "y")


def test_archives_that_are_no_workbooks(write):
    with pytest.raises(InputError, match="is a damaged zip archive"):
        read_table(write(b"PK\x03\x04 and no more"), "y")
    with zipfile.ZipFile(write(b"", "rows.zip"), "w") as packed:
        packed.writestr("rows.csv", "x,y\n1,a\n")
    with pytest.raises(InputError, match="is a zip archive and no workbook; unpack it"):
        read_table(packed.filename, "y")


def test_damaged_files(tmp_path, write):
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    with pytest.raises(InputError, match="is not a readable workbook"):
        read_table(workbook(tmp_path), "y")
    # A pyarrow that is too new for the installed NumPy is there, and cannot be imported.
    pytest.importorskip("pyarrow", reason="pyarrow cannot be imported", exc_type=ImportError)
    with pytest.raises(InputError, match="is not a readable parquet file"):
        read_table(write(b"PAR1 and no more"), "y")


def test_a_workbook_that_unpacks_to_too_much(tmp_path, small_memory):
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    path = workbook(tmp_path, 10_000_000)
    small_memory(1_000_000)
    with pytest.raises(InputError, match=r"is too large for the 0.0 GiB of memory that are free"):
        read_table(path, "y")


def as_workbook(tmp_path, rows, name="rows.xlsx"):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / name)
    return tmp_path / name


def test_a_workbook_whose_first_sheet_is_empty(tmp_path):
    with pytest.raises(InputError, match=r"the first sheet of 'rows.xlsx' is empty; put the sheet with"):
        read_table(as_workbook(tmp_path, []), "y")


def test_lines_above_the_header(tmp_path, write):
    rows = [["Patients of 2020"], [], ["x", "y"], [1, "a"], [2, "b"], [3, "a"], [4, "b"]]
    advice = "; if these are not its names, remove the lines above the header"
    with pytest.raises(InputError, match=rf"has no column 'y'.*{advice}"):
        read_table(as_workbook(tmp_path, rows), "y")
    with pytest.raises(InputError, match=r"saw 2; check .*, and remove lines above the header"):
        read_table(write("Patients of 2020\n\nx,y\n1,a\n2,b\n"), "y")


def as_parquet(tmp_path, frame):
    pytest.importorskip("pyarrow", reason="pyarrow cannot be imported", exc_type=ImportError)
    frame.to_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def test_numbers_of_a_workbook_have_no_decimal_mark(tmp_path):
    rows = [["a", "b", "y"], *([f"{k},5", k + 0.125, "pq"[k % 2]] for k in (1, 8, 3, 4))]
    table = read_table(as_workbook(tmp_path, rows), "y")
    assert table.frame["a"].tolist() == [1.5, 8.5, 3.5, 4.5]
    assert table.frame["b"].tolist() == [1.125, 8.125, 3.125, 4.125]
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    assert read_table(as_parquet(tmp_path, frame), "y").frame.equals(table.frame)


def test_names_that_are_whole_numbers_stay_whole_beside_an_empty_cell(tmp_path):
    rows = [
        ["who", "grade", "b", "y"],
        [17, 1, 1, "p"],
        [None, 1, 5, "q"],
        [13, "3a", 2, "p"],
        [5, None, 9, "q"],
    ]
    options = Options(id="who", impute=True)
    table = read_table(as_workbook(tmp_path, rows), "y", options)
    assert table.identifiers.tolist() == ["17", "", "13", "5"]
    assert table.frame["grade"].tolist()[:3] == ["1", "1", "3a"]
    frame = pd.DataFrame({"who": [17.0, np.nan, 13.0, 5.0], "b": [1, 5, 2, 9], "y": ["p", "q", "p", "q"]})
    assert read_table(as_parquet(tmp_path, frame), "y", options).identifiers.tolist() == ["17", "", "13", "5"]
    seen = (Seen("grade", "text", values=("1", "2", "3a")),)
    new = as_workbook(tmp_path, [["grade"], [1], [2], ["3a"]])
    assert read_new_rows(new, seen, (), Options()).frame["grade"].tolist() == ["1", "2", "3a"]


def test_numbers_that_the_user_calls_missing_are_so_in_any_file(tmp_path, write):
    rows = [["dose", "b", "y"], *([k % 3, k, "pq"[k % 2]] for k in (1, 8, 3, 4, 6, 9))]
    text = "\n".join(",".join(map(str, row)) for row in rows)
    options = Options(missing=("0",), impute=True)
    expected = read_table(write(text), "y", options).frame["dose"]
    assert expected.isna().tolist() == [False, False, True, False, True, True]
    for path in (as_workbook(tmp_path, rows), as_parquet(tmp_path, pd.DataFrame(rows[1:], columns=rows[0]))):
        found = read_table(path, "y", options).frame["dose"]
        np.testing.assert_array_equal(found, expected)


def test_two_columns_of_one_name_are_refused_in_a_workbook_too(tmp_path):
    rows = [["a", "crp ", "crp", "y"], [1, 2, 3, "p"], [4, 5, 6, "q"]]
    with pytest.raises(InputError, match="has more than one column named 'crp'"):
        read_table(as_workbook(tmp_path, rows), "y")


def test_cells_that_are_lists_are_texts(tmp_path):
    frame = FRAME.assign(more=[[1, 2], [1, 2], None, [3]])
    path = as_parquet(tmp_path, frame)
    assert "more" not in read_table(path, "y", Options(drop=("more",))).frame
    assert read_table(path, "y", Options(impute=True)).frame["more"].tolist()[:2] == ["[1 2]", "[1 2]"]


def test_times_of_day_in_a_workbook_are_read_from_a_text_too(tmp_path, write):
    rows = [["seen", "b", "y"]]
    rows += [[datetime(2021, 3, 1 + k, 10, 30), k % 3, "pq"[k % 2]] for k in (1, 8, 3, 4)]
    (column, _) = read_table(as_workbook(tmp_path, rows), "y").columns
    new = read_new_rows(
        write("seen\n2021-03-02 22:30:00\n"),
        (Seen("seen", "number", column.date, 0.0, 2e4),),
        (),
        Options(),
    )
    assert new.frame["seen"].tolist() == [18688.0 + 22.5 / 24]


def test_rows_have_the_numbers_of_the_file_although_some_are_left_out(write):
    table = read_table(write("b,w,y\n\n1,1,p\n4,0,p\n,,\n9,1,q\n2,2,p\n3,1,q\n\n"), "y", Options(weights="w"))
    assert table.rows.tolist() == [2, 5, 6, 7]
    assert table.identifiers.tolist() == [2, 5, 6, 7]
    assert "Rows without any value left out: 2." in table.notes
    one = read_new_rows(write("b\n5\n\n9\n\n\n2\n"), (Seen("b", "number", "", 0.0, 9.0),), (), Options())
    assert one.numbers.tolist() == [1, 3, 6]


def test_blanks_within_names_are_single(write, tmp_path):
    table = read_table(write("crp  mg/l, b,y\n1,5,p\n4,2,q\n2,6,p\n7,3,q\n"), "y")
    assert list(table.frame) == ["crp mg/l", "b"]
    assert "Blanks in names of columns removed, or made single: 'crp  mg/l', ' b'." in table.notes[-1]
    rows = [["crp\n(mg/l)", "y"], [1, "p"], [4, "q"], [2, "p"], [7, "q"]]
    assert list(read_table(as_workbook(tmp_path, rows), "y").frame) == ["crp (mg/l)"]


def test_what_the_user_calls_missing_is_a_name_and_no_group(write):
    text = "who,pat,b,y\n1,1,5,p\n2,1,7,q\n3,2,1,p\n4,2,8,q\n5,3,4,p\n6,3,3,q\n"
    options = Options(id="who", groups="pat", missing=("1",), impute=True)
    with pytest.raises(InputError, match=r"'pat' is missing in 2 of 6 rows \(written as '1'; --keep takes"):
        read_table(write(text), "y", options)
    table = read_table(write(text), "y", replace(options, keep=("pat",)))
    assert table.identifiers.tolist() == ["1", "2", "3", "4", "5", "6"]
    assert table.groups.tolist() == ["1", "1", "2", "2", "3", "3"]
    assert table.frame["b"].isna().tolist() == [False, False, True, False, False, False]


@pytest.mark.parametrize("blank", ["", " ", "  \t", "\r"])
def test_blank_lines_are_rows_without_a_value_wherever_they_are(write, blank):
    rows = ["1,p", "4,q", blank, "2,p", "7,q"]
    table = read_table(write("\n".join([blank, blank, "b,y", *rows, blank]) + "\n"), "y")
    assert table.frame["b"].tolist() == [1.0, 4.0, 2.0, 7.0]
    assert table.rows.tolist() == [1, 2, 4, 5]
    spaced = "\n".join([blank, "b y", "1 p", "4 q", "2 p", "7 q", blank])
    assert read_table(write(spaced), "y", Options(sep="space")).rows.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("sep", [",", "\t", ";"])
def test_lines_may_end_in_a_separator_that_the_header_lacks(write, sep):
    lines = ["b,c,y", "1,u,p,", "4,v,q,", "2,u,p,", "7,v,q,"]
    table = read_table(write("\n".join(lines).replace(",", sep)), "y")
    assert table.frame["b"].tolist() == [1.0, 4.0, 2.0, 7.0]
    lines[2] = "4,v,q,9"
    with pytest.raises(InputError, match="rows with more cells than its header"):
        read_table(write("\n".join(lines).replace(",", sep)), "y")


def test_dates_without_end_are_dates(tmp_path, write):
    ends = [datetime(9999, 12, 31), datetime(2021, 3, 1), datetime(2022, 5, 1), datetime(2021, 9, 1)] * 2
    rows = [["end", "b", "y"], *([end, k, "pq"[k % 2]] for k, end in enumerate(ends))]
    for table in (
        read_table(as_workbook(tmp_path, rows), "y", Options(keep=("end", "b"))),
        read_table(
            write(
                "\n".join([f"{end:%Y-%m-%d},{k},{label}" for end, k, label in rows[1:]]).join(
                    ["end,b,y\n", ""]
                )
            ),
            "y",
            Options(keep=("end", "b")),
        ),
    ):
        # An older pandas counts nanoseconds only, and reads such a column as texts.
        first = table.frame["end"].iloc[0]
        assert first == 2932896.0 or isinstance(first, str)


def test_two_columns_of_one_name_are_refused_in_parquet_too(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow cannot be imported", exc_type=ImportError)
    pyarrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    table = pyarrow.Table.from_arrays([pyarrow.array([1, 2])] * 2, names=["a", "a"])
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="has more than one column named 'a'"):
        read_table(tmp_path / "rows.parquet", "y")


def test_columns_that_parquet_keeps_as_an_index_are_columns(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow cannot be imported", exc_type=ImportError)
    FRAME.set_index(["size", "y"]).to_parquet(tmp_path / "rows.parquet")
    check(tmp_path / "rows.parquet", "The file is in parquet format.")
    FRAME.set_index(pd.Index(list("abcd"))).to_parquet(tmp_path / "letters.parquet")
    check(tmp_path / "letters.parquet", "The file is in parquet format.")
    # One of the name of a column is that column's copy.
    FRAME.set_index("size", drop=False).to_parquet(tmp_path / "twice.parquet")
    check(tmp_path / "twice.parquet", "The file is in parquet format.")


@pytest.mark.parametrize("gap", ["", "NA"])
def test_numbers_with_leading_zeros_are_told(write, gap):
    text = "size,plz,when,y\n" + "".join(
        f"{k * k % 7},{gap if gap and k == 8 else f'0{k % 9}067'},01.0{1 + k % 2}.2020,{'pq'[k // 2 % 2]}\n"
        for k in range(12)
    )
    table = read_table(write(text), "y", Options(impute=True))
    column = {one.name: one for one in table.columns}["plz"]
    assert column.kind == "number"
    assert "read as numbers, without the leading zeros as in '00067'" in column.done
    assert "write a letter before each value in the file if they are codes" in column.change
    assert table.frame["plz"].tolist()[:2] == [67.0, 1067.0]
    # Not of what is no feature.
    for options in (Options(id="plz"), Options(drop=("plz",)), Options(weights="plz"), Options(counts="plz")):
        if not gap:
            assert not [one for one in read_table(write(text), "y", options).notes if "zeros" in one]


def test_a_leading_zero_does_not_say_what_a_point_means(write):
    cells = [
        f"{k * 37 % 90 + 10}.{k * 61 % 900 + 100};0,{k * 17 % 900 + 100};{'pq'[k % 2]}" for k in range(20)
    ]
    for first in (cells[0], "05" + cells[0][6:]):
        with pytest.raises(InputError, match="say what the point means with --decimal"):
            read_table(write("c;x;y\n" + "\n".join([first, *cells[1:]])), "y")

"""A table as it is read: its columns, its rows, and what is said about them."""

import re

import numpy as np
import pytest

from bayes_svm.report.errors import InputError
from bayes_svm.report.model import fit_table
from bayes_svm.report.record import Settings
from bayes_svm.report.tables.options import Options
from bayes_svm.report.tables.reading import breast_cancer_table, read_table

pd = pytest.importorskip("pandas")
GOOD = "age,sex,ill\n" + "".join(
    f"{20 + k * k},{'fmm'[k % 3]},{'no' if k < 5 else 'yes'}\n" for k in range(10)
)


def rows(labels, feature=None):
    cells = [k * k % 7 if feature is None else feature for k in range(len(labels))]
    return "x,y\n" + "".join(f"{cell},{label}\n" for cell, label in zip(cells, labels, strict=True))


def test_a_plain_table(write):
    table = read_table(write(GOOD), "ill", Options(keep=("age",)))
    assert list(table.frame.columns) == ["age", "sex"]
    assert table.labels.tolist() == ["no"] * 5 + ["yes"] * 5
    assert (table.name, table.target, table.notes) == ("data.csv", "ill", ())
    assert [(one.name, one.kind, one.done) for one in table.columns] == [
        ("age", "number", ""),
        ("sex", "text", ""),
    ]
    assert table.identifiers.tolist() == list(range(1, 11))


def test_byte_order_mark_and_windows_line_ends(write):
    table = read_table(write(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()), "ill")
    assert list(table.frame.columns) == ["sex"]
    assert table.notes == (
        "'age': left out: it follows the order of the file, which is sorted by class too (--keep age "
        "takes it in).",
        "The encoding is UTF-8 with a byte order mark.",
    )


def test_leaks_are_left_out_and_named_and_can_be_kept(write):
    random = np.random.default_rng(0)
    text = "id,code,x,y\n" + "".join(
        f"{k + 1},{'AB'[k % 2]},{random.normal():.4f},{'no' if k % 2 else 'yes'}\n" for k in range(40)
    )
    table = read_table(write(text), "y")
    assert list(table.frame.columns) == ["x"]
    assert {one.name: one.change for one in table.columns} == {
        "id": "--keep id takes it in",
        "code": "--keep code takes it in",
        "x": "",
    }
    assert "'code': left out: a copy of the target, one value for each class" in table.notes[0]
    assert list(read_table(write(text), "y", Options(keep=("id,code",))).frame.columns) == ["id", "code", "x"]


def test_a_column_is_not_both_dropped_and_kept(write):
    with pytest.raises(InputError, match="--drop and --keep both name 'age'; name it in one of them"):
        read_table(write(GOOD), "ill", Options(drop=("age",), keep=("age",)))


def test_an_identifier_in_a_sorted_file_of_noise_tells_nothing(write):
    random = np.random.default_rng(5)
    n = 120
    numbers = np.sort(random.choice(5000, size=n, replace=False))
    noise = random.normal(size=(n, 3)).round(4)
    text = "number of sample,a,b,c,y\n" + "".join(
        f"{numbers[k]},{a},{b},{c},{'ab'[k >= n // 2]}\n" for k, (a, b, c) in enumerate(noise)
    )
    table = read_table(write(text), "y")
    assert list(table.frame.columns) == ["a", "b", "c"]
    fitted = fit_table(table, Settings())
    error = np.mean(fitted.classes[fitted.predicted] != table.labels)
    assert 0.35 < error < 0.65
    # With the column the same rows seem easy.
    leaky = read_table(write(text), "y", Options(keep=("number of sample",)))
    told = fit_table(leaky, Settings(quick=True))
    assert np.mean(told.classes[told.predicted] != leaky.labels) < 0.2


def test_counts_of_genes_are_kept(write):
    random = np.random.default_rng(1)
    counts = [random.permutation(9000)[:30] for _ in range(20)]
    text = ",".join(f"g{k}" for k in range(20)) + ",y\n"
    text += "".join(",".join(str(one[k]) for one in counts) + f",{'ab'[k % 2]}\n" for k in range(30))
    table = read_table(write(text), "y")
    assert table.frame.shape == (30, 20)
    assert "'g0', 'g1', 'g2', 'g3', 'g4' and 15 more: kept, although all its whole numbers" in table.notes[0]


def test_roles_of_columns(write):
    text = "who,ward,w,size,extra,y\n" + "".join(
        f"00{k},w{k % 4},{0 if k == 3 else 1 + k % 2},{k * k % 11},{k * k % 5},{'ab'[k // 2 % 2]}\n"
        for k in range(16)
    )
    options = Options(id="who", groups="ward", weights="w", drop=("extra",), positive="A")
    table = read_table(write(text), "y", options)
    assert list(table.frame.columns) == ["size"]
    # Identifiers are as they are written, and the row of weight 0 is not there.
    assert table.identifiers.tolist() == ["00" + str(k) for k in range(16) if k != 3]
    assert table.groups[:3].tolist() == ["w0", "w1", "w2"]
    # The unit of the weights does not matter.
    np.testing.assert_allclose(np.unique(table.weights), np.array([1.0, 2.0]) * 15 / 22)
    assert table.positive == "a"
    assert "Rows of weight 0 left out: 1." in table.notes
    assert {one.name: one.done for one in table.columns} == {
        "who": "names the rows (--id)",
        "ward": "groups the rows (--groups)",
        "w": "weighs the rows (--weights)",
        "size": "",
        "extra": "left out by --drop",
    }


@pytest.mark.parametrize("options", [Options(weights="w"), Options(counts="w")])
def test_rows_that_weigh_differently_leave_whole_and_cases_do_not(write, options):
    text = "x,w,y\n" + "".join(f"{k * k % 11},{300 + k},{'ab'[k // 2 % 2]}\n" for k in range(16))
    table = read_table(write(text), "y", options)
    told = any(
        "If they say how many equal cases a row stands for, use --counts" in one for one in table.notes
    )
    if options.counts:
        assert (table.counted, table.units, told) == (True, None, False)
        np.testing.assert_array_equal(table.weights, np.arange(300, 316))
    else:
        assert (table.counted, told) == (False, True)
        np.testing.assert_array_equal(table.units, np.arange(16))
        np.testing.assert_allclose(table.weights, np.arange(300, 316) / np.arange(300, 316).mean())


@pytest.mark.parametrize(
    ("first", "second"), [("P{}", "p{}"), ("P {}", "P  {}"), ("{}", "{}.0"), ("{}", "00{}"), ("{}", " {} ")]
)
def test_a_group_may_be_written_in_several_ways(write, first, second):
    rows = [
        f"{form.format(k)},{k * 0.37 % 1:.3f},{'ab'[k % 2]}\n" for form in (first, second) for k in range(12)
    ]
    text = "patient,x,y\n" + "".join(rows)
    table = read_table(write(text), "y", Options(groups="patient"))
    assert table.groups[:12].tolist() == table.groups[12:].tolist()
    assert len(set(table.groups)) == 12
    told = [one for one in table.notes if "groups that are written in several ways, such as '" in one]
    assert len(told) == (first.strip() != second.strip() and "  " not in second)
    kept = read_table(write(text), "y", Options(groups="patient", keep=("patient",)))
    assert len(set(kept.groups)) == (12 if second == " {} " else 24)


def test_spellings_that_leave_one_value_are_told(write):
    text = "code,x,y\n" + "".join(
        f"{('CT', 'Ct')[k % 2]},{k * 0.37 % 1:.3f},{'ab'[k % 2]}\n" for k in range(20)
    )
    notes = read_table(write(text), "y").notes
    assert any("'CT' and 'Ct' read as one value" in one for one in notes)
    assert any("'code': left out: the same value in every row" in one for one in notes)


def test_groups_of_one_row_each_are_told(write):
    text = "pat,visit,b,y\n" + "".join(f"{k // 2},{k},{k * k % 7},{'pq'[k // 2 % 2]}\n" for k in range(12))
    told = "Every row has a group of its own in 'visit'"
    assert any(one.startswith(told) for one in read_table(write(text), "y", Options(groups="visit")).notes)
    assert not any(
        "group of its own" in one for one in read_table(write(text), "y", Options(groups="pat")).notes
    )


def test_copies_of_rows_are_told(write):
    rows = [f"{k * 0.37 % 1:.3f},{k * 0.61 % 1:.3f},{k % 2},{'ab'[k // 3 % 2]}\n" for k in range(40)]
    once, twice = ("x,w,z,y\n" + "".join(rows * times) for times in (1, 2))
    told = "40 of 80 rows equal an earlier one in the class and all columns learned from"
    assert not any("equal an earlier" in one for one in read_table(write(once), "y").notes)
    assert any(one.startswith(told) for one in read_table(write(twice), "y").notes)
    # Of rows with few different values most are equal to another, and groups are said to be the same case.
    few = read_table(write(twice), "y", Options(only=("z",)))
    grouped = read_table(write(twice), "y", Options(groups="z"))
    random = np.random.default_rng(0)
    ages = "age,sex,y\n" + "".join(
        f"{a},{s},{'ab'[c]}\n"
        for a, s, c in zip(*random.integers([20, 0, 0], [75, 2, 2], (200, 3)).T, strict=True)
    )
    people = read_table(write(ages), "y")
    assert not any("equal an earlier" in one for table in (few, grouped, people) for one in table.notes)


def test_many_columns_of_two_values_hold_no_copies(write):
    table = np.random.default_rng(0).integers(0, 2, (300, 41))
    text = ",".join(f"c{k}" for k in range(40)) + ",y\n"
    text += "".join(",".join(map(str, row[:40])) + f",{'ab'[row[40]]}\n" for row in table)
    assert len(np.unique(table, axis=0)) == 300
    assert not any("equal an earlier" in one for one in read_table(write(text), "y").notes)


def test_weights_that_are_all_the_same_are_none(write):
    rows = [f"{k * 0.37 % 1:.3f},{{}},{'ab'[k // 3 % 2]}\n" for k in range(20)]
    text = "x,w,y\n" + "".join(rows)
    same = read_table(write(text.format(*[3] * 20)), "y", Options(weights="w"))
    assert (same.weights, same.units) == (None, None)
    assert not any("--counts" in one for one in same.notes)
    # What is nothing beside the largest weight is no row.
    tiny = read_table(write(text.format(*[1e-300, 1e300] * 10)), "y", Options(weights="w"))
    assert len(tiny.labels) == 10
    assert "Rows of weight 0 left out: 10." in tiny.notes
    with pytest.raises(InputError, match="without the rows of weight 0, the target 'y' has one class only"):
        read_table(write("x,w,y\n" + "1,0,a\n2,1,b\n" * 5), "y", Options(weights="w"))
    with pytest.raises(InputError, match="the counts in 'w' are 2e\\+301 cases; correct them"):
        read_table(write(text.format(*[1e300] * 20)), "y", Options(counts="w"))


def test_only_some_columns(write):
    text = 'a,"b,c",d,y\n' + "".join(
        f"{k * k % 7},{k * k % 5},{k * k % 3},{'pq'[k % 2]}\n" for k in range(12)
    )
    assert list(read_table(write(text), "y", Options(only=("a,d",))).frame.columns) == ["a", "d"]
    assert list(read_table(write(text), "y", Options(only=("b,c",))).frame.columns) == ["b,c"]
    # The target is no column that is left out.
    assert read_table(write(text), "y", Options(only=("a,d",))).notes == ("'b,c': left out by --only.",)
    for option in ("drop", "only", "keep"):
        with pytest.raises(InputError, match=f"has no column 'z'; choose --{option} from its columns"):
            read_table(write(text), "y", Options(**{option: ("z",)}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": ("y",)}, "--drop names the target 'y'"),
        ({"only": ("x", "y")}, "--only names the target 'y'"),
        ({"id": "y"}, "--id 'y' is the target itself"),
        ({"groups": "g"}, "has no column 'g'; choose --groups"),
        ({"weights": "v"}, "the weights in 'v' are not all numbers of at least 0"),
        ({"counts": "v"}, "the counts in 'v' are not all numbers of at least 0"),
        ({"counts": "half"}, "the counts in 'half' are not all whole numbers; give weights with --weights"),
        ({"weights": "half", "counts": "x"}, "--weights and --counts both say how much rows count"),
        ({"only": ("x",), "keep": ("v",)}, "--keep names 'v', which --only leaves out; name it there too"),
        ({"groups": "empty"}, "the group 'empty' is missing in 8 of 8 rows"),
        ({"drop": ("x", "v", "empty", "half")}, "no column besides the target 'y' is left to learn from"),
    ],
)
def test_roles_that_cannot_be(write, options, message):
    text = "x,v,empty,half,y\n" + "".join(
        f"{k * k % 7},{k - 4},,{1 + k % 3}.5,{'ab'[k % 2]}\n" for k in range(8)
    )
    with pytest.raises(InputError, match=message):
        read_table(write(text), "y", Options(**options))


def test_missing_values(write):
    text = "a,b,c,y\n1,u,,p\n,u,,q\n3,,,p\n8,v,,q\n"
    with pytest.raises(InputError) as caught:
        read_table(write(text), "y")
    assert str(caught.value).startswith("missing values in 'a' (1), 'b' (1); fill them in")
    assert "--impute" in str(caught.value)
    table = read_table(write(text), "y", Options(impute=True))
    assert list(table.frame.columns) == ["a", "b"]
    assert table.notes[0] == "'c': left out: all its values are missing."
    assert table.notes[1].endswith("of their column: 2.")


def test_texts_that_were_read_as_missing_are_named_in_the_refusal(write):
    cells = ["1", "2", "-999", "4", "3", "?", "5", "-999"]
    text = "hb,y\n" + "".join(f"{cell},{'pq'[k // 2 % 2]}\n" for k, cell in enumerate(cells))
    table = read_table(write(text), "y", Options(impute=True, missing=("3",)))
    assert table.columns[0].missing == ("3", "?", "-999")
    with pytest.raises(InputError, match=r"values in 'hb' \(3\) \('\?', '-999' read as missing\); fill"):
        read_table(write(text), "y")


def test_rows_without_any_value_are_left_out_and_keep_their_numbers(write):
    text = "a,b,y\n1,u,p\n,,\n5,v,q\n2,v,p\n7,u,q\n,,\n"
    table = read_table(write(text), "y")
    assert "Rows without any value left out: 2." in table.notes
    assert table.identifiers.tolist() == [1, 3, 4, 5]


def test_points_in_a_table_of_decimal_commas(write):
    def text(second):
        return "a;b;y\n" + "".join(f"{k},5;{second[k]};{'pq'[k % 2]}\n" for k in (0, 7, 3, 4))

    thousands = {0: "1.234", 7: "2.500", 3: "7.125", 4: "1.000"}
    with pytest.raises(InputError, match=r"'b' has numbers such as '1.234': say what the point means"):
        read_table(write(text(thousands)), "y")
    assert read_table(write(text(thousands)), "y", Options(decimal=",")).frame["b"].tolist() == [
        1234.0, 2500.0, 7125.0, 1000.0,
    ]  # fmt: skip
    points = {0: "1.2", 7: "2.5", 3: "7.125", 4: "1.0"}
    assert read_table(write(text(points)), "y").frame["b"].tolist() == [1.2, 2.5, 7.125, 1.0]


def test_a_comma_is_understood_from_other_columns(write):
    text = "a;b;y\n" + "".join(f"{k},5;1,{200 + k * k};{'pq'[k % 2]}\n" for k in (0, 7, 3, 4))
    assert read_table(write(text), "y").frame["b"].tolist() == [1.2, 1.249, 1.209, 1.216]


BAD = {
    "header only": (b"x,y\n", "has a header but no rows"),
    "unbalanced quotes": (b'x,y\n1,"a\n2,b\n', "a quotation mark is not closed"),
    "ragged": (b"x,y\n1,a\n1,a,b\n", "Expected 2 fields in line 3, saw 3"),
    "long rows": (b"x,y\n1,a,5\n1,b,6\n", "has rows with more cells than its header"),
    "duplicate names": (b"x, x,y\n1,2,a\n1,2,b\n", "has more than one column named 'x'"),
    "no such column": (
        b"x,label\n1,a\n",
        "has no column 'y'; choose --target from its columns: 'x', 'label'",
    ),
    "prose": (b"Dear all\nhow are you\n", "its only column is 'Dear all'; if it has several, say --sep"),
    "no features": (b"y\na\nb\na\nb\n", "no column besides the target 'y' is left"),
    "infinite": (b"x,y\ninf,a\n1,a\n-inf,b\n1,b\n", "numbers that are infinite or beyond 1e+150 in 'x' (2)"),
    "huge": (b"x,y\n1e308,a\n-1e308,b\n1.5e308,a\n1,b\n", "beyond 1e+150 in 'x' (3)"),
    "constant": (rows("abab", 1).encode(), "no column besides the target 'y' is left to learn from"),
    "one class": (rows("aaa").encode(), "target 'y' has one class only ('a')"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(write, case):
    content, message = BAD[case]
    with pytest.raises(InputError) as caught:
        read_table(write(content), "y")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_close_names_come_first(write):
    text = ",".join("abcdefgh") + ",diagnosis\n" + ",".join("12345678") + ",x\n"
    with pytest.raises(InputError, match=r"its columns: 'diagnosis', 'a'.*and 4 more"):
        read_table(write(text), "Diagnosis")


def test_long_names_are_cut_in_messages(write):
    with pytest.raises(InputError) as caught:
        read_table(write("x" * 5000 + ",y\ninf,a\n1,b\n1,a\n1,b\n"), "y")
    assert len(str(caught.value)) < 200


def test_embedded_data():
    table = breast_cancer_table()
    assert table.frame.shape == (569, 30)
    assert set(table.labels) == {"benign", "malignant"}
    assert (table.labels == "malignant").sum() == 212


def test_points_may_separate_thousands_where_semicolons_separate_cells(write):
    def text(sep):
        rows = ("2.184", "421", "4.802", "7.100")
        return "".join(
            sep.join(cells) + "\n"
            for cells in [["a", "y"], *([one, "pq"[k % 2]] for k, one in enumerate(rows))]
        )

    with pytest.raises(InputError, match=r"'a' has numbers such as '2.184': say what the point means"):
        read_table(write(text(";")), "y")
    assert read_table(write(text(";")), "y", Options(decimal=",")).frame["a"].tolist() == [
        2184,
        421,
        4802,
        7100,
    ]
    assert read_table(write(text(",")), "y").frame["a"].tolist() == [2.184, 421, 4.802, 7.1]


@pytest.mark.parametrize("mark", ["?", "NA"])
def test_a_mark_of_missing_values_is_no_group(write, mark):
    text = "pat,b,y\n" + "".join(
        f"{mark if k % 4 == 0 else k // 3},{k * k % 7},{'pq'[k % 2]}\n" for k in range(12)
    )
    with pytest.raises(
        InputError, match=rf"'pat' is missing in 3 of 12 rows \(written as '{re.escape(mark)}'; --keep"
    ):
        read_table(write(text), "y", Options(groups="pat"))
    kept = read_table(write(text), "y", Options(groups="pat", keep=("pat",)))
    assert mark in kept.groups.tolist()

import gzip
import io

import numpy as np
import pytest

from bayes_svm.report.cli import main
from bayes_svm.report.errors import InputError
from bayes_svm.report.tables import reading
from bayes_svm.report.tables.features import feature_transformer
from bayes_svm.report.tables.reading import breast_cancer_table, read_table
from bayes_svm.utils import memory

GOOD = "age,sex,ill\n" + "".join(f"{20 + k},{'fm'[k % 2]},{'no' if k < 5 else 'yes'}\n" for k in range(10))


@pytest.fixture
def write(tmp_path):
    def _write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write


def rows(labels, feature="1"):
    return "x,y\n" + "".join(f"{feature},{label}\n" for label in labels)


def test_numeric_and_categorical_columns(write):
    table = read_table(write(GOOD), "ill")
    assert list(table.frame.columns) == ["age", "sex"]
    assert table.labels.tolist() == ["no"] * 5 + ["yes"] * 5
    assert (table.name, table.target, table.notes) == ("data.csv", "ill", ())
    features = feature_transformer(table.frame).fit_transform(table.frame)
    assert features.shape == (10, 3)
    np.testing.assert_allclose(features[:, 0].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(features[:, 0].std(), 1)
    assert features[0, 1:].tolist() == [1, 0]


@pytest.mark.parametrize("name", ["data.csv.gz", "data.csv"])
def test_gzip_is_told_by_content(write, name):
    assert len(read_table(write(gzip.compress(GOOD.encode()), name), "ill").labels) == 10


def test_byte_order_mark_and_windows_line_ends(write):
    table = read_table(write(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()), "ill")
    assert list(table.frame.columns) == ["age", "sex"]


def test_boolean_labels_and_features(write):
    text = "a,b,y\n" + "1,True,True\n2,False,False\n" * 3
    table = read_table(write(text), "y")
    assert set(table.labels) == {"True", "False"}
    assert feature_transformer(table.frame).fit_transform(table.frame).shape == (6, 3)


def test_whole_numbers_written_as_floats_are_classes(write):
    assert read_table(write(rows(["0.0", "1.0", "0.0", "1.0"])), "y").labels.tolist() == [0, 1, 0, 1]


def test_constant_columns_are_fine(write):
    table = read_table(write(rows("abab")), "y")
    assert feature_transformer(table.frame).fit_transform(table.frame).tolist() == [[0]] * 4


def test_impute(write):
    text = "a,b,c,y\n1,u,,p\n,u,,q\n3,,,p\n8,v,,q\n"
    path = write(text)
    with pytest.raises(InputError) as caught:
        read_table(path, "y")
    assert str(caught.value).startswith("missing values in 'a' (1), 'b' (1), 'c' (4); fill them in")
    assert "--impute" in str(caught.value)
    table = read_table(path, "y", impute=True)
    assert list(table.frame.columns) == ["a", "b"]
    assert table.notes[0] == "Left out, because all their values are missing: 'c'."
    assert table.notes[1].endswith("of their column: 2.")
    features = feature_transformer(table.frame, impute=True).fit_transform(table.frame)
    assert np.isfinite(features).all()
    filled = np.array([1, 3, 3, 8])
    np.testing.assert_allclose(features[:, 0], (filled - filled.mean()) / filled.std())
    assert features[:, 1].tolist() == [1, 1, 1, 0]


def test_missing_booleans_can_be_imputed(write):
    table = read_table(write("a,y\nTrue,p\n,q\nTrue,p\nFalse,q\n"), "y", impute=True)
    features = feature_transformer(table.frame, impute=True).fit_transform(table.frame)
    assert features[:, 1].tolist() == [1, 1, 1, 0]


def test_identifier_columns_are_noted(write):
    text = "id,x,y\n" + "".join(f"p{k},{k},{k % 2}\n" for k in range(60))
    (note,) = read_table(write(text), "y").notes
    assert "'id' was read as text with 60 different values" in note


BAD = {
    "empty": (b"", "'data.csv' is empty"),
    "blank": (b"\n \n", "'data.csv' is empty"),
    "binary": (b"\x89PNG\r\n\x00\x01", "contains binary data and is not a CSV file"),
    "utf-16": (GOOD.encode("utf-16"), "contains binary data and is not a CSV file"),
    "latin-1": (
        "x,y\n1,a\n2,café\n".encode("latin-1"),
        "is not UTF-8 (the first invalid byte is in line 3); save it as a UTF-8 CSV",
    ),
    "damaged gzip": (gzip.compress(GOOD.encode())[:-9], "is a damaged gzip file"),
    "header only": (b"x,y\n", "has a header but no rows"),
    "unbalanced quotes": (b'x,y\n1,"a\n2,b\n', "a quotation mark is not closed"),
    "ragged": (b"x,y\n1,a\n1,a,b\n", "Expected 2 fields in line 3, saw 3"),
    "long rows": (b"x,y\n1,a,5\n1,b,6\n", "has rows with more cells than its header"),
    "duplicate names": (b"x,x,y\n1,2,a\n1,2,b\n", "has more than one column named 'x'"),
    "semicolons": (b"x;y\n1;a\n", "is separated by ';', not by commas"),
    "no such column": (
        b"x,label\n1,a\n",
        "has no column 'y'; choose --target from its columns: 'x', 'label'",
    ),
    "prose": (b"Dear all\nhow are you\n", "has no column 'y'"),
    "missing labels": (b"x,y\n1,a\n2,\n3,b\n", "target 'y' is missing in 1 of 3 rows (data rows 2)"),
    "one class": (rows("aaa").encode(), "target 'y' has one class only ('a')"),
    "class of one": (rows("aabbc").encode(), "target 'y' has classes with one row only: 'c'"),
    "too many classes": (
        rows([f"c{k // 2}" for k in range(120)]).encode(),
        "has 60 different values in 120 rows",
    ),
    "continuous": (rows(["0.5", "1.5", "0.5", "1.5"]).encode(), "target 'y' is continuous"),
    "infinite labels": (rows(["0", "inf", "0", "inf"]).encode(), "target 'y' is continuous"),
    "no features": (b"y\na\nb\na\nb\n", "no column besides the target 'y'"),
    "infinite": (b"x,y\ninf,a\n1,a\n-inf,b\n1,b\n", "numbers that are infinite or beyond 1e+150 in 'x' (2)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(write, case):
    content, message = BAD[case]
    with pytest.raises(InputError) as caught:
        read_table(write(content), "y")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_features_empty(write):
    with pytest.raises(InputError, match="all feature columns are empty"):
        read_table(write(rows("abab", feature="")), "y", impute=True)


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(InputError, match=r"no such file: .*nothing.csv"):
        read_table(tmp_path / "nothing.csv", "y")
    with pytest.raises(InputError, match="is a directory"):
        read_table(tmp_path, "y")


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


@pytest.fixture
def small_memory(monkeypatch):
    """Return a function that sets how many bytes are free, none of which are taken for granted."""

    def free(number):
        monkeypatch.setattr(reading, "available_bytes", lambda: number)
        monkeypatch.setattr(memory, "available_bytes", lambda: number)
        monkeypatch.setattr(reading, "ALWAYS_THERE", 0)
        monkeypatch.setattr(memory, "ALWAYS_THERE", 0)
        monkeypatch.setattr(reading, "PART", 2**10)

    return free


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("command", ["report", "loo"])
def test_a_table_that_does_not_fit_is_refused_with_the_number_of_rows_that_would(
    command, packed, write, small_memory, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    text = ("x,y\n" + "1,a\n2,b\n" * 5000).encode()
    path = write(gzip.compress(text) if packed else text)
    small_memory(1_000_000)
    assert main([command, str(path), "--target", "y"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "bayes-svm: 'data.csv' is too large for the 0.0 GiB of memory that are free" in error
    assert "for each row: give a sample of at most 1,773 rows" in error
    write(b"\n".join(text.split(b"\n")[:1773]) + b"\n")
    assert len(read_table(path, "y").labels) == 1772


def test_a_bomb_is_not_unpacked(write, small_memory):
    read = []

    class Bomb(io.BytesIO):
        def read(self, size=-1):
            read.append(size)
            return b"1," * (size // 2)

    small_memory(100_000)
    with pytest.raises(InputError, match="give fewer columns"):
        reading._read(Bomb(), "bomb.csv.gz")
    assert sum(read) < 100_000


def test_a_column_of_identifiers_is_refused_before_it_is_encoded(write, small_memory):
    table = read_table(write("name,y\n" + "".join(f"n{k},{k % 2}\n" for k in range(500))), "y")
    small_memory(16 * 500 * 500 - 1)
    with pytest.raises(MemoryError, match=r"500 rows and 500 columns.* needs 4,000,000 bytes.* Remove"):
        feature_transformer(table.frame)
    small_memory(16 * 500 * 500)
    assert feature_transformer(table.frame).fit_transform(table.frame).shape == (500, 500)


def test_where_the_system_does_not_say_how_much_is_free_every_table_is_read(write, small_memory):
    small_memory(None)
    assert len(read_table(write(GOOD), "ill").labels) == 10

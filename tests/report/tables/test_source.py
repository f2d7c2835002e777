"""The bytes of a table, and how many of them are read."""

import gzip
import hashlib
import io
import sys

import pytest

from bayes_svm.report.cli import main
from bayes_svm.report.errors import InputError
from bayes_svm.report.tables import source
from bayes_svm.report.tables.reading import read_table
from bayes_svm.report.tables.source import read_source

pytest.importorskip("pandas")
GOOD = "age,sex,ill\n" + "".join(
    f"{20 + k * k},{'fmm'[k % 3]},{'no' if k < 5 else 'yes'}\n" for k in range(10)
)


@pytest.mark.parametrize("name", ["data.csv.gz", "data.csv"])
def test_gzip_is_told_by_content(write, name):
    packed = gzip.compress(GOOD.encode())
    found = read_source(write(packed, name))
    assert found.raw == GOOD.encode()
    # The fingerprint is that of the file as it is stored.
    assert found.fingerprint == hashlib.sha256(packed).hexdigest()


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
    found = read_source("-")
    assert (found.name, found.raw) == ("standard input", GOOD.encode())


def test_no_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="there is no standard input"):
        read_source("-")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "'data.csv' is empty"),
        (b"\n \n", "'data.csv' is empty"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-9], "is a damaged gzip file"),
    ],
)
def test_bad_files(write, content, message):
    with pytest.raises(InputError, match=message):
        read_source(write(content))


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(InputError, match=r"no such file: .*nothing.csv"):
        read_source(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="is a directory"):
        read_source(tmp_path)
    with pytest.raises(InputError, match="cannot read"):
        read_source("a\0b")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("command", ["report", "loo"])
def test_a_table_that_does_not_fit_is_refused_with_the_number_of_rows_that_would(
    command, packed, write, small_memory, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    text = ("x,y\n" + "1,a\n2,b\n3,a\n3,b\n" * 2500).encode()
    path = write(gzip.compress(text) if packed else text)
    small_memory(1_000_000)
    assert main([command, str(path), "--target", "y"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "bayes-svm: 'data.csv' is too large for the 0.0 GiB of memory that are free" in error
    assert "for each row: give a sample of at most 1,773 rows" in error
    write(b"\n".join(text.split(b"\n")[:1773]) + b"\n")
    assert len(read_table(path, "y").labels) == 1772


def test_a_bomb_is_not_unpacked(small_memory):
    read = []

    class Bomb(io.BytesIO):
        def read(self, size=-1):
            read.append(size)
            return b"1," * (size // 2)

    small_memory(100_000)
    with pytest.raises(InputError, match="give fewer columns"):
        source._read(Bomb(), "bomb.csv.gz")
    assert sum(read) < 100_000


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_wide_tables_are_counted_whatever_separates_the_cells(write, small_memory, mark):
    small_memory(100_000)
    with pytest.raises(InputError, match="too large"):
        read_source(write(mark.join("1" * 5000)))


def test_where_the_system_does_not_say_how_much_is_free_every_table_is_read(write, small_memory):
    small_memory(None)
    assert len(read_table(write(GOOD), "ill").labels) == 10

"""Files of other kinds than CSV."""

import importlib
import sys
import zipfile

import numpy as np
import pytest

from bayes_svm.report.errors import InputError
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
    assert what in table.notes[0]


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

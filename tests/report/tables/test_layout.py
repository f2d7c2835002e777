"""How a file is written is recognised and said; what is not clear is asked for."""

import pytest

from bayes_svm.report.errors import InputError
from bayes_svm.report.tables.layout import layout_of
from bayes_svm.report.tables.options import Options
from bayes_svm.report.tables.source import Source


def layout(content, wanted=("y",), **options):
    raw = content if isinstance(content, bytes) else content.encode()
    return layout_of(Source("data.csv", raw, ""), wanted, Options(**options))


def test_commas_and_utf_8_go_without_saying():
    found = layout("x,y\n1,a\n")
    assert (found.sep, found.quote, found.notes) == (",", '"', ())


@pytest.mark.parametrize(
    ("text", "sep"),
    [
        ("x;y\n1,5;a\n", ";"),
        ("x\ty\n1,5\ta\n", "\t"),
        ("x|y\n1|a\n", "|"),
        ('"a;b","y"\n1,2\n', ","),
        # Both fit, but only one of them has the target in the header.
        ("name, first;y\nDoe, Ann;a\n", ";"),
        # A cell may contain separators and ends of lines if it is quoted.
        ('x;y\n"a,\nb;";c\n', ";"),
        # Uneven lines: the parser tells which.
        ("x,y\n1,a\n1,a,b\n", ","),
        ("y\na\nb\n", ","),
    ],
)
def test_the_separator(text, sep):
    found = layout(text)
    assert found.sep == sep
    assert any("separated by" in note for note in found.notes) == (sep != ",")


def test_two_separators_that_fit_alike_are_asked_for():
    with pytest.raises(InputError, match=r"may be separated by ',' or ';': say which with --sep"):
        layout("a,b;c\n1,2;3\n", wanted=("z",))
    assert layout("a,b;c\n1,2;3\n", wanted=("z",), sep=";").sep == ";"


@pytest.mark.parametrize(("given", "sep"), [(":", ":"), ("tab", "\t"), ("space", r"\s+"), ("semicolon", ";")])
def test_a_separator_that_is_given(given, sep):
    found = layout("x y\n1 a\n", sep=given)
    assert (found.sep, found.notes) == (sep, ())


@pytest.mark.parametrize("given", ["ab", "", "a", '"', "\n", "."])
def test_no_separator(given):
    with pytest.raises(InputError, match="is no separator; give one mark, tab or space"):
        layout("x y\n1 a\n", sep=given)


def test_a_line_that_names_the_separator():
    found = layout("sep=;\r\nx;y\r\n1;a\r\n")
    assert (found.sep, found.text) == (";", "x;y\r\n1;a\r\n")


def test_cells_quoted_by_apostrophes():
    found = layout("'x','y'\n'1,5','a'\n")
    assert found.quote == "'"
    assert found.notes == ("Cells are quoted by apostrophes.",)
    assert layout("'tis,y\n1,a\n").quote == '"'


@pytest.mark.parametrize(
    ("encoding", "title"),
    [
        ("utf-8-sig", "UTF-8 with a byte order mark"),
        ("utf-16", "UTF-16"),
        ("utf-32", "UTF-32"),
    ],
)
def test_byte_order_marks(encoding, title):
    found = layout("x,y\n1,ä\n".encode(encoding))
    assert (found.text, found.notes) == ("x,y\n1,ä\n", (f"The encoding is {title}.",))


def test_what_is_not_utf_8_is_read_as_a_western_encoding_and_that_is_said():
    found = layout("x,y\n1,a\n2,café €\n".encode("cp1252"))
    assert found.text.endswith("café €\n")
    assert "not UTF-8 (line 3); it was read as Windows-1252. If letters look wrong" in found.notes[0]
    # This byte is not in Windows-1252.
    found = layout(b"x,y\n1,\x81\n")
    assert found.text == "x,y\n1,\x81\n"
    assert "Latin-1" in found.notes[0]


def test_an_encoding_that_is_given():
    raw = "x,y\n1,Łódź\n".encode("cp1250")
    assert layout(raw, encoding="cp1250").text == "x,y\n1,Łódź\n"
    assert layout("x,y\n".encode("utf-16-le"), encoding="utf-16-le").text == "x,y\n"
    for wrong in ("klingon", "rot13", "hex"):
        with pytest.raises(InputError, match=f"--encoding '{wrong}' is no encoding of text"):
            layout(raw, encoding=wrong)
    with pytest.raises(InputError, match="is not in --encoding ascii"):
        layout(raw, encoding="ascii")


@pytest.mark.parametrize("raw", [b"\x89PNG\r\n\x00\x01", b"x,y\n\x00,a\n", "x,y\n".encode("utf-16-le")])
def test_binary_data(raw):
    with pytest.raises(InputError, match="contains binary data and is not a CSV file"):
        layout(raw)


def test_a_damaged_file_of_a_known_encoding():
    with pytest.raises(InputError, match="not all of it is utf-16"):
        layout("x,y\n".encode("utf-16") + b"\x00")

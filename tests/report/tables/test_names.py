"""Names of columns, as messages show them and as options give them."""

import shlex

import pytest

from bayes_svm.report.errors import InputError
from bayes_svm.report.tables.names import counted, listed, resolved, said, short, unknown_column


def test_names_in_messages():
    assert short("x" * 100) == "'" + "x" * 59 + "…'"
    # A terminal would obey it.
    assert short("\x1b[1m") == "'\\x1b[1m'"
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(list("abcdefg")) == "'a', 'b', 'c', 'd', 'e' and 2 more"
    assert counted({"a": 2, "b": 0, "c": 1}) == "'a' (2), 'c' (1)"
    assert counted(dict.fromkeys("abcdefg", 1)).endswith("'e' (1) and 2 more columns")


def test_names_in_options():
    columns = ["a", "b", "c,d"]
    assert resolved(["a,b"], columns, "--drop", "t.csv") == ["a", "b"]
    assert resolved(["c,d", "a", "a"], columns, "--drop", "t.csv") == ["c,d", "a"]
    with pytest.raises(InputError, match="--drop has an empty name"):
        resolved([""], columns, "--drop", "t.csv")
    with pytest.raises(InputError, match=r"'t.csv' has no column 'c'; choose --drop from its columns"):
        resolved(["c"], columns, "--drop", "t.csv")


def test_unknown_columns():
    assert "choose --id from its columns: 'size', 'who'" in str(
        unknown_column("sise", ["who", "size"], "--id", "t.csv")
    )
    assert "say --sep" in str(unknown_column("y", ["x y"], "--target", "t.csv"))


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("age", "--keep age"),
        ("my dose", '--keep "my dose"'),
        ("---", "--keep=---"),
        ("--quick", "--keep=--quick"),
        ('a"b', "--keep 'a\"b'"),
        ("$HOME", "--keep '$HOME'"),
        ("x" * 80, "--keep " + "x" * 80),
    ],
)
def test_an_option_is_said_as_it_can_be_typed(text, typed):
    assert said("--keep", text) == typed
    (word,) = shlex.split(typed)[-1:]
    assert word.removeprefix("--keep=") == text

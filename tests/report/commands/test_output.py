"""Files are written whole or not at all, and a terminal that cannot be written to is no crash."""

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bayes_svm.report.commands.output import check_output, say, write_file
from bayes_svm.report.errors import InputError


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    output = tmp_path / "r.html"
    output.write_text("before")

    def full(self, content):
        with self.open("wb") as file:
            file.write(content[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match=r"cannot write .*: No space left on device; choose another --save"):
        write_file(output, b"after", "--save")
    assert output.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["r.html"]


def test_an_interruption_leaves_nothing_half_written(tmp_path, monkeypatch):
    def stopped(one, other):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "r.html", b"after")
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_not_replaced_by_a_file():
    write_file(Path(os.devnull), b"nothing")
    assert not Path(os.devnull).is_file()


def test_places_that_cannot_be_written(tmp_path):
    for output, message in (
        (tmp_path / "no" / "r", "no such directory"),
        (tmp_path, "is a directory"),
        (tmp_path / ("a" * 300), "File name too long"),
        (Path("a\0b"), "null"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            check_output(output, None)
        assert str(caught.value).count("another --output") <= 1


class Refusing(io.StringIO):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def write(self, text):
        raise OSError(self.number, os.strerror(self.number))

    def fileno(self):
        return os.open(os.devnull, os.O_WRONLY)


def test_a_closed_pipe_is_no_error():
    assert say("text", Refusing(errno.EPIPE)) is None


def test_a_full_disk_behind_standard_output_is_said(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Refusing(errno.ENOSPC))
    with pytest.raises(InputError, match="cannot write to standard output: No space left on device"):
        say("text")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_no_traceback_at_exit_either(option):
    code = f"import sys; from bayes_svm.report import main; sys.exit(main([{option!r}]))"
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "bayes-svm: cannot write to standard output: No space left on device\n"

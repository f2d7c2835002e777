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
from bayes_svm.utils.progress import on_terminal


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
    for name, aside in (("stdout", False), ("stderr", True)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, name, Refusing(errno.EPIPE))
            assert say("text", aside=aside) is None


def test_a_stream_that_was_closed_in_the_process(monkeypatch):
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    assert say("lost", aside=True) is None
    with pytest.raises(InputError, match="cannot write to standard output: it is closed"):
        say("text")
    assert not on_terminal()
    monkeypatch.setattr(sys, "stderr", None)
    assert not on_terminal()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["report", "no.csv"], []])
def test_closed_streams(arguments, tmp_path):
    code = (
        "import os, sys; os.close(int(sys.argv[1])); "
        "os.execv(sys.executable, [sys.executable, '-c', "
        "'import sys; from bayes_svm.report import main; sys.exit(main(sys.argv[1:]))', *sys.argv[2:]])"
    )
    for closed in (1, 2):
        done = subprocess.run(
            [sys.executable, "-c", code, str(closed), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        told = closed == 2 and arguments in (["--help"], ["--version"])
        assert done.returncode == (0 if told else 2)
        assert bool(done.stdout) == told
        if closed == 1:
            assert done.stderr.startswith("bayes-svm: ")
            assert done.stderr.count("\n") == 1


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

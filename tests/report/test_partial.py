"""The values that an interrupted `bayes-svm loo` leaves in its partial file."""

import errno
import itertools
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from _loo_command import OUTPUT, PARTIAL, api, interrupted_after, n_kept, readings, refused, run


def test_a_line_that_was_cut_off_is_found_again(table, monkeypatch):
    table()
    monkeypatch.setattr(readings, "SECTION", 7)
    assert run("--output", "whole.csv") == 0
    original = interrupted_after(3, monkeypatch)
    assert run() == 130
    PARTIAL.write_text(PARTIAL.read_text()[:-9])
    monkeypatch.setattr(api, "iterate_parts", original)
    assert run("--resume") == 0
    assert OUTPUT.read_bytes() == Path("whole.csv").read_bytes()


def test_a_process_that_is_killed_loses_no_finished_value(table, monkeypatch):
    table(rows=40)
    monkeypatch.setattr(readings, "SECTION", 7)
    assert run("--output", "whole.csv") == 0
    slow = (
        "import importlib, time\n"
        "readings = importlib.import_module('bayes_svm.leave_one_out.methods')\n"
        "api = importlib.import_module('bayes_svm.leave_one_out.api')\n"
        "from bayes_svm.report.cli import main\n"
        "original, readings.SECTION = readings.iterate_parts, 7\n"
        "def slowly(*a, **o):\n"
        "    for count, part in enumerate(original(*a, **o)):\n"
        "        time.sleep(60 if count == 3 else 0)\n"
        "        yield part\n"
        "api.iterate_parts = slowly\n"
        "main(['loo', 'data.csv', '--target', 'kind'])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", slow])
    deadline = time.monotonic() + 60
    while n_kept() < 21 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 21 <= n_kept() < 80
    assert not OUTPUT.exists()
    assert run("--resume") == 0
    assert OUTPUT.read_bytes() == Path("whole.csv").read_bytes()


@pytest.mark.parametrize("change", ["features", "labels", "version"])
def test_what_is_of_something_else_is_refused_before_the_fit(table, monkeypatch, capsys, change):
    table()
    interrupted_after(2, monkeypatch)
    run()
    capsys.readouterr()
    lines = Path("data.csv").read_text().splitlines()
    if change == "features":
        # Both rows are of the same class.
        lines[1], lines[3] = lines[3], lines[1]
    elif change == "labels":
        lines[1], lines[2] = lines[1][:-1] + "b", lines[2][:-1] + "a"
    else:
        monkeypatch.setattr("bayes_svm.report.commands.loo.installed_version", lambda: "99")
    Path("data.csv").write_text("\n".join(lines))
    for module in ("dual.from_estimator", "classifiers.bayes_svc"):
        monkeypatch.setattr(f"bayes_svm.{module}.solve", lambda *arguments, **options: pytest.fail("solved"))
    assert "was written for other data, options or another version" in refused(capsys, "--resume")


@pytest.mark.parametrize(
    "line", ["0,1,2.5\n", "0,1,much,path\n", "0,900,1.0,path\n", "7,1,1.0,path\n", "\xff\n"]
)
def test_a_damaged_partial_file_is_refused(table, monkeypatch, capsys, line):
    table()
    original = interrupted_after(2, monkeypatch)
    run()
    capsys.readouterr()
    monkeypatch.setattr(api, "iterate_parts", original)
    PARTIAL.write_bytes(PARTIAL.read_bytes() + line.encode("latin-1"))
    before = PARTIAL.read_bytes()
    assert "is damaged: delete it to start over" in refused(capsys, "--resume")
    assert PARTIAL.read_bytes() == before


def test_the_same_file_is_gone_on_with_after_a_second_interruption(table, monkeypatch):
    table()
    monkeypatch.setattr(readings, "SECTION", 7)
    assert run("--output", "whole.csv") == 0
    original = interrupted_after(2, monkeypatch)
    assert run() == 130
    first = n_kept()
    PARTIAL.write_bytes(PARTIAL.read_bytes() + b"0,59,1.2")
    assert run("--resume") == 130
    assert first < n_kept() < 60
    monkeypatch.setattr(api, "iterate_parts", original)
    assert run("--resume") == 0
    assert OUTPUT.read_bytes() == Path("whole.csv").read_bytes()


@pytest.mark.parametrize("size", [0, 12])
def test_a_header_cut_off_begins_anew_but_a_file_of_something_else_does_not(table, monkeypatch, capsys, size):
    table()
    monkeypatch.setattr(readings, "SECTION", 7)
    assert run("--output", "whole.csv") == 0
    original = interrupted_after(2, monkeypatch)
    run()
    capsys.readouterr()
    monkeypatch.setattr(api, "iterate_parts", original)
    PARTIAL.write_bytes(PARTIAL.read_bytes()[:size] + b"#")
    assert "was written for other data" in refused(capsys, "--resume")
    PARTIAL.write_bytes(PARTIAL.read_bytes()[:size])
    interrupted_after(2, monkeypatch)
    assert run("--resume") == 130
    assert n_kept() == 28
    monkeypatch.setattr(api, "iterate_parts", original)
    assert run("--resume") == 0
    assert OUTPUT.read_bytes() == Path("whole.csv").read_bytes()


def test_a_full_disk_is_one_line_and_what_was_found_stays(table, monkeypatch, capsys):
    table()
    monkeypatch.setattr(readings, "SECTION", 7)
    original, count = Path.open, itertools.count()

    def full(path, *arguments, **options):
        if path == PARTIAL and next(count) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(path, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", full)
        line = refused(capsys)
    assert "No space left on device" in line
    assert "with --resume" in line
    assert n_kept() == 42
    assert run("--resume") == 0

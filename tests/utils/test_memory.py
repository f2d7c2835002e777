import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from _data import noisy
from bayes_svm import BayesSVC
from bayes_svm.kernels import kept_rows
from bayes_svm.kernels.kept_rows import KeptRows
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.utils import memory as _memory


def test_the_system_says_how_much_there_is():
    available = _memory.available_bytes()
    assert available is None or available > 2**20


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not tell the size of a process"
)
def test_what_a_limit_of_the_process_leaves_is_what_there_is():
    code = "from bayes_svm.utils.memory import available_bytes; print(available_bytes())"
    limited = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31)); " + code
    run = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, check=True)
    assert 0 < int(run.stdout) < 2**31


def test_the_message_says_bytes_and_what_to_do(monkeypatch):
    monkeypatch.setattr(_memory, "available_bytes", lambda: 1000)
    monkeypatch.setattr(_memory, "ALWAYS_THERE", 0)
    with pytest.raises(MemoryError, match=re.escape("Thing needs 2,000 bytes (0.0 GiB), and 1,000 bytes")):
        _memory.require_bytes(2000, "Thing", "Buy more.")
    _memory.require_bytes(1000, "Thing", "Buy more.")


def test_where_the_system_does_not_say_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(_memory, "available_bytes", lambda: None)
    assert _memory.require_bytes(10**18, "Thing", "Buy more.") is None


def test_a_fit_that_does_not_fit_is_refused_before_the_kernel_is_evaluated(monkeypatch):
    def kernel(X, Z):
        raise AssertionError("evaluated")

    X, y = noisy(n=50)
    monkeypatch.setattr(_memory, "available_bytes", lambda: 10_000)
    monkeypatch.setattr(_memory, "ALWAYS_THERE", 0)
    with pytest.raises(MemoryError, match=r"50 different training points needs 22,500 bytes.*Fit on"):
        BayesSVC(kernel=kernel).fit(X, y)


def test_what_is_always_there_is_not_asked_for(monkeypatch):
    monkeypatch.setattr(_memory, "available_bytes", lambda: 0)
    _memory.require_bytes(_memory.ALWAYS_THERE, "Thing", "Buy more.")
    with pytest.raises(MemoryError, match="Thing needs"):
        _memory.require_bytes(_memory.ALWAYS_THERE + 1, "Thing", "Buy more.")


def test_rows_of_weight_zero_need_no_memory(monkeypatch):
    X, y = noisy(n=50)
    monkeypatch.setattr(_memory, "available_bytes", lambda: 12_000)
    monkeypatch.setattr(_memory, "ALWAYS_THERE", 0)
    clf = BayesSVC().fit(X, y, sample_weight=np.arange(50) < 12)
    assert len(clf.solution_.beta) == 12


def test_kept_rows_need_memory_for_themselves_only(monkeypatch):
    monkeypatch.setattr(kept_rows, "available_bytes", lambda: 8 * 50 * 20)
    monkeypatch.setattr(_memory, "available_bytes", lambda: 8 * 50 * 20)
    monkeypatch.setattr(_memory, "ALWAYS_THERE", 0)
    X, _ = noisy(n=50)
    matrix = KeptRows(Kernel("rbf"), X)
    known = matrix.rows(np.arange(15))
    with pytest.raises(MemoryError, match=r"50 points, 25 rows of which.* needs 10,000 bytes.*lower C"):
        matrix.require(np.arange(25))
    np.testing.assert_array_equal(matrix.rows(np.arange(20))[:15], known)


def test_rows_are_counted_where_they_have_been_reserved(monkeypatch):
    monkeypatch.setattr(_memory, "ALWAYS_THERE", 0)
    matrix = KeptRows(Kernel("rbf"), noisy(n=50)[0])
    monkeypatch.setattr(_memory, "available_bytes", lambda: 8 * 50 * 4)
    matrix.require(np.arange(4))
    with pytest.raises(MemoryError, match="needs 2,000 bytes"):
        matrix.require(np.arange(9))


def test_where_the_system_does_not_say_rows_are_reserved_as_they_come(monkeypatch):
    monkeypatch.setattr(kept_rows, "available_bytes", lambda: None)
    X, _ = noisy(n=50)
    matrix = KeptRows(Kernel("linear"), X, 1)
    np.testing.assert_allclose(matrix.rows(np.arange(51))[:50, :50], X @ X.T, atol=1e-12)
    assert not matrix.rows(np.array([50])).any()


@pytest.mark.parametrize("names", [one[1:] for one in _memory.CONTROL_GROUPS])
def test_what_a_container_leaves_holds_the_cache(tmp_path, monkeypatch, names):
    limit, used, cached = names
    for name, text in ((limit, "1000\n"), (used, "950\n"), ("memory.stat", f"anon 7\n{cached} 900\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(_memory, "CONTROL_GROUPS", ((str(tmp_path), *names),))
    assert _memory.available_bytes() == 950
    (tmp_path / limit).write_text("max\n")
    assert _memory.available_bytes() != 950

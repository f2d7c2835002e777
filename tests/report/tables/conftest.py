import pytest

from bayes_svm.report.tables import source
from bayes_svm.utils import memory


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and returns its path."""

    def _write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write


@pytest.fixture
def small_memory(monkeypatch):
    """Return a function that sets how many bytes are free, none of which are taken for granted."""

    def free(number):
        for module in (source, memory):
            monkeypatch.setattr(module, "available_bytes", lambda: number)
            monkeypatch.setattr(module, "ALWAYS_THERE", 0)
        monkeypatch.setattr(source, "PART", 2**10)

    return free

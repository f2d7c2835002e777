import subprocess
import sys

import numba
import pytest

from bayes_svm._core.compiled import compiled


@pytest.fixture
def no_cache(monkeypatch):
    """A place where Numba finds no folder to keep machine code in."""
    njit = numba.njit

    def refuse_to_cache(*arguments, **options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'f': no locator available for file '<stdin>'")
        return njit(*arguments, **options)

    monkeypatch.setattr(numba, "njit", refuse_to_cache)


def test_a_loop_is_compiled_where_nothing_can_be_cached(no_cache):
    @compiled
    def twice(x):
        return 2 * x

    assert twice(21) == 42
    assert twice.signatures


def modules_after(statement):
    code = f"{statement}; import sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_takes_no_optional_module():
    # scikit-learn takes pandas itself where it is installed
    ours = modules_after("from bayes_svm import *") - modules_after(
        "import numba, sklearn.svm, sklearn.metrics"
    )
    assert "bayes_svm" in ours
    assert not ours & {"matplotlib", "statsmodels", "dask", "distributed", "jinja2", "pandas", "tqdm"}

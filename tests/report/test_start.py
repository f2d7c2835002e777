"""The start of the command: what it loads, and what an interruption does."""

import subprocess
import sys

import pytest

STOPPED = """
import sys

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
from bayes_svm.report import main
sys.exit(main(["report"]))
"""


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(option):
    code = f"""
import sys
from bayes_svm.report import main
try:
    main([{option!r}])
except SystemExit:
    pass
heavy = ("numpy", "pandas", "scipy", "sklearn")
print(*(name for name in heavy if name in sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "bayes-svm" in done.stdout
    assert done.stderr.split() == []


@pytest.mark.parametrize("module", ["bayes_svm.report.cli", "argparse", "pandas", "sklearn.svm", "numpy"])
def test_an_interruption_while_something_is_loaded_ends_without_a_traceback(module, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", STOPPED.format(module=module)], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 130
    assert done.stderr == "bayes-svm: interrupted\n"

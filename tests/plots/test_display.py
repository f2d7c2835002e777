"""Matplotlib is imported when something is drawn."""

import subprocess
import sys

from _figures import pytestmark  # noqa: F401


def test_importing_plots_does_not_import_matplotlib():
    code = "import sys, bayes_svm.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

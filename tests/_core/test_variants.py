"""Which of the compiled loops are loaded, and that it makes no difference."""

import os
import subprocess
import sys

import pytest

from bayes_svm import _core

FITTED = """
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from bayes_svm import BayesSVC
X, y = load_breast_cancer(return_X_y=True)
found = BayesSVC(C=10, gamma="scale").fit(scale(X)[::3], y[::3])
print(found.dual_coef_.tobytes().hex(), found.left_out_decision_values_.tobytes().hex())
"""
LOADED = """
from bayes_svm import _core
from bayes_svm._core import certify, follow, matrix, optimality, primal, shrink, smo
print(_core.VARIANT, *{"x86_64_v3" in module.__file__ for module in (certify, follow, matrix, primal, smo)})
"""


def run(code, variant):
    """What code prints, or the last line of its error, where BAYES_SVM_CORE is set."""
    command, environment = [sys.executable, "-c", code], os.environ | {"BAYES_SVM_CORE": variant}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def test_one_variant_is_loaded_as_a_whole():
    assert run(LOADED, "baseline") == "baseline False"
    if _core.VARIANT == "x86_64_v3":
        assert run(LOADED, "x86_64_v3") == "x86_64_v3 True"


def test_an_unknown_variant_is_an_error():
    assert "must be 'baseline', 'x86_64_v3' or 'python', not 'fast'" in run(LOADED, "fast")


@pytest.mark.skipif(_core.VARIANT != "x86_64_v3", reason="there is one variant only")
def test_all_variants_give_the_same_bits():
    assert run(FITTED, "baseline") == run(FITTED, "x86_64_v3")

"""What importing the package loads, and where its names come from."""

import subprocess
import sys
from unittest import mock

import pytest

import bayes_svm
import bayes_svm.decision
import bayes_svm.leave_one_out
import bayes_svm.plots

HEAVY = ("sklearn", "scipy", "numpy", "statsmodels", "pandas", "matplotlib")


def loaded_by(code):
    """Which heavy packages a new process has loaded after some code."""
    code += f"; import sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_by("import bayes_svm") == []


def test_the_version_loads_nothing_heavy():
    assert loaded_by("import bayes_svm; assert bayes_svm.__version__") == []


@pytest.mark.parametrize("name", bayes_svm.__all__)
def test_every_name_is_what_its_home_has(name):
    value = getattr(bayes_svm, name)
    assert value.__name__ == name
    assert value.__module__.startswith("bayes_svm.")
    assert name in dir(bayes_svm)


def test_the_function_leave_one_out_is_not_hidden_by_its_folder():
    from bayes_svm import leave_one_out
    from bayes_svm.leave_one_out import LeaveOneOut, api

    assert leave_one_out is api.leave_one_out
    assert bayes_svm.leave_one_out is leave_one_out
    assert bayes_svm.LeaveOneOut is LeaveOneOut


@pytest.mark.parametrize("folder", ["decision", "multivariate", "plots"])
def test_a_public_folder_is_loaded_when_asked_for(folder):
    assert loaded_by(f"import bayes_svm; bayes_svm.{folder}.__all__")


def test_the_types_that_skops_has_to_trust_load_nothing_heavy():
    assert loaded_by("import bayes_svm; bayes_svm.deployment.TRUSTED_TYPES") == []


def test_what_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'bayes_svm' has no attribute 'nothing'"):
        _ = bayes_svm.nothing


def test_a_name_can_be_replaced_and_put_back():
    function = bayes_svm.leave_one_out
    with mock.patch("bayes_svm.leave_one_out", "another"):
        assert bayes_svm.leave_one_out == "another"
    assert bayes_svm.leave_one_out is function


def test_import_takes_no_optional_module():
    # scikit-learn takes pandas itself where it is installed
    def modules_after(statement):
        code = f"{statement}; import sys; print(*{{name.split('.')[0] for name in sys.modules}})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    ours = modules_after("from bayes_svm import *") - modules_after("import sklearn.svm, sklearn.metrics")
    assert "bayes_svm" in ours
    assert not ours & {
        "cython",
        "matplotlib",
        "statsmodels",
        "dask",
        "distributed",
        "jinja2",
        "pandas",
    }

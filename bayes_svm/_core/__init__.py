"""Compiled loops: they take arrays and numbers, and know nothing of estimators.

Each is compiled for every CPU and, on x86-64, once more for those with the instructions of x86-64-v3 (2013).
Both give the same numbers, to the last bit. ``VARIANT`` tells which one was loaded: ``"baseline"`` or
``"x86_64_v3"``. The environment variable ``BAYES_SVM_CORE`` forces one of them, or ``"python"``: the same
loops uncompiled, for a look at them step by step. That needs Cython and is slow.
"""

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from os import environ
from pathlib import Path

# A module comes after those that it takes from.
MODULES = (
    "arrays",
    "structs",
    "matrix",
    "changed_points",
    "follow",
    "screen",
    "shrink",
    "grow",
    "optimality",
    "logistic",
    "informative",
    "primal",
    "team",
    "smo",
    "descend",
    "certify",
)
_FOLDERS = {"baseline": __name__, "x86_64_v3": f"{__name__}.x86_64_v3"}


def _file(variant: str, module: str) -> str:
    """Where a module of a variant is, or nothing.

    Python is asked by name: in an editable install, a compiled module is in another folder.
    """
    if variant == "python":
        return str(Path(__file__).with_name(f"{module}.py"))
    spec = find_spec(f"{_FOLDERS[variant]}.{module}")
    return "" if spec is None or spec.origin is None or spec.origin.endswith(".py") else spec.origin


def _chosen() -> str:
    """The variant to load."""
    forced = environ.get("BAYES_SVM_CORE") or None
    if forced not in (None, "python", *_FOLDERS):
        raise ImportError(
            "the environment variable BAYES_SVM_CORE must be 'baseline', 'x86_64_v3' or 'python', "
            f"not {forced!r}"
        )
    if forced == "python":
        if find_spec("cython") is None:
            raise ImportError("BAYES_SVM_CORE is 'python', which needs Cython: run `pip install cython`")
        return forced
    if not _file("baseline", "cpu"):
        raise ImportError(
            f"the loops of bayes_svm are not compiled in {Path(__file__).parent}: install the package with "
            "`pip install .` and use it from another folder, or install it with `pip install -e .`"
        )
    from bayes_svm._core.cpu import has_x86_64_v3

    if forced is None:
        return "x86_64_v3" if has_x86_64_v3() and _file("x86_64_v3", MODULES[0]) else "baseline"
    if not _file(forced, MODULES[0]):
        raise ImportError(f"BAYES_SVM_CORE is {forced!r}, which is not installed here: unset it")
    if forced == "x86_64_v3" and not has_x86_64_v3():
        raise ImportError("BAYES_SVM_CORE is 'x86_64_v3', which this CPU cannot run: unset it")
    return forced


def _load(variant: str) -> None:
    """Load all modules of a variant under the names that they are imported by."""
    for module in MODULES:
        name = f"{__name__}.{module}"
        spec = spec_from_file_location(name, _file(variant, module))
        assert spec is not None
        assert spec.loader is not None
        loaded = module_from_spec(spec)
        spec.loader.exec_module(loaded)
        # Not before it is complete: another thread that finds it there does not wait.
        sys.modules[name] = globals()[module] = loaded


VARIANT = _chosen()
_load(VARIANT)

"""The sources of the compiled loops, run by Python: the slow twin of each, and the steps inside."""

import sys
from contextlib import contextmanager
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import bayes_svm._core
from bayes_svm._core import MODULES

FOLDER = Path(bayes_svm._core.__file__).parent


@contextmanager
def _set_aside():
    """Within this context the compiled modules are not found under their names."""
    names = [f"bayes_svm._core.{loop}" for loop in MODULES]
    compiled = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    try:
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(compiled)


@cache
def sources() -> SimpleNamespace:
    """The modules, by name, with the functions that C alone can call when they are compiled."""
    found: dict[str, ModuleType] = {}
    with _set_aside():
        for loop in MODULES:
            spec = spec_from_file_location(f"bayes_svm._core.{loop}", FOLDER / f"{loop}.py")
            found[loop] = sys.modules[spec.name] = module_from_spec(spec)
            spec.loader.exec_module(found[loop])
    return SimpleNamespace(**found)

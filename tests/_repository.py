"""Files of the repository beside the package. A source distribution has some of them, a wheel none."""

import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def path_of(name):
    """A file or folder of the repository; without it the test, or the file of tests, is skipped."""
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{name} is not here: it is in the repository only", allow_module_level=True)
    return path


def text_of(name):
    return path_of(name).read_text(encoding="utf-8")


def pyproject():
    return tomllib.loads(text_of("pyproject.toml"))


def tool(name):
    """A module of ``tools/``, which is no package."""
    path = path_of(f"tools/{name}.py")
    spec = spec_from_file_location(name, path)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module

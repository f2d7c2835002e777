"""The reference names what is public, and nothing else."""

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/reference/index.md"
if not PAGE.is_file():
    pytest.skip("the tests run without the rest of the repository", allow_module_level=True)
MODULE = re.compile(r"^\.\. currentmodule:: (\S+)$")
NAME = re.compile(r"^(?:   |\.\. autodata:: )([A-Za-z]\w+)$")


def listed():
    """Public names on the page, each with its module in front."""
    module, found = "", []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if match := MODULE.match(line):
            module = match[1]
        elif match := NAME.match(line):
            found.append(f"{module}.{match[1]}")
    return found


@pytest.mark.parametrize("part", ["", "decision", "plots", "deployment"])
def test_every_public_name_is_in_the_reference(part):
    pytest.importorskip("matplotlib")
    module = import_module(f"bayes_svm.{part}".rstrip("."))
    there = {name.rpartition(".")[2] for name in listed()}
    assert set(module.__all__) <= there


def test_every_name_in_the_reference_is_public():
    pytest.importorskip("matplotlib")
    for name in listed():
        package, _, attribute = name.rpartition(".")
        assert attribute in import_module(package).__all__, name
    assert len(listed()) == len(set(listed()))

"""The reference names what is public, and nothing else."""

import re
from pathlib import Path

import pytest

import bayes_svm

PAGE = Path(__file__).parents[2] / "docs/reference/index.md"
MODULE = re.compile(r"^\.\. currentmodule:: (\S+)$")
NAME = re.compile(r"^   ([A-Za-z]\w+)$")


def listed():
    """Public names on the page, each with its module in front."""
    module, found = "", []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if match := MODULE.match(line):
            module = match[1]
        elif match := NAME.match(line):
            found.append(f"{module}.{match[1]}")
    return found


@pytest.mark.parametrize("part", ["", "decision", "plots"])
def test_every_public_name_is_in_the_reference(part):
    pytest.importorskip("matplotlib")
    module = getattr(bayes_svm, part) if part else bayes_svm
    there = {name.rpartition(".")[2] for name in listed()}
    assert set(module.__all__) <= there


def test_every_name_in_the_reference_is_public():
    pytest.importorskip("matplotlib")
    for name in listed():
        package, _, attribute = name.rpartition(".")
        module = getattr(bayes_svm, package.partition(".")[2]) if "." in package else bayes_svm
        assert attribute in module.__all__, name
    assert len(listed()) == len(set(listed()))

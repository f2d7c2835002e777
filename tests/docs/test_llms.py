"""docs/llms.txt says what the package offers today."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "docs/_site/names.py"
if not PATH.is_file():
    pytest.skip("the tests run without the rest of the repository", allow_module_level=True)
specification = importlib.util.spec_from_file_location("names", PATH)
names = importlib.util.module_from_spec(specification)
specification.loader.exec_module(names)


def test_the_list_of_names_is_that_of_the_package():
    pytest.importorskip("matplotlib")
    text = names.FILE.read_text(encoding="utf-8")
    assert text == names.written(text), "python docs/_site/names.py writes it anew"


def test_there_are_five_recipes():
    assert names.FILE.read_text(encoding="utf-8").count("```python") == 5

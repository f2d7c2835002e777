"""docs/llms.txt: every public name as it is today, and recipes that run."""

import doctest
import inspect
import re

import pytest

import bayes_svm
from _repository import path_of, text_of, tool

TEXT = text_of("docs/llms.txt")
RECIPES = re.findall(r"^## Recipe: ([^\n]*)\n\n```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Estimators and functions. The other names are kernels, and what the functions return.
TO_CALL = [
    name
    for name in bayes_svm.__all__
    if not inspect.isclass(getattr(bayes_svm, name)) or hasattr(getattr(bayes_svm, name), "fit")
]


@pytest.fixture(scope="module")
def llms():
    pytest.importorskip("matplotlib", reason="the displays are listed where matplotlib is installed")
    return tool("llms")


def test_the_names_and_signatures_are_those_of_the_package(llms):
    _, listed, _ = llms.parts(TEXT)
    assert listed == llms.names(), (
        "docs/llms.txt is old: run `python tools/llms.py`, and commit what it writes."
    )


@pytest.mark.parametrize("name", bayes_svm.__all__)
def test_every_public_name_is_listed(name):
    assert re.search(rf"^- `{name}\(", TEXT, re.MULTILINE), "Run `python tools/llms.py`."


@pytest.mark.parametrize("name", TO_CALL)
def test_every_estimator_and_function_has_its_use(name):
    uses = TEXT.partition("## Which to use when")[2].partition("\n## ")[0]
    assert f"`{name}`" in uses, f"Say in docs/llms.txt, under 'Which to use when', when to use {name}."


@pytest.mark.parametrize(("title", "recipe"), RECIPES, ids=[title for title, _ in RECIPES])
def test_a_recipe_runs(title, recipe):
    test = doctest.DocTestParser().get_doctest(recipe, {}, title, "docs/llms.txt", 0)
    report = []
    result = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=report.append)
    assert result.attempted > 5
    assert result.failed == 0, "".join(report)


def test_there_are_five_recipes():
    assert len(RECIPES) == 5


def test_it_has_the_form_of_llms_txt():
    title, rest = TEXT.split("\n", 1)
    assert title == "# bayes_svm"
    assert rest.lstrip("\n").startswith("> ")
    assert re.findall(r"^# ", rest, re.MULTILINE) == []


def test_the_pages_that_it_names_are_there():
    pages = re.findall(r"\]\((.*?)\.html\)", TEXT)
    assert pages
    for page in pages:
        assert (path_of("docs") / f"{page}.md").is_file(), page

"""What else names the version and the requirements says the same as pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "recipe/recipe.yaml").is_file():
    pytest.skip("the tests run without the rest of the repository", allow_module_level=True)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSIONS = {
    "CITATION.cff": r"^version: (\S+)$",
    "recipe/recipe.yaml": r'^  version: "(\S+)"$',
    "docs/cite.md": r"^  version = \{(\S+)\},$",
}


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", VERSIONS)
def test_versions_agree(name):
    assert re.findall(VERSIONS[name], text(name), re.MULTILINE) == [PROJECT["version"]]


def test_the_changelog_begins_with_this_version_or_what_is_to_come():
    headings = re.findall(r"^## \[(.+?)\](?: - \d{4}-\d{2}-\d{2})?$", text("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == PROJECT["version"] or headings[:2] == ["Unreleased", PROJECT["version"]]


def test_the_recipe_requires_what_the_package_does():
    yaml = pytest.importorskip("yaml")
    requirements = yaml.safe_load(text("recipe/recipe.yaml"))["requirements"]
    needed = {name.replace(" ", "") for name in requirements["run"] if not name.startswith("python ")}
    assert needed == set(PROJECT["dependencies"])
    built = {name.replace(" ", "") for name in requirements["host"] if " " in name}
    system = tomllib.loads(text("pyproject.toml"))["build-system"]
    assert built == set(system["requires"])


def test_the_python_of_the_recipe_is_that_of_the_package():
    lowest = re.findall(r'^  python_min: "(\S+)"$', text("recipe/recipe.yaml"), re.MULTILINE)
    assert f">={lowest[0]}" == PROJECT["requires-python"]

"""Addresses in the metadata: from one place, and left out while they are not known."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "tools/addresses.py").is_file():
    pytest.skip("the tests run without the rest of the repository", allow_module_level=True)
specification = importlib.util.spec_from_file_location("addresses", ROOT / "tools/addresses.py")
addresses = importlib.util.module_from_spec(specification)
specification.loader.exec_module(addresses)
SITE, REPOSITORY = "https://site.example", "https://code.example/bayes_svm"


def pyproject(documentation="", repository=""):
    read = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    read["tool"]["bayes-svm"] = {"documentation": documentation, "repository": repository}
    return read


def test_readme_has_no_relative_link_without_an_address():
    project = addresses.with_addresses(pyproject(), ROOT)["project"]
    assert project["urls"] == {}
    assert addresses.LINK.search(project["readme"]["text"]) is None
    assert "[what is in it]" not in project["readme"]["text"]
    assert "what is in it" in project["readme"]["text"]


def test_with_addresses_every_link_is_absolute():
    project = addresses.with_addresses(pyproject(SITE + "/", REPOSITORY), ROOT)["project"]
    text = project["readme"]["text"]
    assert addresses.LINK.search(text) is None
    assert f"({SITE}/results/joint.html)" in text
    assert f"({REPOSITORY}/blob/main/CHANGELOG.md)" in text
    assert project["urls"]["Documentation"] == SITE
    assert project["urls"]["Issues"] == f"{REPOSITORY}/issues"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](docs/b/c.md#d)", f"[a]({SITE}/b/c.html#d)"),
        ("[a](docs/README.md)", f"[a]({REPOSITORY}/blob/main/docs/README.md)"),
        ("[a](https://b.example/c.md)", "[a](https://b.example/c.md)"),
        ("[a](#b)", "[a](#b)"),
        ("![a picture](docs/b.png)", "a picture"),
    ],
)
def test_links(text, expected):
    assert addresses.absolute(text, SITE, REPOSITORY) == expected


def test_what_was_read_is_not_changed():
    read = pyproject(SITE, REPOSITORY)
    addresses.with_addresses(read, ROOT)
    assert read["project"]["readme"] == "README.md"
    assert "urls" not in read["project"]

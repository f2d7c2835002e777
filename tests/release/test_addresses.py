"""What a package index shows: the description and the addresses, known and not yet known."""

import re
from importlib.metadata import metadata

import pytest

import bayes_svm
from _repository import ROOT, pyproject, text_of, tool

SITE, SOURCE = "https://docs.example.org/bayes_svm", "https://example.org/group/bayes_svm"
EVERY_STATE = [(site, source) for site in ("", SITE) for source in ("", SOURCE)]


@pytest.fixture(scope="module")
def addresses():
    return tool("addresses")


def converted(addresses, text, site="", source=""):
    return addresses.with_absolute_links(text, documentation=site, repository=source, version="1.2")


def relative_targets(text):
    """Where links and images lead that a reader of the text alone cannot follow."""
    targets = re.findall(r"\]\(\s*<?([^)\s]*)", text) + re.findall(r"(?:src|href)=[\"']?([^\"'\s>]*)", text)
    return [target for target in targets if not target.startswith(("https://", "#"))]


@pytest.mark.parametrize(
    ("text", "site", "source", "expected"),
    [
        ("a [page](docs/a.md).", "", "", "a page."),
        ("a [page](docs/a.md).", SITE, "", f"a [page]({SITE}/a.html)."),
        ("a [page](docs/a.md).", "", SOURCE, f"a [page]({SOURCE}/blob/v1.2/docs/a.md)."),
        ("a [page](docs/b/a.md#c-d).", SITE, SOURCE, f"a [page]({SITE}/b/a.html#c-d)."),
        ("[all](docs/README.md)", SITE, SOURCE, f"[all]({SITE}/index.html)"),
        ("[`x`](x/y.md) [z](z.md#a)", SITE, "", "`x` z"),
        ("[`x`](x/y.md)", SITE, SOURCE, f"[`x`]({SOURCE}/blob/v1.2/x/y.md)"),
        ("![a plot](docs/a.png)", SITE, "", "a plot"),
        ("![a plot](docs/a.png)", SITE, SOURCE, f"![a plot]({SOURCE}/raw/v1.2/docs/a.png)"),
        ("[![p](p.png)](docs/a.md)", "", "", "p"),
        ("[![p](p.png)](docs/a.md)", SITE, SOURCE, f"[![p]({SOURCE}/raw/v1.2/p.png)]({SITE}/a.html)"),
        ("[up](#top) [out](https://example.org/a.md)", "", "", "[up](#top) [out](https://example.org/a.md)"),
        ("| [a](a.md) | [b](b.md) |", "", "", "| a | b |"),
    ],
)
def test_links_become_absolute_or_plain_text(addresses, text, site, source, expected):
    assert converted(addresses, text, site, source) == expected


def test_code_is_left_as_it_is(addresses):
    code = "```python\nf = table[i](docs)\n# [a](b.md)\n```"
    assert converted(addresses, f"[a](b.md)\n\n{code}\n\n[a](b.md)\n") == f"a\n\n{code}\n\na\n"


@pytest.mark.parametrize(
    "text",
    [
        '<img src="a.png">',
        "<a href='b.md'>b</a>",
        "[b][1]\n\n[1]: b.md",
        '[b](b.md "title")',
        "[b](<b c.md>)",
    ],
)
def test_a_link_in_another_form_is_refused(addresses, text):
    with pytest.raises(ValueError, match=r"README\.md: write the link in .* as \[text\]\(path\)"):
        converted(addresses, text, SITE, SOURCE)


@pytest.mark.parametrize(("site", "source"), EVERY_STATE)
def test_the_description_has_no_relative_link(addresses, site, source):
    data = pyproject()
    data["tool"]["bayes-svm"] = {"documentation": site, "repository": source}
    project = addresses.filled_in(data, ROOT)["project"]
    description = project["readme"]["text"]
    assert relative_targets(text_of("README.md"))
    assert relative_targets(description) == []
    assert description.count(f"{site}/") > 0 or not site
    assert description.count(f"{source}/blob/v") > 0 or not source
    assert len(description.split("```")) == len(text_of("README.md").split("```"))
    assert project["dynamic"] == []
    shown = set(project["urls"])
    assert shown == ({"Documentation"} if site else set()) | (
        {"Source", "Changelog", "Issues"} if source else set()
    )


def test_every_link_of_the_readme_leads_to_a_file():
    for target in relative_targets(text_of("README.md")):
        assert text_of(target.partition("#")[0])


@pytest.mark.parametrize(
    "address", ["http://example.org", "example.org", "https://example.org/", "https://a b"]
)
def test_a_wrong_address_is_refused(addresses, address):
    data = pyproject()
    data["tool"]["bayes-svm"]["documentation"] = address
    with pytest.raises(ValueError, match=r"documentation = .* begins with https:// and does not end in /"):
        addresses.filled_in(data, ROOT)


def test_the_installed_package_has_the_addresses_of_pyproject(addresses):
    known = pyproject()["tool"]["bayes-svm"]
    found = metadata("bayes-svm")
    shown = dict(line.split(", ", 1) for line in found.get_all("Project-URL", []))
    assert shown == addresses.urls(**known)
    assert found["Description-Content-Type"].startswith("text/markdown")
    # If another package brings importlib_metadata, the text is a field and not the body.
    description = found["Description"] or found.get_payload()
    assert description.startswith("# bayes_svm")
    assert relative_targets(description) == []


@pytest.mark.parametrize(("site", "source"), EVERY_STATE)
def test_meson_python_writes_them_into_the_metadata(addresses, site, source, monkeypatch):
    mesonpy = pytest.importorskip(
        "mesonpy", reason="meson-python is not installed: it is where packages are built"
    )
    monkeypatch.setattr(mesonpy, "Metadata", mesonpy.Metadata)  # the backend puts its own there
    backend = tool("backend")
    data = pyproject()
    data["tool"]["bayes-svm"] = {"documentation": site, "repository": source}
    assert mesonpy.Metadata is backend.Metadata
    message = mesonpy.Metadata.from_pyproject(data, ROOT).as_rfc822()
    assert message.get_payload() == addresses.filled_in(data, ROOT)["project"]["readme"]["text"]
    assert len(message.get_all("Project-URL", [])) == bool(site) + 3 * bool(source)
    assert message.get_all("Dynamic") is None


def test_the_reference_has_the_pages_that_the_html_of_estimators_links_to():
    reference = text_of("docs/reference/index.md")
    assert ":toctree: generated" in reference
    listed = re.findall(r"^ +(\w+)$", reference, re.MULTILINE)
    assert {name for name in bayes_svm.__all__ if hasattr(getattr(bayes_svm, name), "fit")} <= set(listed)

"""The built site: links lead somewhere, answers are near, nothing comes from elsewhere, examples are quick.

The environment variable BAYES_SVM_SITE names the folder that `.ci/docs` built.
"""

import json
import os
import re
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SITE = os.environ.get("BAYES_SVM_SITE")
pytestmark = pytest.mark.skipif(
    not SITE, reason="BAYES_SVM_SITE names no site: bash .ci/docs FOLDER builds one"
)
LOADED = {("script", "src"), ("img", "src"), ("img", "srcset"), ("link", "href"), ("iframe", "src")}


class Page(HTMLParser):
    """Anchors of a page, links on it, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = {""}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag, name) == ("a", "name"):
                self.anchors.add(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)
            elif (tag, name) in LOADED and value:
                self.loads += [part.split()[0] for part in value.split(",")] if name == "srcset" else [value]


@pytest.fixture(scope="module")
def pages():
    return {path: Page(path) for path in Path(SITE).resolve().rglob("*.html") if "_static" not in path.parts}


def test_internal_links_resolve(pages):
    broken = defaultdict(list)
    for path, page in pages.items():
        for link in page.links + page.loads:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            anchors = pages[target].anchors if target in pages else {unquote(address.fragment)}
            if not target.is_file() or unquote(address.fragment) not in anchors:
                broken[link].append(path.name)
    assert not broken


def test_nothing_is_loaded_from_elsewhere(pages):
    elsewhere = {
        load
        for page in pages.values()
        for load in page.loads
        if (urlsplit(load).scheme or urlsplit(load).netloc) and urlsplit(load).scheme != "data"
    }
    assert not elsewhere


def test_the_guide_is_one_click_away(pages):
    index = pages[Path(SITE).resolve() / "index.html"]
    guide = {path.name for path in (Path(SITE) / "guide").glob("*.html")} - {"index.html"}
    assert len(guide) == 12
    assert {f"guide/{name}" for name in guide} <= set(index.links)


def within(pages, clicks):
    """Pages that so many clicks on links reach from the landing page."""
    found = new = {Path(SITE).resolve() / "index.html"}
    for _ in range(clicks):
        links = {(page, urlsplit(link)) for page in new for link in pages[page].links}
        reached = {
            (page.parent / unquote(link.path)).resolve()
            for page, link in links
            if link.path and not link.scheme and not link.netloc
        }
        new = (reached & pages.keys()) - found
        found = found | new
    return {path.relative_to(Path(SITE).resolve()).as_posix() for path in found}


def test_every_answer_is_two_clicks_away(pages):
    table = (DOCS / "guide/index.md").read_text(encoding="utf-8")
    asked = {
        (Path("guide") / name).as_posix() for name in re.findall(r"^\| \[.*?\]\((.*?)\.md\)", table, re.M)
    }
    asked = {os.path.normpath(name) + ".html" for name in asked}
    assert len(asked) == 13
    assert asked <= within(pages, 2)


def test_examples_results_and_names_are_three_clicks_away(pages):
    examples = {f"gallery/{path.stem}.html" for path in DOCS.glob("examples/plot_*.py")}
    listed = re.findall(r"\((results/\w+)\.md\)", (DOCS / "results.md").read_text(encoding="utf-8"))
    names = {
        f"reference/generated/{path.name}" for path in (Path(SITE) / "reference/generated").glob("*.html")
    }
    wanted = examples | {f"{name}.html" for name in listed} | names
    assert examples
    assert listed
    assert names
    assert wanted - within(pages, 3) == set()


def test_no_example_takes_more_than_20_seconds():
    costs = sorted((DOCS / "gallery").glob("*.cost.json"))
    assert costs, "sphinx-gallery leaves the time of each example beside it"
    seconds = {
        path.name.split(".")[0]: json.loads(path.read_text(encoding="utf-8"))["time"] for path in costs
    }
    assert {name: round(time, 1) for name, time in seconds.items() if time > 20} == {}

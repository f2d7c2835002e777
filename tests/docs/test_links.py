"""Links of the built site: every one leads somewhere, and nothing is loaded from elsewhere.

The environment variable BAYES_SVM_SITE names the folder that `.ci/docs` built.
"""

import os
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

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

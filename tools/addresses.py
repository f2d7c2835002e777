"""The addresses of the site and of the repository, in the metadata of a distribution.

``[tool.bayes-svm]`` in pyproject.toml is the only place that holds them. The README links to files beside it,
which a package index does not have: there its links lead to the site or the repository, and are plain text
while these have no address.
"""

import re
from pathlib import Path

__all__ = ["with_addresses"]

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")
PAGE = re.compile(r"docs/(?!README)([\w/.-]+)\.md(#.*)?")


def address_of(target, documentation, repository):
    """Where a file that the README links to can be read, or nothing."""
    if documentation and (page := PAGE.fullmatch(target)):
        return f"{documentation}/{page[1]}.html{page[2] or ''}"
    return f"{repository}/blob/main/{target}" if repository else ""


def absolute(text, documentation, repository):
    """A text whose relative links are absolute, or gone. An image is replaced by what it shows."""

    def replaced(link):
        image, words, target = link.groups()
        address = "" if image else address_of(target, documentation, repository)
        return f"[{words}]({address})" if address else words

    return LINK.sub(replaced, text)


def with_addresses(pyproject, folder="."):
    """What meson-python reads in place of ``pyproject``: project.urls, and the README for an index."""
    known = pyproject["tool"]["bayes-svm"]
    documentation, repository = (known[name].rstrip("/") for name in ("documentation", "repository"))
    readme = Path(folder, "README.md").read_text(encoding="utf-8")
    text = absolute(readme, documentation, repository)
    project = {**pyproject["project"], "readme": {"text": text, "content-type": "text/markdown"}}
    urls = {"Documentation": documentation, "Repository": repository}
    if repository:
        urls["Changelog"] = f"{repository}/blob/main/CHANGELOG.md"
        urls["Issues"] = f"{repository}/issues"
    project["urls"] = {name: url for name, url in urls.items() if url}
    return {**pyproject, "project": project}

"""The description and the addresses of the package in its metadata.

The addresses stand in ``pyproject.toml``, in ``[tool.bayes-svm]``. A package index shows README.md, but none
of the files that it links to: their links become absolute, or plain text while the address is not known.
"""

import re
from pathlib import Path

IMAGE = re.compile(r"!\[([^\[\]]*)\]\(([^()\s]+)\)")
LINK = re.compile(r"(?<!!)\[((?:!\[[^\[\]]*\]\([^()\s]+\)|[^\[\]])*)\]\(([^()\s]+)\)")
CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
# Links in a form that is not read here: those of HTML, those defined at the end, those with a title.
UNREAD = re.compile(r"<(?:a|img)\s|^\[[^\]]+\]:|\]\((?!https?://|#)", re.MULTILINE)


def filled_in(pyproject, folder="."):
    """``pyproject.toml`` as a dictionary, with the description and the addresses in place of their names."""
    given, project = pyproject["tool"]["bayes-svm"], dict(pyproject["project"])
    addresses = {name: checked(name, given[name]) for name in ("documentation", "repository")}
    project["dynamic"] = [name for name in project["dynamic"] if name not in ("readme", "urls")]
    text = Path(folder, "README.md").read_text(encoding="utf-8")
    text = with_absolute_links(text, version=project["version"], **addresses)
    project["readme"] = {"text": text, "content-type": "text/markdown"}
    project["urls"] = urls(**addresses)
    return {**pyproject, "project": project}


def checked(name, address):
    """An address of ``[tool.bayes-svm]``: empty, or one that paths can be appended to."""
    if address and not re.fullmatch(r"https://[^\s/]+(/[^\s/]+)*", address):
        raise ValueError(
            f"{name} = {address!r} in [tool.bayes-svm] of pyproject.toml: give an address that begins with "
            "https:// and does not end in /, or nothing."
        )
    return address


def urls(documentation, repository):
    """What a package index shows as links of the project."""
    known = {"Documentation": documentation} if documentation else {}
    if repository:
        known["Source"] = repository
        known["Changelog"] = f"{repository}/blob/HEAD/CHANGELOG.md"
        known["Issues"] = f"{repository}/issues"
    return known


def with_absolute_links(text, *, documentation, repository, version):
    """A Markdown text without relative links.

    A page of ``docs/`` leads to its page of the site, any other file to the one with the tag of this version.
    """

    def address(target, shown):
        path, mark, heading = target.partition("#")
        if re.match(r"https?://", target) or not path:
            return target
        if documentation and path.startswith("docs/") and path.endswith(".md"):
            page = path.removeprefix("docs/").removesuffix(".md").replace("README", "index")
            return f"{documentation}/{page}.html{mark}{heading}"
        return f"{repository}/{shown}/v{version}/{target}" if repository else None

    def image(match):
        found = address(match[2], "raw")
        return f"![{match[1]}]({found})" if found else match[1]

    def link(match):
        found = address(match[2], "blob")
        return f"[{match[1]}]({found})" if found else match[1]

    parts = CODE.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = LINK.sub(link, IMAGE.sub(image, parts[i]))
        unread = UNREAD.search(parts[i])
        if unread:
            line = parts[i][unread.start() :].splitlines()[0]
            raise ValueError(f"README.md: write the link in {line!r} as [text](path).")
    return "".join(parts)

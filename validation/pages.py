"""The pages in docs/results: which are older than what they measure, and printing those again.

`python -m validation.pages` lists them. `--check` is for CI: it warns of each page whose files changed since
the commit that printed it, by more than comments, docstrings and what errors say. It fails if a line of a
table in README.md or a page of the site (QUOTING) leads to pages and holds a number that is on none of them;
in docs/measured.md it warns. `--print --data DIR` prints the pages that are not up to date: first one on each
core, and then, one by one, those that are about times. Stopped, it goes on where it was: a page that has been
printed is up to date.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import SimpleQueue

from validation._common import progress, table

ROOT = Path(__file__).parents[1]
RESULTS = Path("docs/results")
# A number that no page holds is an error in the one, and worth a warning in the other.
QUOTING = ("README.md", "docs/index.md", "docs/replacing.md", "docs/guide/big_data.md", "docs/limits.md")
MEASURED = "docs/measured.md"
# Where a program cannot be kept to a core, pages are printed one by one.
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]

COMMIT = re.compile(r"at commit ([0-9a-f]{7,40})(, with uncommitted changes)?")
# A line of a table, and an item of a list with the lines that continue it.
LINE, ITEM = re.compile(r"^\|.* \| .*$", re.MULTILINE), re.compile(r"^\* .*(?:\n  .*)*", re.MULTILINE)
MINUTES = re.compile(r"^Whole run: ([0-9.]+) minutes\.$", re.MULTILINE)
OWN_IMPORT = re.compile(r"^from (validation[\w.]*) import", re.MULTILINE)
LINK = re.compile(r"\]\((?:docs/|\.\./)?results/([\w.-]+\.md)\)")
CODE = re.compile(r"`[^`]*`")
NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")


@dataclass(frozen=True)
class Page:
    """One page of the manifest.

    Parameters
    ----------
    name : str
        Name of its file in docs/results.
    command : str
        Module and options that print it, without the data.
    measures : tuple of str
        Files and folders whose changes make it old.
    needs : tuple of str
        What has to be installed besides.
    full : bool
        Whether it takes so long that only ``--full`` prints it.
    alone : bool
        Whether nothing else may run beside it, because it is about times.
    wording : bool
        Whether comments, docstrings and what errors say count, too.
    """

    name: str
    command: str
    measures: tuple[str, ...]
    needs: tuple[str, ...] = ()
    full: bool = False
    alone: bool = False
    wording: bool = False

    @property
    def text(self) -> str:
        """What is on it; nothing if it has not been printed."""
        path = ROOT / RESULTS / self.name
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    @property
    def printed_by(self) -> str:
        """The command as its page gives it."""
        module, *options = shlex.split(self.command)
        return shlex.join(["python", "-m", module, "--data", "DIR", *options])

    @property
    def commit(self) -> str:
        """The commit that printed it, or nothing."""
        found = COMMIT.search(self.text)
        return found[1] if found else ""

    @property
    def minutes(self) -> float:
        """How long that took, 0 if it does not say."""
        found = MINUTES.search(self.text)
        return float(found[1]) if found else 0.0

    def outdated(self) -> str:
        """Why it is not up to date, or nothing."""
        if not self.text:
            return "not printed"
        found = COMMIT.search(self.text)
        if found is None:
            return "does not say which commit printed it"
        if f"\n    {self.printed_by}\n" not in self.text:
            return f"not printed by {self.printed_by}"
        if found[2]:
            return "printed with uncommitted changes"
        done = git("diff", "--name-only", found[1], "HEAD", "--", *self.measures)
        if done.returncode:
            return f"commit {found[1]} is not known here"
        changed = [path for path in done.stdout.split() if self.wording or not is_same_code(found[1], path)]
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        return f"{', '.join(changed[:3])}{more} changed since {found[1]}" if changed else ""

    def lacking(self) -> list[str]:
        """What it needs and is not installed."""
        return [need for need in self.needs if not is_there(need)]


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def is_same_code(commit: str, path: str) -> bool:
    """Whether only comments, docstrings and what errors say changed in a Python file from a commit to HEAD.

    Cython reads comments, too: of what it compiles, every change counts.
    """
    versions = [git("show", f"{which}:{path}") for which in (commit, "HEAD")]
    if not path.endswith(".py") or any(one.returncode or "cython" in one.stdout for one in versions):
        return False
    before, after = (code_of(one.stdout) for one in versions)
    return before == after


def code_of(text: str) -> str:
    """The syntax tree of Python code without docstrings and what errors that are raised say."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args = []
    return ast.dump(tree)


def is_there(need: str) -> bool:
    """Whether a distribution, or a program, is installed."""
    if need.startswith("program:"):
        return shutil.which(need.removeprefix("program:")) is not None
    try:
        version(need)
    except PackageNotFoundError:
        return False
    return True


def read_manifest() -> list[Page]:
    """The pages, in the order of the file."""
    manifest = tomllib.loads((ROOT / "validation/pages.toml").read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = manifest["groups"]

    def paths(name: str) -> Iterator[str]:
        if name not in groups:
            yield name
        for part in groups.get(name, ()):
            yield from paths(part)

    pages = []
    for name, entry in manifest["pages"].items():
        own = scripts(entry["command"].split()[0])
        measured = {path for group in entry["measures"] for path in paths(group)}
        measured -= {f":(exclude){path}" for path in measured}  # what a page names is not excluded
        pages.append(
            Page(
                name, entry["command"], tuple(sorted(measured | own)), tuple(entry.get("needs", ())),
                entry.get("full", False), entry.get("alone", False), entry.get("wording", False),
            )
        )  # fmt: skip
    return pages


def scripts(module: str) -> set[str]:
    """A script of validation/ and those that it imports; not what all of them share."""
    found, ahead = set(), [module]
    while ahead:
        path = ahead.pop().replace(".", "/") + ".py"
        if path not in found:
            found.add(path)
            imported = OWN_IMPORT.findall((ROOT / path).read_text(encoding="utf-8"))
            ahead += [one for one in imported if one != "validation._common"]
    return found


def listed(pages: list[Page]) -> str:
    """A table of the pages."""
    rows = [
        [
            page.name,
            page.commit or "–",
            f"{page.minutes:g}" if page.minutes else "–",
            page.outdated() or "yes",
        ]
        for page in pages
    ]
    usual = hours([page for page in pages if not page.full])
    total = f"{usual:.1f} hours on {len(CORES)} cores without --full, {hours(pages):.1f} with it."
    return f"{table(('page', 'commit', 'minutes', 'up to date'), rows)}\n\n{total}"


def hours(pages: list[Page]) -> float:
    """How long printing all of them takes, as far as they say how long each took."""
    beside = [page.minutes for page in pages if not page.alone]
    alone = sum(page.minutes for page in pages if page.alone)
    return (max(sum(beside) / len(CORES), max(beside, default=0.0)) + alone) / 60


def as_numbers(text: str) -> set[str]:
    """The numbers in a text, without commas and signs."""
    return {number.replace(",", "").lstrip("+-") for number in NUMBER.findall(text)}


def holds(number: str, printed: set[str]) -> bool:
    """Whether one of the numbers printed is this one, or rounds to it."""
    mantissa, _, exponent = number.partition("e")
    half = 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return any(abs(float(other) - float(number)) <= half * (1.0 + 1e-9) for other in printed)


def unsupported(name: str, pages: list[Page]) -> list[str]:
    """Numbers that no page holds to which their line of a table, or their item of a list, leads.

    Of tables they are those in the second column, of lists those with a decimal point.
    """
    texts, found = {page.name: page.text for page in pages}, []
    text = (ROOT / name).read_text(encoding="utf-8")
    claims = [(line, *line.strip("| ").split(" | ")[:2]) for line in LINE.findall(text)]
    claims += [(item, item.split("\n")[0].strip("* "), item) for item in ITEM.findall(text)]
    for whole, what, quoting in claims:
        linked = [texts[page] for page in LINK.findall(whole) if page in texts]
        if not linked:
            continue
        printed = set().union(*map(as_numbers, linked))
        quoted = sorted(as_numbers(CODE.sub("", quoting)))
        if whole == quoting:
            quoted = [number for number in quoted if "." in number]
        found += [f"{name}: {number}, of {what!r}" for number in quoted if not holds(number, printed)]
    return found


def unmatched(pages: list[Page]) -> list[str]:
    """Pages that are not in the manifest, or only there."""
    there = {path.name for path in (ROOT / RESULTS).glob("*.md")}
    named = {page.name for page in pages}
    manifest = "validation/pages.toml"
    wrong = [f"{RESULTS / name} is not in {manifest}" for name in sorted(there - named)]
    return wrong + [f"{RESULTS / name} is in {manifest}, and not there" for name in sorted(named - there)]


def print_pages(pages: list[Page], data: str, release: bool = False) -> list[str]:
    """Print the pages that are not up to date; for a release, all that HEAD has not printed.

    Returns what went wrong.
    """
    head, due, failed = git("rev-parse", "HEAD").stdout, [], []
    for page in pages:
        why, lacking = page.outdated(), page.lacking()
        if release and not why and not head.startswith(page.commit):
            why = f"printed by {page.commit}"
        if why and lacking:
            failed.append(f"{page.name} is not printed: install {', '.join(lacking)}")
        elif why:
            due.append((page, why))
    # The longest first: otherwise the last may leave the other cores idle for as long as it takes.
    beside = sorted((one for one in due if not one[0].alone), key=lambda one: -one[0].minutes)
    alone = [one for one in due if one[0].alone]
    for part, cores in ((beside, [{core} for core in CORES]), (alone, [set(CORES)])):
        free: SimpleQueue[set[int]] = SimpleQueue()
        for own in cores:
            free.put(own)
        with ThreadPoolExecutor(len(cores), initializer=keep_to_cores, initargs=(free,)) as pool:
            failed += filter(None, pool.map(partial(print_page, data=data), part))
    return failed


def keep_to_cores(free: SimpleQueue[set[int]]) -> None:
    """Keep this thread, and the processes that it starts, to cores that no other one has."""
    own = free.get()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, own)


def print_page(due: tuple[Page, str], data: str) -> str:
    """Print a page that is due for a reason; returns what went wrong, or nothing."""
    page, why = due
    progress(f"{time.strftime('%H:%M')}  {page.name}: {why}")
    module, *options = shlex.split(page.command)
    output = ["--data", data, "--output", str(RESULTS / page.name)]
    done = subprocess.run(
        [sys.executable, "-m", module, *options, *output], cwd=ROOT, stdout=subprocess.DEVNULL, check=False
    )
    return f"{page.name}: {page.command} ended with status {done.returncode}" if done.returncode else ""


def main() -> None:
    """List, check or print the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="warn of old pages; fail where a number is not held"
    )
    parser.add_argument("--print", action="store_true", dest="printing", help="print what is not up to date")
    parser.add_argument("--full", action="store_true", help="print the pages that take longest too")
    parser.add_argument("--release", action="store_true", help="print all that HEAD has not printed")
    parser.add_argument("--only", metavar="A,B", help="only these pages")
    parser.add_argument("--data", default=os.environ.get("BAYES_SVM_DATA"), metavar="DIR", help="the data")
    args = parser.parse_args()
    pages = read_manifest()
    if args.only:
        wanted = args.only.split(",")
        unknown = sorted(set(wanted) - {page.name for page in pages})
        if unknown:
            parser.error(f"no such page: {', '.join(unknown)}")
        pages = [page for page in pages if page.name in wanted]
    if args.check:
        old = [f"{RESULTS / page.name}: {why}" for page in pages if (why := page.outdated())]
        for line in old + unsupported(MEASURED, pages):
            print(f"warning: {line}")
        wrong = unmatched(pages) + [line for name in QUOTING for line in unsupported(name, pages)]
    elif args.printing:
        if args.data is None:
            parser.error("where are the data? Give --data DIR, or set BAYES_SVM_DATA")
        chosen = [page for page in pages if args.full or args.only or not page.full]
        wrong = print_pages(chosen, args.data, args.release)
    else:
        print(listed(pages))
        wrong = []
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

"""How large the installed package is, and everything that `pip install` brings with it.

    python -m validation.installed_size COMMIT [COMMIT ...] [--output FILE]

Each commit is installed into an empty folder, which needs a network or an index of packages.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from validation._common import Page, at_commit, full_name, parse, parser_for, table

ABOUT = """\
Sizes in MB, a million bytes, of commits of this project: the files of the package, the same with the
bytecode that pip writes beside them, and everything that `pip install` brings, in its newest versions. The
loops of 49fa920 were compiled by Numba at run time, later ones by Cython when the package is built."""


def megabytes(files: Iterable[Path]) -> float:
    """Sum of the sizes of files."""
    return sum(file.stat().st_size for file in files) / 1e6


def sizes(commit: str) -> list[str]:
    """Size of the package without and with bytecode, of everything, and the largest parts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", name, at_commit(commit)]
        subprocess.run(command, check=True)
        parts = {part.name: megabytes(f for f in part.rglob("*") if f.is_file()) for part in folder.iterdir()}
        own = [file for file in (folder / "bayes_svm").rglob("*") if file.is_file()]
        bare = megabytes(file for file in own if "__pycache__" not in file.parts)
        everything = megabytes(file for file in folder.rglob("*") if file.is_file())
    largest = sorted(parts, key=parts.__getitem__, reverse=True)[:8]
    found = ", ".join(f"{part} {parts[part]:.0f}" for part in largest)
    return [commit[:7], f"{bare:.2f}", f"{parts['bayes_svm']:.2f}", f"{everything:.0f}", found]


def main() -> None:
    """Print the page."""
    parser = parser_for(__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="+", metavar="COMMIT", type=full_name)
    args = parse(parser)
    page = Page("validation.installed_size", "What an installation takes on disk", ABOUT)
    head = ("commit", "package", "with `__pycache__`", "everything", "largest parts")
    page.add(table(head, map(sizes, args.commits)))
    page.finish(args.output)


if __name__ == "__main__":
    main()

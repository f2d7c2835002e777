"""How large the installed package is, and everything that `pip install` brings with it.

    python -m validation.installed_size [SOURCE ...]

A source is what pip takes, a folder or a wheel. Each is installed into an empty folder. It prints a table in
MB, a million bytes: the package without and with the bytecode that pip writes beside it, and all that comes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from validation._common import table


def megabytes(files: Iterable[Path]) -> float:
    """Sum of the sizes of files."""
    return sum(file.stat().st_size for file in files) / 1e6


def sizes(source: str) -> list[object]:
    """Size of the package without and with bytecode, of everything, and the largest parts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), source]
        subprocess.run(command, check=True)
        parts = {part.name: megabytes(f for f in part.rglob("*") if f.is_file()) for part in folder.iterdir()}
        own = [file for file in (folder / "bayes_svm").rglob("*") if file.is_file()]
        bare = megabytes(file for file in own if "__pycache__" not in file.parts)
        everything = megabytes(file for file in folder.rglob("*") if file.is_file())
    largest = sorted(parts, key=parts.__getitem__, reverse=True)[:8]
    found = ", ".join(f"{part} {parts[part]:.0f}" for part in largest)
    return [f"`{source}`", f"{bare:.2f}", f"{parts['bayes_svm']:.2f}", f"{everything:.0f}", found]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", default=["."], metavar="SOURCE", help="default: this folder")
    head = ["source", "package", "with `__pycache__`", "everything", "largest parts"]
    print(table(head, map(sizes, parser.parse_args().sources)))


if __name__ == "__main__":
    main()

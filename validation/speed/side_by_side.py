"""Two commits of the package side by side: is the later one slower?

    python -m validation.speed.side_by_side --before COMMIT [--after COMMIT] [--rounds 5] [--output FILE]

It installs both, each into an environment of its own, and needs a network or an index of packages for that.
Run it on a machine that does nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from validation._common import Page, at_commit, full_name, geometric_mean, parse, parser_for, table
from validation.speed._cases import REPEATS, SECONDS

ABOUT = f"""\
Before: commit {{before}}. After: commit {{after}}. Each is installed by `pip install`, with the newest
versions of what it needs. Each round starts a process of either in turn, which runs every case once to load,
and then for {SECONDS} seconds, {REPEATS} times at least; what is compiled at run time is not in the times.
The smallest of all times of a case counts. One thread. The times of one case and version differ by several
percent from one process to the next."""

CASES = Path(__file__).resolve().with_name("_cases.py")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def installed(commit: str, folder: Path) -> Path:
    """The interpreter of a new environment that has a commit of the package."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", at_commit(commit)], check=True)
    return python


def measured_by(python: Path, folder: str) -> dict[str, float]:
    """Smallest seconds of each case in a process of an interpreter, which starts in an empty folder."""
    done = subprocess.run(
        [python, CASES],
        env={**os.environ, **dict.fromkeys(THREADS, "1")},
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    """Print the page."""
    parser = parser_for(__doc__.splitlines()[0])
    parser.add_argument("--before", required=True, metavar="COMMIT", type=full_name)
    parser.add_argument("--after", default="HEAD", metavar="COMMIT", type=full_name)
    parser.add_argument("--rounds", type=int, default=5)
    args = parse(parser)
    about = ABOUT.format(before=args.before[:7], after=args.after[:7])
    page = Page("validation.speed.side_by_side", "Two versions side by side", about)
    with tempfile.TemporaryDirectory() as folder:
        both = [
            installed(commit, Path(folder) / name)
            for name, commit in (("before", args.before), ("after", args.after))
        ]
        rounds = [[measured_by(python, folder) for python in both] for _ in range(args.rounds)]
    rows, ratios = [], []
    for name in rounds[0][0]:
        before, after = (min(found[name] for found in side) for side in zip(*rounds, strict=True))
        ratios.append(after / before)
        rows.append([name, f"{1e3 * before:.1f} ms", f"{1e3 * after:.1f} ms", f"{ratios[-1]:.3f}"])
    page.add(table(("case", "before", "after", "after / before"), rows))
    page.add(f"Geometric mean {geometric_mean(ratios):.3f}, largest {max(ratios):.3f}.")
    page.finish(args.output)


if __name__ == "__main__":
    main()

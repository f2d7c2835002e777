"""What compilation costs a new process: no cache, a filled cache, and no place for a cache."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import bayes_svm
from validation._common import table

PROBE = """
import json, time
started = time.perf_counter()
from bayes_svm import BayesSVC
import bayes_svm
marks = [time.perf_counter()]
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
times = [marks[0] - started]
for _ in range(2):
    started = time.perf_counter()
    model = BayesSVC().fit(X, y)
    times.append(time.perf_counter() - started)
print(json.dumps({"times": times, "file": bayes_svm.__file__, "error": model.left_out_.error}))
"""

ABOUT = """\
Each line is a new process that imports the package and fits `BayesSVC` twice on scikit-learn's breast
cancer data (569 rows). The first has an empty `NUMBA_CACHE_DIR`, the second the same folder, which the
first has filled. The third simulates a read-only installation without a usable home: a copy of the
package whose files and folders have lost write permission, and, since permissions do not bind root, one
in which every `__pycache__` is a plain file and `HOME`, `XDG_CACHE_HOME` and `NUMBA_CACHE_DIR` point below
a plain file, where no user can create anything. It compiles in every process, and gives the same result."""


def probe(folder: Path, changes: dict[str, str]) -> dict:
    """Times of a new process, which runs in an empty folder."""
    environment = {**os.environ, **changes}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"a process with {', '.join(changes)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def read_only_copy(folder: Path) -> Path:
    """The package copied to where nothing can be written; returns the folder to import it from."""
    home = folder / "site"
    package = home / "bayes_svm"
    shutil.copytree(
        Path(bayes_svm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "*.nb[ic]")
    )
    for place in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (place / "__pycache__").touch()
    for place in [package, *package.rglob("*")]:
        place.chmod(place.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    return home


def restore_permission(home: Path) -> None:
    for place in [home / "bayes_svm", *(path for path in home.rglob("*") if path.is_dir())]:
        place.chmod(place.stat().st_mode | stat.S_IWUSR)


def read_only_probe(folder: Path) -> dict:
    """Times where there is no place for a cache."""
    home = read_only_copy(folder)
    blocker = folder / "a-plain-file"
    blocker.touch()
    nowhere = str(blocker / "nothing")
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), nowhere)
    try:
        result = probe(folder, {**places, "PYTHONPATH": str(home)})
    finally:
        restore_permission(home)
    if not Path(result["file"]).is_relative_to(home):
        raise RuntimeError("the read-only copy was not the package that was imported")
    return {**result, "cached": cache_files(folder)}


def cache_files(folder: Path) -> int:
    return sum(1 for path in folder.rglob("*.nb[ic]"))


def compilation_table() -> str:
    """A Markdown section on the three processes."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        cache, elsewhere = root / "cache", root / "elsewhere"
        cache.mkdir()
        elsewhere.mkdir()
        results = {}
        for label in ("empty cache", "filled cache"):
            found = probe(root, {"NUMBA_CACHE_DIR": str(cache)})
            results[label] = {**found, "cached": cache_files(cache)}
        results["no place for a cache"] = read_only_probe(elsewhere)
    rows = [
        [label, *(f"{t:.2f}" for t in found["times"]), f"{sum(found['times'][:2]):.2f}", found["cached"]]
        for label, found in results.items()
    ]
    same = len({found["error"] for found in results.values()}) == 1
    head = ("process", "import", "first fit", "second fit", "import and first fit", "cache files after it")
    verdict = "is the same in all three" if same else "DIFFERS between the three"
    return f"{ABOUT}\n\n{table(head, rows)}\n\nThe leave-one-out error {verdict}."

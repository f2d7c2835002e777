"""What a new process waits for: the import, the first fit, the second fit, and a whole report.

    python -m validation.speed.first_fit [--rounds N] [--output FILE]

Run it with the interpreter of an environment that the package has just been installed in. Each line is a
new process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from validation._common import Page, table

PROBE = """
import json, time
started = time.perf_counter()
from bayes_svm import BayesSVC
times = [time.perf_counter() - started]
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
for _ in range(2):
    started = time.perf_counter()
    BayesSVC().fit(X, y)
    times.append(time.perf_counter() - started)
print(json.dumps(times))
"""

ABOUT = """\
A new process imports `BayesSVC` and fits it twice on scikit-learn's breast cancer data (569 rows); another
runs `bayes-svm report` on the same data, from its start to the written page. Nothing is compiled and nothing
is kept from one process to the next. One thread, seconds."""


def fits(folder: Path, environment: dict[str, str]) -> list[float]:
    """Seconds of the import and of two fits, in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def report(folder: Path, environment: dict[str, str]) -> float:
    """Seconds of a report, in a new process."""
    started = time.perf_counter()
    command = [Path(sys.executable).with_name("bayes-svm"), "report"]
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return time.perf_counter() - started


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="processes of either kind")
    parser.add_argument("--output", metavar="FILE", help="write the page to this file too")
    parser.add_argument("--data", metavar="DIR", help="not read: the data come with scikit-learn")
    arguments = parser.parse_args()
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads}
    page = Page("validation.speed.first_fit", "The first fit of a process", ABOUT)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for k in range(arguments.rounds):
            loaded, first, second = fits(Path(name), environment)
            rows.append([k + 1, loaded, first, second, first - second, report(Path(name), environment)])
    head = ("process", "import", "first fit", "second fit", "first less second", "report")
    page.add(table(head, [[row[0], *(f"{seconds:.3f}" for seconds in row[1:])] for row in rows]))
    page.add(f"The first fit takes at most {max(row[4] for row in rows):.3f} s more than the second.")
    page.finish(arguments.output)


if __name__ == "__main__":
    main()

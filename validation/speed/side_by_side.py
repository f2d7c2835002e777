"""Two versions of the package side by side: is the later one slower?

    python -m validation.speed.side_by_side --before PYTHON --after PYTHON
        [--before-path DIR] [--after-path DIR]

PYTHON is an interpreter that the version is installed for; DIR, put first on its module path, is a
checkout to take instead. Each round starts a process of either version in turn, which runs every case
once to load, and then for half a second, three times at least. The smallest of all times of a
case counts. One thread. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

# Of each case in one process: so many runs at least, and so many seconds.
REPEATS, SECONDS = 3, 0.5
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """By name, what is timed; only public names, so that any version can run it."""
    from sklearn.datasets import load_breast_cancer, make_classification
    from sklearn.preprocessing import scale
    from sklearn.svm import SVC

    from bayes_svm import BayesSVC, leave_one_out

    def drawn(n: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
        X, y = make_classification(n, 20, n_informative=8, n_classes=n_classes, flip_y=0.2, random_state=0)
        return scale(X), y

    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    small, large, several = drawn(150), drawn(1500), drawn(500, 4)
    groups = np.arange(1500) // 10
    model = BayesSVC().fit(*large)
    yield "fit, 569 rows, rbf", lambda: BayesSVC().fit(X, y)
    yield "fit, 569 rows, linear", lambda: BayesSVC(kernel="linear").fit(X, y)
    yield "fit, 569 rows, rows alone", lambda: BayesSVC(leave_out="rows").fit(X, y)
    yield "fit, 150 noisy rows", lambda: BayesSVC().fit(*small)
    yield "fit, 1500 noisy rows", lambda: BayesSVC().fit(*large)
    yield "fit, 1500 noisy rows, C = 100", lambda: BayesSVC(C=100.0).fit(*large)
    yield "fit, four classes", lambda: BayesSVC().fit(*several)
    yield "leave one out, 569 rows", lambda: leave_one_out(SVC(), X, y)
    yield "leave one out, 1500 noisy rows", lambda: leave_one_out(SVC(), *large)
    yield "leave one out, C = 100", lambda: leave_one_out(SVC(C=100.0), *large)
    yield "leave groups out", lambda: leave_one_out(SVC(), *large, groups=groups)
    yield "leave one out, signs", lambda: leave_one_out(SVC(), *large, sign_only=True)
    yield "leave one out, certified", lambda: leave_one_out(SVC(), X, y, method="certified")
    yield "five folds, four classes in pairs", lambda: leave_one_out(SVC(), *several, cv=5)
    yield "predict", lambda: model.predict_proba(large[0])


def measured() -> dict[str, float]:
    """Smallest seconds of each case in this process."""
    found = {}
    for name, run in cases():
        run()
        times: list[float] = []
        while len(times) < REPEATS or sum(times) < SECONDS:
            started = time.perf_counter()
            run()
            times.append(time.perf_counter() - started)
        found[name] = min(times)
    return found


def measured_by(python: str, path: str | None) -> dict[str, float]:
    """The same in a process of its own."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    if path is not None:
        environment["PYTHONPATH"] = path
    done = subprocess.run(
        [python, os.path.abspath(__file__), "--measure"],
        env=environment, cwd=path or os.getcwd(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default=sys.executable)
    parser.add_argument("--after", default=sys.executable)
    parser.add_argument("--before-path")
    parser.add_argument("--after-path")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", action="store_true", help="print this version's times as JSON")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured()))
        return
    rounds = [
        (
            measured_by(arguments.before, arguments.before_path),
            measured_by(arguments.after, arguments.after_path),
        )
        for _ in range(arguments.rounds)
    ]
    ratios = []
    print("| case | before | after | after / before |\n| :-- | --: | --: | --: |")
    for name in rounds[0][0]:
        before, after = (min(found[name] for found in side) for side in zip(*rounds, strict=True))
        ratios.append(after / before)
        print(f"| {name} | {1e3 * before:.1f} ms | {1e3 * after:.1f} ms | {ratios[-1]:.3f} |")
    print(f"\nGeometric mean {np.exp(np.mean(np.log(ratios))):.3f}, largest {max(ratios):.3f}.")


if __name__ == "__main__":
    main()

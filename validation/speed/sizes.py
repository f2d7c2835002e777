"""Wall times and memory of fits by the number of rows, beside scikit-learn's; and of prediction.

python -m validation.speed.sizes [--rows N,N,...] [--largest N] [--output FILE] [--figure FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from validation._common import Page, parse, parser_for, table
from validation._common import progress as say

ABOUT = """\
The problem is `make_classification` with 20 features, 8 informative, flip_y = 0.2; rbf, gamma = "scale". Wall
times in seconds, each measured in a process of its own: the best of up to three fits, after one that does
not count where it takes less than ten seconds. *six fits* is
`CalibratedClassifierCV(SVC(C), ensemble=False)`: five fits of 4/5 of the data and one of all. *BayesSVC* has
its default `leave_out_size=2000`, *all rows* is `BayesSVC(leave_out_size=None)`, which leaves every row out.
One thread, unless it says two: `n_jobs=2`. The memory is the peak of the whole process, imports and data
included."""

SIZES = (500, 1000, 2000, 5000, 10_000, 20_000)
COSTS = (1.0, 10.0)
# The second fit, and how often the model is fitted at most, where a fit takes less than this many seconds.
SHORT, REPEATS = 10.0, 3

MODELS = {
    "SVC": "SVC(C={C})",
    "six fits": "CalibratedClassifierCV(SVC(C={C}), ensemble=False)",
    "BayesSVC": "BayesSVC(C={C})",
    "BayesSVC, two threads": "BayesSVC(C={C}, n_jobs=2)",
    "all rows": "BayesSVC(C={C}, leave_out_size=None)",
    "all rows, two threads": "BayesSVC(C={C}, leave_out_size=None, n_jobs=2)",
}

# Those that larger problems, and those of several classes, are shown for.
ONCE = ("SVC", "six fits", "BayesSVC", "BayesSVC, two threads")
# Rows and classes of problems of few columns that say little.
WEAK = ((20_000, 2), (2000, 5), (5000, 5), (10_000, 5))

FIT = """
import json, resource, time
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC
from bayes_svm import BayesSVC
from validation.speed.sizes import REPEATS, SHORT, {source}
X, y = {source}({n}, {n_classes})
times = []
while len(times) < REPEATS + 1 and (not times or times[-1] < SHORT):
    started = time.perf_counter()
    model = {model}.fit(X, y)
    times.append(time.perf_counter() - started)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
solutions = getattr(model, "solution_", [])
exact = all(one.exact for one in (solutions if isinstance(solutions, list) else [solutions]))
print(json.dumps([min(times[1:] or times), peak, exact]))
"""


class Fit(NamedTuple):
    """What one model took."""

    seconds: float
    gib: float
    exact: bool


def problem(n: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        n, 20, n_informative=8, n_classes=n_classes, flip_y=0.2, random_state=0,
        n_clusters_per_class=2 if n_classes == 2 else 1,
    )  # fmt: skip
    return X, y


def weak_problem(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Few columns that say little: two, and a class with 5 % of the rows; or four, and noisy classes."""
    rng = np.random.default_rng(0)
    if n_classes == 2:
        X, y = rng.normal(size=(n, 2)), (np.arange(n) < n // 20).astype(int)
        X[y == 1] += 1.5
        return X, y
    X = rng.normal(size=(n, 4))
    return X, (X @ rng.normal(size=(4, n_classes)) + rng.gumbel(scale=2.0, size=(n, n_classes))).argmax(
        axis=1
    )


def fitted(model: str, n: int, C: float, n_classes: int = 2, source: str = "problem") -> Fit:
    """Fit a model of the table in a process of its own, on what a function of this module makes."""
    script = FIT.format(n=n, n_classes=n_classes, model=MODELS[model].format(C=C), source=source)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    fit = Fit(*json.loads(done.stdout))
    say(
        f"{model}, {source}, {n} rows, {n_classes} classes, C = {C:g}: {fit.seconds:.3g} s, "
        f"{fit.gib:.2f} GiB, exact: {fit.exact}"
    )
    return fit


def sizes_table(found: dict[tuple[int, float], dict[str, Fit]]) -> str:
    rows = []
    for (n, C), fits in found.items():
        time = {name: fit.seconds for name, fit in fits.items()}
        rows.append([
            f"{n:,}", f"{C:g}", *(f"{time[name]:.3g}" for name in ("SVC", "six fits", "BayesSVC")),
            f"**{time['BayesSVC'] / time['six fits']:.2f}**",
            f"{time['BayesSVC'] / time['BayesSVC, two threads']:.2f}",
            f"{time['all rows']:.3g}", f"**{time['all rows'] / time['six fits']:.2f}**",
            f"{time['all rows'] / time['all rows, two threads']:.2f}",
            f"{fits['BayesSVC'].gib:.2f}", f"{fits['all rows'].gib:.2f}",
            "yes" if fits["BayesSVC"].exact and fits["all rows"].exact else "no",
        ])  # fmt: skip
    head = (
        "rows", "C", "SVC, s", "six fits, s", "BayesSVC, s", "/ six fits", "speed-up by two threads",
        "all rows, s", "/ six fits", "speed-up by two threads", "BayesSVC, GiB", "all rows, GiB", "exact",
    )  # fmt: skip
    return table(head, rows)


def classes_table() -> str:
    """Problems of several classes."""
    rows = []
    for n_classes in (3, 10):
        for n in (500, 2000, 5000, 10_000):
            time = {name: fitted(name, n, 1.0, n_classes) for name in ONCE}
            six, ours, in_threads = (time[name].seconds for name in ONCE[1:])
            rows.append([
                f"{n:,}", n_classes, *(f"{time[name].seconds:.3g}" for name in ONCE[:3]),
                f"**{ours / six:.2f}**", f"{ours / in_threads:.2f}",
                "yes" if time["BayesSVC"].exact else "no",
            ])  # fmt: skip
    head = (
        "rows", "classes", "SVC, s", "six fits, s", "BayesSVC, s", "/ six fits", "speed-up by two threads",
        "exact",
    )  # fmt: skip
    return table(head, rows)


def largest_table(n: int) -> str:
    """One large problem, the six fits included, however long they take."""
    fits = {name: fitted(name, n, 1.0) for name in ONCE}
    six = fits["six fits"].seconds
    return table(
        ("model", "seconds", "/ six fits", "peak, GiB", "exact"),
        (
            [
                name,
                f"{fit.seconds:.1f}",
                f"{fit.seconds / six:.2f}",
                f"{fit.gib:.2f}",
                "yes" if fit.exact else "no",
            ]
            for name, fit in fits.items()
        ),
    )


def weak_table() -> str:
    """Problems whose decision values hardly differ."""
    rows = []
    for n, n_classes in WEAK:
        fits = {name: fitted(name, n, 1.0, n_classes, "weak_problem") for name in ONCE[:3]}
        ours = fits["BayesSVC"]
        rows.append([
            f"{n:,}", n_classes, *(f"{fit.seconds:.3g}" for fit in fits.values()),
            f"**{ours.seconds / fits['six fits'].seconds:.2f}**", f"{ours.gib:.2f}",
            "yes" if ours.exact else "no",
        ])  # fmt: skip
    head = ("rows", "classes", "SVC, s", "six fits, s", "BayesSVC, s", "/ six fits", "BayesSVC, GiB", "exact")
    return table(head, rows)


def best(call: Callable[[np.ndarray], object], X: np.ndarray) -> float:
    """The shortest of seven calls, in milliseconds."""
    times = []
    for _ in range(7):
        started = time.perf_counter()
        call(X)
        times.append(time.perf_counter() - started)
    return 1e3 * min(times)


def prediction_table() -> str:
    """Prediction for 5000 new rows, and what a pickle holds."""
    rows = []
    with threadpool_limits(1):
        for n, n_classes, repeated in ((2000, 2, 1), (5000, 2, 1), (2000, 10, 1), (250, 2, 20)):
            X, y = problem(n + 5000, n_classes)
            new, X, y = X[n:], np.repeat(X[:n], repeated, axis=0), np.repeat(y[:n], repeated)
            svc, ours = SVC().fit(X, y), BayesSVC().fit(X, y)
            times = best(svc.decision_function, new), best(ours.predict_proba, new)
            rows.append([
                f"{n * repeated:,}", f"{n:,}", n_classes, len(svc.support_), len(ours.support_),
                f"{times[0]:.1f}", f"{times[1]:.1f}", f"**{times[1] / times[0]:.2f}**",
                *(f"{len(pickle.dumps(one)) / 1e6:.2f}" for one in (svc, ours, ours.compact())),
            ])  # fmt: skip
    head = (
        "rows", "different rows", "classes", "support vectors, SVC", "BayesSVC",
        "decision_function of SVC, ms", "predict_proba of BayesSVC, ms", "ratio",
        "pickle of SVC, MB", "of BayesSVC, MB", "of its compact(), MB",
    )  # fmt: skip
    return table(head, rows)


def draw(found: dict[tuple[int, float], dict[str, Fit]], path: str) -> None:
    """Time against the number of rows, one panel for each C."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(COSTS), figsize=(10, 4.2), sharey=True, layout="constrained")
    styles = {"SVC": ("SVC, one fit", "--"), "six fits": ("six fits, for probabilities", "-"),
              "BayesSVC": ("BayesSVC", "-"), "all rows": ("BayesSVC, all rows left out", ":")}  # fmt: skip
    for axis, C in zip(axes, COSTS, strict=True):
        for name, (label, style) in styles.items():
            points = [(n, fits[name].seconds) for (n, cost), fits in found.items() if cost == C]
            axis.loglog(*zip(*points, strict=True), style, marker="o", markersize=3, label=label)
        axis.set(title=f"C = {C:g}", xlabel="rows")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("seconds, one thread")
    axes[0].legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = parser_for(__doc__.splitlines()[0])
    parser.add_argument("--rows", default=",".join(map(str, SIZES)), help="default: %(default)s")
    parser.add_argument("--largest", type=int, default=0, help="one more problem, with C = 1; default: none")
    parser.add_argument("--figure", help="file to draw the times to")
    args: argparse.Namespace = parse(parser)
    page = Page("validation.speed.sizes", "How long fits of different sizes take", ABOUT)
    found = {}
    for n in map(int, args.rows.split(",")):
        for C in COSTS:
            found[n, C] = {name: fitted(name, n, C) for name in MODELS}
    page.add("## Fits", sizes_table(found))
    if args.figure:
        draw(found, args.figure)
        page.add(f"![Seconds against rows]({os.path.basename(args.figure)})")
    if args.largest:
        page.add(f"{args.largest:,} rows, C = 1:", largest_table(args.largest))
    page.add(
        "## Several classes",
        "The same problem, with one cluster for each class, C = 1. `SVC` trains a machine for each pair of "
        "classes, `BayesSVC` one for each class against the rest.",
        classes_table(),
    )
    page.add(
        "## Few columns that say little",
        "C = 1. Two classes: two columns of normal numbers, 1.5 larger in the 5 % of the rows that are of "
        "one class. Five classes: the largest of five linear functions of four columns, with Gumbel noise of "
        "scale 2. Decision values of such machines hardly differ, and most points are near the margin.",
        weak_table(),
    )
    page.add(
        "## Prediction",
        "5000 new rows, C = 1, one thread. The last problem has every row 20 times.",
        prediction_table(),
    )
    page.finish(args.output)


if __name__ == "__main__":
    main()

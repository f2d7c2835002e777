"""Wall times of MultivariateSVC: its searches, one Reuters topic, a million rows, and planes it needs."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bayes_svm import MultivariateSVC
from bayes_svm.multivariate.cutting_plane import minimise
from bayes_svm.multivariate.losses import loss_of
from bayes_svm.multivariate.multipliers import PLANES as PLANES_BEFORE
from bayes_svm.multivariate.multipliers import PLANES_IF_NARROW
from bayes_svm.multivariate.products import LinearProducts
from validation._common import Page, parse, parser_for, table
from validation._common import progress as say
from validation.speed._planes import planes_needed
from validation.speed.fit import seconds, three
from validation.speed.leave_one_out import reuters

ABOUT = """\
Wall times in seconds of `MultivariateSVC`, linear kernel, at one thread. Losses are those of the paper, from
0 to 100, and C is the paper's; only for `roc_area` loss and constraints are both divided by
positives * negatives / 100, so that C = 1 is C = 100 / (positives * negatives) there. Reuters: the 9603
training documents of the ModApte split, title and text, tf-idf, one topic against the rest. Gaps are
relative: (value reached - lower bound) / value reached; 0.001 is asked for."""

PLACES = """\
*Level*, what `MultivariateSVC` does: at the point nearest to the best one so far whose bound leaves about
half of the gap; for `f1` and `break_even` rounds of the method of multipliers follow after {wide} planes, or
{narrow} if there are at most 1000 features, and count as planes. *Line search*: near the best point of the
line to the bound's minimum (Franc and Sonnenburg 2008). *Algorithm 1* of Joachims 2005: at the bound's
minimum. At most {planes} planes; where they do not do, the gap they leave."""

LOSSES = ("f1", "break_even", "precision_at_k", "recall_at_k", "roc_area", "error")
MEASURED = ("f1", "break_even", "roc_area")
SIZES = (1000, 10_000, 100_000, 1_000_000)
FEATURES, POSITIVES = 54, 0.1
GROWTH = (3000, 10_000, 30_000, 100_000, 300_000)
GAP = 1e-3
PLANES = 10  # enough for the time of one

LARGE = """
import json, resource, time
from bayes_svm import MultivariateSVC
from validation.speed.multivariate import synthetic
X, y = synthetic({rows})
held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
started = time.perf_counter()
model = MultivariateSVC(loss="f1", C={C}).fit(X, y)
took = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([took, model.n_planes_, model.gap_, held, peak]))
"""


@dataclass(frozen=True)
class Problem:
    """A binary problem and the C to solve it for."""

    name: str
    X: Any
    positive: np.ndarray
    C: float = 1.0


def synthetic(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal features; the tenth of the rows with the highest noisy linear score is positive."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, FEATURES))
    values = X @ random.normal(size=FEATURES)
    values += 0.5 * values.std() * random.normal(size=rows)
    return X, values > np.quantile(values, 1.0 - POSITIVES)


def search_seconds(name: str, n: int) -> float:
    """Best of three searches for the most violated labelling of random scores."""
    random = np.random.default_rng(0)
    scores, positive = random.normal(size=n), random.random(n) < POSITIVES
    loss = loss_of(name, positive, k=n // 5)
    return min(seconds(lambda: loss.most_violated(scores)) for _ in range(3))


def search_table(sizes: tuple[int, ...]) -> str:
    rows = [[name, *(three(search_seconds(name, n)) for n in sizes)] for name in LOSSES]
    say("searches done")
    return table(("loss", *(f"n = {n:,}" for n in sizes)), rows)


def whole_fit(problem: Problem, name: str, rounds: int, planes: int) -> list[str]:
    """Best seconds, planes and gap; one round where the gap is not reached."""
    model = MultivariateSVC(loss=name, C=problem.C, max_iter=planes)

    def fit() -> object:
        return model.fit(problem.X, problem.positive)

    took = [seconds(fit)]
    reached = model.gap_ <= model.tol
    if reached:
        took += [seconds(fit) for _ in range(rounds - 1)]
    say(f"{problem.name}, {name}: {min(took):.2f}")
    gap = f"{model.gap_:.1e}"
    return [three(min(took)), str(model.n_planes_), gap if reached else f"**{gap}**"]


def reuters_table(problems: list[Problem], rounds: int, planes: int) -> str:
    rows = [
        [problem.name, int(problem.positive.sum()), name, *whole_fit(problem, name, rounds, planes)]
        for problem in problems
        for name in MEASURED
    ]
    return table(("topic", "positives", "loss", "seconds", "planes", "gap"), rows)


def planes_table(problems: list[Problem], limit: int) -> str:
    """Planes until the gap is reached, by where the next one is taken."""
    rows = []
    for problem in problems:
        for name in MEASURED:
            products, loss = LinearProducts(problem.X), loss_of(name, problem.positive)
            with threadpool_limits(1):
                found = minimise(products, loss, problem.C, tol=GAP, max_iter=limit)
                needed = [(found.n_planes, found.gap)]
                for line_search in (True, False):
                    other = planes_needed(
                        products, loss, problem.C, tol=GAP, max_iter=limit, line_search=line_search
                    )
                    needed.append(other)
            cells = [f"{n}" if gap <= GAP else f"{n} (gap {gap:.1e})" for n, gap in needed]
            rows.append([problem.name, f"{problem.C:g}", name, *cells])
            say(f"planes, {problem.name}, {name}: {cells}")
    return table(("problem", "C", "loss", "level", "line search", "Algorithm 1"), rows)


def large_table(n: int, penalties: list[float]) -> str:
    """A fit in a new process, whose peak holds Python, the data and everything else."""
    rows = []
    for C in penalties:
        done = subprocess.run(
            [sys.executable, "-c", LARGE.format(rows=n, C=C)], capture_output=True, text=True, check=True
        )
        took, planes, gap, held, peak = json.loads(done.stdout.splitlines()[-1])
        rows.append([f"{n:,} x {FEATURES}", f"{C:g}", f"{took:.1f}", planes, f"{gap:.1e}", f"{held:.2f}"])
        rows[-1].append(f"{peak:.2f}")
        say(f"{n} rows, C = {C:g}: {took:.1f}")
    head = ("rows x features", "C", "seconds", "planes", "gap", "GiB before the fit", "peak GiB")
    return table(head, rows)


def grown(X_text: Any, y_text: np.ndarray) -> Iterator[tuple[str, int, int, float]]:
    """Kind, rows, entries and seconds a plane, of parts of both kinds of data."""
    for n in GROWTH:
        X, y = synthetic(n)
        yield "dense, 54 features", n, X.size, per_plane(X, y)
    for n in (600, 1200, 2400, 4800, X_text.shape[0]):
        X, y = X_text[:n], y_text[:n]
        yield "Reuters, tf-idf", n, X.nnz, per_plane(X, y)


def per_plane(X: Any, positive: np.ndarray) -> float:
    products, loss = LinearProducts(X), loss_of("f1", positive)
    with threadpool_limits(1):
        times = [seconds(lambda: minimise(products, loss, 1.0, tol=1e-12, max_iter=PLANES)) for _ in range(3)]
    return min(times) / PLANES


def growth_table(points: list[tuple[str, int, int, float]]) -> str:
    rows = [
        [kind, f"{n:,}", f"{nnz:,}", three(1e3 * took), f"{1e9 * took / (nnz + n * np.log2(n)):.1f}"]
        for kind, n, nnz, took in points
    ]
    head = ("data", "n", "nnz", "milliseconds a plane", "nanoseconds / (nnz + n log2 n)")
    return table(head, rows)


def figure(points: list[tuple[str, int, int, float]], path: str) -> None:
    """Time of a plane against the number of entries."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    drawn, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for kind in dict.fromkeys(point[0] for point in points):
        own = [point for point in points if point[0] == kind]
        axes.loglog([nnz for _, _, nnz, _ in own], [1e3 * took for *_, took in own], "o-", label=kind)
    ends = np.array([min(point[2] for point in points), max(point[2] for point in points)])
    axes.loglog(ends, 1e3 * points[0][3] * ends / points[0][2], "k:", label="in proportion to nnz")
    axes.set(xlabel="entries of X (nnz)", ylabel="milliseconds a plane", title="F1")
    axes.legend()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(path, dpi=120)


def covertype(data: str) -> Problem:
    """Class 3 of the rows there are, standardised."""
    z = np.load(Path(data) / "uci" / "covtype_first20000.npz")
    X = StandardScaler().fit_transform(z["X"].astype(float))
    return Problem("covertype, class 3, 20000 rows", X, z["y"] == 3, 0.1)


def measure(args: argparse.Namespace, page: Page) -> None:
    X, topics = reuters(args.data)
    problems = [
        Problem(f"Reuters, {topic}", X, np.array([topic in own for own in topics])) for topic in args.topics
    ]
    page.add(
        "## One Reuters topic",
        f"{X.shape[0]} x {X.shape[1]}, {X.nnz} entries, C = 1, at most {args.planes} planes; the whole fit, "
        f"best of {args.rounds}, of one where the gap is not reached (bold).",
        reuters_table(problems, args.rounds, args.planes),
    )
    page.add(
        "## A million rows",
        "F1, dense, normal features, a tenth positive, their scores half as noisy as they vary.",
        large_table(args.rows, args.penalties),
    )
    page.add(
        "## The search for the most violated labelling",
        "Random scores, a tenth of the rows positive, k = n / 5; the best of three.",
        search_table(SIZES),
    )
    page.add(
        "## Planes, by where the next one is taken",
        PLACES.format(planes=args.planes, wide=PLANES_BEFORE, narrow=PLANES_IF_NARROW),
        planes_table([*problems[:1], covertype(args.data)], args.planes),
    )
    points = list(grown(X, problems[0].positive))
    page.add("## Time of a plane", f"F1, the first {PLANES} planes, C = 1.", growth_table(points))
    if args.figure:
        figure(points, args.figure)
        page.add(f"![time of a plane against the entries of X]({Path(args.figure).name})")


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--topics", type=lambda text: text.split(","), default=["corn", "earn"])
    parser.add_argument("--rounds", type=int, default=3, help="fits of a Reuters topic; default: 3")
    parser.add_argument("--planes", type=int, default=2000, help="planes at most; default: 2000")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the largest fit")
    parser.add_argument(
        "--penalties",
        type=lambda text: [float(part) for part in text.split(",")],
        default=[1.0],
        metavar="C,C",
        help="of the largest fit; default: 1",
    )
    parser.add_argument("--figure", metavar="FILE", help="draw the time of a plane to this file")
    args = parse(parser)
    page = Page("validation.speed.multivariate", "How long training for a measure takes", ABOUT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # gaps not reached are on the page
        measure(args, page)
    page.finish(args.output)


if __name__ == "__main__":
    main()

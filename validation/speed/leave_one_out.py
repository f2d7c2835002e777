"""Wall times and memory of exact leave-one-out of all points, fit included, beside scikit-learn's."""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import LeaveOneOut, leave_one_out
from bayes_svm.dual.from_estimator import machine_of
from validation._common import Page, first_split, geometric_mean, parse, parser_for, table
from validation._common import progress as say
from validation.speed.fit import numbers, seconds, synthetic, three

ABOUT = """\
Wall times in seconds, all at one thread: `SVC` alone; scikit-learn's way to probabilities,
`CalibratedClassifierCV(SVC, ensemble=False)`, five fits of 4/5 of the data and one of all; and
**`leave_one_out(SVC, X, y)`**: the decision value of every point under the machine trained without it, the
fit included. With `sign_only=True` only the signs. The four are timed in turn, round after round, and the
best time of each is taken. IDA sets: training part of the first split, standardised, rbf, gamma = 1/d. The
synthetic problem is `make_classification` with 20 features, 8 informative, flip_y = 0.2, rbf, gamma = 1/20.
Reuters: the 9603 training documents of the ModApte split, title and text, tf-idf, linear kernel, C = 1.
Events are changes of the set of free points, per point that has a path."""

SIZES = (2000, 5000, 10_000)
FIGURE_SIZES = (500, 1000, 2000, 5000, 10_000)
TOPICS = ("earn", "corn")
FEW_SUPPORT = 30_000

MEMORY = """
import json, resource, time
import numpy as np
from sklearn.svm import SVC
from bayes_svm import leave_one_out
from validation.speed.leave_one_out import problem_of
X, y = problem_of({n}, {few})
started = time.perf_counter()
loo = leave_one_out(SVC(C=1.0, gamma=1.0 / X.shape[1]), X, y, n_jobs=1)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([time.perf_counter() - started, peak, int((loo.status != "unchanged").sum()), loo.error]))
"""


@dataclass(frozen=True)
class Case:
    """One problem and what it took."""

    group: str
    name: str
    C: float
    rows: int
    support: int
    free: int
    times: list[float]  # SVC, CalibratedCV, leave-one-out, its signs only
    events: float  # per point that has a path
    per_event: float  # microseconds of everything but the fit

    @property
    def ratios(self) -> list[float]:
        svc, calibrated, ours, signs = self.times
        return [ours / calibrated, ours / svc, signs / ours]


def few_support_vectors(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussians in ten dimensions, five standard deviations apart."""
    random = np.random.default_rng(0)
    y = np.where(random.random(n) < 0.5, 1, -1)
    X = random.normal(size=(n, 10))
    X[:, 0] += 2.5 * y
    return X, y


def problem_of(n: int, few: bool) -> tuple[np.ndarray, np.ndarray]:
    return few_support_vectors(n) if few else synthetic(n)


def reuters(data: str) -> tuple[Any, list[list[str]]]:
    """Tf-idf of the ModApte training documents, and the topics of each."""
    with gzip.open(Path(data) / "text" / "reuters21578_modapte.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    train = [document for document in documents if document["split"] == "train"]
    texts = [f"{document['title']} {document['text']}" for document in train]
    return TfidfVectorizer().fit_transform(texts), [document["topics"] for document in train]


def problems(args: argparse.Namespace) -> Iterator[tuple[str, str, Any, np.ndarray, dict[str, Any]]]:
    """Group, name, data and parameters of every problem."""
    for name in args.sets:
        X, y = first_split(args.data, name)
        for C in (1.0, 10.0):
            yield "IDA sets", name, X, y, {"C": C, "gamma": 1.0 / X.shape[1]}
    for n in args.sizes:
        X, y = synthetic(n)
        for C in (1.0, 10.0) if n < max(SIZES) else (1.0,):
            yield f"synthetic, C = {C:g}", f"synthetic, n = {n}", X, y, {"C": C, "gamma": 1.0 / X.shape[1]}
    if args.topics:
        X, topics = reuters(args.data)
        for topic in args.topics:
            y = np.array([topic in own for own in topics])
            yield "Reuters", f"Reuters, {topic}", X, y, {"C": 1.0, "kernel": "linear"}


def best_times(calls: list[Callable[[], object]], rounds: int) -> list[float]:
    """Best seconds of each call, all called in turn in every round."""
    best = [np.inf] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            best[k] = min(best[k], seconds(call))
    return best


def measured(group: str, name: str, X: Any, y: np.ndarray, parameters: dict[str, Any], rounds: int) -> Case:
    svc = SVC(**parameters)
    found: list[LeaveOneOut] = []
    calls: list[Callable[[], object]] = [
        lambda: SVC(**parameters).fit(X, y),
        lambda: CalibratedClassifierCV(SVC(**parameters), ensemble=False).fit(X, y),
        lambda: found.append(leave_one_out(svc, X, y, n_jobs=1)),
        lambda: leave_one_out(svc, X, y, sign_only=True, n_jobs=1),
    ]
    with threadpool_limits(1):
        times = best_times(calls, rounds)
        _, [solution] = machine_of(svc, X, y)
    result = min(found, key=lambda each: each.seconds)
    moved = result.events[result.status == "path"]
    say(f"{name}, C = {parameters['C']:g}: " + ", ".join(f"{t:.4f}" for t in times))
    return Case(
        group,
        name,
        parameters["C"],
        len(y),
        int(np.sum(solution.alpha > 0)),
        solution.n_free,
        times,
        float(moved.mean()) if len(moved) else 0.0,
        1e6 * result.seconds / max(1, int(moved.sum())),
    )


def case_table(cases: list[Case]) -> str:
    head = (
        "problem", "C", "rows", "support vectors", "free", "SVC", "CalibratedCV", "leave-one-out",
        "signs only", "/ CalibratedCV", "/ SVC", "signs / values", "events per path",
        "microseconds per event",
    )  # fmt: skip
    rows = [
        [
            case.name, f"{case.C:g}", case.rows, case.support, case.free, *map(three, case.times),
            *map(three, case.ratios), f"{case.events:.1f}", f"{case.per_event:.1f}",
        ]
        for case in cases
    ]  # fmt: skip
    return table(head, rows)


def means_table(cases: list[Case]) -> str:
    groups = dict.fromkeys(case.group for case in cases)
    rows = []
    for group in groups:
        ratios = np.array([case.ratios for case in cases if case.group == group])
        rows.append([group, len(ratios), *(three(geometric_mean(column)) for column in ratios.T)])
    return table(
        ("problems", "cases", "leave-one-out / CalibratedCV", "leave-one-out / SVC", "signs / values"), rows
    )


def memory_table() -> str:
    """Peak resident memory of a new process, which holds Python, the data and everything else."""
    rows = []
    for n, few in ((max(SIZES), False), (FEW_SUPPORT, True)):
        done = subprocess.run(
            [sys.executable, "-c", MEMORY.format(n=n, few=few)], capture_output=True, text=True, check=True
        )
        took, peak, moved, error = json.loads(done.stdout.splitlines()[-1])
        name = "two Gaussians" if few else "synthetic"
        rows.append([name, n, moved, f"{took:.1f}", f"{peak:.2f}", f"{error:.4f}"])
        say(f"{name}, n = {n}: {peak:.2f} GiB")
    head = ("problem", "rows", "support vectors", "seconds", "peak GiB", "leave-one-out error")
    return table(head, rows)


def figure(cases: list[Case], path: str) -> None:
    """Time against the number of points, and per path against the number of free support vectors."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    grown = [case for case in cases if case.group == "synthetic, C = 1"]
    drawn, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for k, label in enumerate(
        ("SVC", "CalibratedClassifierCV", "leave-one-out", "leave-one-out, signs only")
    ):
        left.loglog([case.rows for case in grown], [case.times[k] for case in grown], "o-", label=label)
    left.set(xlabel="training points", ylabel="seconds", title="Noisy synthetic problem, C = 1, one thread")
    left.legend()
    for group in dict.fromkeys(case.group for case in cases):
        own = [case for case in cases if case.group == group and case.events > 0]
        per_path = [case.events * case.per_event for case in own]
        right.loglog([case.free for case in own], per_path, "o", label=group)
    right.set(
        xlabel="free support vectors", ylabel="microseconds per path", title="Cost of one point left out"
    )
    right.legend()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(path, dpi=120)


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds; 2 from n = 2000 on; default: 7")
    parser.add_argument("--sizes", type=numbers, default=list(FIGURE_SIZES), metavar="N,N", help="synthetic")
    parser.add_argument("--topics", type=lambda text: text.split(",") if text else [], default=list(TOPICS))
    parser.add_argument("--no-memory", action="store_true", help="leave out the measurement of memory")
    parser.add_argument("--figure", metavar="FILE", help="draw the times to this file")
    args = parse(parser)
    page = Page("validation.speed.leave_one_out", "How long exact leave-one-out takes", ABOUT)
    for warm_up in ({}, {"sign_only": True}):
        leave_one_out(SVC(), *synthetic(1500), **warm_up)
    cases = [
        measured(*problem, rounds=args.rounds if problem[3].shape[0] < min(SIZES) else 2)
        for problem in problems(args)
    ]
    page.add("## Geometric means of the ratios", means_table(cases))
    page.add("## Every case", case_table(cases))
    if not args.no_memory:
        page.add("## Memory", memory_table())
    if args.figure:
        figure(cases, args.figure)
        page.add(f"## Growth\n\n![time against points and free support vectors]({Path(args.figure).name})")
    page.finish(args.output)


if __name__ == "__main__":
    main()

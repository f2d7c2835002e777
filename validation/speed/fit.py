"""Wall times of a fit with probabilities and leave-one-out, beside scikit-learn's, in one run."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import joblib
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from validation._common import Page, first_split, geometric_mean, parse, parser_for, table
from validation._common import progress as say

ABOUT = """\
Wall times in seconds of: `SVC` alone, with no probabilities; scikit-learn's way to probabilities,
`CalibratedClassifierCV(SVC, ensemble=False)`, five fits of 4/5 of the data and one of all; **`BayesSVC`**,
whose fit includes the exact solution, the left-out decision values (strata leave; of 5000 rows, those of
a sample of about 2000) and the sigmoid; and **naive leave-one-out**, 25 random rows left out in turn and
`SVC` trained again without each, multiplied by rows / 25. All with the rbf kernel and gamma = 1/d, on the
training part of the first split of the IDA benchmark sets, standardised, and on a synthetic noisy problem
(`make_classification`, 20 features, 8 informative, flip_y = 0.2). The first three are timed in turn, round
after round, and the best time of each is taken, so that all meet the same machine. At one thread BLAS is
limited to one, at two threads to two, and n_jobs is the same number, as threads (for `SVC`, whose fit cannot
use them, only BLAS is; the naive rows run side by side)."""

SIZES = (500, 1000, 2000, 5000)
NAIVE_ROWS = 25
LARGE = 5000  # rows from which two rounds are enough


def synthetic(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(n, n_features=20, n_informative=8, flip_y=0.2, random_state=0)
    return StandardScaler().fit_transform(X), 2 * y - 1


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def naive_leave_one_out(X: np.ndarray, y: np.ndarray, C: float, jobs: int) -> float:
    """Seconds for all rows, from 25 of them."""
    rows = np.random.default_rng(0).choice(len(y), NAIVE_ROWS, replace=False)

    def value_without(row: int) -> float:
        keep = np.delete(np.arange(len(y)), row)
        model = SVC(C=C, gamma=1.0 / X.shape[1]).fit(X[keep], y[keep])
        return float(model.decision_function(X[row : row + 1])[0])

    def run() -> None:
        joblib.Parallel(n_jobs=jobs)(joblib.delayed(value_without)(row) for row in rows)

    return seconds(run) * len(y) / NAIVE_ROWS


def timed(X: np.ndarray, y: np.ndarray, C: float, threads: int, repeats: int) -> tuple[list[float], int]:
    """Best seconds of SVC, CalibratedClassifierCV, BayesSVC and naive leave-one-out; support vectors."""
    gamma = 1.0 / X.shape[1]
    ours = BayesSVC(C=C, gamma=gamma, n_jobs=threads)
    models = [
        SVC(C=C, gamma=gamma),
        CalibratedClassifierCV(SVC(C=C, gamma=gamma), ensemble=False, n_jobs=threads),
        ours,
    ]
    best = [np.inf] * len(models)
    with threadpool_limits(threads), joblib.parallel_config(backend="threading"):
        for _ in range(repeats):
            for k, model in enumerate(models):
                best[k] = min(best[k], seconds(lambda model=model: model.fit(X, y)))
        best.append(naive_leave_one_out(X, y, C, threads))
    return best, len(ours.support_)


def problems(args: argparse.Namespace) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """Group, name and data of every problem."""
    for name in args.sets:
        yield "IDA", name, *first_split(args.data, name)
    for n in args.sizes:
        yield "synthetic", f"synthetic, n = {n}", *synthetic(n)


def measure(args: argparse.Namespace) -> list[dict]:
    """Both thread counts of a case right after each other."""
    cases = []
    for group, name, X, y in problems(args):
        for C in (1.0, 10.0):
            repeats = args.repeats if len(y) < LARGE else min(args.repeats, 2)
            for threads in args.threads:
                times, n_support = timed(X, y, C, threads, repeats)
                case = {"group": group, "name": name, "C": C, "threads": threads, "times": times}
                cases.append({**case, "n": len(y), "n_support": n_support})
                say(f"{name}, C = {C:g}, {threads} threads: " + ", ".join(f"{t:.4f}" for t in times))
    return cases


RATIOS = {
    "BayesSVC / CalibratedCV": lambda t: t[2] / t[1],
    "BayesSVC / SVC": lambda t: t[2] / t[0],
    "naive / BayesSVC": lambda t: t[3] / t[2],
}
HEAD = (
    "problem", "C", "rows", "support vectors", "SVC", "CalibratedCV", "BayesSVC", "naive leave-one-out",
    *RATIOS,
)  # fmt: skip


def three(number: float) -> str:
    """Three significant digits."""
    return f"{number:#.3g}".rstrip(".") if abs(number) < 1000 else f"{number:.0f}"


def times_table(cases: list[dict]) -> str:
    rows = [
        [
            case["name"], f"{case['C']:g}", case["n"], case["n_support"],
            *map(three, case["times"]), *(three(ratio(case["times"])) for ratio in RATIOS.values()),
        ]
        for case in cases
    ]  # fmt: skip
    return table(HEAD, rows)


def means_table(cases: list[dict], thread_counts: list[int]) -> str:
    """Geometric means of the ratios, by group of problems and number of threads."""
    rows = []
    for threads in thread_counts:
        for group, label in (("IDA", "IDA sets"), ("synthetic", "synthetic"), (None, "all")):
            chosen = [c["times"] for c in cases if c["threads"] == threads and group in (None, c["group"])]
            if chosen:
                means = [three(geometric_mean(map(ratio, chosen))) for ratio in RATIOS.values()]
                rows.append([threads, label, len(chosen), *means])
    return table(("threads", "problems", "cases", *RATIOS), rows, left=2)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.strip()]


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument(
        "--repeats", type=int, default=5, help="rounds; at most 2 from n = 5000 on; default: 5"
    )
    parser.add_argument("--threads", type=numbers, default=[1, 2], metavar="N,N", help="default: 1,2")
    parser.add_argument(
        "--sizes", type=numbers, default=list(SIZES), metavar="N,N", help="synthetic; default: %(default)s"
    )
    args = parse(parser)
    page = Page("validation.speed.fit", "How long a fit takes", ABOUT)
    cases = measure(args)
    page.add(
        f"Rounds: {args.repeats}, from {LARGE} rows on {min(args.repeats, 2)}. Naive leave-one-out runs once."
    )
    page.add("## Geometric means of the ratios", means_table(cases, args.threads))
    for threads in args.threads:
        title = "One thread each" if threads == 1 else f"{threads} threads each"
        page.add(f"## {title}", times_table([case for case in cases if case["threads"] == threads]))
    page.finish(args.output)


if __name__ == "__main__":
    main()

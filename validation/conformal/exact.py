"""Machines with one more point against training again: the largest difference, and the p-values.

python -m validation.conformal.exact --data DIR [--points N] [--jobs J] [--output FILE]
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm.conformal.adding import Adder, NewPoints
from bayes_svm.dual.from_estimator import machine_of
from validation._common import KERNELS, Page, parse, parser_for, short, table
from validation._sets import ida_split

ABOUT = """\
The training part of the first random split of each IDA set, standardised, and test points of the same split,
each with both labels. Every machine with the point is followed from the solution without it, verified on all
points, and compared with the same problem solved from scratch: the largest difference of any decision value
of the n + 1 points, divided by the largest value or 1. *P-values* are those of the margin score, over all
rows and within the class, before votes order equal scores; a *tie* is a pair for which a row's score equals
the point's own, *unstable* one whose intercept is not unique."""
C_VALUES = (1.0, 10.0)
TIE = 1e-9


def p_values(values: np.ndarray, label: np.ndarray, own: float, rows: np.ndarray) -> tuple[int, int, int]:
    """Rows at least as strange as the point, those of its class, and ties."""
    scores = -label * values[:-1]
    score = -own * values[-1]
    near = TIE * np.maximum(1.0, np.maximum(np.abs(scores), abs(score)))
    as_strange, tied = scores >= score - near, np.abs(scores - score) <= near
    return int(rows[as_strange].sum()), int(rows[as_strange & (label == own)].sum()), int(rows[tied].sum())


def compared(data: str, name: str, kernel: str, C: float, points: int) -> tuple[Counter[str], float]:
    """Counts of statuses and of differences, and the largest difference."""
    with threadpool_limits(1):
        X, y, X_test, _ = ida_split(data, name, None, 0)
        machine, (solution,) = machine_of(SVC(C=C, kernel=kernel, gamma=1.0 / X.shape[1]), X, y)
        X_test = X_test[:points]
        new = NewPoints(
            machine.cross(solution.problem, X_test),
            machine.kernel.diagonal(X_test),
            np.repeat(np.arange(len(X_test)), 2),
            np.tile([1.0, -1.0], len(X_test)),
            np.full(2 * len(X_test), C),
        )
        adder = Adder(solution)
        found = adder.add(new)
        label, rows = solution.problem.label, np.bincount(solution.problem.group)
        counts, worst = Counter(found.status.tolist()), 0.0
        for pair, own in enumerate(new.label):
            again = adder.solved(new, pair)
            scale = max(1.0, float(np.abs(again.values).max()))
            worst = max(worst, float(np.abs(found.values[pair] - again.values).max()) / scale)
            here, there = (
                p_values(values, label, own, rows) for values in (found.values[pair], again.values)
            )
            counts["differ"] += here[:2] != there[:2]
            counts["tied"] += there[2] > 0
            counts["not exact"] += not again.exact
    return counts, worst


def main() -> None:
    parser = parser_for(__doc__.splitlines()[0])
    parser.add_argument(
        "--points", type=int, default=100, help="test points of each set; default: %(default)s"
    )
    parser.add_argument("--jobs", type=int, default=1, help="default: %(default)s")
    args = parse(parser)
    page = Page("validation.conformal.exact", "Adding a point: exactness", ABOUT)
    cases = list(product(args.sets, KERNELS, C_VALUES))
    done = Parallel(n_jobs=args.jobs)(delayed(compared)(args.data, *case, args.points) for case in cases)
    rows, total, largest = [], Counter[str](), 0.0
    for (name, kernel, C), (counts, worst) in zip(cases, done, strict=True):
        total, largest = total + counts, max(largest, worst)
        rows.append([name, kernel, f"{C:g}", *entries(counts, worst)])
    head = ("set", "kernel", "C", "pairs", "unchanged", "by path", "trained again", "unstable",
            "largest difference", "p-values that differ", "ties")  # fmt: skip
    page.add(table(head, [*rows, ["**all**", "", "", *entries(total, largest)]], 2))
    page.finish(args.output)


def entries(counts: Counter[str], worst: float) -> list[object]:
    statuses = ("unchanged", "path", "re-trained", "unstable", "inexact")
    return [
        sum(counts[status] for status in statuses), *(counts[status] for status in statuses[:4]),
        short(worst), counts["differ"], counts["tied"],
    ]  # fmt: skip


if __name__ == "__main__":
    main()

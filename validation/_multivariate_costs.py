"""Where training for the measure gains, and what it costs: tables and a figure for `multivariate.py`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from bayes_svm import MultivariateSVC
from validation._common import progress, table
from validation._multivariate import FINE, LOSSES, MEASURES, PLANES_OF, Collection, Result

FIGURE_1 = """\
Mean improvement on the cost-tuned machine in five bins of as many classes each, as in the paper's figure."""
COSTS_OF = """\
Cutting planes and seconds that training takes, on one thread, for the topic crude with C = 1: of random rows
to a relative gap of 0.001, and of all rows to other gaps. For F1 and the break-even point of wide data, what
is beyond 100 is rounds of the method of multipliers."""

BINS = 5
SLICES, GAPS = (600, 1200, 2400, 4800, 9603), (1e-1, 1e-2, 1e-3, 1e-4)
OF_FIGURE, C_OF_FIGURE = "crude", 1.0


def gain(results: dict[str, Result], names: Iterable[str], measure: str) -> float:
    """Mean improvement of some classes on the cost-tuned machine."""
    return float(np.mean([results[name].trained[measure] - results[name].cost[measure] for name in names]))


def binned(collection: Collection, results: dict[str, Result]) -> str:
    """Figure 1: mean improvement in five bins of classes, from the most frequent to the rarest."""
    bins = np.array_split(np.array(list(results)), BINS)  # the classes are in the order of their size
    rows = []
    for names in bins:
        sizes = [int(collection.classes[name][0].sum()) for name in names]
        gains = (gain(results, names, measure) for measure in MEASURES)
        rows.append([f"{max(sizes)} to {min(sizes)}", len(names), *(f"{mean:+.1f}" for mean in gains)])
    return table(("positives", "classes", *MEASURES), rows)


@dataclass(frozen=True)
class Cost:
    """Planes and seconds that one training took."""

    measure: str
    rows: int
    gap: float
    planes: int
    seconds: float


def costs(collection: Collection) -> list[Cost]:
    """Training one class to different gaps on all rows, and to one gap on fewer."""
    order = np.random.default_rng(0).permutation(collection.X.shape[0])
    y, found = collection.classes[OF_FIGURE][0], []
    runs = [(SLICES[-1], gap) for gap in GAPS] + [(n, FINE) for n in SLICES[:-1]]
    for measure, loss in LOSSES.items():
        for n, gap in runs:
            rows = order[:n]
            k = 2 * int(y[rows].sum()) if loss == "recall_at_k" else None
            model = MultivariateSVC(loss=loss, C=C_OF_FIGURE, k=k, tol=gap, max_iter=PLANES_OF[FINE])
            started = time.perf_counter()
            with threadpool_limits(1):
                model.fit(collection.X[rows], y[rows])
            seconds = time.perf_counter() - started
            found.append(Cost(measure, n, gap, model.n_planes_, seconds))
            progress(str(found[-1]))
    return found


def costs_table(found: list[Cost]) -> str:
    """Planes and seconds, a line for each number of rows and gap."""
    rows = []
    for n, gap in sorted({(one.rows, -one.gap) for one in found}):
        own = {one.measure: one for one in found if (one.rows, -one.gap) == (n, gap)}
        cells = (f"{own[m].planes} in {own[m].seconds:.2f}" for m in MEASURES)
        rows.append([f"{n:,}", f"{-gap:g}", *cells])
    return table(("rows", "relative gap", *MEASURES), rows)


def draw(collection: Collection, results: dict[str, Result], found: list[Cost], path: str) -> None:
    """Improvement in bins of classes; planes against the gap; seconds against the rows."""
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained")
    bins, width = np.array_split(np.array(list(results)), BINS), 0.2
    for m, measure in enumerate(MEASURES):
        gains = [gain(results, names, measure) for names in bins]
        left.bar(np.arange(BINS) + (m - 1.5) * width, gains, width, label=measure)
        own = [one for one in found if one.measure == measure]
        whole = sorted((one.gap, one.planes) for one in own if one.rows == SLICES[-1])
        to_gap = sorted((one.rows, one.seconds) for one in own if one.gap == FINE)
        middle.loglog(*zip(*whole, strict=True), "o-", label=measure)
        right.loglog(*zip(*to_gap, strict=True), "o-", label=measure)
    sizes = [[int(collection.classes[name][0].sum()) for name in names] for names in bins]
    left.set_xticks(np.arange(BINS), [f"{max(size)} to {min(size)}" for size in sizes])
    left.axhline(0.0, color="black", linewidth=0.8)
    left.set(xlabel="positives of the classes", ylabel="mean improvement, points")
    middle.set(xlabel="relative gap", ylabel=f"cutting planes, {SLICES[-1]} rows")
    middle.invert_xaxis()
    right.set(xlabel="rows", ylabel=f"seconds to a gap of {FINE:g}")
    left.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)

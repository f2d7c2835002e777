"""Tables 1 to 3 and learning curves of Joachims 2000: xi-alpha beside hold-out and exact leave-one-out."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solving import solve
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.leave_one_out import read_machine
from bayes_svm.leave_one_out.cases import rows_alone
from bayes_svm.leave_one_out.estimates import doubtful_rows
from bayes_svm.leave_one_out.methods import Wanted
from bayes_svm.metrics.confusion import MEASURES, Confusion
from validation._common import Page, parse, parser_for, table
from validation._common import progress as say
from validation._joachims import COLLECTIONS, Collection, read_collection

ABOUT = """\
Joachims' Table {table} (ICML 2000, technical report version): {about}. The documents are split in random
halves, a linear SVM with C = {C:g} is trained on one half and tested on the other; mean ± standard deviation
over {halves} halves, in percent. **xi-alpha** is the estimate from the training half with ρ = 1 and ρ = 2,
**leave-one-out** the exact leave-one-out value of the training half, which the paper did not have,
**hold-out** the value measured on the other half. Words in at least 3 training documents, term frequency ×
log(n / document frequency) after the paper's equation 2, unit length, so that R_Δ² = 1. No stemming and no
stop words. The halves, and how text is cut into words (here lower-case runs of two or more word characters
of title and text), are not the paper's."""

CURVES = """\
Xi-alpha (ρ = 1), exact leave-one-out and hold-out against the number of training documents, as in the
paper's Figures 4 to 6: the upper curves are means, the dashed ones below standard deviations over {splits}
random training sets ({halves} for the largest); the test set is as large as the training set. Where a
training set holds no document of the category the machine decides against it, and F1 counts as 0."""

C = 0.5
COLUMNS = ("rho = 1", "rho = 2", "leave-one-out", "hold-out")
DRAWN = {"xi-alpha, ρ = 1": 0, "leave-one-out": 2, "hold-out": 3}
TEXT_KERNEL = Kernel("linear")


def weighted(
    texts: list[str], train: np.ndarray, test: np.ndarray
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Tf-idf of the training and the test documents, by the paper's equation 2, of unit length."""
    words = CountVectorizer(min_df=3)
    X, X_test = words.fit_transform([texts[k] for k in train]), words.transform([texts[k] for k in test])
    idf = np.log(len(train) / np.diff(X.tocsc().indptr))
    return normalize(X.multiply(idf).tocsr()), normalize(X_test.multiply(idf).tocsr())


def confusions(machine: Machine, X_test: Any, y_test: np.ndarray) -> list[Any]:
    """What has error, recall, precision and F1, for each of COLUMNS."""
    positive = machine.y == 1
    if not positive.any():  # nothing to be learned: all is decided negative
        nothing = Confusion.from_decisions(positive, np.full(len(positive), -1.0))
        return [nothing, nothing, nothing, Confusion.from_decisions(y_test, np.full(len(y_test), -1.0))]
    solution = solve(machine.problem(0))
    found: list[Any] = []
    for rho in (1.0, 2.0):
        certain = ~doubtful_rows(machine, solution, rho)  # R_delta squared is 1
        found.append(Confusion.from_decisions(positive, np.where(certain == positive, 1.0, -1.0)))
    found.append(read_machine(machine, [solution], rows_alone(machine), Wanted(sign_only=True))[0])
    values = X_test @ (machine.X.T @ solution.row_beta) + solution.intercept
    return [*found, Confusion.from_decisions(y_test, values)]


def readings(
    texts: list[str], labels: dict[str, np.ndarray], names: tuple[str, ...], seed: int, size: int
) -> np.ndarray:
    """Array of shape (categories, 4 measures, 4 columns), in percent, of one random training set."""
    order = np.random.default_rng(seed).permutation(len(texts))
    train, test = order[:size], order[size : 2 * size]
    X, X_test = weighted(texts, train, test)
    ones = np.ones(size)
    shared = Machine.build(X, np.zeros(size, np.intp), np.arange(2), TEXT_KERNEL, ones, C * ones)
    found = []
    for name in names:  # all categories share the kernel matrix
        own = replace(shared, y=labels[name][train].astype(np.intp))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            several = confusions(own, X_test, labels[name][test])
            found.append([[getattr(one, measure) for one in several] for measure in MEASURES])
    return 100 * np.array(found)


def cell(mean: float, deviation: float, digits: int) -> str:
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def add_tables(page: Page, collection: Collection, names: tuple[str, ...], found: np.ndarray) -> None:
    """One table per measure; ``found`` is of shape (halves, categories, 4 measures, 4 columns)."""
    paper = {rho: collection.paper(rho) for rho in (1, 2)}
    for m, measure in enumerate(MEASURES):
        digits = 2 if measure == "error" else 1
        rows = []
        for k, name in enumerate(names):
            means, deviations = found[:, k, m].mean(axis=0), found[:, k, m].std(axis=0, ddof=1)
            ours = [cell(*pair, digits) for pair in zip(means, deviations, strict=True)]
            theirs = [cell(*paper[rho][name][m, 0], digits) for rho in (1, 2)]
            rows.append(
                [name, ours[0], theirs[0], ours[1], theirs[1], *ours[2:], cell(*paper[1][name][m, 1], digits)]
            )
        head = ("", "ρ = 1", "paper", "ρ = 2", "paper", "leave-one-out", "hold-out", "paper")
        page.add(f"## {measure.capitalize() if measure != 'f1' else 'F1'}", table(head, rows))


def add_counts(page: Page, collection: Collection, found: np.ndarray) -> None:
    """How often an estimate is optimistic, and how far it is from the hold-out value."""
    rows = []
    every = found.reshape(-1, *found.shape[2:])
    counted = collection.optimistic is not None
    for m, measure in enumerate(MEASURES):
        better = -1 if measure == "error" else 1
        gaps = better * (every[:, m, :3] - every[:, m, 3:])
        counts = [int(np.sum(gaps[:, k] > 0)) for k in range(3)]
        paper = [collection.optimistic[measure]] if counted else []
        rows.append([measure, *counts, *paper, *(f"{d:.2f}" for d in np.abs(gaps).mean(axis=0))])
    head = (
        *("", "ρ = 1 better", "ρ = 2 better", "leave-one-out better"),
        *(["paper, ρ = 1"] if counted else []),
        *(f"distance, {c}" for c in COLUMNS[:3]),
    )
    page.add(
        f"## Against the hold-out value, {len(every)} experiments",
        "How often each estimate was better than the value on the hold-out half"
        + (" (the paper counts it for ρ = 1)" if counted else "")
        + ", and the mean distance from it in points.",
        table(head, rows),
    )


def draw_curves(path: str, names: tuple[str, ...], curves: dict[int, np.ndarray]) -> None:
    """Error and F1 of every category; ``curves[size]`` has shape (runs, categories, measures, columns)."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    shape = {"figsize": (3.6 * len(names), 6.4), "sharex": True, "sharey": "row", "layout": "constrained"}
    figure, axes = plt.subplots(2, len(names), **shape)
    sizes = list(curves)
    for k, name in enumerate(names):
        for row, measure in enumerate(("error", "f1")):
            panel, m = axes[row, k], MEASURES.index(measure)
            for color, (label, column) in enumerate(DRAWN.items()):
                own = [curves[size][:, k, m, column] for size in sizes]
                options = {"color": f"C{color}", "marker": "o", "markersize": 3}
                panel.plot(sizes, [values.mean() for values in own], label=label, **options)
                panel.plot(sizes, [values.std(ddof=1) for values in own], linestyle="--", **options)
            panel.set_xscale("log")
            panel.set_xticks(sizes, [str(size) for size in sizes])
            panel.minorticks_off()
        axes[0, k].set_title(name)
        axes[1, k].set_xlabel("training documents")
    axes[0, 0].set(ylabel="error, %", ylim=(0, None))
    axes[1, 0].set(ylabel="F1, %", ylim=(0, 100))
    axes[0, -1].legend(loc="upper right")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def add_curves(
    page: Page,
    args: argparse.Namespace,
    texts: list[str],
    labels: dict[str, np.ndarray],
    halves: np.ndarray,
) -> None:
    collection = COLLECTIONS[args.collection]
    curves = {}
    for size in collection.sizes:
        runs = [readings(texts, labels, collection.drawn, seed, size) for seed in range(args.splits)]
        curves[size] = np.array(runs)
        say(f"{size} documents done")
    drawn = [list(labels).index(name) for name in collection.drawn]
    curves[len(texts) // 2] = halves[:, drawn]
    draw_curves(args.figure, collection.drawn, curves)
    about = fill(CURVES.format(splits=args.splits, halves=args.halves), 110, break_on_hyphens=False)
    page.add("## Learning curves", about, f"![error and F1]({Path(args.figure).name})")


def main() -> None:
    parser: argparse.ArgumentParser = parser_for(__doc__ or "")
    parser.add_argument(
        "--collection", choices=list(COLLECTIONS), default="reuters", help="texts; default: reuters"
    )
    parser.add_argument("--halves", type=int, default=10, metavar="N", help="random halves; default: 10")
    parser.add_argument("--figure", metavar="FILE", help="draw the learning curves into this file")
    parser.add_argument(
        "--splits", type=int, default=20, metavar="N", help="runs of a learning curve's point; default: 20"
    )
    args = parse(parser)
    collection = COLLECTIONS[args.collection]
    texts, labels = read_collection(args.data, args.collection)
    about = collection.about.format(n=len(texts))
    about = fill(
        ABOUT.format(table=collection.table, about=about, C=C, halves=args.halves),
        110,
        break_on_hyphens=False,
    )
    page = Page("validation.xi_alpha", f"Xi-alpha estimates on {collection.title}", about)
    names, found = tuple(labels), []
    for seed in range(args.halves):
        found.append(readings(texts, labels, names, seed, len(texts) // 2))
        say(f"half {seed} done")
    halves = np.array(found)
    add_tables(page, collection, names, halves)
    add_counts(page, collection, halves)
    if args.figure:
        add_curves(page, args, texts, labels, halves)
    page.finish(args.output)


if __name__ == "__main__":
    main()

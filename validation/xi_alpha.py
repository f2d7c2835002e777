"""Table 1 of Joachims 2000 on Reuters: xi-alpha estimates, hold-out, and exact leave-one-out beside them."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from bayes_svm.confusion import MEASURES, Confusion
from bayes_svm.leave_one_out import read_machine
from bayes_svm.leave_one_out.readings import Wanted
from bayes_svm.machine import Machine, machine_of
from bayes_svm.solution import solve
from bayes_svm.xi_alpha import _doubtful
from validation._common import Page, parse, parser_for, table
from validation._common import progress as say
from validation._text import REUTERS_TOPICS, read_documents, texts_of

ABOUT = """\
Joachims' Table 1 (ICML 2000, technical report version): the ten most frequent Reuters topics, all 12,902
documents of the ModApte split in random halves, a linear SVM with C = 0.5 trained on one half and tested on
the other, mean ± standard deviation over the halves, in percent. **xi-alpha** is the estimate from the
training half with ρ = 1 and ρ = 2, **leave-one-out** the exact leave-one-out value of the training half,
which the paper did not have, **hold-out** the value measured on the other half. Words in at least 3 training
documents, term frequency × log(n / document frequency) after the paper's equation 2, unit length, so that
R_Δ² = 1. No stemming and no stop words. The halves, and how text is cut into words (here lower-case runs of
two or more word characters of title and text), are not the paper's."""

# Mean and standard deviation: estimate and hold-out of error, recall, precision, F1.
PAPER = {
    1: """\
earn 2.68 0.08 1.87 0.15 92.3 0.3 94.8 0.5 98.8 0.1 99.1 0.1 95.4 0.1 96.9 0.2
acq 3.54 0.16 2.53 0.20 88.1 0.8 92.5 0.5 92.1 0.4 93.6 0.7 90.0 0.5 93.1 0.4
money-fx 2.67 0.12 1.92 0.14 64.9 2.0 73.6 2.4 83.4 1.4 89.8 1.9 73.0 1.4 80.9 1.4
grain 1.23 0.09 0.82 0.11 74.4 1.7 82.7 2.1 98.2 0.8 98.5 0.5 84.7 1.2 89.9 1.2
crude 1.58 0.08 1.30 0.10 72.5 1.7 76.6 2.6 90.9 1.0 92.7 1.2 80.6 1.0 83.9 1.3
trade 1.99 0.11 1.42 0.10 60.4 2.1 70.0 2.4 83.5 1.3 89.0 1.5 70.0 1.7 78.3 1.6
interest 2.20 0.18 1.67 0.20 54.0 5.2 63.8 4.3 80.2 2.9 87.2 2.8 64.5 4.4 73.6 3.4
ship 1.23 0.10 0.96 0.13 47.5 5.6 61.2 3.9 93.3 1.9 93.8 2.5 62.7 5.0 74.0 2.9
wheat 0.91 0.07 0.65 0.08 62.8 1.8 71.1 2.3 95.0 1.5 97.8 1.0 75.6 1.2 82.3 1.4
corn 0.90 0.05 0.71 0.06 52.4 4.1 61.8 1.7 97.3 1.8 99.1 0.6 68.1 3.6 76.1 1.3""",
    2: """\
earn 6.79 0.21 1.87 0.15 84.4 0.4 94.8 0.5 92.7 0.5 99.1 0.1 88.3 0.4 96.9 0.2
acq 12.99 0.28 2.53 0.20 59.3 1.4 92.5 0.5 66.0 1.2 93.6 0.7 62.5 1.2 93.1 0.4
money-fx 5.38 0.22 1.92 0.14 38.4 2.0 73.6 2.4 52.1 1.8 89.8 1.9 44.2 1.8 80.9 1.4
grain 3.20 0.19 0.82 0.11 48.1 2.0 82.7 2.1 72.8 1.8 98.5 0.5 57.9 2.0 89.9 1.2
crude 3.69 0.20 1.30 0.10 45.3 2.1 76.6 2.6 62.8 2.4 92.7 1.2 52.6 2.1 83.9 1.3
trade 3.80 0.15 1.42 0.10 34.7 1.8 70.0 2.4 51.2 2.2 89.0 1.5 41.4 1.9 78.3 1.6
interest 4.19 0.26 1.67 0.20 27.5 4.2 63.8 4.3 40.8 5.0 87.2 2.8 32.8 4.6 73.6 3.4
ship 2.21 0.08 0.96 0.13 18.2 2.6 61.2 3.9 49.4 5.2 93.8 2.5 26.6 3.5 74.0 2.9
wheat 1.79 0.14 0.65 0.08 43.2 1.8 71.1 2.3 65.8 2.7 97.8 1.0 52.2 1.9 82.3 1.4
corn 1.72 0.12 0.71 0.06 28.1 2.1 61.8 1.7 57.1 3.2 99.1 0.6 37.6 2.2 76.1 1.3""",
}
COLUMNS = ("rho = 1", "rho = 2", "leave-one-out", "hold-out")


def paper_numbers(rho: int) -> dict[str, np.ndarray]:
    """Topic -> array of shape (4 measures, estimate and hold-out, mean and deviation)."""
    lines = [line.split() for line in PAPER[rho].splitlines()]
    return {name: np.array(numbers, dtype=float).reshape(4, 2, 2) for name, *numbers in lines}


def weighted(
    texts: list[str], train: np.ndarray, test: np.ndarray
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Tf-idf of the training and the test documents, by the paper's equation 2, of unit length."""
    words = CountVectorizer(min_df=3)
    X, X_test = words.fit_transform([texts[k] for k in train]), words.transform([texts[k] for k in test])
    idf = np.log(len(train) / np.diff(X.tocsc().indptr))
    return normalize(X.multiply(idf).tocsr()), normalize(X_test.multiply(idf).tocsr())


def readings(machine: Machine, X_test: Any, y_test: np.ndarray) -> np.ndarray:
    """Array of shape (4 measures, 4 columns), in percent."""
    solution = solve(machine.problem(0))
    found, positive = [], machine.y == 1
    for rho in (1.0, 2.0):
        certain = ~_doubtful(machine, solution, rho)  # R_delta squared is 1
        found.append(Confusion.from_decisions(positive, np.where(certain == positive, 1.0, -1.0)))
    found.append(read_machine(machine, [solution], Wanted(sign_only=True)))
    values = X_test @ (machine.X.T @ solution.row_beta) + solution.intercept
    found.append(Confusion.from_decisions(y_test, values))
    return 100 * np.array([[getattr(one, measure) for one in found] for measure in MEASURES])


def run(texts: list[str], labels: dict[str, np.ndarray], halves: int) -> dict[str, np.ndarray]:
    """Topic -> readings of every half, shape (halves, 4 measures, 4 columns)."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in labels}
    for seed in range(halves):
        order = np.random.default_rng(seed).permutation(len(texts))
        train, test = order[: len(order) // 2], order[len(order) // 2 :]
        X, X_test = weighted(texts, train, test)
        machine, _ = machine_of(SVC(kernel="linear", C=0.5), X, labels["earn"][train])
        for name, y in labels.items():  # all topics share the kernel matrix
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UndefinedMetricWarning)
                own = replace(machine, y=y[train].astype(np.intp))
                found[name].append(readings(own, X_test, y[test]))
        say(f"half {seed} done")
    return {name: np.array(parts) for name, parts in found.items()}


def cell(mean: float, deviation: float, digits: int) -> str:
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def add_tables(page: Page, found: dict[str, np.ndarray]) -> None:
    paper = {rho: paper_numbers(rho) for rho in PAPER}
    for m, measure in enumerate(MEASURES):
        digits = 2 if measure == "error" else 1
        rows = []
        for name, values in found.items():
            means, deviations = values[:, m].mean(axis=0), values[:, m].std(axis=0, ddof=1)
            ours = [cell(*pair, digits) for pair in zip(means, deviations, strict=True)]
            theirs = [cell(*paper[rho][name][m, 0], digits) for rho in (1, 2)]
            rows.append(
                [name, ours[0], theirs[0], ours[1], theirs[1], *ours[2:], cell(*paper[1][name][m, 1], digits)]
            )
        head = ("", "ρ = 1", "paper", "ρ = 2", "paper", "leave-one-out", "hold-out", "paper")
        page.add(f"## {measure.capitalize() if measure != 'f1' else 'F1'}", table(head, rows))


def add_counts(page: Page, found: dict[str, np.ndarray]) -> None:
    """How often an estimate is optimistic, and how far it is from the hold-out value."""
    rows = []
    every = np.concatenate(list(found.values()))
    for m, measure in enumerate(MEASURES):
        better = -1 if measure == "error" else 1
        gaps = better * (every[:, m, :3] - every[:, m, 3:])
        counts = [int(np.sum(gaps[:, k] > 0)) for k in range(3)]
        distance = np.abs(gaps).mean(axis=0)
        rows.append(
            [
                measure,
                *counts,
                {"error": 3, "recall": 1, "precision": 15, "f1": 2}[measure],
                *(f"{d:.2f}" for d in distance),
            ]
        )
    page.add(
        f"## Against the hold-out value, {len(every)} experiments",
        "How often each estimate was better than the value on the hold-out half (the paper counts it for "
        "ρ = 1), and the mean distance from it in points.",
        table(
            (
                "",
                "ρ = 1 better",
                "ρ = 2 better",
                "leave-one-out better",
                "paper, ρ = 1",
                *(f"distance, {c}" for c in COLUMNS[:3]),
            ),
            rows,
        ),
    )


def main() -> None:
    parser: argparse.ArgumentParser = parser_for(__doc__ or "")
    parser.add_argument("--halves", type=int, default=10, metavar="N", help="random halves; default: 10")
    args = parse(parser)
    page = Page("validation.xi_alpha", "Xi-alpha estimates on Reuters", ABOUT)
    documents = read_documents(args.data, "reuters21578_modapte")
    labels = {name: np.array([name in one["topics"] for one in documents]) for name in REUTERS_TOPICS}
    found = run(texts_of(documents), labels, args.halves)
    add_tables(page, found)
    add_counts(page, found)
    page.finish(args.output)


if __name__ == "__main__":
    main()

"""Text categorization, the last experiment of Kwok (1999)."""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit
from sklearn.feature_extraction.text import CountVectorizer

from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import solve
from bayes_svm.kernels.kernel import Kernel
from validation._common import Page, table
from validation._common import progress as say
from validation._kwok import moderated, outputs


def read_reuters(data: str) -> tuple[Any, Any, list[set[str]], list[set[str]]]:
    """The paper's tf-idf of the ModApte documents, and their topics."""
    with gzip.open(Path(data) / "text" / "reuters21578_modapte.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    parts = [[d for d in documents if d["split"] == split] for split in ("train", "test")]
    counter = CountVectorizer(stop_words="english", token_pattern=r"(?u)\b[a-zA-Z]{2,}\b", min_df=2)
    counts = counter.fit_transform([f"{d['title']} {d['text']}" for d in parts[0]])
    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    weight = sparse.diags(np.log(counts.shape[0] / frequency))

    def tf_idf(matrix: Any) -> Any:
        length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        return sparse.csr_matrix(sparse.diags(1.0 / np.maximum(length, 1.0)) @ matrix @ weight)

    test = counter.transform([f"{d['title']} {d['text']}" for d in parts[1]])
    topics = [[set(d["topics"]) for d in part] for part in parts]
    return tf_idf(counts), tf_idf(test), topics[0], topics[1]


def break_even(scores: np.ndarray, truth: np.ndarray) -> float:
    """Precision where it equals recall: with as many predicted as there are positives."""
    chosen = np.argsort(-scores, kind="stable")[: int(truth.sum())]
    return float(truth[chosen].mean())


def reuters(page: Page, args: argparse.Namespace) -> None:
    """Break-even points, and Figures 5 to 9."""
    X, X_test, topics, topics_test = read_reuters(args.data)
    counts = Counter(topic for own in topics for topic in own)
    tested = {topic for own in topics_test for topic in own}
    names = sorted(
        (topic for topic in counts if topic in tested and counts[topic] >= 2), key=lambda t: -counts[t]
    )
    names = names[: args.topics]
    kernel = Kernel("poly", gamma=1.0, degree=1, coef0=1.0)
    y = np.array([names[0] in own for own in topics], dtype=int)
    ones = np.ones(X.shape[0])
    shared = Machine.build(X, y, np.arange(2), kernel, ones, args.text_C * ones)
    values, variance, truth = (np.empty((X_test.shape[0], len(names))) for _ in range(3))
    for k, name in enumerate(names):
        y = np.array([name in own for own in topics], dtype=int)
        machine = replace(shared, y=y)
        solution = solve(machine.problem(0))
        columns = outputs(machine, [solution], args.text_C, X_test, max_rows=args.text_rows)
        values[:, k], variance[:, k] = columns[0][:, 0], columns[1][:, 0]
        truth[:, k] = [name in own for own in topics_test]
        say(f"reuters {k + 1} of {len(names)}: {name}")
    report_reuters(page, args, names, [counts[name] for name in names], values, variance, truth)


def report_reuters(
    page: Page,
    args: argparse.Namespace,
    names: list[str],
    counts: list[int],
    values: np.ndarray,
    variance: np.ndarray,
    truth: np.ndarray,
) -> None:
    log_odds = moderated(values, variance)
    rows = []
    for title, scores in (("MAP", values), ("moderated", log_odds)):
        macro = np.mean([break_even(scores[:, k], truth[:, k]) for k in range(len(names))])
        rows.append(
            [title, f"{100 * macro:.1f} %", f"{100 * break_even(scores.ravel(), truth.ravel()):.1f} %"]
        )
    rows.append(["paper", "72.0 %", "85 %"])
    page.add(
        "## Text categorization: Reuters-21578, ModApte split, d = 1",
        f"{len(names)} topics that both parts have, tf-idf as in the paper but without stemming; C = "
        f"{args.text_C:g}. Of a topic's points near the margin, up to {args.text_rows} make up its "
        "posterior: for a rare topic nearly all 9603 documents are near it.",
        table(("output", "macro-averaged break-even point", "micro-averaged"), rows),
    )
    kept = expit(log_odds) >= 0.5
    precision, recall = truth[kept].mean(), truth[kept].sum() / truth.sum()
    page.add(
        f"At a threshold of 0.5 on the moderated output: precision {100 * precision:.1f} %, recall "
        f"{100 * recall:.1f} % (paper: 92.2 % and 78.5 %). Rank correlation of the number of training "
        f"documents with the mean posterior variance over the test documents: "
        f"{pd.Series(counts).corr(pd.Series(variance.mean(axis=0)), method='spearman'):.2f}."
    )
    if args.text_figure is not None:
        draw_text(args.text_figure, counts, values, log_odds, variance, truth)
        page.add(f"![figures 5 to 9 of the paper]({Path(args.text_figure).name})")


def curve(scores: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Recall and precision, most certain first."""
    hits = np.cumsum(truth[np.argsort(-scores, kind="stable")])
    return hits / hits[-1], hits / np.arange(1, len(hits) + 1)


def draw_text(
    path: str,
    counts: list[int],
    values: np.ndarray,
    log_odds: np.ndarray,
    variance: np.ndarray,
    truth: np.ndarray,
) -> None:
    """Figures 5 to 9 of the paper."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 5, figsize=(20, 4), layout="constrained")
    mean = variance.mean(axis=0)
    axes[0].semilogx(counts, mean, ".")
    axes[0].set(title="variance (figure 5)", xlabel="training documents of the topic", ylabel="mean variance")
    for name, scores in (("MAP", values), ("moderated", log_odds)):
        axes[1].plot(*curve(scores.ravel(), truth.ravel()), label=name)
    thresholds = np.linspace(0.02, 0.98, 49)
    output = expit(log_odds)
    chosen = [output >= threshold for threshold in thresholds]
    axes[2].plot(
        thresholds, [truth[part].mean() if part.any() else np.nan for part in chosen], label="precision"
    )
    axes[2].plot(thresholds, [truth[part].sum() / truth.sum() for part in chosen], label="recall")
    axes[2].set(title="threshold (figure 7)", xlabel="rejection threshold on the moderated output")
    share = np.mean((output > 0.4) & (output < 0.5), axis=0)
    axes[3].plot(mean, 100 * share, ".")
    axes[3].set(title="undecided (figure 8)", xlabel="mean variance", ylabel="% of outputs in (0.4, 0.5)")
    sure = np.abs(output - 0.5) > 0.1
    for name, scores in (("MAP", values), ("moderated", log_odds)):
        # Confident ones first, then the undecided.
        later = np.where(sure | (scores < 0), scores, scores - 2 * np.abs(scores).max())
        axes[4].plot(*curve(later.ravel(), truth.ravel()), label=name)
    for k, title in ((1, "all (figure 6)"), (4, "undecided last (figure 9)")):
        axes[k].set(title=title, xlabel="recall", ylabel="precision")
    for k in (1, 2, 4):
        axes[k].legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)

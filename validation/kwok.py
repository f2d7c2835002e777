"""The experiments of Kwok (1999): a toy problem, image segmentation, text categorization."""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from bayes_svm.dual.machine import Machine
from bayes_svm.dual.solution import DualSolution, solve
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.probability.kwok import ClippedLink, HingeLink, KwokLink
from bayes_svm.probability.posterior import Posterior, posterior_of
from validation._common import Page, parse, parser_for, table
from validation._common import progress as say

ABOUT = """\
Kwok, "Moderating the outputs of support vector machine classifiers", IEEE Transactions on Neural Networks
10(5), 1999: its three experiments, with its kernel (x'x + 1)^d, its numbers beside ours. What the paper
leaves open is chosen so: the positions of the five Gaussians, C, the smoothing (the paper's, eta = 3,
negative curvature cut to zero, and all of the variance, not only the part in the span of the data),
attributes standardised by the training part (segmentation)."""

CLASSES = ((1.0, ((-2.0, -1.0), (0.0, 2.0), (2.5, -1.5))), (-1.0, ((-0.5, -0.5), (2.0, 1.0))))
SPREAD, N_TRAIN, DRAWS = 0.6, 500, 20
PENALTIES = 10.0 ** np.arange(-4, 4.5, 0.5)
GRID = np.linspace(-6.0, 6.0, 101)
TOY = f"""\
Medians over {DRAWS} draws of {N_TRAIN} training patterns. The paper's 10201 test patterns are as many as a
plane of 101 x 101 points has: *plane* are such points, from -6 to 6, the more probable class of each being
its label; *drawn* are 10201 draws of the five Gaussians. G is the sum of the log losses of the test patterns
(equation 17). The regularised sigmoid is fitted to the training outputs, kappa chosen on {N_TRAIN} patterns
of the test patterns' kind. In the last columns, how often moderated is the best, and how often all four are
in the paper's order: clipped, unmoderated, regularised, moderated. Where an output is rounded to 1 before
its complement is taken, G becomes infinite, as the paper's unmoderated G is; here it is not rounded."""
PAPER_MODERATED, PAPER_MAP = (18, 40, 43, 60, 62, 180), (25, 48, 59, 71, 72, 205)
PAPER_REJECTED = (0.0, 0.0, 0.0, 0.24, 12.7, 24.9, 39.3, 47.9, 57.4)
PAPER_ERROR = (8.6, 8.5, 7.8, 6.4, 4.9, 3.9, 3.4, 2.6, 3.3)
PAPER_G = {"clipped": "infinite", "unmoderated": "infinite", "regularised": "3801", "moderated": "1417"}


def machine_and_solutions(
    X: Any, y: np.ndarray, degree: float, C: float
) -> tuple[Machine, list[DualSolution]]:
    """One machine for class numbers ``y``, one problem per class if there are more than two."""
    kernel = Kernel("poly", gamma=1.0, degree=degree, coef0=1.0)
    weight = np.ones(X.shape[0])
    machine = Machine.build(X, y, np.unique(y), kernel, weight, np.full(X.shape[0], C))
    return machine, [solve(machine.problem(k)) for k in range(machine.n_problems)]


def outputs(
    machine: Machine, solutions: list[DualSolution], C: float, X: Any, max_rows: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """MAP outputs and posterior variances at points, one column per problem."""
    values = np.empty((X.shape[0], len(solutions)))
    variance = np.empty_like(values)
    for k, solution in enumerate(solutions):
        beta = solution.row_beta
        used = np.flatnonzero(beta)
        for part, cross in machine.kernel.blocks(X, machine.X[used], used):
            values[part, k] = cross @ beta[used] + solution.intercept
        posterior: Posterior = posterior_of(machine, solution, C, max_rows=max_rows)
        variance[:, k] = posterior.variance(X)
    return values, variance


def moderated(values: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Log-odds of Kwok's equations 10 and 11."""
    return KwokLink().log_odds(values, variance)


def gaussians(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    centres = [(label, centre) for label, several in CLASSES for centre in several]
    chosen = random.integers(len(centres), size=n)
    X = np.array([centres[k][1] for k in chosen]) + SPREAD * random.normal(size=(n, 2))
    return X, np.array([centres[k][0] for k in chosen])


def more_probable(points: np.ndarray) -> np.ndarray:
    """The more probable class at every point."""
    logs = [
        logsumexp([-((points - np.array(c)) ** 2).sum(axis=1) / (2 * SPREAD**2) for c in centres], axis=0)
        for _, centres in CLASSES
    ]
    return np.where(logs[0] > logs[1], CLASSES[0][0], CLASSES[1][0])


def plane() -> np.ndarray:
    """The 101 x 101 points of the figure."""
    return np.stack(np.meshgrid(GRID, GRID), axis=-1).reshape(-1, 2)


def toy_links(
    X: np.ndarray, y: np.ndarray, C: float, valid: tuple[np.ndarray, np.ndarray]
) -> tuple[Callable[[np.ndarray], tuple], dict[str, Callable]]:
    """MAP outputs and variances at points, and the log-odds that each way makes of them.

    ``valid`` are the points and labels that kappa of the regularised sigmoid is chosen on.
    """
    machine, solutions = machine_and_solutions(X, (y > 0).astype(int), 3, C)

    def output_at(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, variance = outputs(machine, solutions, C, points)
        return values[:, 0], variance[:, 0]

    slope, offset = regularised_sigmoid(output_at(X)[0], y > 0, output_at(valid[0])[0], valid[1] > 0)
    return output_at, {
        "clipped": lambda values, variance: ClippedLink().log_odds(values),
        "unmoderated": lambda values, variance: HingeLink().log_odds(values),
        "regularised": lambda values, variance: slope * (values + offset),
        "moderated": moderated,
    }


def regularised_sigmoid(
    values: np.ndarray, positive: np.ndarray, valid: np.ndarray, positive_valid: np.ndarray
) -> tuple[float, float]:
    """Slope and offset of the paper's footnote 5: kappa by the squared error of the validation set."""

    def penalised(sigmoid: np.ndarray, kappa: float) -> float:
        slope, offset = sigmoid
        return ((expit(slope * (values + offset)) - positive) ** 2).sum() / 2 + kappa * slope**2

    found = [minimize(penalised, (1.0, 0.0), args=(kappa,)).x for kappa in PENALTIES]
    errors = [((expit(slope * (valid + offset)) - positive_valid) ** 2).sum() for slope, offset in found]
    slope, offset = found[int(np.argmin(errors))]
    return float(slope), float(offset)


def toy(page: Page, figure: str | None, moderation_figure: str | None) -> None:
    """Table I and Figure 4."""
    names = tuple(PAPER_G)
    rows = []
    for title in ("plane", "drawn"):
        for C in (0.01, 1.0, 100.0):
            sums, errors = toy_sums(title, C)
            ordered = np.all(np.diff(sums, axis=1) <= 0, axis=1)
            best = sums.argmin(axis=1) == names.index("moderated")
            medians = ("infinite" if np.isinf(G) else f"{G:.0f}" for G in np.median(sums, axis=0))
            rows.append([f"{title}, C = {C:g}", f"{np.median(errors):.2f} %", *medians])
            rows[-1] += [f"{best.sum()} of {DRAWS}", f"{ordered.sum()} of {DRAWS}"]
            say(f"toy, {rows[-1]}")
    rows.append(["paper, one draw", "", *PAPER_G.values(), "", ""])
    head = ("", "error", *(f"G, {name}" for name in names), "moderated best", "paper's order")
    page.add("## Toy problem: five Gaussians, d = 3", TOY, table(head, rows))
    if figure is not None:
        draw_surfaces(*gaussians(N_TRAIN, seed=0), figure)
        page.add(f"![five output surfaces]({Path(figure).name})")
    if moderation_figure is not None:
        draw_moderation(*gaussians(N_TRAIN, seed=0), moderation_figure)
        page.add(
            "The same machine (C = 1) as `ModerationDisplay.from_estimator` draws it, from a fitted "
            '`BayesSVC(link="kwok")`:',
            f"![decision value, posterior deviation, probability]({Path(moderation_figure).name})",
        )


def patterns(title: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Patterns of the plane, or draws of the Gaussians, with their labels."""
    if title == "drawn":
        return gaussians(n, seed)
    points = plane()[np.random.default_rng(seed).permutation(len(plane()))[:n]]
    return points, more_probable(points)


def toy_sums(title: str, C: float) -> tuple[np.ndarray, np.ndarray]:
    """G of every output and the error of every draw of the training patterns."""
    sums, errors = [], []
    X_test, y_test = patterns(title, len(plane()), seed=1)
    for seed in range(DRAWS):
        drawn = gaussians(N_TRAIN, seed=100 + seed)
        output_at, links = toy_links(*drawn, C, patterns(title, N_TRAIN, seed=2))
        values, variance = output_at(X_test)
        sums.append([-float(log_expit(y_test * link(values, variance)).sum()) for link in links.values()])
        errors.append(100 * np.mean((values > 0) != (y_test > 0)))
    return np.array(sums), np.array(errors)


def draw_surfaces(X: np.ndarray, y: np.ndarray, path: str) -> None:
    """The five outputs over the plane, training patterns on top (the paper's Figures 3 and 4)."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    output_at, links = toy_links(X, y, 1.0, patterns("plane", N_TRAIN, seed=2))
    values, variance = output_at(plane())
    shown = {"MAP output": np.clip(values, -5, 5)}
    shown.update({name: expit(link(values, variance)) for name, link in links.items()})
    figure, axes = plt.subplots(1, 5, figsize=(18, 3.8), sharey=True, layout="constrained")
    for axis, (name, surface) in zip(axes, shown.items(), strict=True):
        image = axis.contourf(GRID, GRID, surface.reshape(101, 101), levels=21, cmap="RdBu")
        axis.scatter(*X[y > 0].T, s=2, c="navy")
        axis.scatter(*X[y < 0].T, s=2, c="darkred")
        axis.set(title=f"{name}, cut at 5" if name == "MAP output" else name, aspect="equal")
        figure.colorbar(image, ax=axis, shrink=0.7)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_moderation(X: np.ndarray, y: np.ndarray, path: str) -> None:
    """Decision value, its posterior deviation and Kwok's probability, by the package's own display."""
    import matplotlib as mpl

    mpl.use("Agg")
    from bayes_svm.plots import ModerationDisplay

    model = BayesSVC(kernel="poly", degree=3, gamma=1.0, coef0=1.0, link="kwok").fit(X, y)
    ModerationDisplay.from_estimator(model, X, y).figure_.savefig(path, dpi=110)


def segmentation(page: Page, data: str) -> None:
    """Tables II and III."""
    parts = [pd.read_csv(Path(data) / "uci" / f"segmentation_{part}.csv") for part in ("train", "test")]
    names = sorted(set(parts[0]["class"]))
    X, X_test = (part.drop(columns="class").to_numpy(float) for part in parts)
    scaler = StandardScaler().fit(X)
    y, y_test = (np.array([names.index(label) for label in part["class"]]) for part in parts)
    found = {}
    for C in (1.0, 10.0, 100.0):
        machine, solutions = machine_and_solutions(scaler.transform(X), y, 1, C)
        values, variance = outputs(machine, solutions, C, scaler.transform(X_test))
        found[C] = (values, moderated(values, variance))
    page.add(
        "## Image segmentation, d = 1", "Classes taken in, one by one: errors of the test patterns of these."
    )
    rows = []
    for k in range(2, len(names) + 1):
        present = np.flatnonzero(y_test < k)
        cells = [
            int(np.sum(output[present, :k].argmax(axis=1) != y_test[present]))
            for pair in found.values()
            for output in pair
        ]
        classes = " + ".join(names[:k]).lower() if k == 2 else f"+ {names[k - 1].lower()}"
        rows.append([classes, len(present), *cells, PAPER_MAP[k - 2], PAPER_MODERATED[k - 2]])
    head = [f"{kind}, C = {C:g}" for C in found for kind in ("MAP", "moderated")]
    page.add(table(("classes", "patterns", *head, "paper: MAP", "moderated"), rows))
    page.add(
        "As in the paper, each class has one classifier against all other classes of the training set; the "
        "winner is the classifier with the largest output. A pattern is rejected where the winner's "
        "moderated output is below the threshold; errors are of what is left."
    )
    rows = []
    for k, threshold in enumerate(np.arange(1, 10) / 10):
        row = [f"{threshold:.1f}"]
        for _, output in found.values():
            kept = expit(output.max(axis=1)) >= threshold
            wrong = output[kept].argmax(axis=1) != y_test[kept]
            row += [
                f"{100 * np.mean(~kept):.1f} %",
                f"{100 * wrong.mean():.1f} %" if kept.any() else "none left",
            ]
        rows.append([*row, f"{PAPER_REJECTED[k]:g} %", f"{PAPER_ERROR[k]:g} %"])
    head = [f"{kind}, C = {C:g}" for C in found for kind in ("rejected", "error")]
    page.add(table(("threshold", *head, "paper: rejected", "error"), rows))


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
        machine = Machine(
            X, y, np.arange(2), kernel, ones, shared.row_bound, shared.gram, shared.row_of, True
        )
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


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument(
        "--topics", type=int, default=90, metavar="N", help="most frequent topics; default: 90"
    )
    parser.add_argument("--text-C", type=float, default=1.0, metavar="C", help="for the texts; default: 1")
    parser.add_argument(
        "--text-rows",
        type=int,
        default=1000,
        metavar="N",
        help="points of a topic's posterior; default: 1000",
    )
    parser.add_argument("--toy-figure", metavar="FILE", help="draw the five output surfaces into this file")
    parser.add_argument("--moderation-figure", metavar="FILE", help="draw the machine with its variance too")
    parser.add_argument("--text-figure", metavar="FILE", help="draw figures 5 to 9 into this file")
    args = parse(parser)
    page = Page("validation.kwok", "Kwok's experiments", ABOUT)
    with threadpool_limits(1):
        toy(page, args.toy_figure, args.moderation_figure)
        segmentation(page, args.data)
        if args.topics:
            reuters(page, args)
    page.finish(args.output)


if __name__ == "__main__":
    main()

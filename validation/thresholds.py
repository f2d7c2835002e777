"""Thresholds from exact leave-one-out beside TunedThresholdClassifierCV, on imbalanced data."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score, make_scorer, precision_score, recall_score
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayes_svm import choose_threshold, leave_one_out
from validation._common import Page, parse, parser_for, read_ida, table
from validation._common import progress as say
from validation._text import REUTERS_TOPICS, read_documents, texts_of

ABOUT = """\
One SVM, three ways to cut its decision values. **SVC**: at 0. **Tuned**: scikit-learn's
`TunedThresholdClassifierCV` with 5 folds, 100 thresholds and a final fit. **Leave-one-out**:
`choose_threshold` on the exact leave-one-out decision values of one fit. Two objectives: the largest F1, and
the largest recall with precision of at least 0.8 (for Tuned a scorer that is the recall where the precision
is reached, and otherwise the precision less 1). All numbers are of test data that none of them saw, means
over the data sets of a group; *met* is how often the precision was reached on test data. Seconds are wall
time per data set, fits included, one thread.

* Reuters: a topic against the rest, {documents} random training documents of the ModApte split, all its 3299
  test documents, tf-idf, linear kernel, C = 1; {splits} draws of each of the ten topics.
* german: {splits} random splits, standardised, rbf, gamma = 1/d, C = 1; 30 % positives.
* synthetic: `make_classification` with 2 % positives, 20 features of which 5 informative, flip_y = 0.005,
  2000 training and 20,000 test points, standardised, rbf, gamma = 1/d, C = 10; {splits} seeds."""

LEAST = 0.8
WAYS = ("SVC", "Tuned", "Leave-one-out")


def reuters(args: argparse.Namespace) -> Iterator[tuple[str, Any, ...]]:
    documents = read_documents(args.data, "reuters21578_modapte")
    parts = [[one for one in documents if one["split"] == split] for split in ("train", "test")]
    for seed in range(args.splits):
        rows = np.random.default_rng(seed).permutation(len(parts[0]))[: args.documents]
        train = [parts[0][k] for k in rows]
        words = TfidfVectorizer()
        X, X_test = words.fit_transform(texts_of(train)), words.transform(texts_of(parts[1]))
        for topic in REUTERS_TOPICS:
            y, y_test = (np.array([topic in one["topics"] for one in part]) for part in (train, parts[1]))
            yield "Reuters", X, y, X_test, y_test, SVC(kernel="linear")


def german(args: argparse.Namespace) -> Iterator[tuple[str, Any, ...]]:
    z = read_ida(args.data, "german")
    for split in range(args.splits):
        rows, test = z["train_rand"][split].astype(int), z["test_rand"][split].astype(int)
        scaler = StandardScaler().fit(z["X"][rows])
        X, X_test = scaler.transform(z["X"][rows]), scaler.transform(z["X"][test])
        yield "german", X, z["y"][rows] > 0, X_test, z["y"][test] > 0, SVC(gamma=1 / X.shape[1])


def synthetic(args: argparse.Namespace) -> Iterator[tuple[str, Any, ...]]:
    for seed in range(args.splits):
        X, y = make_classification(
            22_000, n_informative=5, weights=[0.98], flip_y=0.005, class_sep=1.5, random_state=seed
        )
        scaler = StandardScaler().fit(X[:2000])
        X, y = scaler.transform(X), y > 0
        yield "synthetic", X[:2000], y[:2000], X[2000:], y[2000:], SVC(gamma=1 / X.shape[1], C=10.0)


def bounded_recall(y: np.ndarray, decided: np.ndarray) -> float:
    precision = precision_score(y, decided, zero_division=0)
    return recall_score(y, decided) if precision >= LEAST else precision - 1.0


def decisions(way: str, objective: str, X: Any, y: np.ndarray, X_test: Any, model: SVC) -> np.ndarray | None:
    """Decisions on test data; None where the objective is out of reach."""
    if way == "SVC":
        return model.fit(X, y).predict(X_test)
    if way == "Tuned":
        scorer = "f1" if objective == "f1" else make_scorer(bounded_recall)
        tuned = TunedThresholdClassifierCV(model, scoring=scorer, response_method="decision_function", cv=5)
        return tuned.fit(X, y).predict(X_test)
    model.fit(X, y)
    values = leave_one_out(model, X, y, n_jobs=1).decision_values
    options = {} if objective == "f1" else {"objective": "precision", "at_least": LEAST}
    try:
        chosen = choose_threshold(y, values, **options)
    except ValueError:
        return None
    return chosen.decide(model.decision_function(X_test))


def measured(case: tuple[str, Any, ...], way: str, objective: str) -> list[float]:
    """F1, precision, recall and seconds; NaN where the objective is out of reach."""
    _, X, y, X_test, y_test, model = case
    started = time.perf_counter()
    decided = decisions(way, objective, X, y, X_test, model)
    seconds = time.perf_counter() - started
    if decided is None:
        return [np.nan, np.nan, np.nan, seconds]
    scores = (f1_score, precision_score, recall_score)
    return [*(score(y_test, decided, zero_division=0) for score in scores), seconds]


def add_group(page: Page, name: str, cases: list[tuple[str, Any, ...]]) -> None:
    page.add(f"## {name}, {len(cases)} data sets")
    rows = []
    for objective in ("f1", "precision"):
        for way in WAYS:
            found = np.array([measured(case, way, objective) for case in cases])
            reached = ~np.isnan(found[:, 0])
            means = found[reached].mean(axis=0)
            label = "largest F1" if objective == "f1" else f"precision ≥ {LEAST}"
            met = int(np.sum(found[reached, 1] >= LEAST))
            rows.append(
                [
                    label,
                    way,
                    *(f"{value:.3f}" for value in means[:3]),
                    f"{met} of {reached.sum()}" if objective == "precision" else "",
                    int(np.sum(~reached)) or "",
                    f"{found[:, 3].mean():.2f}",
                ]
            )
            say(f"{name}: {objective}, {way}")
    head = ("objective", "way", "F1", "precision", "recall", "met", "out of reach", "seconds")
    page.add(table(head, rows, left=2))


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--splits", type=int, default=10, metavar="N", help="draws of each; default: 10")
    parser.add_argument(
        "--documents", type=int, default=3000, metavar="N", help="Reuters training documents; default: 3000"
    )
    args = parse(parser)
    warm = SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    leave_one_out(warm, np.arange(4.0)[:, None], np.array([0, 1, 0, 1]))
    about = ABOUT.format(documents=args.documents, splits=args.splits)
    page = Page("validation.thresholds", "Thresholds on imbalanced data", about)
    for name, make in (("german", german), ("synthetic", synthetic), ("Reuters", reuters)):
        add_group(page, name, list(make(args)))
    page.finish(args.output)


if __name__ == "__main__":
    main()

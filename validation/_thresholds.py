"""Draws of data with a rare class: some rows to learn from, and all others to test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import make_circles, make_classification, make_gaussian_quantiles, make_moons
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from validation._sets import CHOSEN_ON, IMBALANCED, binary_set, standardised
from validation._text import REUTERS_TOPICS, read_documents, texts_of

# Every choice among rules and constants was made on these, and on the sets of CHOSEN_ON.
TOPICS_CHOSEN_ON = {"earn", "money-fx", "crude", "interest", "wheat"}
GENERATORS_CHOSEN_ON = {"classification 2 %", "moons 10 %", "normal 20 %"}
GENERATORS = (
    "classification 2 %", "classification 10 %", "moons 10 %", "circles 8 %", "quantiles 5 %", "normal 20 %",
)  # fmt: skip
ROWS = {"satimage_4": 1200, "letter_Z": 2000}  # to learn from; of other sets a half
DOCUMENTS, GENERATED, TESTED = 1500, 1000, 30_000


@dataclass(frozen=True)
class Draw:
    """One set to learn from and one to test on, and the machine: its kernel, C and gamma."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    machine: dict[str, Any]


def sets_of(part: str) -> list[tuple[str, list[str]]]:
    """Kinds of data and the names of their sets, of the half chosen on or of the half put aside."""
    chosen_on = {*CHOSEN_ON, *TOPICS_CHOSEN_ON, *GENERATORS_CHOSEN_ON}
    return [
        (kind, [name for name in names if (name in chosen_on) == (part == "choices made on")])
        for kind, names in (
            ("generators", GENERATORS), ("imbalanced sets", IMBALANCED), ("Reuters topics", REUTERS_TOPICS)
        )
    ]  # fmt: skip


def draws(data: str, name: str, number: int) -> Iterator[Draw]:
    """Draws of one set, the same every time."""
    for seed in range(number):
        if name in REUTERS_TOPICS:
            yield _topic(data, name, seed)
            continue
        X, y, X_test, y_test = generated(name, seed) if name in GENERATORS else _rows(data, name, seed)
        yield Draw(X, y, X_test, y_test, {"kernel": "rbf", "C": 1.0, "gamma": 1 / X.shape[1]})


def _topic(data: str, topic: str, seed: int) -> Draw:
    """A topic against the rest: documents of both parts of the ModApte split, drawn anew."""
    X, X_test, train, test, topics = _words(data, seed)
    y = np.array([topic in own for own in topics], dtype=int)
    return Draw(X, y[train], X_test, y[test], {"kernel": "linear", "C": 1.0})


@cache
def _words(data: str, seed: int) -> tuple[Any, ...]:
    counts, topics = _counts(data)
    rows = np.random.default_rng(seed).permutation(len(topics))
    train, test = rows[:DOCUMENTS], rows[DOCUMENTS:]
    # The words and their weights are those of the documents to learn from.
    seen = counts[train].getnnz(axis=0) > 0
    weights = TfidfTransformer().fit(counts[train][:, seen])
    X, X_test = (weights.transform(counts[part][:, seen]) for part in (train, test))
    return X, X_test, train, test, topics


@cache
def _counts(data: str) -> tuple[Any, list[list[str]]]:
    documents = read_documents(data, "reuters21578_modapte")
    return CountVectorizer().fit_transform(texts_of(documents)), [one["topics"] for one in documents]


def _rows(data: str, name: str, seed: int) -> tuple[np.ndarray, ...]:
    """Rows of a real set, with the share of the rare class that it has."""
    X, y = binary_set(data, name)
    random = np.random.default_rng(seed)
    share = ROWS.get(name, len(y) / 2) / len(y)
    train, test = [], []
    for label in (0, 1):
        rows = random.permutation(np.flatnonzero(y == label))
        cut = round(share * len(rows))
        train.append(rows[:cut])
        test.append(rows[cut:])
    rows, others = random.permutation(np.concatenate(train)), np.concatenate(test)
    return standardised(X[rows], y[rows], X[others], y[others])


def generated(name: str, seed: int) -> tuple[np.ndarray, ...]:
    """Rows from a generator of scikit-learn or of two normal classes; the name says how many are rare."""
    kind, share = name.split()[0], int(name.split()[1]) / 100
    n = GENERATED + TESTED
    random = np.random.default_rng(seed)
    if kind == "classification":
        X, y = make_classification(
            n, n_informative=5, weights=[1 - share], flip_y=0.005, class_sep=1.5, random_state=seed
        )
    elif kind == "normal":
        y = (random.random(n) < share).astype(int)
        X = random.normal(size=(n, 10)) + 0.6 * y[:, None]
    else:
        both = {
            "moons": lambda m: make_moons(m, noise=0.3, random_state=seed),
            "circles": lambda m: make_circles(m, noise=0.15, factor=0.5, random_state=seed),
            "quantiles": lambda m: make_gaussian_quantiles(
                n_samples=m, n_features=5, n_classes=2, random_state=seed
            ),
        }[kind](2 * n)
        X, y = _thinned(*both, share, n, random)
        X = X + 0.3 * random.normal(size=X.shape)
    return standardised(X[:GENERATED], y[:GENERATED], X[GENERATED:], y[GENERATED:])


def _thinned(
    X: np.ndarray, y: np.ndarray, share: float, n: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """``n`` rows of balanced classes, of which class 1 has the share given."""
    wanted = random.random(n) < share
    rows = np.empty(n, dtype=int)
    for label in (0, 1):
        own = wanted == bool(label)
        rows[own] = random.permutation(np.flatnonzero(y == label))[: own.sum()]
    return X[rows], y[rows]

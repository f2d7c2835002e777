"""Data sets and draws that the scripts on probabilities share, and which of them were put aside."""

from __future__ import annotations

import gzip
import json
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedShuffleSplit

from validation._common import SETS, read_ida
from validation._text import REUTERS_TOPICS, read_documents, texts_of

IMBALANCED = (
    "abalone_9_18", "car_vgood", "ecoli_imU", "letter_Z", "satimage_4", "seismic_bumps", "us_crime",
    "wine_white_le4", "yeast_me2",
)  # fmt: skip
GENES = ("breast_gravier", "colon", "leukemia", "prostate6033", "srbct")
WEB_PAIRS = (
    ("course", "faculty"), ("course", "project"), ("course", "student"), ("faculty", "project"),
    ("faculty", "student"), ("project", "student"),
)  # fmt: skip
# The classes of one set in pairs, and more pages of the others: looked at last of all.
LAST = (
    *(f"srbct {a}/{b}" for a in range(4) for b in range(a + 1, 4)),
    *(f"{first}/{second} 40" for first, second in WEB_PAIRS),
)
# Kinds of abstracts of Ohsumed, and how many of each to learn from: of the first four one thing was learnt.
FRESH = (
    *(f"Ohsumed {a}/{b} 20+20" for a, b in combinations(("C14", "C04", "C23", "C10"), 2)),
    "Ohsumed C14/C04 30+12", "Ohsumed C23/C10 30+12", "Ohsumed C04/C10 12+30",
)  # fmt: skip
FRESHEST = (
    *(f"Ohsumed {a}/{b} 20+20" for a, b in combinations(("C21", "C20", "C06", "C12"), 2)),
    "Ohsumed C21/C20 30+12", "Ohsumed C06/C12 30+12", "Ohsumed C20/C06 12+30",
)  # fmt: skip
# Every choice among rules and constants was made on these; the others were looked at afterwards.
# Gaussian columns, of which there are as many as wanted, are no sets to put aside.
CHOSEN_ON = {
    "banana", "breast-cancer", "german", "image", "ringnorm", "thyroid", "titanic", "abalone_9_18",
    "ecoli_imU", "us_crime", "wine_white_le4", "colon", "prostate6033", "course/faculty", "project/student",
    "digits", "covtype", "WebKB", "vowel",
}  # fmt: skip
FEWEST_RARE = 6
MOST_ROWS, MOST_TEST = 2000, 3000

LATER = {"looked at last": LAST, "fresh": FRESH, "freshest": FRESHEST}
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # X, y, X_test, y_test


def halves_of(names: list[str]) -> list[tuple[str, list[str]]]:
    """All sets, those chosen on, those put aside; apart from them those looked at last, and fresh ones."""
    later = [(part, [name for name in names if name in sets]) for part, sets in LATER.items()]
    both = [name for name in names if not any(name in sets for _, sets in later)]
    chosen = [name for name in both if name in CHOSEN_ON or name.startswith("Gaussian")]
    aside = [name for name in both if name not in chosen]
    parts = [("all", both), ("choices made on", chosen), ("put aside", aside), *later]
    return [(part, sets) for part, sets in parts if sets]


@cache
def binary_set(data: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows of an IDA set or of one with a rare class; labels 0 and 1, the rare class 1."""
    if name in SETS:
        z = read_ida(data, name)
        X, y = z["X"].astype(float), (z["y"] > 0).astype(int)
        return X, y if y.mean() <= 0.5 else 1 - y
    with np.load(Path(data) / "imbalanced" / f"{name}.npz") as z:
        return z["X"].astype(float), z["y"].astype(int)


def drawn(X: np.ndarray, y: np.ndarray, n: int | None, seed: int) -> Split:
    """A stratified training part of n rows with six rare ones at least, and a test part of the other rows.

    At most two thirds of the rows, and of the rarer class, are trained on; without n a half, up to
    2000. The columns are standardised by the training part.
    """
    random = np.random.default_rng(seed)
    rare, others = (random.permutation(np.flatnonzero(y == label)) for label in (1, 0))
    n = min(MOST_ROWS, len(y) // 2) if n is None else min(n, 2 * len(y) // 3)
    n_rare = min(max(FEWEST_RARE, round(n * y.mean())), 2 * len(rare) // 3)
    train = random.permutation(np.concatenate([rare[:n_rare], others[: n - n_rare]]))
    test = random.permutation(np.concatenate([rare[n_rare:], others[n - n_rare :]]))[:MOST_TEST]
    return standardised(X[train], y[train], X[test], y[test])


def ida_split(data: str, name: str, n: int | None, split: int) -> Split:
    """A draw of n rows of an IDA set; without n one of its random splits, with its number of rows."""
    if n is not None:
        return drawn(*binary_set(data, name), n, split)
    (X, y), z = binary_set(data, name), read_ida(data, name)
    train, test = z["train_rand"][split].astype(int), z["test_rand"][split].astype(int)
    test = np.random.default_rng(split).permutation(test)[:MOST_TEST]  # they are sorted
    return standardised(X[train], y[train], X[test], y[test])


def standardised(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> Split:
    """Columns standardised by the training part; constant ones become 0."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    return (X - mean) / deviation, y, (X_test - mean) / deviation, y_test


def gaussian(d: int, n_positive: int, n_negative: int, seed: int, n_test: int = 1000) -> Split:
    """Normal columns, of which 30 have means that the classes differ in by 0.7 deviations."""
    random = np.random.default_rng(seed)
    parts = []
    for n in (n_positive + n_negative, n_test):
        y = (np.arange(n) < round(n * n_positive / (n_positive + n_negative))).astype(int)
        X = random.normal(size=(n, d))
        X[:, :30] += 0.7 * (y[:, None] - 0.5)
        parts += [X, y]
    return tuple(parts)  # type: ignore[return-value]


@cache
def genes(data: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of the expression levels, and the labels."""
    with np.load(Path(data) / "genes" / f"{name}.npz") as z:
        X, y = z["X"].astype(float), z["y"].astype(int)
    if name == "colon":
        X = np.log(X)
    if name == "leukemia":
        X = np.log(np.clip(X, 100.0, 16000.0))
    return X, y


@cache
def _pages(data: str) -> list[dict]:
    with gzip.open(Path(data) / "text" / "webkb4.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def web(data: str, first: str, second: str, seed: int, each: int = 20, n_test: int = 1000) -> Split:
    """``each`` pages of two kinds of WebKB to learn from, as tf-idf of their words."""
    random, pages = np.random.default_rng(seed), _pages(data)
    train, test = [], []
    for kind in (first, second):
        rows = random.permutation([k for k, page in enumerate(pages) if page["label"] == kind])
        train.append(rows[:each])
        test.append(rows[each : each + n_test // 2])
    return _tfidf(pages, train, test)


def abstracts(data: str, name: str, seed: int, n_test: int = 1000) -> Split:
    """Abstracts of two kinds of Ohsumed as tf-idf of their words, named as in ``FRESHEST``.

    The test part has the ratio of the training part.
    """
    random, documents = np.random.default_rng(seed), _abstracts(data)
    kinds, numbers = (part.split(mark) for part, mark in zip(name.split()[1:], "/+", strict=True))
    train, rest = [], []
    each = [int(number) for number in numbers]
    for kind, number in zip(kinds, each, strict=True):
        rows = random.permutation([k for k, one in enumerate(documents) if kind in one["topics"]])
        train.append(rows[:number])
        rest.append(rows[number:])
    times = min(n_test / sum(each), *(len(rows) / number for rows, number in zip(rest, each, strict=True)))
    test = [rows[: int(times * number)] for rows, number in zip(rest, each, strict=True)]
    return _tfidf(documents, train, test)


@cache
def _abstracts(data: str) -> list[dict]:
    return read_documents(data, "ohsumed_single23")


def _tfidf(documents: list[dict], train: list[np.ndarray], test: list[np.ndarray]) -> Split:
    """Words of the documents of two kinds, weighted by the training part."""
    words = TfidfVectorizer()
    texts = [texts_of([documents[k] for k in np.concatenate(part)]) for part in (train, test)]
    X, X_test = words.fit_transform(texts[0]).toarray(), words.transform(texts[1]).toarray()
    labels = [np.repeat([0, 1], [len(one) for one in part]) for part in (train, test)]
    return X, labels[0], X_test, labels[1]


# Rows to learn from of the sets of several classes.
SEVERAL_ROWS = {
    "digits": 900, "optdigits": 500, "segmentation": 500, "covtype": 1500, "WebKB": 500, "Reuters": 1000,
    "vowel": 495, "splice (3 classes)": 500,
}  # fmt: skip
TEXTS = ("WebKB", "Reuters")


def drawn_several(data: str, name: str, seed: int) -> Split:
    """A stratified training part, and a test part; columns standardised by the former, of words tf-idf."""
    X, y = several_documents(data, name) if name in TEXTS else several_classes(data, name)
    train, test = next(
        StratifiedShuffleSplit(
            1, train_size=SEVERAL_ROWS[name], test_size=min(MOST_TEST, len(y) - SEVERAL_ROWS[name]),
            random_state=seed,
        ).split(y, y)
    )  # fmt: skip
    if name not in TEXTS:
        return standardised(X[train], y[train], X[test], y[test])
    words = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=2)
    return words.fit_transform(X[train]), y[train], words.transform(X[test]), y[test]


@cache
def several_documents(data: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Texts and class numbers; of Reuters the ten most frequent topics, of a document's the rarest."""
    if name == "WebKB":
        documents = [(page, page["label"]) for page in _pages(data)]
    else:
        found = read_documents(data, "reuters21578_modapte")
        topics = [[topic for topic in REUTERS_TOPICS if topic in one["topics"]] for one in found]
        documents = [(one, own[-1]) for one, own in zip(found, topics, strict=True) if own]
    texts = np.array(texts_of([one for one, _ in documents]), dtype=object)
    return texts, np.unique([label for _, label in documents], return_inverse=True)[1]


@cache
def several_classes(data: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and class numbers of a set of several classes."""
    folder = Path(data)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    elif name == "segmentation":
        both = pd.concat(
            [pd.read_csv(folder / "uci" / f"segmentation_{part}.csv") for part in ("train", "test")]
        )
        X, y = both.drop(columns="class").to_numpy(float), both["class"].to_numpy()
    elif name == "srbct":
        X, y = genes(data, name)
    elif name == "vowel":
        with np.load(folder / "grouped" / "vowel_hid.npz") as z:
            X, y = z["X"].astype(float), z["y_class"]
    elif name == "optdigits":
        with np.load(folder / "uci" / "optdigits.npz") as z:
            X, y = np.vstack([z["X_train"], z["X_test"]]).astype(float), np.append(z["y_train"], z["y_test"])
    elif name == "splice (3 classes)":
        rows = pd.read_csv(folder / "uci" / "splice.csv")
        symbols = np.array([list(sequence) for sequence in rows["sequence"]])
        X = np.hstack([symbols == letter for letter in "ACGT"]).astype(float)
        y = rows["class"].to_numpy()
    else:
        with np.load(folder / "uci" / "covtype_first20000.npz") as z:
            X, y = z["X"].astype(float), z["y"]
    return X, np.unique(y, return_inverse=True)[1]


@cache
def grouped_set(data: str, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels 0 and 1, and the group of each row."""
    with np.load(Path(data) / "grouped" / f"{name}.npz") as z:
        return z["X"].astype(float), z["y"].astype(int), z["groups"]


def log_loss_of(probability: np.ndarray, numbers: np.ndarray) -> float:
    """Mean of ``-log`` of the probability of the true class, probabilities of 0 counted as 1e-15."""
    own = probability[np.arange(len(numbers)), numbers]
    return float(-np.mean(np.log(np.maximum(own, 1e-15))))


def cells(ratios: np.ndarray, names: list[str]) -> list[str]:
    """Geometric mean, and the worst with its name."""
    if len(ratios) == 0:
        return ["–", "–", "–"]
    worst = int(np.argmax(ratios))
    return [f"{np.exp(np.mean(np.log(ratios))):.4f}", f"{ratios[worst]:.3f}", names[worst]]

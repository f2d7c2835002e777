"""What Table 1 of Joachims 2005 is made of: collections, measures, the cost-tuned machine, and the tuning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from bayes_svm.dual.problem import Distinct, DualProblem, distinct_rows
from bayes_svm.dual.solving import solve
from bayes_svm.kernels.gram import WholeMatrix
from validation._text import read_documents, texts_of

MEASURES = ("F1", "PRBEP", "Rec@2p", "ROC area")
LOSSES = dict(zip(MEASURES, ("f1", "break_even", "recall_at_k", "roc_area"), strict=True))
ROUGH, FINE = 1e-2, 1e-3  # gaps while parameters are chosen, and of the final machine
# Largest number of cutting planes for each gap.
PLANES_OF = {ROUGH: 300, FINE: 100_000}
PENALTIES = tuple(2.0**k for k in range(-6, 7))
COSTS = tuple(2.0**k for k in range(8))
# How far the search goes on where the best C or j is at an end.
LEAST_C, MOST_C, LEAST_J, MOST_J = 2.0**-12, 2.0**12, 2.0**-3, 2.0**12
# Separations that differ by less are equal.
SAME = 1e-9

Values = Callable[[Any], np.ndarray]
Parameters = tuple[float, ...]


@dataclass(frozen=True)
class Collection:
    """Training and test part, and the labels of each class in both."""

    name: str
    about: str
    X: Any
    X_test: Any
    classes: dict[str, tuple[np.ndarray, np.ndarray]]

    @property
    def sparse(self) -> bool:
        return sparse.issparse(self.X)

    @cached_property
    def distinct(self) -> Distinct:
        """The different training rows."""
        return distinct_rows(self.X)

    @cached_property
    def gram(self) -> np.ndarray:
        """Inner products of the different training rows."""
        rows = self.X[self.distinct.first]
        product = rows @ rows.T
        values = product.toarray() if self.sparse else product
        return np.ascontiguousarray((values + values.T) / 2)


def reuters(data: str, topics: int) -> Collection:
    """The ModApte split, tf-idf of title and text; topics with a document in both parts, by their size."""
    documents = read_documents(data, "reuters21578_modapte")
    parts = [[one for one in documents if one["split"] == split] for split in ("train", "test")]
    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(texts_of(parts[0]))
    X_test = vectorizer.transform(texts_of(parts[1]))
    labels = {
        topic: tuple(np.array([topic in one["topics"] for one in part]) for part in parts)
        for topic in sorted({topic for one in documents for topic in one["topics"]})
    }
    usable = [topic for topic, (y, y_test) in labels.items() if y.any() and y_test.any()]
    chosen = sorted(usable, key=lambda topic: -labels[topic][0].sum())[:topics]
    about = f"{len(chosen)} of {len(usable)} topics, {X.shape[0]}/{X_test.shape[0]} documents, "
    classes = {topic: labels[topic] for topic in chosen}
    return Collection("Reuters", f"{about}{X.shape[1]} features", X, X_test, classes)


def optdigits(data: str) -> Collection:
    """The original split, pixels divided by 16."""
    z = np.load(Path(data) / "uci" / "optdigits.npz")
    classes = {str(c): (z["y_train"] == c, z["y_test"] == c) for c in range(10)}
    X, X_test = z["X_train"] / 16.0, z["X_test"] / 16.0
    return Collection("optdigits", f"10 classes, {len(X)}/{len(X_test)} images", X, X_test, classes)


def covertype(data: str) -> Collection:
    """1000 and 2000 random rows, as many as in the paper."""
    z = np.load(Path(data) / "uci" / "covtype_first20000.npz")
    rows = np.random.default_rng(0).permutation(len(z["y"]))[:3000]
    X, y = z["X"][rows].astype(float), z["y"][rows]
    scaler = StandardScaler().fit(X[:1000])
    classes = {str(c): (y[:1000] == c, y[1000:] == c) for c in range(1, 8)}
    about = "7 classes, 1000/2000 random rows of the first 20000 of the file, standardised"
    return Collection("covertype", about, scaler.transform(X[:1000]), scaler.transform(X[1000:]), classes)


def measures(values: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """All four, times 100."""
    ranked, positives = y[np.argsort(-values, kind="stable")], int(y.sum())
    numbers = (
        f1_score(y, values > 0, zero_division=0.0),
        ranked[:positives].mean(),
        ranked[: 2 * positives].sum() / positives,
        roc_auc_score(y, values),
    )
    return {name: 100.0 * float(number) for name, number in zip(MEASURES, numbers, strict=True)}


def separation(values: np.ndarray, y: np.ndarray) -> float:
    """Distance between the mean values of both classes, relative to the deviation of all values."""
    return float((values[y].mean() - values[~y].mean()) / max(values.std(), np.finfo(float).tiny))


@dataclass
class Result:
    """Measures of one class under each method, what was chosen, and the largest gap."""

    trained: dict[str, float] = field(default_factory=dict)
    cost: dict[str, float] = field(default_factory=dict)
    threshold: float = np.nan
    gap: float = 0.0
    chosen: dict[str, Parameters] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """Training rows and the rows whose measures are wanted."""

    collection: Collection
    rows: np.ndarray
    others: np.ndarray | None  # training rows that are held out; None for the test part
    y: np.ndarray
    y_others: np.ndarray

    @property
    def X(self) -> Any:  # noqa: N802
        return self.collection.X[self.rows]

    @property
    def X_others(self) -> Any:  # noqa: N802
        return self.collection.X_test if self.others is None else self.collection.X[self.others]

    @cached_property
    def _points(self) -> tuple[np.ndarray, np.ndarray]:
        """Different rows among the training rows, and which of them each row is."""
        return np.unique(self.collection.distinct.row_of[self.rows], return_inverse=True)

    @cached_property
    def gram(self) -> WholeMatrix:
        points, _ = self._points
        return WholeMatrix(self.collection.gram[np.ix_(points, points)], 0, True)

    @cached_property
    def cross(self) -> np.ndarray:
        """Inner products of the other rows and the different training rows."""
        points, _ = self._points
        if self.others is not None:
            return self.collection.gram[np.ix_(self.collection.distinct.row_of[self.others], points)]
        product = self.X_others @ self.collection.X[self.collection.distinct.first[points]].T
        return product.toarray() if self.collection.sparse else product

    def cost_machine(self, C: float, j: float) -> np.ndarray:
        """Values of the other rows by the exact linear SVM with a free bias, C j for positives."""
        points, of = self._points
        label, bound = np.where(self.y, 1.0, -1.0), np.where(self.y, C * j, C)
        problem = DualProblem.merge(self.gram, of, label, bound)
        solution = solve(problem)
        if not solution.exact:
            raise RuntimeError(f"C = {C:g}, j = {j:g}: {solution.reason}")
        beta = np.bincount(of, weights=solution.row_beta, minlength=len(points))
        return self.cross @ beta + solution.intercept


def held_out(collection: Collection, name: str) -> Part | None:
    """One stratified third of the training part held out; None for a class of a single row."""
    y, _ = collection.classes[name]
    if y.sum() < 2:
        return None
    kept, out = train_test_split(np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=0)
    return Part(collection, kept, out, y[kept], y[out])


def tested(collection: Collection, name: str) -> Part:
    """All of the training part, and the test part."""
    y, y_test = collection.classes[name]
    return Part(collection, np.arange(len(y)), None, y, y_test)


class Search:
    """Measures on the held-out rows for a grid of parameters, of which the first is C and the second j.

    Parameters
    ----------
    values : callable
        Values of the held-out rows, given the parameters.
    y : array
        Labels of these rows.
    grid : list of tuple
        The first parameters.
    """

    def __init__(self, values: Callable[..., np.ndarray], y: np.ndarray, grid: list[Parameters]) -> None:
        self.values, self.y = values, y
        self.scores: dict[Parameters, dict[str, float]] = {}
        self.separations: dict[Parameters, float] = {}
        for parameters in grid:
            self.add(parameters)

    def add(self, parameters: Parameters) -> None:
        values = self.values(*parameters)
        self.scores[parameters] = measures(values, self.y)
        self.separations[parameters] = separation(values, self.y)

    def first(self, measure: str) -> Parameters:
        """Parameters with the highest measure, then the largest separation, then in the middle of these."""
        highest = max(score[measure] for score in self.scores.values())
        tied = [one for one, score in self.scores.items() if score[measure] >= highest - SAME]
        largest = max(self.separations[one] for one in tied)
        tied = sorted(one for one in tied if self.separations[one] >= largest - SAME)
        return tied[len(tied) // 2]

    def best(self, measure: str) -> Parameters:
        """The same, while the grid goes on where they are at an end of it."""
        while True:
            chosen = self.first(measure)
            ends = [sorted({one[k] for one in self.scores}) for k in range(len(chosen))]
            further = []
            for k, (least, most) in enumerate([(LEAST_C, MOST_C), (LEAST_J, MOST_J)][: len(chosen)]):
                for end, factor in ((ends[k][0], 0.5), (ends[k][-1], 2.0)):
                    moved = (*chosen[:k], chosen[k] * factor, *chosen[k + 1 :])
                    if chosen[k] == end and least <= moved[k] <= most and moved not in self.scores:
                        further.append(moved)
            if not further:
                return chosen
            for parameters in further:
                self.add(parameters)


def typical(chosen: list[Parameters]) -> Parameters:
    """The middle of each parameter over the classes that could be tuned."""
    return tuple(float(np.sort(column)[len(chosen) // 2]) for column in np.array(chosen).T)

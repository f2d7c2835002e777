"""Conformal sets: how often they hold the true label, and how often they name one label only.

    python -m validation.conformal.coverage --data DIR [--splits N] [--jobs J] [--output FILE]

The rivals are MAPIE (split and cross-conformal), crepes and online-cp. One that is not installed is left
out, and the page says so.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import ConformalSVC
from validation._common import SETS, Page, parse, parser_for, table
from validation._common import progress as say
from validation._sets import CHOSEN_ON, binary_set, gaussian, genes

ABOUT = """\
Each draw takes n rows at random to learn from, and up to 300 others to test on; 60 others for the
left-out scores and online-cp, and 20 draws for the latter. The columns are standardised by all rows, labels
unseen, so that training and test rows stay exchangeable; rbf kernel with gamma = 1/d, C = 1.
*Coverage* is how often the set holds the true label, *single* how often it is exactly one label.
Split conformal prediction trains on half of the rows and calibrates on the other half; cross-conformal has
five stratified folds. MAPIE and crepes read the decision value through a fixed increasing function, as a
probability. online-cp solves the machine anew for every point and label, to its own tolerance.

Coverage counts as kept if the mean over draws is at least the promised level less three standard errors over
draws: of all points, or, where labels are compared within their class, of each class. Smoothed p-values must
not cover more either. jackknife+ and CV+ promise less than the level (`2 level - 1`, and a little less
still); how often they reach the level itself is in the column beside. Of more than a hundred comparisons some
are three standard errors off by chance: a case that does not keep its promise is drawn {again} times more."""

OTHERS = ("ecoli_imU", "satimage_4")
GENES = ("colon", "breast_gravier")
WIDE = {"Gaussian, 2000 columns": 2000}
SIZES = (60, 120, 500)
ALL_SIZES = (40, *SIZES)
LEVELS = (0.8, 0.9, 0.95)
# Levels by which sets of equal coverage are found.
GRID = (0.8, 0.84, 0.86, 0.88, 0.89, 0.9, 0.91, 0.92, 0.94, 0.95)
TESTED, FEW_TESTED = 300, 60
# Draws of a case that seems not to keep its promise, to tell whether that was chance.
AGAIN = 200
# What each of our scores promises, as a function of the level and the number of rows.
PROMISED: dict[str, Callable[[float, int], float]] = {
    "margin": lambda level, n: level,
    "left_out": lambda level, n: level,
    "jackknife+": lambda level, n: 2 * level - 1,
    "cv+": lambda level, n: 2 * level - 1 - np.sqrt(2 / n),
}
OURS: dict[str, dict[str, Any]] = {
    "auto": {},
    "auto, smoothed": {"smoothed": True},
    "margin": {"score": "margin", "class_conditional": False},
    "margin, in class": {"score": "margin", "class_conditional": True},
    "margin, smoothed": {"score": "margin", "class_conditional": False, "smoothed": True},
    "left_out": {"score": "left_out", "class_conditional": False},
    "left_out, in class": {"score": "left_out", "class_conditional": True},
    "left_out, smoothed": {
        "score": "left_out", "class_conditional": False, "smoothed": True,
    },
    "jackknife+": {"score": "jackknife+", "class_conditional": False},
    "jackknife+, in class": {"score": "jackknife+", "class_conditional": True},
    "cv+": {"score": "cv+", "class_conditional": False},
    "cv+, in class": {"score": "cv+", "class_conditional": True},
}  # fmt: skip
# Methods that get fewer draws, and fewer points to test on; and the most rows that they get.
FEWER_SPLITS = {"left_out": 40, "left_out, in class": 40, "left_out, smoothed": 40, "online-cp": 20}
MOST_ROWS = dict.fromkeys(FEWER_SPLITS, 120)
RIVALS = {
    "split (MAPIE)": "mapie",
    "split (crepes)": "crepes",
    "cross (MAPIE)": "mapie",
    "online-cp": "online_cp",
}

Draw = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
Cases = dict[tuple[str, int], dict[str, np.ndarray]]


class Scored(ClassifierMixin, BaseEstimator):
    """An SVC whose probabilities are a fixed increasing function of the decision value."""

    def __init__(self, C: float = 1.0, gamma: float = 1.0) -> None:
        self.C, self.gamma = C, gamma

    def fit(self, X: np.ndarray, y: np.ndarray) -> Scored:
        self.svc_ = SVC(C=self.C, gamma=self.gamma).fit(X, y)
        self.classes_ = self.svc_.classes_
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        positive = special.expit(self.svc_.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.svc_.predict(X)


def drawn(data: str, name: str, n: int, seed: int) -> Draw | None:
    """Rows to learn from and to test on; None if the set is too small."""
    if name in WIDE:
        X, y, _, _ = gaussian(WIDE[name], (n + TESTED) // 2, (n + TESTED) // 2, seed, 2)
    else:
        X, y = genes(data, name) if name in GENES else binary_set(data, name)
    if len(y) < n + 20:
        return None
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n], order[n:][:TESTED]
    if min(np.bincount(y[train], minlength=2)) < 2:
        return None
    return X[train], y[train], X[test], y[test]


def split_rows(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two halves of the rows, which are in random order, each with both classes."""
    rows = np.concatenate([np.flatnonzero(y == label) for label in (0, 1)])
    return np.sort(rows[::2]), np.sort(rows[1::2])


def rival_sets(name: str, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Sets of a rival at the levels of the grid, shape (n_new, 2, n_levels)."""
    gamma = 1.0 / X.shape[1]
    first, second = split_rows(y)
    if name == "split (MAPIE)":
        from mapie.classification import SplitConformalClassifier

        trained = Scored(gamma=gamma).fit(X[first], y[first])
        model = SplitConformalClassifier(trained, confidence_level=list(GRID))
        return np.asarray(model.conformalize(X[second], y[second]).predict_set(new)[1])
    if name == "cross (MAPIE)":
        from mapie.classification import CrossConformalClassifier

        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        model = CrossConformalClassifier(Scored(gamma=gamma), confidence_level=list(GRID), cv=folds)
        return np.asarray(model.fit_conformalize(X, y).predict_set(new)[1])
    if name == "split (crepes)":
        from crepes import WrapClassifier

        model = WrapClassifier(Scored(gamma=gamma).fit(X[first], y[first]))
        model.calibrate(X[second], y[second])
        p = np.asarray(model.predict_p(new, smoothing=False))
    else:
        from online_cp import ConformalSupportVectorMachine

        model = ConformalSupportVectorMachine(
            kernel="rbf", sigma=float(np.sqrt(0.5 / gamma)), label_space=[0, 1], rnd_state=0
        )
        model.learn_initial_training_set(X, y)
        found = [model.predict(x, return_p_values=True)[1] for x in new]
        p = np.array([[one[0], one[1]] for one in found])
    return p[:, :, None] > 1.0 - np.array(GRID)


def one_draw(
    data: str, name: str, n: int, seed: int, methods: Sequence[str], again: bool = False
) -> dict[str, np.ndarray]:
    """For each method and level: coverage, that of either class, single labels, and mean size."""
    draw, found = drawn(data, name, n, seed), {}
    if draw is None:
        return {}
    X, y, X_test, y_test = draw
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in methods:
            slow = method in FEWER_SPLITS
            if slow and (n > MOST_ROWS[method] or (seed >= FEWER_SPLITS[method] and not again)):
                continue
            new, truth = (X_test[:FEW_TESTED], y_test[:FEW_TESTED]) if slow else (X_test, y_test)
            if method in OURS:
                model = ConformalSVC(SVC(gamma=1.0 / X.shape[1]), random_state=seed, **OURS[method]).fit(X, y)
                sets = model.predict_set(new, list(GRID))
            else:
                sets = rival_sets(method, X, y, new)
            held, size = sets[np.arange(len(truth)), truth], sets.sum(axis=1)
            single = (size == 1).mean(axis=0)
            of_class = [mean_of(held[truth == label]) for label in (0, 1)]
            found[method] = np.array([held.mean(axis=0), *of_class, single, size.mean(axis=0)])
    return found


def mean_of(held: np.ndarray) -> np.ndarray:
    """Mean over points, NaN where there is none."""
    return held.mean(axis=0) if len(held) else np.full(len(GRID), np.nan)


def promised(method: str, level: float, n: int) -> float:
    return PROMISED[OURS[method]["score"]](level, n)


def kept(method: str, draws: np.ndarray, n: int) -> tuple[bool, bool]:
    """Whether the promise is kept at all levels, and whether the level itself is reached."""
    promise, reached = True, True
    rows = (1, 2) if OURS[method].get("class_conditional") else (0,)
    for level in LEVELS:
        for row in rows:
            cover = draws[:, row, GRID.index(level)]
            cover = cover[np.isfinite(cover)]
            mean, slack = cover.mean(), 3 * cover.std(ddof=1) / np.sqrt(len(cover))
            promise &= mean >= promised(method, level, n) - slack
            reached &= mean >= level - slack
            if OURS[method].get("smoothed"):
                promise &= mean <= level + slack
    return bool(promise), bool(reached)


def at_coverage(mean: np.ndarray, level: float) -> float:
    """Single labels where the mean coverage over sets is this, between the levels of the grid."""
    return float(np.interp(level, np.maximum.accumulate(mean[0]), mean[3]))


def part_tables(found: Cases, methods: Sequence[str]) -> list[str]:
    """Tables of use at level 0.9 for the sets put aside, those chosen on, and all."""
    at, parts = GRID.index(0.9), []
    groups = {
        "13 IDA sets": lambda name: name in SETS,
        "of these, sets that choices were made on": lambda name: name in SETS and name in CHOSEN_ON,
        "of these, sets put aside": lambda name: name in SETS and name not in CHOSEN_ON,
        "rare classes": lambda name: name in OTHERS,
        "genes": lambda name: name in GENES,
        "wide Gaussian": lambda name: name in WIDE,
    }
    for title, belongs in groups.items():
        rows: list[list[object]] = []
        for n in ALL_SIZES:
            cases = [case for case in found if belongs(case[0]) and case[1] == n]
            if not cases:
                continue
            for method in methods:
                means = [found[case][method].mean(axis=0) for case in cases if method in found[case]]
                if not means:
                    continue
                worst = min(float(np.nanmin(one[1:3, at])) for one in means)
                mean = np.mean(means, axis=0)
                rows.append([
                    method, n, len(means), f"{mean[0, at]:.3f}", f"{worst:.3f}", f"{mean[3, at]:.3f}",
                    f"{mean[4, at]:.2f}", f"{at_coverage(mean, 0.9):.3f}",
                ])  # fmt: skip
        if rows:
            head = ("method", "rows", "sets", "coverage", "least coverage of a class", "single", "size",
                    "single at coverage 0.9")  # fmt: skip
            parts += [f"## Use at level 0.9: {title}", table(head, rows)]
    return parts


def of_each_set(found: Cases, methods: Sequence[str]) -> str:
    """Single labels at level 0.9 in each set, with their coverage."""
    at, shown = GRID.index(0.9), [name for name in methods if name not in FEWER_SPLITS]
    rows = [
        [name, n, *("{3:.2f} ({0:.2f})".format(*draws[one].mean(axis=0)[:, at]) for one in shown)]
        for (name, n), draws in found.items()
    ]
    return table(("set", "rows", *shown), rows)


def validity(args: argparse.Namespace, found: Cases) -> str:
    """How many cases keep the promise, and which do not, with what other draws say of them."""
    rows = []
    for method in OURS:
        if "score" not in OURS[method]:
            continue
        told = {
            case: kept(method, draws[method], case[1])
            for case, draws in found.items()
            if method in draws and len(draws[method]) > 1
        }
        broken = [case for case, (promise, _) in told.items() if not promise]
        again = [f"{name}, {n} ({redrawn(args, name, n, method)})" for name, n in broken]
        short = [f"{name}, {n}" for (name, n), (_, reached) in told.items() if not reached]
        rows.append([method, len(told), len(told) - len(broken), "; ".join(again) or "none",
                     len(told) - len(short), "; ".join(short) or "none"])  # fmt: skip
    head = ("method", "cases", "promise kept", "not kept", "level reached", "not reached")
    return table(head, rows)


def redrawn(args: argparse.Namespace, name: str, n: int, method: str) -> str:
    """Whether the promise is kept in other draws."""
    seeds = range(args.splits, args.splits + AGAIN)
    calls = [delayed(one_draw)(args.data, name, n, seed, [method], again=True) for seed in seeds]
    draws = np.array([draw[method] for draw in Parallel(n_jobs=args.jobs)(calls) if draw])
    return f"in {len(draws)} other draws {'kept' if kept(method, draws, n)[0] else 'not kept either'}"


def measured(args: argparse.Namespace, methods: Sequence[str]) -> Cases:
    """What every method found, for each set and number of rows, one entry for each draw."""
    found = {}
    for name in (*args.sets, *OTHERS, *GENES, *WIDE):
        sizes = (40, 60, 120) if name in WIDE else (40, 120) if name == "colon" else SIZES
        for n in sizes:
            calls = [delayed(one_draw)(args.data, name, n, seed, methods) for seed in range(args.splits)]
            draws = [draw for draw in Parallel(n_jobs=args.jobs)(calls) if draw]
            if len(draws) > 1:
                found[name, n] = {
                    method: np.array([draw[method] for draw in draws if method in draw])
                    for method in methods
                    if any(method in draw for draw in draws)
                }
            say(f"{name}, {n} rows: {len(draws)} draws")
    return found


def main() -> None:
    parser = parser_for(__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=20, help="draws of each set; default: %(default)s")
    parser.add_argument("--jobs", type=int, default=1, help="default: %(default)s")
    args = parse(parser)
    page = Page(
        "validation.conformal.coverage", "Conformal sets: validity and use", ABOUT.format(again=AGAIN)
    )
    missing = sorted({module for module in RIVALS.values() if find_spec(module) is None})
    methods = [*OURS, *(name for name, module in RIVALS.items() if module not in missing)]
    if missing:
        page.add(f"Not installed, and left out: {', '.join(missing)}.")
    found = measured(args, methods)
    page.add("## Validity: levels 0.8, 0.9 and 0.95", validity(args, found), *part_tables(found, methods))
    page.add("## Single labels at level 0.9, in brackets the coverage", of_each_set(found, methods))
    page.finish(args.output)


if __name__ == "__main__":
    main()

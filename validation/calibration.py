"""Probabilities from few labels: ours, every calibrator of an SVM to be had, and other models."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from validation._common import Page, geometric_mean, parse, parser_for, table
from validation._common import progress as say
from validation._rivals import DEFAULT, INSTALLED, MIXTURE, MODELS, OWN, SIGMOID, TREES, TUNED, ways
from validation._sets import GENES, IMBALANCED, Split, binary_set, drawn, genes, halves_of
from validation.moderation import far_points

ABOUT = f"""\
What class probabilities are worth after few labels. `BayesSVC()` with its defaults; its *mixture* and *one
chosen setting* (`BayesSVCSearch` over C = 0.1 to 1000, gamma = 1/d times 1/16 to 4); the same
`SVC()`, C = 1 and gamma="scale", by every calibrator that a user could install; *tuned*, the usual way to
choose among the same settings (`GridSearchCV(CalibratedClassifierCV(SVC(), ensemble=False))` by log loss; not
in full, where it takes minutes: see [the page on the search](search.md)); and other models.

* scikit-learn's `CalibratedClassifierCV`: sigmoid, isotonic, temperature, with and without `ensemble`;
  `SVC(probability=True)`.
* `venn-abers`: cross Venn-Abers, five folds. `betacal`: three parameters. `probmetrics`: quadratic scaling,
  smoothing spline (`splinecalib`), ensemble temperature scaling (by cross-entropy). The last four are fitted
  to the logistic function of 5-fold decision values, and applied to those of the machine of all rows.
* Gaussian process (`GaussianProcessClassifier`, amplitude and length scale by evidence, at most 1000 rows);
  logistic regression (C by 5-fold log loss); random forest ({TREES} trees, size of the leaves by out-of-bag
  log loss, v votes of {TREES} count as (v + 1) / ({TREES} + 2)).

Sets: 13 of IDA; nine with a rare class, of which at least six rows are drawn; gene expression (d = 2000 to
7129, srbct: one class against the others). Stratified draws, standardised by the training part; the test part
has the ratio of the training part. *Full* is a half of the rows, at most 2000. A set takes part where it has
rows enough: two thirds are drawn at most.

Log loss and Brier score are means over the draws; every probability is drawn in to [0.001, 0.999] before it
is scored, so that a method that says 0 or 1 pays no more than 6.9. *Calibration error*: mean distance of
probability and frequency in ten bins of equally many points, of all draws together. *Far*: mean confidence
at 100 points, five times the data's spread away. *Told / true*: log loss that the method tells of itself
without test data, left out or out of bag, over that on test data. *Single rival* is the calibrator that is
best over all sets at this number of rows, known only afterwards."""

LEAST = 1e-3  # of a probability that is scored
BINS = 10
PLAN = ((24, 8), (60, 8), (120, 4), (250, 3), (None, 2))  # rows, and draws
GENE_DRAWS = 6  # of half of the rows: their test parts are small


class Case(NamedTuple):
    """Of one way on one draw."""

    proba: np.ndarray
    y: np.ndarray
    far: float  # mean confidence
    told: float | None  # log loss
    failed: bool
    seconds: float


def set_of(data: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows; labels 0 and 1, the rarer class 1."""
    if name not in GENES:
        return binary_set(data, name)
    X, y = genes(data, name)
    y = (y == 0).astype(int) if name == "srbct" else y
    return X, y if y.mean() <= 0.5 else 1 - y


def split_of(data: str, name: str, n: int | None, seed: int) -> Split:
    """A draw, with as many rare test rows among the others as there are in the training part."""
    X, y, X_test, y_test = drawn(*set_of(data, name), n, seed)
    odds = y.mean() / (1.0 - y.mean())
    rare, others = np.flatnonzero(y_test == 1), np.flatnonzero(y_test == 0)
    rare, others = rare[: max(1, round(len(others) * odds))], others[: max(1, round(len(rare) / odds))]
    kept = np.sort(np.append(rare, others))
    return X, y, X_test[kept], y_test[kept]


def takes_part(data: str, name: str, n: int | None) -> bool:
    """Whether a set has as many rows as are to be drawn, and not the half of them, which is *full*."""
    rows = len(set_of(data, name)[1])
    return n is None or (n <= 2 * rows // 3 and n != rows // 2)


def bounded(proba: np.ndarray) -> np.ndarray:
    return np.clip(proba, LEAST, 1.0 - LEAST)


def loss_of(proba: np.ndarray, y: np.ndarray) -> float:
    own = np.where(y == 1, bounded(proba), 1.0 - bounded(proba))
    return float(-np.mean(np.log(own)))


def one_case(data: str, name: str, n: int | None, seed: int) -> dict[str, Case]:
    """Every way on one draw; where one fails, or says NaN, it is given the class shares, and is counted."""
    X, y, X_test, y_test = split_of(data, name, n, seed)
    at = np.vstack([X_test, far_points(X.shape[1], seed)])
    found = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a page of scores is no place for them
        for way, fitted in ways(seed, tuned=n is not None).items():
            started = time.perf_counter()
            try:
                proba, told = fitted(X, y, at)
            except Exception as error:
                say(f"{way} fails on {name}, n = {n}, draw {seed}: {error}")
                proba, told = np.full(len(at), np.nan), None
            failed = not np.isfinite(proba).all()
            proba = np.where(np.isfinite(proba), proba, y.mean())
            near, far = proba[: len(y_test)], proba[len(y_test) :]
            found[way] = Case(
                bounded(near), y_test, float(np.maximum(far, 1.0 - far).mean()),
                None if told is None else loss_of(told, y), failed, time.perf_counter() - started,
            )  # fmt: skip
    say(f"{name}, n = {len(y)}, draw {seed}: {found[DEFAULT].seconds:.2f} s, all ways "
        f"{sum(case.seconds for case in found.values()):.1f} s")  # fmt: skip
    return found


def calibration_error(proba: np.ndarray, y: np.ndarray) -> float:
    """Mean distance of probability and frequency, in bins of equally many points."""
    order = np.argsort(proba, kind="stable")
    bins = np.array_split(order, BINS)
    return float(sum(abs(np.sum(proba[rows] - y[rows])) for rows in bins) / len(y))


def scores_of(cases: Sequence[Case]) -> dict[str, float]:
    """Of one way on all draws of a set."""
    told = [case.told for case in cases if case.told is not None]
    true = float(np.mean([loss_of(case.proba, case.y) for case in cases]))
    return {
        "loss": true,
        "brier": float(np.mean([np.mean((case.proba - case.y) ** 2) for case in cases])),
        "error": calibration_error(*(np.concatenate(part) for part in list(zip(*cases, strict=True))[:2])),
        "precision": float(np.mean([average_precision_score(case.y, case.proba) for case in cases])),
        "far": float(np.mean([case.far for case in cases])),
        "told": float(np.mean(told)) / true if len(told) == len(cases) else np.nan,
        "failed": float(np.sum([case.failed for case in cases])),
    }


Scores = dict[str, dict[str, dict[str, float]]]  # by set, way and score


def all_scores(args: argparse.Namespace, n: int | None, draws: int) -> Scores:
    names = [name for name in (*args.sets, *IMBALANCED, *GENES) if takes_part(args.data, name, n)]
    cases = [
        (name, seed)
        for name in names
        for seed in range(GENE_DRAWS if n is None and name in GENES and draws > 1 else draws)
    ]
    results = Parallel(n_jobs=args.jobs)(delayed(one_case)(args.data, name, n, seed) for name, seed in cases)
    return {
        name: {
            way: scores_of([one[way] for (case, _), one in zip(cases, results, strict=True) if case == name])
            for way in results[0]
        }
        for name in names
    }


def losses(scores: Scores, way: str, names: Sequence[str] | None = None) -> np.ndarray:
    return np.array([scores[name][way]["loss"] for name in names or scores])


def best_of(scores: Scores, ways: Sequence[str]) -> str:
    """The way of the least geometric mean."""
    return min(ways, key=lambda way: geometric_mean(losses(scores, way)))


def is_calibrator(way: str) -> bool:
    return way not in (*OWN, *MODELS, TUNED)


def of_every_way(scores: Scores) -> str:
    """Geometric means of ratios, and means, over all sets."""
    names, rows = list(scores), []
    for way in next(iter(scores.values())):
        ratio = losses(scores, way) / losses(scores, SIGMOID)
        mean = {
            key: np.array([scores[name][way][key] for name in names])
            for key in ("brier", "error", "precision", "far", "told", "failed")
        }
        brier = mean["brier"] / np.array([scores[name][SIGMOID]["brier"] for name in names])
        told = "–" if np.isnan(mean["told"]).any() else f"{geometric_mean(mean['told']):.3f}"
        rows.append(
            [f"**{way}**" if way in OWN else way, f"{geometric_mean(ratio):.4f}", f"{ratio.max():.3f}",
             f"{geometric_mean(brier):.4f}", f"{mean['error'].mean():.4f}", f"{mean['precision'].mean():.4f}",
             f"{mean['far'].mean():.3f}", told, f"{mean['failed'].sum():g}"]
        )  # fmt: skip
    rows.sort(key=lambda row: float(row[1]))
    head = (
        "way", f"log loss / {SIGMOID}", "worst set", "Brier score, ratio", "calibration error",
        "average precision", "far", "told / true", "draws failed",
    )  # fmt: skip
    return table(head, rows)


def against_best(scores: Scores) -> list[list[str]]:
    """Ours against the single best rival calibrator, and against the best of all, by halves of the sets."""
    everything = list(next(iter(scores.values())))
    rival = best_of(scores, [way for way in everything if is_calibrator(way)])
    other = best_of(scores, [way for way in everything if way not in OWN])
    rows = []
    for own, against in ((DEFAULT, rival), (MIXTURE, rival), (MIXTURE, other)):
        for part, names in halves_of(list(scores)):
            ratio = losses(scores, own, names) / losses(scores, against, names)
            worst = int(ratio.argmax())
            rows.append(
                [own, against, f"{part}, {len(names)}", f"{geometric_mean(ratio):.4f}",
                 f"{ratio[worst]:.3f} ({names[worst]})", str(int(np.sum(ratio > 1.02)))]
            )  # fmt: skip
    return rows


def set_by_set(scores: Scores) -> str:
    everything = list(next(iter(scores.values())))
    rival = best_of(scores, [way for way in everything if is_calibrator(way)])
    shown = (rival, DEFAULT, MIXTURE, *MODELS)
    rows = [[name, *(f"{scores[name][way]['loss']:.4f}" for way in shown)] for name in scores]
    return table(("set", *shown), rows)


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--draws", type=int, metavar="N", help="of every number of rows; default: 8 to 2")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; default: 1")
    args = parse(parser)
    page = Page("validation.calibration", "Probabilities from few labels", ABOUT)
    missing = [name for name, there in INSTALLED.items() if not there]
    if missing:
        page.add(f"Not installed, and left out: {', '.join(missing)}.")
    found = {}
    for n, draws in PLAN:
        found[f"{n} rows" if n else "Full"] = all_scores(args, n, args.draws or draws)
    rows = [[title, *row] for title, scores in found.items() for row in against_best(scores)]
    head = ("rows", "ours", "against", "sets", "log loss, ratio", "worst", "sets above 1.02")
    page.add("## Against the best", table(head, rows, left=4))
    for title, scores in found.items():
        page.add(f"## {title}", of_every_way(scores), "Log loss, set by set:", set_by_set(scores))
    page.finish(args.output)


if __name__ == "__main__":
    main()

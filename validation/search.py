"""Choosing C and the kernel without folds, and mixing: against GridSearchCV with calibration."""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC, BayesSVCSearch
from validation._common import Page, geometric_mean, parse, parser_for, table
from validation._common import progress as say
from validation._sets import ida_split
from validation.links import losses

ABOUT = """\
Test log loss, error and seconds of `BayesSVCSearch` by every criterion, of its mixture, and of
`GridSearchCV(CalibratedClassifierCV(SVC(), ensemble=False), cv=5, scoring="neg_log_loss")`, all over the same
grid: C = 0.1, 1, 10, 100, 1000 and gamma = 1/d times 1/16, 1/4, 1, 4. For scikit-learn that is 606 fits of
`SVC`: it calibrates every setting, in six fits, on every fold. A search of `SVC` alone, by another score and
calibrated afterwards, would be 106. *5-fold choice, one fit* is `BayesSVC` with the parameters that
GridSearchCV chose. *Continuous* searches C in [0.01, 10000] and gamma in [0.001, 10] (at most 60 settings);
*length scales* one scale per feature in [0.1, 100], by the evidence. 13 IDA sets: stratified draws of 60
rows, tested on the others, and random splits with as many rows as the sets came with (`train_rand`,
`test_rand`); at most 3000 test points, standardised by the training part. Tables show geometric means over
the sets of the mean over the draws, relative to GridSearchCV. One thread each; models timed in turn, once."""

GRID_C, GRID_GAMMA = (0.1, 1.0, 10.0, 100.0, 1000.0), (1 / 16, 1 / 4, 1.0, 4.0)
USUAL, CHOICE = "GridSearchCV + calibration", "5-fold choice, one fit"
CRITERIA = ("left_out_log_loss", "left_out_error", "evidence", "span", "xi_alpha")
FEW = 60


def searches(d: int) -> dict[str, BayesSVCSearch]:
    """Every way of ours."""
    grid = {"C": list(GRID_C), "gamma": [g / d for g in GRID_GAMMA]}
    space = {"C": (0.01, 1e4), "gamma": (0.001, 10.0)}
    scales = {"C": (0.01, 1e4), "kernel": (0.1, 100.0)}
    process = BayesSVC(kernel=RBF(np.full(d, np.sqrt(d / 2.0))))
    return {
        **{name: BayesSVCSearch(BayesSVC(), grid, criterion=name) for name in CRITERIA},
        "mixture": BayesSVCSearch(BayesSVC(), grid, combine="stack"),
        "left_out_log_loss, continuous": BayesSVCSearch(BayesSVC(), param_space=space),
        "evidence, continuous": BayesSVCSearch(BayesSVC(), param_space=space, criterion="evidence"),
        "evidence, length scales": BayesSVCSearch(process, param_space=scales, criterion="evidence"),
    }


def timed(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[Any, float]:
    """The fitted model and its seconds; warnings about separation and convergence are not for this page."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return model, time.perf_counter() - started


def one_case(data: str, name: str, split: int, n: int | None) -> dict[str, tuple[float, float, float]]:
    """Test log loss, error and seconds of every way on one split."""
    X, y, X_test, y_test = ida_split(data, name, n, split)
    grid = {"estimator__C": list(GRID_C), "estimator__gamma": [g / X.shape[1] for g in GRID_GAMMA]}
    usual = GridSearchCV(CalibratedClassifierCV(SVC(), ensemble=False), grid, scoring="neg_log_loss")
    with threadpool_limits(1):
        found = {USUAL: timed(usual, X, y)}
        chosen = {key.removeprefix("estimator__"): value for key, value in usual.best_params_.items()}
        found[CHOICE] = timed(BayesSVC(**chosen), X, y)
        found.update({way: timed(model, X, y) for way, model in searches(X.shape[1]).items()})
    result = {}
    for way, (model, seconds) in found.items():
        probability = model.predict_proba(X_test)[:, 1]
        error = float(np.mean((probability > 0.5) != (y_test == 1)))
        result[way] = (losses(probability, y_test)[0], error, seconds)
    seconds = f"{found[USUAL][1]:.1f} s, {found['left_out_log_loss'][1]:.2f} s"
    say(f"{name}, split {split}, n = {len(y)}: {seconds}")
    return result


def all_cases(args: argparse.Namespace, n: int | None, splits: int) -> dict[str, list[dict]]:
    """Results of every split, by set."""
    cases = [(name, split) for name in args.sets for split in range(splits)]
    results = Parallel(n_jobs=args.jobs)(
        delayed(one_case)(args.data, name, split, n) for name, split in cases
    )
    return {
        name: [result for (case, _), result in zip(cases, results, strict=True) if case == name]
        for name in args.sets
    }


def mean_of(results: list[dict], way: str, which: int) -> float:
    return float(np.mean([result[way][which] for result in results]))


def ratios(results: dict[str, list[dict]], way: str, which: int, against: str = USUAL) -> list[float]:
    return [mean_of(part, way, which) / mean_of(part, against, which) for part in results.values()]


def summary(results: dict[str, list[dict]]) -> str:
    rows = []
    for way in next(iter(results.values()))[0]:
        loss = ratios(results, way, 0)
        errors = np.mean([mean_of(part, way, 1) for part in results.values()])
        rows.append(
            [way, f"{geometric_mean(loss):.4f}", f"{min(loss):.3f}", f"{max(loss):.3f}",
             f"{geometric_mean(ratios(results, way, 0, CHOICE)):.4f}", f"{100 * errors:.2f} %",
             f"{geometric_mean(ratios(results, way, 2)):.3f}"]
        )  # fmt: skip
    head = (
        "way", f"log loss / {USUAL}", "best set", "worst set", f"log loss / {CHOICE}", "mean error",
        "seconds ratio",
    )  # fmt: skip
    return table(head, rows)


def every_set(results: dict[str, list[dict]]) -> str:
    ways = (USUAL, CHOICE, "left_out_log_loss", "evidence", "mixture")
    rows = [[name, *(f"{mean_of(part, way, 0):.4f}" for way in ways)] for name, part in results.items()]
    return table(("set", *ways), rows)


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--splits", type=int, default=10, metavar="N", help="draws of 60 points; default: 10")
    parser.add_argument("--full-splits", type=int, default=2, metavar="N", help="splits of all; default: 2")
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    args = parse(parser)
    page = Page("validation.search", "Choosing C and the kernel without folds", ABOUT)
    for title, n, splits in (
        (f"{FEW} training points", FEW, args.splits),
        ("All training points", None, args.full_splits),
    ):
        if splits < 1:
            continue
        results = all_cases(args, n, splits)
        page.add(f"## {title}", f"Draws of each set: {splits}.", summary(results))
        page.add("Mean test log loss:", every_set(results))
    page.finish(args.output)


if __name__ == "__main__":
    main()

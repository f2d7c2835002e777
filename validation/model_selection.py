"""Table 2 of Franc, Laskov and Mueller: models chosen by exact leave-one-out, and their test errors."""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from dataclasses import dataclass

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import leave_one_out
from validation._common import Page, parse, parser_for, progress, read_ida, table

ABOUT = """\
For each set and kernel, the model of least exact leave-one-out error, averaged over five training sets,
among all of the paper's grid; then its test error over the benchmark's random splits, mean and standard
deviation. Linear: C = 10^i, i = -2..2. RBF: 8 x 8, C = 500^(i/7), i = 0..7, and k = exp(-gamma |x - x'|^2)
with gamma = 2^(-11 i/7), i = 0..7: the paper's formula survives only in part ("exp(-2 7 11 x-x 2), i = 0,
. . . , 7"), and this is how it is read here. Of equal errors the smaller C and then the larger gamma is
taken. Data as the benchmark has them, not scaled again. The training sets are the first original ones,
filled up with random ones of the same size where fewer than five are left (flare-solar and thyroid none,
diabetis, splice and twonorm one); the paper's splits are therefore not all the same as these, nor are the
100 (image and splice: 20) on which errors are tested."""

LINEAR = [(10.0**i, None) for i in range(-2, 3)]
RBF = [(500.0 ** (i / 7), 2.0 ** (-11 * j / 7)) for i in range(8) for j in range(8)]
GRIDS = {"linear": LINEAR, "rbf": RBF}
TRAINING_SETS = 5
# The paper's Table 2: linear and RBF, each leave-one-out error, test error and its standard deviation.
PAPER = {
    "banana": (41.40, 47.80, 4.58, 8.55, 10.43, 0.44),
    "breast-cancer": (27.20, 29.00, 4.83, 23.00, 26.06, 4.91),
    "diabetis": (22.05, 23.44, 1.70, 21.50, 23.27, 1.65),
    "flare-solar": (32.85, 32.33, 1.82, 32.31, 34.04, 2.04),
    "german": (24.91, 24.06, 2.22, 23.71, 23.61, 2.23),
    "heart": (14.24, 15.22, 3.22, 13.53, 15.55, 3.36),
    "image": (15.48, 15.34, 0.84, 2.94, 3.15, 0.63),
    "ringnorm": (23.45, 24.59, 0.67, 1.10, 1.60, 0.11),
    "splice": (15.36, 16.20, 0.59, 10.60, 10.95, 0.64),
    "thyroid": (8.43, 10.16, 2.60, 2.29, 4.87, 2.28),
    "titanic": (21.20, 23.01, 4.62, 15.47, 23.99, 3.47),
    "twonorm": (2.50, 2.90, 0.27, 2.25, 2.59, 0.18),
    "waveform": (10.90, 12.95, 0.54, 8.85, 10.50, 0.43),
}


@dataclass(frozen=True)
class Grid:
    """Leave-one-out errors of one training set over one kernel's grid."""

    errors: np.ndarray
    seconds: float
    values: int
    statuses: Counter[str]
    warned: int  # models whose solution is not exact


def estimator(kernel: str, C: float, gamma: float | None) -> SVC:
    return SVC(C=C, kernel=kernel, gamma="scale" if gamma is None else gamma)


def training_sets(z: dict[str, np.ndarray]) -> np.ndarray:
    """Rows of the first five: original splits as far as there are any."""
    original = z["train"][:TRAINING_SETS]
    return np.vstack([original.reshape(-1, z["train_rand"].shape[1]), z["train_rand"]])[:TRAINING_SETS]


def errors_of_grid(X: np.ndarray, y: np.ndarray, kernel: str) -> Grid:
    started, errors, statuses, warned = time.perf_counter(), [], Counter(), 0
    for C, gamma in GRIDS[kernel]:
        with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
            warnings.simplefilter("always", ConvergenceWarning)
            result = leave_one_out(estimator(kernel, C, gamma), X, y, n_jobs=1)
        warned += bool(caught)
        errors.append(result.error)
        statuses.update(result.status.tolist())
    return Grid(np.array(errors), time.perf_counter() - started, len(y) * len(errors), statuses, warned)


def test_error(
    X: np.ndarray, y: np.ndarray, kernel: str, model: tuple, train: np.ndarray, test: np.ndarray
) -> float:
    fitted = estimator(kernel, *model).fit(X[train], y[train])
    return float(np.mean(fitted.predict(X[test]) != y[test]))


@dataclass(frozen=True)
class Chosen:
    """The best model of one kernel on one set."""

    model: tuple
    loo: float
    tests: np.ndarray
    grids: list[Grid]


def chosen(data: str, name: str, kernel: str, jobs: int) -> Chosen:
    z = read_ida(data, name)
    X, y = z["X"].astype(float), z["y"].astype(int)
    run = joblib.Parallel(n_jobs=jobs)
    grids = run(joblib.delayed(errors_of_grid)(X[rows], y[rows], kernel) for rows in training_sets(z))
    mean = np.mean([grid.errors for grid in grids], axis=0)
    best = int(
        np.argmin(np.round(mean, 12))
    )  # the grids run from small C to large, and from large gamma to small
    model = GRIDS[kernel][best]
    tests = run(
        joblib.delayed(test_error)(X, y, kernel, model, train, test)
        for train, test in zip(z["train_rand"], z["test_rand"], strict=True)
    )
    progress(f"{name} {kernel}: {model}, {100 * mean[best]:.2f} {100 * np.mean(tests):.2f}")
    return Chosen(model, float(mean[best]), np.array(tests), grids)


def percent(value: float) -> str:
    return f"{100 * value:.2f}"


def row_of(name: str, kernel: str, found: Chosen) -> list[str]:
    C, gamma = found.model
    theirs = PAPER[name][:3] if kernel == "linear" else PAPER[name][3:]
    return [
        name, f"{C:.3g}", "" if gamma is None else f"{gamma:.3g}", percent(found.loo), f"{theirs[0]:.2f}",
        f"{percent(found.tests.mean())} ± {percent(found.tests.std(ddof=1))}",
        f"{theirs[1]:.2f} ± {theirs[2]:.2f}",
        f"{sum(grid.seconds for grid in found.grids):.1f}",
    ]  # fmt: skip


def add_kernel(page: Page, args: argparse.Namespace, kernel: str) -> list[Chosen]:
    found = {name: chosen(args.data, name, kernel, args.jobs) for name in args.sets}
    head = (
        "set", "C", "gamma", "leave-one-out, %", "the paper's", "test error, %", "the paper's",
        "seconds for the grid",
    )  # fmt: skip
    page.add(f"## {kernel} kernel", table(head, [row_of(name, kernel, each) for name, each in found.items()]))
    closeness = [abs(each.loo - each.tests.mean()) for each in found.values()]
    theirs = [
        abs(PAPER[name][k] - PAPER[name][k + 1]) for name in found for k in (0 if kernel == "linear" else 3,)
    ]
    page.add(
        f"Mean distance between leave-one-out error and test error: {percent(np.mean(closeness))} points; "
        f"in the paper {np.mean(theirs):.2f}."
    )
    return list(found.values())


def summary(found: list[Chosen]) -> str:
    grids = [grid for each in found for grid in each.grids]
    statuses = sum((grid.statuses for grid in grids), Counter())
    seconds, values = sum(grid.seconds for grid in grids), sum(grid.values for grid in grids)
    models = sum(len(grid.errors) for grid in grids)
    counts = ", ".join(f"{status} {count:,}" for status, count in statuses.most_common())
    return (
        f"{models:,} leave-one-out errors, {values:,} values, took {seconds / 60:.1f} minutes of one core: "
        f"{1e6 * seconds / values:.0f} microseconds a value, training included. Statuses: {counts}. "
        f"Models whose solution was not exact, and said so: {sum(grid.warned for grid in grids)}."
    )


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="processes; default: 2")
    args = parse(parser)
    page = Page("validation.model_selection", "Model selection by exact leave-one-out", ABOUT)
    found = [each for kernel in GRIDS for each in add_kernel(page, args, kernel)]
    page.add("## What it took", summary(found))
    page.finish(args.output)


if __name__ == "__main__":
    main()

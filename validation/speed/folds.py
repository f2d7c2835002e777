"""Five folds left out at once, and a search over nine settings: seconds by number of rows, one thread."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC, BayesSVCSearch, leave_one_out
from validation._common import Page, parse, parser_for, progress, short, table

ABOUT = """\
`make_classification` with 20 features, 8 of them informative, and a fifth of the labels drawn at random; rbf.
First `leave_one_out(SVC(C, gamma), X, y, cv=5)`, beside scikit-learn's `cross_val_predict`. A fold moves many
coefficients. Where at least 120 support vectors are free, its problem is solved anew from the solution of
all rows; *followed* is the same with every fold followed on tableaus, as before commit cfe7f86. *Apart* is
the largest difference of their values. Then `BayesSVCSearch` over three values of C and three of gamma, whose
scores need all rows left out and five strata, beside `CalibratedClassifierCV(GridSearchCV(SVC()),
ensemble=False)` over the same. Each is measured once, wall time."""

GAMMAS = (0.0125, 0.05, 0.2)
COSTS = (0.1, 1.0, 10.0)


def made(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and their classes."""
    X, y = make_classification(n, n_informative=8, flip_y=0.2, random_state=0)
    return scale(X), y


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """How long it takes, and what it returns."""
    started = time.perf_counter()
    found = run()
    return time.perf_counter() - started, found


def folds(n: int) -> list[list[str]]:
    """A line for each machine."""
    (X, y), lines = made(n), []
    paths = import_module("bayes_svm.leave_one_out.path")
    for C, gamma in ((1.0, 0.05), (10.0, 0.0125), (10.0, 0.2)):
        svc = SVC(C=C, gamma=gamma)
        ours, found = seconds(lambda svc=svc: leave_one_out(svc, X, y, cv=5))
        with patch.object(paths, "MANY_FREE", np.inf):
            followed, other = seconds(lambda svc=svc: leave_one_out(svc, X, y, cv=5))
        theirs, _ = seconds(lambda svc=svc: cross_val_predict(svc, X, y, cv=5, method="decision_function"))
        apart = float(np.abs(found.decision_values - other.decision_values).max())
        measured = (f"{value:.2f}" for value in (ours, followed, theirs))
        lines.append([f"{n:,}", f"{C:g}", f"{gamma:g}", *measured, short(apart)])
        progress(" ".join(lines[-1]))
    return lines


def search(n: int) -> list[str]:
    """The line of a search."""
    X, y = made(n)
    grid = {"C": list(COSTS), "gamma": list(GAMMAS)}
    ours, _ = seconds(lambda: BayesSVCSearch(BayesSVC(), grid).fit(X, y))
    rival = CalibratedClassifierCV(GridSearchCV(SVC(), grid), ensemble=False)
    theirs, _ = seconds(lambda: rival.fit(X, y))
    line = [f"{n:,}", f"{ours:.1f}", f"{theirs:.1f}", f"{ours / theirs:.2f}"]
    progress(" ".join(line))
    return line


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--rows", default="1000,2000,4000", metavar="A,B", help="default: 1000,2000,4000")
    parser.add_argument("--searched", default="1000,2000", metavar="A,B", help="default: 1000,2000")
    args = parse(parser)
    sizes, searched = ([int(n) for n in numbers.split(",")] for numbers in (args.rows, args.searched))
    page = Page("validation.speed.folds", "Folds and searches by number of rows", ABOUT)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        head = ("rows", "C", "gamma", "leave_one_out, s", "followed, s", "cross_val_predict, s", "apart")
        page.add("## Five folds", table(head, [line for n in sizes for line in folds(n)]))
        head = ("rows", "BayesSVCSearch, s", "grid and calibration, s", "ratio")
        page.add("## A search", table(head, [search(n) for n in searched]))
    page.finish(args.output)


if __name__ == "__main__":
    main()

"""Exact leave-one-out of all rows for many values of C: seconds of a search, and how exact its best model is.

python -m validation.speed.c_path [--rows N] [--values N] [--threads N] [--checked N] [--output FILE]
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC, BayesSVCSearch
from validation._common import Page, parse, parser_for, progress, short, table

ABOUT = """\
`make_classification` with 10 features, flip_y = 0.1; rbf, gamma = "scale"; C from 1e-2 to 1e3, evenly spaced
on a logarithmic scale. `BayesSVCSearch(BayesSVC(leave_out="rows"), {"C": ...}, criterion="left_out_error")`
fits each of them to all rows, and leaves every row out exactly. The whole search is measured once, wall time.
*Off* is the largest difference of some left-out values of its best model, evenly spaced among the rows with a
positive coefficient, from those of SVC(tol=1e-8) trained anew without the row."""

SHOWN = 6


def off(model: BayesSVC, X: np.ndarray, y: np.ndarray, number: int) -> float:
    """Largest difference of left-out values from training anew."""
    moved = np.flatnonzero(model.left_out_.status != "unchanged")
    rows = moved[np.linspace(0, len(moved) - 1, number).astype(int)]
    differences = []
    for row in rows:
        rest = np.arange(len(y)) != row
        anew = SVC(C=model.C, gamma=model.kernel_.gamma, tol=1e-8, cache_size=1000).fit(X[rest], y[rest])
        differences.append(abs(anew.decision_function(X[[row]])[0] - model.left_out_decision_values_[row]))
        progress(f"row {row}: {differences[-1]:.1e}")
    return max(differences)


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--rows", type=int, default=10_000, help="default: 10000")
    parser.add_argument("--values", type=int, default=50, help="values of C; default: 50")
    parser.add_argument("--threads", default="1,2", metavar="A,B", help="n_jobs of the search; default: 1,2")
    parser.add_argument("--checked", type=int, default=3, help="rows trained anew; default: 3")
    args = parse(parser)
    X, y = make_classification(args.rows, 10, flip_y=0.1, random_state=0)
    page = Page("validation.speed.c_path", "A search over many values of C", ABOUT)
    grid = {"C": np.logspace(-2.0, 3.0, args.values)}
    lines = []
    for threads in (int(number) for number in args.threads.split(",")):
        with threadpool_limits(1):
            started = time.perf_counter()
            search = BayesSVCSearch(
                BayesSVC(leave_out="rows"), grid, criterion="left_out_error", n_jobs=threads
            ).fit(X, y)
            lines.append((f"{args.rows:,}", args.values, threads, f"{time.perf_counter() - started:.0f}"))
        progress(f"{threads} threads: {lines[-1][-1]} s")
    results = search.cv_results_
    errors, seconds = -results["mean_test_score"], results["mean_fit_time"]
    shown = np.unique(np.linspace(0, args.values - 1, SHOWN).astype(int))
    some = [(short(results["params"][k]["C"], 3), f"{errors[k]:.4f}", f"{seconds[k]:.2f}") for k in shown]
    page.add(
        table(("rows", "values of C", "threads", "seconds"), lines),
        "## Some of the values",
        table(("C", "left-out error", "seconds, with the last number of threads"), some),
        f"The best C is {short(search.best_params_['C'], 3)}. Off, of {args.checked} rows: "
        f"{short(off(search.best_estimator_, X, y, args.checked))}.",
    )
    page.finish(args.output)


if __name__ == "__main__":
    main()

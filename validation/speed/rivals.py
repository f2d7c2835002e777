"""Fit, left-out values and probabilities beside other packages: seconds, exactness and log loss."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.leave_one_out.cases import what_leaves
from validation._common import Page, exactness, parser_for, short, table
from validation._common import progress as say
from validation.speed._rival_machines import Problem, Told, Way, loaded, ways
from validation.speed.fit import numbers, three

ABOUT = """\
Exact machines of other packages, and left-out values where they have them, beside ours. The problem is
`make_classification` with 20 features, 8 of them informative, and flip_y = 0.2; the kernel is rbf with
`gamma="scale"` of the training rows, the same number for all. Everything runs on the processor, at one
thread; TorchKM is made for graphics cards, which are not measured here.

* **seconds** of what the second column says: the best of {again} calls after a first one. A call of more
  than {once:g} s is made once, after one on {warm} rows.
* **machine off by**: the largest difference of the decision values of the training rows from those of
  `SVC(tol=1e-10)`. Where it is small the penalty and the kernel are the same. LIBSVM keeps kernel values in
  single precision. The last digits are therefore its own error, as the residuals under each table tell: the
  largest violations of the optimality conditions in double precision, divided by the largest decision
  value.
* **left out, off by**: the largest and the median difference of left-out decision values from those of
  machines trained without the row, and how many have the wrong sign, among a fixed random sample of the
  rows that are left out: 100, from 1000 rows on 100,000 / n. `BayesSVC` leaves a row out together with its
  stratum; its values are compared with machines trained without the stratum. There are two references:
  `SVC(tol=1e-8)` on the kernel matrix of the other rows, which counts, and this package's solver. Under
  each table is how far they are apart.
* **log loss** of the probabilities of {fresh} fresh rows.
* A dagger marks a machine that warned that it had not converged.

How each is used; parameters that are not named have their default values:

* `cvksvm` is TorchKM's kernel machine. It minimises `lambda beta' K beta` plus the *mean* hinge loss, hence
  lambda = 1 / (2 n C); its kernel is `exp(-2 sigma distance²)`, hence sigma = gamma / 2. Leave-one-out has
  as many folds as rows, numbered from 1: left to itself, it numbers them from 0 and does not leave out the
  first row. `gamma=1e-8` as in its example and its estimator. There is no limit on its steps: by default
  (`maxit=1000`) leave-one-out of 500 rows stops, with a warning, before it has converged. Probabilities
  come from its `PlattScalerTorch` on its left-out values. Without leave-one-out it has one fold that holds
  no row.
* *Default tolerances* are `eps=1e-5, KKTeps=1e-3, KKTeps2=1e-3`. The last two bound a sum of n squares,
  none of which is above 1/n² while the coefficients are within their bounds: from 1000 rows on any such
  machine passes.
* *Tight*: `eps=1e-8, KKTeps=1e-6, KKTeps2=1e-6`. The changelog of its next version advises such a `KKTeps`.
  Points on the margin keep it from passing this test; it goes through all its smoothing widths, and warns.
  The left-out machines end each width at squared steps of 1e-5, which is no parameter.
* *Rescaled*: tight, with kernel and lambda times 1e-4. The machine is the same, with coefficients 10,000
  times as large, to which its steps are compared. Nothing in its documentation says so; this is the check
  that our reading of it is right. Its projection, `is_exact=1`, took longer and came no nearer.
* Leave-one-out by `cvksvm` is run up to 2000 rows at default tolerances, up to 1000 with tight ones and up
  to 200 rescaled: more would take longer than the rest of the page.
* `TorchKMSVC` calibrates by five folds. Of the tolerances it has `eps` only, as `tol`.
* `sklearnex` is scikit-learn-intelex, made for many threads. It computes probabilities by scikit-learn's
  calibration of its machine; `probability=True` is deprecated in favour of it.
* ThunderSVM is the distribution `thundersvm-cpu`, with `n_jobs=1`. `thundersvm` 0.3.12 itself cannot be
  imported without CUDA 9: "libcusparse.so.9.0: cannot open shared object file"."""

SIZES = (200, 500, 1000, 2000, 5000)
# With so many rows there are also machines with a larger penalty.
LARGER_C = {1000: (10.0,)}
FRESH, WARM = 5000, 60
AGAIN, ONCE, LONG = 3, 3.0, 0.1
HEAD = (
    "way", "timed", "seconds", "machine off by", "left out, off by: largest", "median", "wrong signs",
    "log loss",
)  # fmt: skip
# By the row, and the rows that leave with it.
Reference = dict[tuple[int, ...], tuple[float, float]]


def drawn(n: int, C: float) -> Problem:
    """So many training rows, and fresh ones of the same distribution."""
    X, label = make_classification(n + FRESH, 20, n_informative=8, flip_y=0.2, random_state=0)
    y = 2.0 * label - 1.0
    return Problem(X[:n], y[:n], X[n:], y[n:], C, 1.0 / (20 * X[:n].var()))


def leaving_with(p: Problem, way: str, size: int | None) -> list[np.ndarray | None]:
    """For each row the rows that leave together with it; None if it is not left out."""
    machine, _ = machine_of(SVC(**p.parameters), p.X, p.y)
    leaving = what_leaves(machine, way, p.y, None, size)
    found: list[np.ndarray | None] = [None] * len(p.y)
    for case in range(len(leaving.times)):
        together = leaving.part_row[leaving.case == case]
        for row in together:
            found[row] = np.sort(together)
    return found


def retrained(p: Problem, gram: np.ndarray, gone: np.ndarray, row: int) -> tuple[float, float]:
    """Decision value of a row by the machine without some, by scikit-learn and by this package."""
    rest = np.setdiff1d(np.arange(len(p.y)), gone)
    at = gram[row, rest]
    svc = SVC(C=p.C, kernel="precomputed", tol=1e-8, cache_size=1000)
    theirs = svc.fit(gram[np.ix_(rest, rest)], p.y[rest]).decision_function(at[None])[0]
    _, [solution] = machine_of(SVC(**p.parameters), p.X[rest], p.y[rest])
    return float(theirs), float(at @ solution.row_beta + solution.intercept)


def residuals(p: Problem, gram: np.ndarray, svc: SVC) -> tuple[float, float]:
    """How far from optimal scikit-learn's machine and this package's are, in double precision."""
    beta, bound = np.zeros(len(p.y)), np.full(len(p.y), p.C)
    beta[svc.support_] = svc.dual_coef_[0]
    _, [ours] = machine_of(SVC(**p.parameters), p.X, p.y)
    return (
        exactness(gram, p.y, beta, bound, svc.intercept_[0]).residual,
        exactness(gram, p.y, ours.row_beta, bound, ours.intercept).residual,
    )


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Least seconds, not counting the first call if it is short; processors kept busy; the result."""
    found, result, busy = [], None, 0.0
    while not found or (len(found) <= AGAIN and found[0] < ONCE):
        started, processor = time.perf_counter(), time.process_time()
        result = call()
        found.append(time.perf_counter() - started)
        busy = (time.process_time() - processor) / found[-1]
    return min(found[1:] or found), busy, result


def off(told: np.ndarray, exact: np.ndarray) -> tuple[float, float, int]:
    """Largest and median difference, and how many signs differ."""
    apart = np.abs(told - exact)
    return float(apart.max()), float(np.median(apart)), int(np.sum((told > 0) != (exact > 0)))


def compared(told: Told, way: Way, p: Problem, gram: np.ndarray, known: Reference) -> list[str]:
    """The cells on left-out values; machines trained for them are kept in ``known``."""
    if told.left_out is None:
        return ["–"] * 3
    together = leaving_with(p, *way.leave_out)
    order = np.random.default_rng(0).permutation(len(p.y))
    rows = [row for row in order if together[row] is not None][: min(100, 100_000 // len(p.y))]
    exact = []
    for row in rows:
        key = (int(row), *map(int, together[row]))
        if key not in known:
            known[key] = retrained(p, gram, together[row], row)
        exact.append(known[key][0])
    largest, median, wrong = off(told.left_out[rows], np.array(exact))
    return [short(largest), short(median), f"{wrong} of {len(rows)}"]


def measured(p: Problem, found: dict[str, Way], page: Page) -> float:
    """Put one table on the page; the most processors that any call kept busy."""
    gram, known, busiest, rows = rbf_kernel(p.X, gamma=p.gamma), {}, 0.0, []
    svc = SVC(**p.parameters, tol=1e-10, cache_size=1000).fit(p.X, p.y)
    whole = svc.decision_function(p.X)
    for name, way in found.items():
        if len(p.y) > way.most:
            continue
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            seconds, busy, model = timed(lambda way=way: way.fit(p))
        failed = any(issubclass(one.category, ConvergenceWarning) for one in warned)
        told = way.told(model, p)
        # The processor's clock is too coarse for short calls.
        busiest = max(busiest, busy if seconds > LONG else 0.0)
        rows.append([
            f"{name} †" if failed else name, way.gives, three(seconds), short(off(told.decisions, whole)[0]),
            *compared(told, way, p, gram, known),
            "–" if told.proba is None else f"{log_loss(p.fresh_y, told.proba):.4f}",
        ])  # fmt: skip
        say(f"n = {len(p.y)}, C = {p.C:g}: {', '.join(rows[-1])}")
    apart = max(abs(one - other) for one, other in known.values())
    page.add(f"## {len(p.y)} rows, C = {p.C:g}", table(HEAD, rows, left=2))
    theirs, ours = map(short, residuals(p, gram, svc))
    page.add(
        f"The two references differ by {short(apart)} at most, over {len(known)} machines. The residual of "
        f"`SVC(tol=1e-10)` is {theirs}, ours is {ours}."
    )
    return busiest


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument(
        "--rows", type=numbers, default=list(SIZES), metavar="N,N", help="numbers of training rows"
    )
    args: argparse.Namespace = parser.parse_args()
    about = ABOUT.format(again=AGAIN, once=ONCE, fresh=FRESH, warm=WARM)
    page = Page("validation.speed.rivals", "Beside other packages", about)
    installed, missing = loaded()
    versions = ", ".join(f"{name} {number}" for name, number in installed.items())
    page.add(f"Measured here: {versions or 'none'}.")
    page.add(*(f"Not measured: {name}, which cannot be imported: {why}." for name, why in missing.items()))
    found, busiest = ways(installed), 0.0
    with threadpool_limits(1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for way in found.values():
                way.fit(drawn(WARM, 1.0))
        for n in args.rows:
            for C in (1.0, *LARGER_C.get(n, ())):
                busiest = max(busiest, measured(drawn(n, C), found, page))
    page.add(f"Of the calls of more than {LONG:g} s none kept more than {busiest:.2f} processors busy.")
    page.finish(args.output)


if __name__ == "__main__":
    main()

"""Kernels of low rank, and features that are not scaled: seconds, status and exactness of leave-one-out.

    python -m validation.speed.low_rank --data DIR [--checked N] [--output FILE]

Processor seconds of `leave_one_out` with `SVC`, fit included, on one thread, each once. **Off** is the
largest difference of the left-out values of some rows from those of an independent solution: an interior-
point method in the space of the features, in scaled variables, without the kernel matrix, and then the
vertex that it approaches. It is relative to the larger of 1 and the value. Where ties hide the vertex, as
on kr-vs-kp with the linear kernel and C = 1, the interior point itself is compared, which is within 2e-3
only. `--checked` is the number of these rows, evenly spaced among those that are left out by a path or
solved anew. A kernel matrix of full rank has no such features: its column is a dash.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import AggregationKernel, LeaveOneOut, leave_one_out
from validation._common import Page, first_split, parse, parser_for, progress, short, table
from validation._similarity import symbols_of

ROWS, FEW_ROWS = 3196, 300
COSTS = (1.0, 10.0)
# Largest scales of the columns; the least is 1e-3.
SCALES = (1e2, 1e3, 1e4, 1e5, 1e6)
KERNELS_OF_SETS, COSTS_OF_SETS = ("linear", "poly", "rbf"), (1e-2, 1e-1, 1.0, 10.0, 100.0, 1e3)

Labels = np.ndarray
Features = np.ndarray | None


def timed(svc: SVC, X: np.ndarray, y: Labels) -> tuple[LeaveOneOut, float, list[str]]:
    """Result, processor seconds, and the warnings' classes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = time.process_time()
        found = leave_one_out(svc, X, y, n_jobs=1)
        seconds = time.process_time() - started
    return found, seconds, [one.category.__name__ for one in caught]


def independent(X: np.ndarray, y: Labels, C: float, steps: int = 200) -> tuple[np.ndarray, float]:
    """Coefficients in the scaled features ``Z = (X - mean) / deviation``, and the intercept.

    Minimises ``1/2 |u / deviation|^2 + C sum xi`` under ``y (Z u + b) >= 1 - xi``: Mehrotra's
    predictor-corrector method. X must be centred; its columns are divided here.
    """
    scale = X.std(axis=0)
    rows = np.column_stack([X / scale, np.ones(len(y))]) * y[:, None]
    cost = np.append(scale**-2.0, 0.0)
    u, alpha, room = np.zeros(len(cost)), np.full(len(y), C / 2), np.full(len(y), C / 2)
    slack, ahead = np.ones(len(y)), np.ones(len(y))  # xi, and what y f is beyond 1 - xi
    best, stalled = (np.inf, u, alpha, ahead, slack), 0
    for _ in range(steps):
        r_u, r_f = rows.T @ alpha - cost * u, 1.0 + ahead - slack - rows @ u
        gap = float(alpha @ ahead + room @ slack)
        error = max(gap / (2 * C * len(y)), float(np.abs(r_f).max()), float(np.abs(r_u).max()) / C)
        if error < best[0]:
            best, stalled = (error, u, alpha, ahead, slack), 0
        elif (stalled := stalled + 1) > 5:
            break
        weight = 1.0 / (ahead / alpha + slack / room)
        normal = rows.T @ (weight[:, None] * rows) + np.diag(cost)
        size = np.sqrt(np.diag(normal))
        try:
            factor = cho_factor(normal / np.outer(size, size))
        except LinAlgError:
            break
        aim, second = 0.0, (0.0, 0.0)
        for final in (False, True):
            to_ahead, to_slack = (aim - second[0]) / alpha - ahead, (aim - second[1]) / room - slack
            # The equations of alpha: r_f + (to_ahead - to_slack) = rows du + (ahead/alpha + slack/room) da.
            wanted = r_f + to_ahead - to_slack
            du = cho_solve(factor, (r_u + rows.T @ (weight * wanted)) / size) / size
            da = weight * (wanted - rows @ du)
            d_ahead, d_slack = to_ahead - ahead / alpha * da, to_slack + slack / room * da
            pairs = ((alpha, da), (room, -da), (ahead, d_ahead), (slack, d_slack))
            length = min(1.0, *(np.min(-x[dx < 0] / dx[dx < 0], initial=np.inf) for x, dx in pairs))
            if not final:
                after = sum(
                    (x + length * dx) @ (z + length * dz)
                    for (x, dx), (z, dz) in ((pairs[0], pairs[2]), (pairs[1], pairs[3]))
                )
                aim, second = gap / (2 * len(y)) * (after / gap) ** 3, (da * d_ahead, -da * d_slack)
        length *= 0.995 if length < 1 else 1.0
        u, alpha, room = u + length * du, alpha + length * da, room - length * da
        ahead, slack = ahead + length * d_ahead, slack + length * d_slack
    u = finished(rows, cost, C, *best[1:])
    return u[:-1] / scale, float(u[-1])


def finished(
    rows: np.ndarray, cost: np.ndarray, C: float, u: np.ndarray, alpha: np.ndarray, ahead: np.ndarray,
    slack: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """The vertex that the interior points approach: a duality gap of g leaves an error of sqrt(2 g) in u."""
    n = len(u)
    for times in (1.0, 1e-2, 1e2, 1e-4, 1e4):
        bounded = C - alpha < C * slack * times
        free = rows[(alpha > C * ahead * times) & ~bounded]
        s = len(free)
        system = np.block([[np.diag(cost), -free.T], [free, np.zeros((s, s))]])
        right = np.append(C * rows[bounded].sum(axis=0), np.ones(s))
        size = np.sqrt(np.append(1.0 / np.maximum(cost, 1.0), np.ones(s)))
        solved = size * np.linalg.lstsq(size[:, None] * system * size, size * right, rcond=1e-14)[0]
        margin = rows @ solved[:n]
        wrong = max(
            np.maximum(0.0, margin[bounded] - 1.0).max(initial=0.0),
            np.maximum(0.0, 1.0 - margin[~bounded]).max(initial=0.0),
            np.maximum(-solved[n:], solved[n:] - C).max(initial=0.0),
        )
        if wrong <= 1e-8 * max(1.0, C):
            return solved[:n]
    return u


def off(found: LeaveOneOut, F: np.ndarray, y: Labels, C: float, checked: int) -> float:
    """Largest difference from independent solutions without some of the rows, given their features."""
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    solved = np.flatnonzero(~np.isin(found.status, ("unchanged", "unstable")))
    worst = 0.0
    for row in solved[:: max(1, len(solved) // checked)]:
        rest = np.delete(np.arange(len(y)), row)
        mean = F[rest].mean(axis=0)
        varied = np.ptp(F[rest], axis=0) > 0
        w, b = independent((F[rest] - mean)[:, varied], signs[rest], C)
        value = float((F[row] - mean)[varied] @ w) + b
        worst = max(worst, abs(found.decision_values[row] - value) / max(1.0, abs(value)))
    return worst


def many_rows(data: str) -> dict[str, tuple[Callable[[], SVC], np.ndarray, Labels, Features]]:
    """The machine, X, y, and, where there are few, the features of every case of many rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(ROWS, 42))
    y = np.where(X @ random.normal(size=42) / 6 + 0.7 * random.normal(size=ROWS) > 0, 1, -1)
    linear, plane = X[:, :40], np.exp(-cdist(X[:, 40:], X[:, 40:], "sqeuclidean") / 2)
    codes, won = symbols_of(data, "kr-vs-kp")
    onehot = OneHotEncoder(sparse_output=False).fit_transform(codes)
    rbf = np.exp(-cdist(X, X, "sqeuclidean") / 42)
    return {
        "linear, 40 columns": (lambda: SVC(kernel="linear"), linear, y, linear),
        "matrix of rank 40": (lambda: SVC(kernel="precomputed"), linear @ linear.T / 40, y, linear / 40**0.5),
        "rank 40 + rbf of 2 columns": (
            lambda: SVC(kernel="precomputed"), linear @ linear.T / 40 + plane, y, None,
        ),
        "kr-vs-kp, AggregationKernel": (lambda: SVC(kernel=AggregationKernel()), codes, won, onehot / 6.0),
        "kr-vs-kp, linear": (lambda: SVC(kernel="linear"), onehot, won, onehot),
        "**full rank**: rbf": (lambda: SVC(kernel="rbf"), X, y, None),
        "**full rank**: matrix of an rbf": (lambda: SVC(kernel="precomputed"), rbf, y, None),
        "**full rank**: kr-vs-kp, rbf": (lambda: SVC(kernel="rbf"), onehot, won, None),
    }  # fmt: skip


def rank_table(data: str, checked: int) -> str:
    rows = []
    for name, (make, X, y, features) in many_rows(data).items():
        for C in COSTS:
            found, seconds, warned = timed(make().set_params(C=C), X, y)
            exact = "–" if features is None else short(off(found, features, y, C, checked))
            rows.append([name, f"{C:g}", f"{seconds:.2f}", status_of(found), exact, ", ".join(warned)])
            progress(f"{name}, C = {C:g}: {seconds:.2f} s")
    return table(("kernel", "C", "seconds", "status", "off", "warnings"), rows)


def status_of(found: LeaveOneOut) -> str:
    counts = Counter(found.status.ravel().tolist())
    return ", ".join(f"{number} {status}" for status, number in counts.most_common())


def unscaled() -> dict[str, tuple[np.ndarray, Labels]]:
    """Raw columns, up to 300 rows and two classes."""
    random = np.random.default_rng(0)
    sets = {}
    for name, load in (("wine", load_wine), ("breast cancer", load_breast_cancer)):
        X, y = load(return_X_y=True)
        sets[name] = X, (y == 0).astype(int)
    X, y = load_diabetes(return_X_y=True, scaled=False)
    sets["diabetes"] = X, (y > np.median(y)).astype(int)
    Z = random.normal(size=(FEW_ROWS, 10))
    y = (Z @ random.normal(size=10) + random.normal(size=FEW_ROWS) > 0).astype(int)
    for most in SCALES:
        sets[f"normal, scales 1e-3 to {most:.0e}"] = Z * np.geomspace(1e-3, most, 10), y
    picks = {name: random.permutation(len(y))[:FEW_ROWS] for name, (_, y) in sets.items()}
    return {name: (X[picks[name]], y[picks[name]]) for name, (X, y) in sets.items()}


def scale_table(checked: int) -> str:
    rows = []
    for name, (X, y) in unscaled().items():
        times = []
        for columns, which in ((StandardScaler().fit_transform(X), "scaled"), (X, "raw")):
            found, seconds, warned = timed(SVC(kernel="linear"), columns, y)
            times.append(seconds)
            ratio = f"{times[1] / times[0]:.1f}" if which == "raw" else ""
            exact = short(off(found, columns, y, 1.0, checked))
            first = name if which == "scaled" else ""
            measured = exact, short(float(found.kkt_residual.max())), ", ".join(warned)
            rows.append([first, which, f"{1e3 * seconds:.0f}", ratio, status_of(found), *measured])
        progress(f"{name}: {times}")
    head = ("columns", "", "ms", "raw / scaled", "status", "off", "largest KKT residual", "warnings")
    return table(head, rows, left=2)


def warnings_table(data: str, sets: list[str]) -> str:
    """Scaled sets: how many machines are warned about, and how many values are inexact."""
    rows = []
    for kernel in KERNELS_OF_SETS:
        for C in COSTS_OF_SETS:
            warned = inexact = total = 0
            for name in sets:
                found, _, caught = timed(SVC(kernel=kernel, C=C), *first_split(data, name))
                warned, total = warned + bool(caught), total + len(found.status)
                inexact += int(np.sum(found.status == "inexact"))
            rows.append([kernel, f"{C:g}", warned, inexact, total])
        progress(kernel)
    return table(("kernel", "C", "sets warned about", "inexact values", "values"), rows)


def main() -> None:
    parser = parser_for(__doc__.splitlines()[0])
    parser.add_argument("--checked", type=int, default=20, metavar="N", help="rows; default: 20")
    args = parse(parser)
    page = Page(
        "validation.speed.low_rank", "Kernels of low rank, and features that are not scaled",
        __doc__.split("\n\n")[2].strip(),
    )  # fmt: skip
    with threadpool_limits(1):
        page.add(f"## {ROWS} rows", rank_table(args.data, args.checked))
        page.add(
            f"## A linear kernel on raw columns, C = 1, up to {FEW_ROWS} rows",
            scale_table(args.checked),
            "## Scaled sets: the training part of the first split of the IDA sets",
            warnings_table(args.data, args.sets),
        )
    page.finish(args.output)


if __name__ == "__main__":
    main()

"""Left-out values of many small, awkward problems, compared with training anew.

    python -m validation.awkward --data DIR [--problems N] [--first SEED] [--output FILE]

The paths run in the forms that large problems take: on tableaus of few rows, which have to be extended, with
kernel values that are recomputed, and in small batches.
"""

from __future__ import annotations

import importlib
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from sklearn.svm import SVC

from bayes_svm import leave_one_out
from validation._common import Page, parse, parser_for, progress, short, table

ABOUT = """\
Random problems of 20 to 140 rows and 1 to 40 features, from a seed each: continuous features, a grid with
ties, repeated rows, a constant feature; rbf, linear and polynomial kernels; C from 1e-3 to 1e5; with 40 %
of them sample weights, some 0; with 30 % of them groups that leave whole. Each is left out once along
paths, whose tableau covers all rows or only those within 0.25 or 0.01 of the margin, and is extended where
that does not do; kernel values are at hand, or recomputed; ends are verified 8 or more at a time. The
values are compared with `method="retrain"`, which solves every remaining problem from scratch. *Off* is the
difference relative to the largest value of the problem, at least 1. Values that are told to be inexact, or
whose intercept is not unique, are counted and not compared."""

FAR = 1e-6
NOT_COMPARED = ("inexact", "unstable")

# The attribute bayes_svm.leave_one_out is the function, so that the module has to be asked for by name.
path_module = importlib.import_module("bayes_svm.leave_one_out.path")
choice_module = importlib.import_module("bayes_svm.kernels.choice")


@dataclass(frozen=True)
class Problem:
    """Training data, the machine, what leaves, and the form in which the paths run."""

    X: np.ndarray
    y: np.ndarray
    svc: SVC
    options: dict[str, Any]
    form: dict[str, Any]
    all_at_once: int


def problem_of(seed: int) -> Problem:
    random = np.random.default_rng(seed)
    n, d = int(random.integers(20, 140)), int(random.choice([1, 2, 3, 8, 40]))
    X = random.normal(size=(n, d))
    shape = random.choice(["continuous", "grid", "repeated", "constant"], p=[0.4, 0.2, 0.2, 0.2])
    if shape == "grid":
        X = np.round(X)
    elif shape == "repeated":
        X = X[random.integers(0, max(3, n // 3), n)]
    elif shape == "constant":
        X[:, 0] = 1.0
    noise = random.choice([0.1, 1.0, 3.0])
    y = (X[:, 0] + 0.5 * X[:, -1] + noise * random.normal(size=n) > X[:, 0].mean()).astype(int)
    y[:3], y[3:6] = 0, 1
    kernel = str(random.choice(["rbf", "linear", "poly"], p=[0.6, 0.25, 0.15]))
    svc = SVC(C=10.0 ** random.uniform(-3, 5), kernel=kernel, gamma=10.0 ** random.uniform(-2, 1))
    options: dict[str, Any] = {}
    if random.random() < 0.4:
        weight = random.choice([0.0, 0.5, 1.0, 2.0, 3.3], n)
        weight[:6] = 1.0
        options["sample_weight"] = weight
    if random.random() < 0.3:
        options["groups"] = random.integers(0, max(4, n // 4), n)
    form = {
        "ALL_ROWS": int(random.choice([0, 300])),
        "NEAR": float(random.choice([0.25, 0.01])),
        "BATCH": int(random.choice([8, 96])),
        "CHANGES": int(random.choice([0, 80_000])),
    }
    return Problem(X, y, svc, options, form, int(random.choice([0, 10**6])))


def left_out(problem: Problem, method: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return leave_one_out(problem.svc, problem.X, problem.y, method=method, **problem.options)


def compared(seed: int) -> tuple[np.ndarray, Counter[str]]:
    """How far each value that is compared is off, and the number of each status."""
    problem = problem_of(seed)
    with (
        mock.patch.multiple(path_module, **problem.form),
        mock.patch.object(choice_module, "ALL_AT_ONCE", problem.all_at_once),
    ):
        path = left_out(problem, "path")
    anew = left_out(problem, "retrain")
    apart = np.isin(path.status, NOT_COMPARED) | np.isin(anew.status, NOT_COMPARED)
    scale = max(1.0, float(np.nanmax(np.abs(anew.decision_values))))
    off = np.abs(path.decision_values - anew.decision_values)[~apart] / scale
    assert np.isfinite(off).all(), f"seed {seed}: a value is missing"
    return off, Counter(path.status.tolist())


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--problems", type=int, default=1000, help="default: 1000")
    parser.add_argument("--first", type=int, default=0, help="first seed; default: 0")
    args = parse(parser)
    page = Page("validation.awkward", "Left-out values of awkward problems", ABOUT)
    total: Counter[str] = Counter()
    number, worst, far, refused = 0, 0.0, [], 0
    for seed in range(args.first, args.first + args.problems):
        try:
            off, statuses = compared(seed)
        except ValueError:  # groups or weights that leave no problem
            refused += 1
            continue
        total += statuses
        number += len(off)
        worst = max(worst, float(off.max(initial=0.0)))
        if off.max(initial=0.0) > FAR:
            far.append(seed)
            progress(f"seed {seed}: off by {off.max():.1e}")
    page.add(
        table(
            ("problems", "refused", "values compared", "worst off", f"problems off by more than {FAR:g}"),
            [(args.problems, refused, f"{number:,}", short(worst), len(far))],
        ),
        *([f"Seeds of these: {', '.join(map(str, far))}."] if far else []),
        "## Status of the values",
        table(("status", "values"), [(name, f"{count:,}") for name, count in total.most_common()]),
    )
    page.finish(args.output)


if __name__ == "__main__":
    main()

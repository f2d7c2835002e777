"""Class weights are costs: probabilities of weighted machines beside CalibratedClassifierCV's."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.metrics import recall_score
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from validation._common import Page, geometric_mean, parse, parser_for, table
from validation._common import progress as say
from validation._sets import CHOSEN_ON, IMBALANCED, Split, binary_set, drawn, log_loss_of, standardised

ABOUT = """\
`BayesSVC(class_weight="balanced")` beside `CalibratedClassifierCV(SVC(class_weight="balanced"),
ensemble=False)`, all else as it is by default but C, and the linear kernel where named; {draws} draws of
each. The first table is of `make_classification` (10 columns, 5 of them informative, no label flipped, the
classes overlap) with 1000 rows to learn from, 20,000 to test on, and the base rate as named. The second is
of the sets with a rare class: a half of the rows, at most 2000, to learn from.

Log loss is of test data, mean over the draws. *Left out* is the mean left-out probability of the rare
class less its share of the training rows; *test* its mean probability on test data less its share there:
means over the draws, with twice their standard error. Recall is that of `predict` on the rare class:
without class weights, with them, and of the `SVC` with them."""

RATES = (0.01, 0.03, 0.05)
KERNELS, PENALTIES = ("rbf", "linear"), (1.0, 10.0)
N_TRAIN, N_TEST = 1000, 20000
HEAD = (
    "log loss: CalibratedClassifierCV", "BayesSVC", "ratio", "left out, rate beside", "test, rate beside",
    "recall: unweighted", "BayesSVC", "SVC",
)  # fmt: skip


def synthetic(rate: float, seed: int) -> Split:
    """Exactly this share of rare rows to learn from and to test on."""
    X, y = make_classification(
        40 * (N_TRAIN + N_TEST) // 20, 10, n_informative=5, n_redundant=2, weights=[1 - 2 * rate], flip_y=0.0,
        class_sep=0.8, random_state=seed,
    )  # fmt: skip
    random = np.random.default_rng(seed)
    rare, others = (random.permutation(np.flatnonzero(y == label)) for label in (1, 0))
    few, rest = round(rate * N_TRAIN), round(rate * N_TEST)
    train = np.concatenate([rare[:few], others[: N_TRAIN - few]])
    test = np.concatenate([rare[few : few + rest], others[N_TRAIN - few :][: N_TEST - rest]])
    return standardised(X[train], y[train], X[test], y[test])


def real(data: str, name: str, seed: int) -> Split:
    return drawn(*binary_set(data, name), None, seed)


def one_case(split_of: Callable[[int], Split], kernel: str, C: float, seed: int) -> list[float]:
    """Log loss of the rival and of ours, both differences from the base rate, and the recalls."""
    X, y, X_test, y_test = split_of(seed)
    options: dict[str, Any] = {"C": C, "kernel": kernel}
    svc = SVC(**options, class_weight="balanced")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ours = BayesSVC(**options, leave_out_size=None, class_weight="balanced").fit(X, y)
        plain = BayesSVC(**options).fit(X, y)
        rival = CalibratedClassifierCV(svc, ensemble=False).fit(X, y)
        probability = ours.predict_proba(X_test)
        return [
            log_loss_of(rival.predict_proba(X_test), y_test),
            log_loss_of(probability, y_test),
            float(ours.left_out_proba_[:, 1].mean() - y.mean()),
            float(probability[:, 1].mean() - y_test.mean()),
            *(recall_score(y_test, model.fit(X, y).predict(X_test)) for model in (plain, ours, svc)),
        ]


def line(cases: list[list[float]]) -> tuple[list[str], np.ndarray]:
    """Cells of a setting, and its means: ratio, both differences."""
    found = np.array(cases)
    means = found.mean(axis=0)
    reach = 2.0 * found.std(axis=0, ddof=1) / np.sqrt(len(found))
    cells = [f"{means[0]:.4f}", f"{means[1]:.4f}", f"{means[1] / means[0]:.4f}"]
    cells += [f"{means[k]:+.4f} ± {reach[k]:.4f}" for k in (2, 3)]
    cells += [f"{value:.2f}" for value in means[4:]]
    return cells, np.array([means[1] / means[0], *means[2:4]])


def add_table(
    page: Page, args: argparse.Namespace, title: str, sources: dict[str, Callable[[int], Split]]
) -> None:
    settings = [(name, kernel, C) for name in sources for kernel in KERNELS for C in PENALTIES]
    cases = [(sources[name], kernel, C, seed) for name, kernel, C in settings for seed in range(args.draws)]
    found = Parallel(n_jobs=args.jobs)(delayed(one_case)(*case) for case in cases)
    rows, numbers = [], []
    for k, (name, kernel, C) in enumerate(settings):
        cells, means = line(found[k * args.draws : (k + 1) * args.draws])
        rows.append([f"{name}{', aside' * (name in IMBALANCED and name not in CHOSEN_ON)}", kernel, f"{C:g}"])
        rows[-1] += cells
        numbers.append(means)
    ratios, left_out, test = np.array(numbers).T
    page.add(
        f"## {title}",
        table(("set", "kernel", "C", *HEAD), rows, left=2),
        f"Ratio: geometric mean {geometric_mean(ratios):.4f}, worst {ratios.max():.4f}. Farthest from the "
        f"base rate: left out {np.abs(left_out).max():.4f}, test {np.abs(test).max():.4f}.",
    )
    say(f"{title}: done")


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--draws", type=int, default=20, metavar="N", help="of each; default: 20")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; default: 1")
    args = parse(parser)
    page = Page("validation.class_weights", "Class weights are costs", ABOUT.format(draws=args.draws))
    add_table(
        page, args, "Base rates of 1, 3 and 5 %", {f"{rate:.0%}": partial(synthetic, rate) for rate in RATES}
    )
    add_table(page, args, "Real sets", {name: partial(real, args.data, name) for name in IMBALANCED})
    page.finish(args.output)


if __name__ == "__main__":
    main()

"""Few rows, many columns: default probabilities beside CalibratedClassifierCV, accuracy beside SVC."""

from __future__ import annotations

import argparse
import warnings
from itertools import chain
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from validation._common import Page, geometric_mean, parse, parser_for, table
from validation._common import progress as say
from validation._sets import (
    GENES,
    LATER,
    WEB_PAIRS,
    Split,
    abstracts,
    cells,
    gaussian,
    genes,
    halves_of,
    log_loss_of,
    standardised,
    web,
)

ABOUT = """\
`BayesSVC(C=1)` with all its defaults beside `CalibratedClassifierCV(SVC(C=1), ensemble=False)`, and its
accuracy beside that of `SVC(C=1).predict`, where columns are many and rows are few; {splits} splits of
each. Kernels: rbf, linear, and `poly` of degree 3, with gamma and coef0 as they are.

* Gaussian: d normal columns, of which 30 have class means 0.7 deviations apart; positive + negative
  training rows as named, 1000 test rows of the same ratio.
* Gene expression (logarithms): halves, stratified; srbct has four classes.
* WebKB: 20 + 20 pages of two kinds to learn from, up to 1000 to test on; tf-idf. 40 + 40 where it says so.
* Ohsumed: abstracts on two kinds of diseases, as many to learn from as named; tf-idf.

*Scaled*: columns standardised by the training part. Every loss and accuracy is a mean over the splits.
*rows* is the same `BayesSVC` with `leave_out="rows"`. Choices were made on the Gaussian sets and those
named in `validation/_sets.py` (`CHOSEN_ON`); the other sets were put aside. When they were looked at,
leukemia was at 1.26 (linear) and 1.17 (rbf, unscaled) of `CalibratedClassifierCV`. That led to two
changes. A linear machine is not moderated: on the sets chosen on 0.984 instead of 0.987 of the rival. The
prior of the sigmoid's offset is twice as wide, for leukemia's sake: on the sets chosen on that is a draw.
With that prior 15 of the 102 settings were more than a point less accurate than SVC, by 5 points at worst.
So where columns outnumber rows the offset now stays at the machine's boundary, unless the rarer class uses
up its bounds (`bayes_svm.probability.calibration.offset_scale`). On the sets chosen on that costs 0.2 % of
log loss. But no set here judged it from outside: the factor of the imbalance was raised for leukemia's sake
and the least scale lowered for 40 + 40 pages of WebKB. For this rule *put aside* and *looked at last* are no
test.
*Fresh* was: four kinds of Ohsumed, looked at when everything was settled. Of 54 settings three were more than
a point less accurate than `SVC.predict`, in two of which all left-out values were on one side and the sigmoid
saturated before it came to the boundary: where it is held to it, it now does not. *Freshest*, four other
kinds, was looked at once, after that."""

SIZES = [(d, *rows) for d in (500, 2000, 5000) for rows in ((20, 20), (30, 30), (35, 25), (45, 15))]
KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {}, "linear": {"kernel": "linear"}, "cubic": {"kernel": "poly", "degree": 3},
}  # fmt: skip
WAYS = ("CalibratedClassifierCV", "BayesSVC", "rows")


def split_of(data: str, name: str, seed: int) -> Split:
    if name.startswith("Gaussian"):
        d, positive, negative = (int(part) for part in name.split()[1:])
        return gaussian(d, positive, negative, seed)
    if name.startswith("Ohsumed"):
        return abstracts(data, name, seed)
    if "/" in name and not name.startswith("srbct"):
        kinds, _, each = name.partition(" ")
        return web(data, *kinds.split("/"), seed, int(each or 20))
    X, y = genes(data, name.split()[0])
    if "/" in name:
        pair = np.isin(y, np.unique(y)[[int(k) for k in name.split()[1].split("/")]])
        X, y = X[pair], y[pair]
    numbers = np.unique(y, return_inverse=True)[1]
    train, test = next(StratifiedShuffleSplit(1, test_size=0.5, random_state=seed).split(X, numbers))
    return X[train], numbers[train], X[test], numbers[test]


def one_case(data: str, name: str, kernel: str, scaled: bool, seed: int) -> dict[str, tuple[float, float]]:
    """Log loss and accuracy on test data of every way; of SVC the accuracy alone."""
    split = split_of(data, name, seed)
    X, y, X_test, y_test = standardised(*split) if scaled else split
    options = KERNELS[kernel]
    models = {
        "CalibratedClassifierCV": CalibratedClassifierCV(SVC(**options), ensemble=False),
        "BayesSVC": BayesSVC(**options),
        "rows": BayesSVC(**options, leave_out="rows"),
    }
    found = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # values that do not separate are part of the subject
        for way, model in models.items():
            probability = model.fit(X, y).predict_proba(X_test)
            found[way] = log_loss_of(probability, y_test), float(np.mean(model.predict(X_test) == y_test))
        found["SVC"] = np.nan, float(np.mean(SVC(**options).fit(X, y).predict(X_test) == y_test))
    return found


def settings(names: list[str]) -> list[tuple[str, str, bool]]:
    """Set, kernel, scaled; Gaussian columns are scaled as they are."""
    return [
        (name, kernel, scaled)
        for name in names
        for kernel in KERNELS
        for scaled in ((True,) if name.startswith("Gaussian") else (True, False))
    ]


def title_of(setting: tuple[str, str, bool]) -> str:
    name, kernel, scaled = setting
    return f"{name}, {kernel}{'' if scaled else ', unscaled'}"


def means(results: dict, chosen: list[tuple[str, str, bool]], way: str) -> np.ndarray:
    return np.array([np.mean([one[way] for one in results[setting]], axis=0) for setting in chosen])


def summary(results: dict, names: list[str]) -> str:
    rows = []
    for part, sets in halves_of(names):
        chosen = [setting for setting in results if setting[0] in sets]
        if not chosen:
            continue
        rival, svc = means(results, chosen, WAYS[0])[:, 0], means(results, chosen, "SVC")[:, 1]
        titles = [title_of(setting) for setting in chosen]
        for way in WAYS[1:]:
            found = means(results, chosen, way)
            behind = 100.0 * (found[:, 1] - svc)
            rows.append(
                [
                    part,
                    way,
                    len(chosen),
                    *cells(found[:, 0] / rival, titles),
                    f"{behind.mean():+.2f}",
                    f"{behind.min():+.2f}",
                    titles[int(behind.argmin())],
                    int(np.sum(behind < -1.0)),
                ]
            )
    head = (
        "sets", "way", "settings", "log loss / CalibratedClassifierCV", "worst", "", "accuracy - SVC's",
        "worst", "", "more than a point below",
    )  # fmt: skip
    return table(head, rows, left=2)


def by_set(results: dict, names: list[str]) -> str:
    """Means over kernels and scalings, of every set."""
    rows = []
    for name in names:
        chosen = [setting for setting in results if setting[0] == name]
        rival, svc = means(results, chosen, WAYS[0])[:, 0], means(results, chosen, "SVC")[:, 1]
        found = means(results, chosen, "BayesSVC")
        ratio, behind = geometric_mean(found[:, 0] / rival), 100.0 * (found[:, 1] - svc)
        rows.append([name, f"{ratio:.3f}", f"{behind.mean():+.2f}", f"{behind.min():+.2f}"])
    return table(("set", "log loss / CalibratedClassifierCV", "accuracy - SVC's", "worst setting"), rows)


def lines(results: dict) -> str:
    rows = []
    for setting, cases in results.items():
        found = {way: np.mean([one[way] for one in cases], axis=0) for way in (*WAYS, "SVC")}
        rival = found[WAYS[0]]
        rows.append(
            [
                title_of(setting),
                *(f"{found[way][0]:.3f}" for way in WAYS),
                f"{found['BayesSVC'][0] / rival[0]:.3f}",
                *(f"{100 * found[way][1]:.1f}" for way in ("SVC", WAYS[0], "BayesSVC")),
            ]
        )
    head = (
        "set, kernel", "log loss: CalibratedClassifierCV", "BayesSVC", "rows", "ratio", "accuracy, %: SVC",
        "CalibratedClassifierCV", "BayesSVC",
    )  # fmt: skip
    return table(head, rows)


def all_cases(args: argparse.Namespace, names: list[str]) -> dict[tuple[str, str, bool], list]:
    chosen = settings(names)
    cases = [(*setting, seed) for setting in chosen for seed in range(args.splits)]
    found = Parallel(n_jobs=args.jobs)(delayed(one_case)(args.data, *case) for case in cases)
    return {
        setting: [one for case, one in zip(cases, found, strict=True) if case[:3] == setting]
        for setting in chosen
    }


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--splits", type=int, default=12, metavar="N", help="of each set; default: 12")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; default: 1")
    args = parse(parser)
    page = Page("validation.wide", "Few rows, many columns", ABOUT.format(splits=args.splits))
    names = [f"Gaussian {d} {positive} {negative}" for d, positive, negative in SIZES]
    names += [*GENES, *("/".join(pair) for pair in WEB_PAIRS), *chain(*LATER.values())]
    results = all_cases(args, names)
    say("all cases done")
    page.add(summary(results, names), "## Set by set", by_set(results, names))
    page.add("## Setting by setting", lines(results))
    page.finish(args.output)


if __name__ == "__main__":
    main()

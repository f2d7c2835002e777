"""What to leave out: strata, rows or folds, by log loss and by time; few members, several classes, groups."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.leave_one_out import read_machine
from bayes_svm.leave_one_out.cases import rows_alone, strata
from bayes_svm.leave_one_out.methods import Wanted
from validation._common import SETS, Page, first_split, geometric_mean, parse, parser_for, table
from validation._common import progress as say
from validation._sets import (
    CHOSEN_ON,
    IMBALANCED,
    MOST_TEST,
    Split,
    binary_set,
    drawn,
    gaussian,
    grouped_set,
    halves_of,
    log_loss_of,
    several_classes,
    standardised,
)

ABOUT = """\
A *stratum* is one member of the rarest class and its share of every other class: what is left has the class
ratio of the whole. `BayesSVC` leaves strata out by default; here beside single rows (`leave_out="rows"`) and
beside 10 and 5 exact folds, which are as many strata (`leave_out=10`, `leave_out=5`). Sets, sizes and draws
are those of `validation.moderation`: rbf kernel with gamma = 1/d, C = 1 and 10, standardised; a loss is the
mean over draws and both C, a table entry the geometric mean over sets of the ratio to
`CalibratedClassifierCV(SVC(), ensemble=False)`.

Every choice was made on the sets named in `validation/_sets.py` (`CHOSEN_ON`); the others were put aside."""

WAYS: dict[str, Any] = {"rows": "rows", "strata": "strata", "10 folds": 10, "5 folds": 5}
WIDE = ((2000, 30, 30), (5000, 30, 30), (2000, 35, 25), (5000, 35, 25))
RARE = (2, 3, 4, 5, 6, 8, 12)
SEVERAL = ("digits", "segmentation", "covtype", "vowel", "srbct")
# Members of each class, and of one that is rarer.
SIZES = ((20, 3), (20, 5), (20, 8), (6, 6), (12, 12), (30, 30))
GROUPED = ("parkinsons", "vowel_hid")

Key = tuple[Any, ...]


def fitted(model: Any, X: np.ndarray, y: np.ndarray, **params: Any) -> Any:
    """The fitted model; that values do not separate, or strata lack a class, is part of the subject."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y, **params)


def run(call: Callable[..., Any], cases: Sequence[Key], jobs: int) -> dict[Key, list[Any]]:
    """Results of the cases, whose last entry is a seed, by what comes before it."""
    found: dict[Key, list[Any]] = {}
    for case, result in zip(
        cases, Parallel(n_jobs=jobs)(delayed(call)(*case) for case in cases), strict=True
    ):
        found.setdefault(case[:-1], []).append(result)
    return found


# Time


def seconds(call: Callable[[], Any], repeats: int) -> float:
    found = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return min(found)


def times_of(X: np.ndarray, y: np.ndarray, C: float, repeats: int) -> list[float]:
    """Seconds of leaving out rows and strata, and of the whole fit with either."""
    options = {"C": C, "gamma": 1.0 / X.shape[1]}
    with threadpool_limits(1):
        machine, made = machine_of(SVC(**options), X, y)
        solutions = list(made)
        alone = [
            seconds(partial(read_machine, machine, solutions, leaving(machine), Wanted()), repeats)
            for leaving in (rows_alone, strata)
        ]
        whole = [
            seconds(partial(fitted, BayesSVC(**options, leave_out=way), X, y), repeats)
            for way in ("rows", "strata")
        ]
    return [*alone, *whole]


def add_time(page: Page, args: argparse.Namespace) -> None:
    rows, ratios = [], []
    for name in args.sets:
        X, y = first_split(args.data, name)
        for C in (1.0, 10.0):
            times = times_of(X, y, C, args.repeats)
            ratios.append((times[1] / times[0], times[3] / times[2]))
            rarer = min(np.sum(y > 0), np.sum(y <= 0))
            cells = [*(f"{1000 * one:.1f}" for one in times), *(f"{one:.2f}" for one in ratios[-1])]
            rows.append([name, f"{C:g}", len(y), rarer, *cells])
            say(f"{name}, C = {C:g}: {ratios[-1][1]:.2f}")
    means = (f"**{geometric_mean(column):.3f}**" for column in zip(*ratios, strict=True))
    rows.append(["geometric mean", *[""] * 7, *means])
    head = (
        "set", "C", "rows", "rarer class", "leaving out: rows, ms", "strata, ms", "whole fit: rows, ms",
        "strata, ms", "leaving out: strata / rows", "whole fit: strata / rows",
    )  # fmt: skip
    page.add("## Time", f"One thread, the best of {args.repeats}.", table(head, rows))


# Log loss


def losses(split: Split, options: dict[str, Any], ways: Iterable[Any]) -> list[float]:
    """Test log loss of every way, and of CalibratedClassifierCV last."""
    X, y, X_test, y_test = split
    models = [BayesSVC(**options, leave_out=way) for way in ways]
    models.append(CalibratedClassifierCV(SVC(**options), ensemble=False))
    return [log_loss_of(fitted(model, X, y).predict_proba(X_test), y_test) for model in models]


def binary_case(data: str, name: str, n: int | None, C: float, seed: int) -> list[float]:
    split = drawn(*binary_set(data, name), n, seed)
    return losses(split, {"C": C, "gamma": 1.0 / split[0].shape[1]}, WAYS.values())


def wide_case(d: int, positive: int, negative: int, seed: int) -> list[float]:
    return losses(gaussian(d, positive, negative, seed), {}, WAYS.values())


def per_set(results: dict[Key, list[Any]], names: Sequence[str]) -> np.ndarray:
    """Means over the cases of every set, which the keys begin with."""
    return np.array(
        [np.mean([one for key, found in results.items() if key[0] == name for one in found], axis=0)
         for name in names]
    )  # fmt: skip


def add_losses(page: Page, args: argparse.Namespace, names: list[str]) -> None:
    rows = []
    for n, draws in ((24, args.draws), (60, args.draws), (None, args.full)):
        cases = [(name, n, C, seed) for name in names for C in (1.0, 10.0) for seed in range(draws)]
        results = run(partial(binary_case, args.data), cases, args.jobs)
        for part, chosen in halves_of(names):
            if chosen:
                found = per_set(results, chosen)
                ratio = found[:, :-1] / found[:, -1:]
                rows.append([n or "full", part, len(chosen), *(f"{geometric_mean(r):.4f}" for r in ratio.T)])
        say(f"{n or 'full'}: done")
    page.add("## Log loss", table(("training rows", "sets", "", *WAYS), rows, left=2))
    rows = []
    cases = [(*size, seed) for size in WIDE for seed in range(args.draws)]
    for (d, positive, negative), found in run(wide_case, cases, args.jobs).items():
        means = np.mean(found, axis=0)
        rows.append([f"{d}, {positive} + {negative}", *(f"{value:.3f}" for value in means)])
    page.add(
        "Normal columns, of which 30 have class means 0.7 deviations apart; rbf kernel, defaults; log loss:",
        table(("columns, rows", *WAYS, "CalibratedClassifierCV"), rows),
    )


# Few members


def rare_split(data: str, name: str, n: int, rare: int, seed: int) -> tuple[Split, np.ndarray]:
    """``rare`` members of the rarer class among n rows; the test rows weigh as if they had that share."""
    X, y = binary_set(data, name)
    random = np.random.default_rng(seed)
    few, many = (random.permutation(np.flatnonzero(y == label)) for label in (1, 0))
    n = min(n, len(many) // 2)
    train = np.concatenate([few[:rare], many[: n - rare]])
    test = np.concatenate([few[rare:][: MOST_TEST // 3], many[n - rare :][: 2 * MOST_TEST // 3]])
    split = standardised(X[train], y[train], X[test], y[test])
    share = np.where(y[test] == 1, rare / n / np.mean(y[test]), (1 - rare / n) / np.mean(1 - y[test]))
    return split, share


def rare_case(data: str, name: str, n: int, rare: int, seed: int) -> list[float]:
    """Weighted test log loss of rows, as many strata as rare members, and ten; and of the base rate."""
    (X, y, X_test, y_test), weight = rare_split(data, name, n, rare, seed)
    found = []
    for way in ("rows", rare, 10):
        values = []
        for C in (1.0, 10.0):
            model = fitted(BayesSVC(C=C, gamma=1.0 / X.shape[1], leave_out=way, link="sigmoid"), X, y)
            own = model.predict_log_proba(X_test)[np.arange(len(y_test)), y_test]
            values.append(-np.average(own, weights=weight))
        found.append(float(np.mean(values)))
    share = y.mean()
    return [*found, float(-share * np.log(share) - (1 - share) * np.log(1 - share))]


def add_few(page: Page, args: argparse.Namespace, names: list[str]) -> None:
    rows = []
    for n, draws in ((40, args.draws), (200, args.full)):
        for rare in RARE:
            cases = [(name, n, rare, seed) for name in names for seed in range(draws)]
            results = run(partial(rare_case, args.data), cases, args.jobs)
            for part, chosen in halves_of(names)[1:]:
                if chosen:
                    found = per_set(results, chosen)
                    ratio = found[:, 1:] / found[:, :1]
                    rows.append([n, rare, part, *(f"{geometric_mean(r):.4f}" for r in ratio.T)])
        say(f"few members of {n}: done")
    head = (
        "training rows",
        "of the rarer class",
        "sets",
        "as many strata",
        "10 strata",
        "the base rate alone",
    )
    page.add(
        "## Few members of a class",
        "Log loss of the sigmoid on strata, relative to single rows. With two members of a class the base "
        "rate is returned whatever leaves, and there are ten strata: two would each hold half of the class. "
        "From three members on there is one stratum for each.",
        table(head, rows, left=3),
    )


# Several classes


def several_case(data: str, name: str, members: int, rare: int, seed: int) -> list[float]:
    """Test log loss, classes weighing as in training: rows, as many strata as the rarest has, default."""
    X, y = several_classes(data, name)
    random = np.random.default_rng(seed)
    rarest, train, test = random.integers(y.max() + 1), [], []
    for k in range(y.max() + 1):
        rows, size = random.permutation(np.flatnonzero(y == k)), rare if k == rarest else members
        train.append(rows[:size])
        test.append(rows[size : size + 100])
    rows = random.permutation(np.concatenate(train))
    split = standardised(X[rows], y[rows], X[np.concatenate(test)], y[np.concatenate(test)])
    X, y, X_test, y_test = split
    weight = (np.bincount(y) / np.bincount(y_test, minlength=y.max() + 1))[y_test]
    found = []
    for way in ("rows", int(np.bincount(y).min()), "strata"):
        model = fitted(BayesSVC(C=10.0, gamma=1.0 / X.shape[1], leave_out=way), X, y)
        own = model.predict_log_proba(X_test)[np.arange(len(y_test)), y_test]
        found.append(float(-np.average(own, weights=weight)))
    return found


def add_several(page: Page, args: argparse.Namespace) -> None:
    rows = []
    cases = [
        (name, *size, seed)
        for name in SEVERAL
        for size in (SIZES if name != "srbct" else ((8, 3), (8, 5), (8, 8)))
        for seed in range(args.full)
    ]
    for (name, members, rare), found in run(partial(several_case, args.data), cases, args.jobs).items():
        means = np.mean(found, axis=0)
        rows.append(
            [name, members, rare, f"{means[0]:.3f}", *(f"{value / means[0]:.4f}" for value in means[1:])]
        )
    say("several classes: done")
    head = (
        "set", "members of each class", "of one", "log loss of rows", "as many strata as it has",
        "ten at least",
    )  # fmt: skip
    page.add(
        "## Several classes",
        "Log loss relative to single rows. The default is as many strata as the rarest class has members, "
        "and ten at least.",
        table(head, rows),
    )


# Groups


def grouped_case(data: str, name: str, C: float, seed: int) -> list[float]:
    """Log loss and error, told and true, without groups and with them."""
    X, y, groups = grouped_set(data, name)
    random = np.random.default_rng(seed)
    names = random.permutation(np.unique(groups))
    own = [y[groups == one].mean() for one in names]
    kinds = [names[np.isclose(own, value)] for value in (0.0, 1.0)]
    if sum(map(len, kinds)) < len(names):  # groups of both labels
        kinds = [names]
    train = np.isin(groups, np.concatenate([kind[: 2 * len(kind) // 3] for kind in kinds]))
    X_train, y_train, X_test, y_test = standardised(X[train], y[train], X[~train], y[~train])
    found = []
    for given in (None, groups[train]):
        model = fitted(BayesSVC(C=C, gamma=1.0 / X.shape[1]), X_train, y_train, groups=given)
        found += [
            log_loss_of(model.left_out_proba_, y_train),
            log_loss_of(model.predict_proba(X_test), y_test),
            model.left_out_.error,
            float(np.mean(model.predict(X_test) != y_test)),
        ]
    return found


def add_groups(page: Page, args: argparse.Namespace) -> None:
    cases = [(name, C, seed) for name in GROUPED for C in (1.0, 10.0) for seed in range(args.draws)]
    rows = []
    for (name, C), found in run(partial(grouped_case, args.data), cases, args.jobs).items():
        means = np.mean(found, axis=0)
        for title, part in (("no", means[:4]), ("yes", means[4:])):
            cells = [f"{part[0]:.3f}", f"{part[1]:.3f}", f"{100 * part[2]:.1f} %", f"{100 * part[3]:.1f} %"]
            rows.append([name, f"{C:g}", title, *cells])
    head = ("set", "C", "groups given", "log loss told", "on new groups", "error told", "on new groups")
    page.add(
        "## Groups",
        f"Two thirds of the groups to learn from, the others to test on; means over {args.draws} draws. Left "
        "out whole, groups tell nearly what new groups show; rows of the same group give each other away.",
        table(head, rows),
    )


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--draws", type=int, default=10, metavar="N", help="of small parts; default: 10")
    parser.add_argument("--full", type=int, default=4, metavar="N", help="draws in full; default: 4")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="of every timing; default: 5")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; default: 1")
    args = parse(parser)
    if not (Path(args.data) / "grouped").is_dir():
        parser.error(f"{args.data} holds no grouped/")
    names = [*args.sets, *(IMBALANCED if set(args.sets) == set(SETS) else ())]
    page = Page("validation.strata", "What to leave out", ABOUT)
    add_time(page, args)
    add_losses(page, args, names)
    add_few(page, args, [name for name in names if name in CHOSEN_ON or name in IMBALANCED])
    add_several(page, args)
    add_groups(page, args)
    page.finish(args.output)


if __name__ == "__main__":
    main()

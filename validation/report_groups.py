"""The report of rows in groups: do its intervals hold the truth, and is noise called a signal?"""

from __future__ import annotations

import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from bayes_svm.report import model
from bayes_svm.report.content import make_report
from bayes_svm.report.evidence import share_interval
from bayes_svm.report.model import fit_table
from bayes_svm.report.record import Settings
from bayes_svm.report.tables.table import Table
from bayes_svm.report.words import clearly_below, informative
from validation._common import Page, parse, parser_for, progress, table
from validation._sets import grouped_set

ABOUT = """\
First the intervals alone: {draws} draws of groups with a share of their own each, from a beta distribution
with the correlation named, and of rows that come true with it. *Holds*: the share of the 95 % intervals of
`--groups` that contain the true share; *by rows*: the same of Wilson's interval, which takes rows for
independent. How far a correlation may be from the likeliest was chosen on the settings without a mark; those
put *aside* were written down afterwards, and looked at once. The distribution is that of the model. In the
last two lines it is not: one group in ten, or in thirty, is wrong on half of its rows and the others on one
in fifty. In a third of the draws there is no such group, and nothing tells of one.

Then the same where larger groups, or rows of larger weight (`--weights`), are wrong more often, or less. Half
of the groups are large, with shares of their own that have the correlation 0.2. *By rows* takes a row of
weight w for w rows. The settings without a mark were in sight when the rule was made.

Then tables of patients with two to seven rows each, four columns that hardly differ within a patient, and
45 % of the patients ill: of noise, and with two of the columns shifted by 1.2 standard deviations. How many
of {tables} reports say that the model clearly beats always the same answer, that it knows more than the
shares of the classes, or name one of the columns that are noise; and how many intervals of the error hold the
error on {test} new patients.

Last, the probabilities of the default mixture at rows of new groups, {draws_of} draws each. *By rows*: every
row counts in the links and in the choice of the settings. *As told*: rows count less if those of a group have
the same class more often than others, together as many as there are independent ones. *Sure*: of the rows
with a probability above 0.9, how many are of another class, and how many there should be. A row is one of a
group, its class that of the group or drawn by a share of the group's own; the columns are shifted by the
class, by the group and by chance. The rule was chosen among four on the settings without a mark."""
# Share, correlation within a group, groups, rows of each.
SETTINGS = (
    (0.3, 0.0, 10, 100), (0.3, 0.0, 30, 8), (0.1, 0.0, 100, 3), (0.02, 0.05, 40, 25), (0.2, 0.1, 60, 5),
    (0.05, 0.3, 10, 50), (0.05, 0.3, 20, 20), (0.3, 0.3, 6, 30), (0.3, 0.3, 3, 30), (0.03, 0.5, 30, 30),
    (0.5, 0.9, 24, 15), (0.5, 1.0, 24, 15),
)  # fmt: skip
ASIDE = (
    (0.15, 0.2, 15, 12), (0.5, 0.05, 50, 10), (0.08, 0.7, 40, 6), (0.02, 0.4, 60, 10), (0.4, 0.6, 8, 25),
    (0.9, 0.15, 12, 60),
)  # fmt: skip
BAD = ((10, 40), (30, 40))
# Groups, rows of a small and of a large one, and how often each is wrong.
SIZES = ((30, 1, 9, 0.1, 0.3), (100, 1, 9, 0.1, 0.3), (300, 1, 9, 0.1, 0.3), (300, 1, 9, 0.3, 0.1))
SIZES_ASIDE = ((60, 2, 20, 0.05, 0.25), (200, 3, 12, 0.4, 0.15))
# Rows, the weight of a heavy one, the share of these, and how often a light and a heavy one are wrong.
WEIGHTS = (
    (500, 9, 0.5, 0.2, 0.2), (1000, 3, 0.5, 0.1, 0.3), (1000, 10, 0.1, 0.1, 0.4), (3000, 4, 0.5, 0.3, 0.15),
)  # fmt: skip
WEIGHTS_ASIDE = ((150, 20, 0.05, 0.3, 0.1), (200, 5, 0.3, 0.05, 0.2))
TABLES = ((24, 0.0), (60, 0.0), (60, 1.2), (120, 1.2))
N_TEST = 400
# Groups, rows of each at least and at most, columns, shift by the class, deviations of groups and of rows;
# standard deviation of the log-odds of the groups' own shares, None for one class in each group; whether the
# first column is shifted up in one half of the groups and down in the other.
GROUPED = {
    "12 patients": (12, 2, 7, 4, 1.2, 1.0, 0.3, None, False),
    "24 patients": (24, 2, 7, 4, 1.2, 1.0, 0.3, None, False),
    "24 patients, noise": (24, 2, 7, 4, 0.0, 1.0, 0.3, None, False),
    "24 patients, easy": (24, 2, 7, 4, 2.0, 1.0, 0.3, None, False),
    "60 patients": (60, 2, 7, 4, 1.2, 1.0, 0.3, None, False),
    "10 patients, 50 rows each": (10, 50, 50, 4, 1.2, 0.8, 0.6, None, False),
    "24 patients, 30 cells each, which are independent": (24, 30, 30, 4, 0.6, 0.0, 1.0, None, False),
    "24 patients, 30 cells each": (24, 30, 30, 4, 0.8, 0.5, 1.0, None, False),
    "8 hospitals": (8, 60, 60, 4, 1.0, 0.2, 1.0, 0.7, False),
    "20 persons, both classes in each": (20, 20, 20, 4, 1.2, 1.0, 0.5, 0.0, False),
}
GROUPED_ASIDE = {
    "8 patients": (8, 5, 5, 3, 1.5, 1.0, 0.4, None, False),
    "16 patients": (16, 3, 10, 10, 1.0, 0.5, 0.8, None, False),
    "40 patients, curved": (40, 8, 8, 4, 1.0, 0.3, 1.0, None, True),
    "100 patients, curved": (100, 4, 4, 8, 0.8, 1.0, 0.5, None, True),
    "15 hospitals, curved": (15, 30, 30, 6, 0.8, 0.3, 1.0, 1.0, True),
    "30 persons, curved": (30, 15, 15, 5, 1.2, 0.6, 0.8, 0.5, True),
}
# Of such shares of the first class; new rows; what counts as sure.
ILL, N_NEW, SURE = 0.45, 2000, 0.9


def own_shares(rng: np.random.Generator, share: float, alike: float, n: int) -> np.ndarray:
    """Share of each of n groups."""
    if alike == 0.0:
        return np.full(n, share)
    if alike == 1.0:
        return (rng.random(n) < share).astype(float)
    return rng.beta(share * (1 - alike) / alike, (1 - share) * (1 - alike) / alike, size=n)


def held(rng: np.random.Generator, own: np.ndarray, truth: float, size: int) -> tuple[bool, bool, float]:
    """Whether the interval of the groups, and that of the rows, holds the truth; the width of the first."""
    groups = np.repeat(np.arange(len(own)), size)
    part = (rng.random(len(groups)) < own[groups]).astype(float)
    return both_hold(part, np.ones(len(part)), groups, truth)


def both_hold(
    part: np.ndarray, whole: np.ndarray, groups: np.ndarray, truth: float
) -> tuple[bool, bool, float]:
    """The same of rows that are drawn."""
    low, high = share_interval(part, whole, groups)
    lowest, highest = share_interval(part, whole, None)
    return low <= truth <= high, lowest <= truth <= highest, high - low


def coverage(n_draws: int) -> str:
    """A line for each setting."""
    rng, lines = np.random.default_rng(0), []
    for share, alike, n, size in (*SETTINGS, *ASIDE):
        aside = "aside" if (share, alike, n, size) in ASIDE else ""
        found = [held(rng, own_shares(rng, share, alike, n), share, size) for _ in range(n_draws)]
        lines.append([f"{share:g}", f"{alike:g}", aside, str(n), str(size), *shown(found)])
        progress(f"share {share}, correlation {alike}: done")
    for n, size in BAD:
        truth = (0.5 + (n - 1) * 0.02) / n
        found = []
        for _ in range(n_draws):
            own = np.where(rng.random(n) < 1 / n, 0.5, 0.02)
            found.append(held(rng, own, truth, size))
        lines.append([f"{truth:.3f}", f"one bad group of {n}", "", str(n), str(size), *shown(found)])
    names = ("share", "correlation", "", "groups", "rows of each", "holds, %", "by rows, %", "mean width")
    return table(names, lines)


def uneven(n_draws: int) -> str:
    """A line for each setting in which errors go with the size of a group, or with the weight of a row."""
    rng, lines = np.random.default_rng(1), []
    for setting in (*SIZES, *SIZES_ASIDE):
        n, small, large, light, heavy = setting
        truth, found = (small * light + large * heavy) / (small + large), []
        for _ in range(n_draws):
            size = np.where(rng.random(n) < 0.5, large, small)
            mean = np.where(size == large, heavy, light)
            groups = np.repeat(np.arange(n), size)
            part = (rng.random(len(groups)) < rng.beta(4 * mean, 4 * (1 - mean))[groups]).astype(float)
            found.append(both_hold(part, np.ones(len(part)), groups, truth))
        name = f"{n} groups of {small} and {large} rows"
        lines.append(
            [name, f"{light:g}, {heavy:g}", "aside" if setting in SIZES_ASIDE else "", *shown(found)]
        )
    for setting in (*WEIGHTS, *WEIGHTS_ASIDE):
        n, weight, share, light, heavy = setting
        truth, found = ((1 - share) * light + share * weight * heavy) / (1 - share + share * weight), []
        for _ in range(n_draws):
            whole = np.where(rng.random(n) < share, float(weight), 1.0)
            part = whole * (rng.random(n) < np.where(whole > 1.0, heavy, light))
            found.append(both_hold(part, whole, np.arange(n), truth))
        name = f"{n} rows, {100 * share:g} % of weight {weight}"
        lines.append(
            [name, f"{light:g}, {heavy:g}", "aside" if setting in WEIGHTS_ASIDE else "", *shown(found)]
        )
    return table(("what", "wrong", "", "holds, %", "by rows, %", "mean width"), lines, left=3)


def shown(found: list[tuple[bool, bool, float]]) -> list[str]:
    holds, by_rows, width = np.mean(found, axis=0)
    return [f"{100 * holds:.0f}", f"{100 * by_rows:.0f}", f"{width:.3f}"]


def patients(rng: np.random.Generator, n: int, shift: float) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Columns, labels and patients of the rows."""
    ill, visits = rng.random(n) < 0.45, rng.integers(2, 8, n)
    of_patient = rng.normal(size=(n, 4)) + shift * np.outer(ill, [1, 1, 0, 0])
    patient = np.repeat(np.arange(n), visits)
    values = of_patient[patient] + 0.3 * rng.normal(size=(len(patient), 4))
    return pd.DataFrame(values, columns=list("abcd")), np.where(ill, "ill", "well")[patient], patient


def judged(seed: int, n: int, shift: float) -> tuple[bool, bool, bool, bool]:
    """What one report says."""
    rng = np.random.default_rng(seed)
    frame, labels, patient = patients(rng, n, shift)
    fitted = fit_table(Table("patients.csv", "diagnosis", frame, labels, groups=patient), Settings())
    report = make_report(fitted)
    new, truth, _ = patients(rng, N_TEST, shift)
    X = np.ascontiguousarray(fitted.transformer.transform(new), dtype=float)
    true_error = float(np.mean(fitted.estimator.predict(X) != truth))
    error, knows = report.performance.error, informative(report)
    noise = {"c", "d"} if shift else set("abcd")
    return (
        clearly_below(error, report.base_error),
        knows,
        knows and bool(noise & set(report.importance.clear)),
        error.low <= true_error <= error.high,
    )


Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def grouped_rows(rng: np.random.Generator, n: int, setting: tuple) -> Rows:
    """Columns, classes and groups of the rows of n groups."""
    _, least, most, d, shift, of_group, of_row, own_share, curved = setting
    group = np.repeat(np.arange(n), rng.integers(least, most + 1, n))
    if own_share is None:
        ill = (rng.random(n) < ILL)[group]
    else:
        ill = rng.random(len(group)) < expit(logit(ILL) + own_share * rng.normal(size=n))[group]
    X = of_group * rng.normal(size=(n, d))[group] + of_row * rng.normal(size=(len(group), d))
    X[:, 0] += shift * ill * (np.where(rng.random(n) < 0.5, 1.0, -1.0)[group] if curved else 1.0)
    X[:, 1] += shift * ill
    return X, np.where(ill, "ill", "well"), group


def simulated(setting: tuple, seed: int) -> tuple[Rows, Rows]:
    """Training rows, of which each class is in two groups at least, and rows of new groups."""
    rng = np.random.default_rng(seed)
    while True:
        X, labels, group = grouped_rows(rng, setting[0], setting)
        if all(len(np.unique(group[labels == one])) > 1 for one in ("ill", "well")):
            return (X, labels, group), grouped_rows(rng, max(300, N_NEW // setting[1]), setting)


def halves(data: str, seed: int) -> tuple[Rows, Rows]:
    """The recordings of half of the speakers of each class, and those of the others."""
    X, y, group = grouped_set(data, "parkinsons")
    rng, speakers = np.random.default_rng(seed), np.unique(group)
    ill = np.array([y[group == one].max() > y.min() for one in speakers])
    some = [rng.permutation(speakers[ill == kind]) for kind in (True, False)]
    training = np.isin(group, np.concatenate([one[: len(one) // 2] for one in some]))
    labels = np.where(y > y.min(), "ill", "well")
    return tuple((X[part], labels[part], group[part]) for part in (training, ~training))  # type: ignore[return-value]


def probabilities_at(rows: Rows, new: Rows) -> tuple[float, ...]:
    """Log loss and error at the new rows; of the sure ones how many are wrong and should be."""
    X, labels, group = rows
    names = [f"x{k}" for k in range(X.shape[1])]
    fitted = fit_table(
        Table("rows.csv", "class", pd.DataFrame(X, columns=names), labels, groups=group), Settings()
    )
    features = np.ascontiguousarray(
        fitted.transformer.transform(pd.DataFrame(new[0], columns=names)), dtype=float
    )
    proba, truth = fitted.estimator.predict_proba(features), np.searchsorted(fitted.classes, new[1])
    wrong, largest = proba.argmax(axis=1) != truth, proba.max(axis=1)
    sure = largest > SURE
    return log_loss(truth, proba), wrong.mean(), wrong[sure].sum(), (1.0 - largest[sure]).sum(), sure.sum()


def by_rows_and_as_told(name: str, mark: str, draws: list[tuple[Rows, Rows]]) -> list[str]:
    """A line of the last table."""
    with patch.object(model, "ALL_COUNT", 0.0):
        by_rows = np.array([probabilities_at(*one) for one in draws])
    told = np.array([probabilities_at(*one) for one in draws])
    progress(f"{name}: done")
    better = f"{np.sum(told[:, 0] < by_rows[:, 0])}, {np.sum(told[:, 0] > by_rows[:, 0])}"
    sure = [
        f"{100 * one[:, k].sum() / max(1, one[:, 4].sum()):.0f}" for one in (by_rows, told) for k in (2, 3)
    ]
    return [
        name, mark, *(f"{one[:, 0].mean():.3f}" for one in (by_rows, told)), better,
        *(f"{100 * one[:, 1].mean():.1f}" for one in (by_rows, told)),
        f"{sure[0]}, {sure[1]}", f"{sure[2]}, {sure[3]}",
    ]  # fmt: skip


def new_groups(data: str, n_draws: int) -> str:
    """How good probabilities are at rows of new groups."""
    lines = [
        by_rows_and_as_told(name, mark, [simulated(setting, seed) for seed in range(n_draws)])
        for mark, settings in (("", GROUPED), ("aside", GROUPED_ASIDE))
        for name, setting in settings.items()
    ]
    lines.append(
        by_rows_and_as_told(
            "parkinsons, recordings of 16 speakers", "aside", [halves(data, seed) for seed in range(n_draws)]
        )
    )
    names = (
        "rows", "", "log loss by rows", "as told", "better, worse", "error by rows, %", "as told",
        "sure by rows: wrong, expected, %", "as told",
    )  # fmt: skip
    return table(names, lines)


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument(
        "--new", type=int, default=20, metavar="N", help="draws of the last table; default: 20"
    )
    parser.add_argument("--draws", type=int, default=300, metavar="N", help="of each setting; default: 300")
    parser.add_argument("--tables", type=int, default=30, metavar="N", help="of each kind; default: 30")
    args = parse(parser)
    about = ABOUT.format(draws=args.draws, tables=args.tables, test=N_TEST, draws_of=args.new)
    page = Page("validation.report_groups", "The report of rows in groups", about)
    page.add("## Intervals of a share", coverage(args.draws))
    page.add("## Where errors go with the size of a group, or with the weight", uneven(args.draws))
    names = ("patients", "table", "clearly beats", "knows more", "names noise", "error held")
    lines = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for n, shift in TABLES:
            said = np.sum([judged(seed, n, shift) for seed in range(args.tables)], axis=0)
            lines.append([str(n), "signal" if shift else "noise", *map(str, said.tolist())])
            progress(f"{n} patients: done")
        page.add(f"## What {args.tables} reports say", table(names, lines))
        page.add("## Probabilities at rows of new groups", new_groups(args.data, args.new))
    page.finish(args.output)


if __name__ == "__main__":
    main()

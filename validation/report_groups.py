"""The report of rows in groups: do its intervals hold the truth, and is noise called a signal?"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from bayes_svm.report.content import make_report
from bayes_svm.report.evidence import share_interval
from bayes_svm.report.model import fit_table
from bayes_svm.report.record import Settings
from bayes_svm.report.tables.table import Table
from bayes_svm.report.words import clearly_below, informative
from validation._common import Page, progress, table

ABOUT = """\
First the intervals alone: {draws} draws of groups with a share of their own each, from a beta distribution
with the correlation named, and of rows that come true with it. *Holds*: the share of the 95 % intervals of
`--groups` that contain the true share; *by rows*: the same of Wilson's interval, which takes rows for
independent. How far a correlation may be from the likeliest was chosen on the settings without a mark; those
put *aside* were written down afterwards, and looked at once. The distribution is that of the model. In the
last two lines it is not: one group in ten, or in thirty, is wrong on half of its rows and the others on one
in fifty. In a third of the draws there is no such group, and nothing tells of one.

Then tables of patients with two to seven rows each, four columns that hardly differ within a patient, and
45 % of the patients ill: of noise, and with two of the columns shifted by 1.2 standard deviations. How many
of {tables} reports say that the model clearly beats always the same answer, that it knows more than the
shares of the classes, or name one of the columns that are noise; and how many intervals of the error hold the
error on {test} new patients."""
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
TABLES = ((24, 0.0), (60, 0.0), (60, 1.2), (120, 1.2))
N_TEST = 400


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
    part, whole = (rng.random(len(groups)) < own[groups]).astype(float), np.ones(len(groups))
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", metavar="FILE", help="write the page to this file too")
    parser.add_argument("--data", metavar="DIR", help="not used: all is simulated")
    parser.add_argument("--draws", type=int, default=300, metavar="N", help="of each setting; default: 300")
    parser.add_argument("--tables", type=int, default=30, metavar="N", help="of each kind; default: 30")
    args = parser.parse_args()
    about = ABOUT.format(draws=args.draws, tables=args.tables, test=N_TEST)
    page = Page("validation.report_groups", "The report of rows in groups", about)
    page.add("## Intervals of a share", coverage(args.draws))
    lines = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for n, shift in TABLES:
            said = np.sum([judged(seed, n, shift) for seed in range(args.tables)], axis=0)
            lines.append([str(n), "signal" if shift else "noise", *map(str, said.tolist())])
            progress(f"{n} patients: done")
    names = ("patients", "table", "clearly beats", "knows more", "names noise", "error held")
    page.add(f"## What {args.tables} reports say", table(names, lines))
    page.finish(args.output)


if __name__ == "__main__":
    main()

"""Tables whose classes have nothing to do with their columns: how often the report says otherwise."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import binomtest
from threadpoolctl import threadpool_limits

from bayes_svm.metrics.confusion import Confusion
from bayes_svm.report.content import make_report
from bayes_svm.report.model import fit_table
from bayes_svm.report.performance import performance
from bayes_svm.report.record import Settings
from bayes_svm.report.tables.table import Table
from bayes_svm.report.words import clearly_below
from validation._common import Page
from validation._common import table as as_table

__all__ = ["add_noise"]

ABOUT = """\
Normal columns, and classes that do not depend on them: {tables} tables, {each} of each number of rows
(60, 120, 300), of columns (5, 20) and share of the rarer class (50, 30 %). *Interval*: tables whose 95 %
interval of the error lies wholly below the error of always answering the larger class; for independent rows
that would be 2.5 %. *Clear*: tables of which the report says that the model clearly beats that answer.
*Column*: tables of which a column is clear of chance, at most 5 % by design; the report says so only where
the model as a whole knows more than the shares of the classes. In brackets the exact 95 % interval of the
share.

Left-out answers are not independent where the columns say nothing. Of two rows that are alike, each is right
about the other, or both are wrong, so the error of equal classes has about twice the variance of independent
rows, and their intervals lie wholly below more often, of the mixture and of one machine alike. *Spread* is
the root mean square of the error less that of the larger class, in standard deviations of independent rows.
The report calls an error clearly lower only where an interval wider by the root of two lies below, and a
column clear of chance only by standard errors that are wider as much."""

SIZES, COLUMNS, SHARES = (60, 120, 300), (5, 20), (0.5, 0.3)
Case = tuple[int, int, float, int]  # rows, columns, share of the rarer class, seed


def one_table(case: Case) -> list[list[float]]:
    """Of the mixture and of one machine: the error, whether its interval is below, whether clearly, and
    whether a column is clear of chance.
    """
    n, d, share, seed = case
    random = np.random.default_rng([seed, n, d, round(100 * share)])
    columns = {f"x{k}": random.normal(size=n) for k in range(d)}
    y = random.permutation((np.arange(n) < round(share * n)).astype(int))
    read = Table("noise", "class", pd.DataFrame(columns), y)
    found = []
    for quick in (False, True):
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted = fit_table(read, Settings(quick=quick))
            named = bool(make_report(fitted).importance.clear)
        wrong = fitted.predicted != y
        right = Confusion.from_decisions(np.ones(n), np.where(wrong, -1.0, 1.0))
        error = performance("", (right,)).error
        found.append([error.value, error.high < y.mean(), clearly_below(error, float(y.mean())), named])
    return found


def share_of(some: np.ndarray) -> str:
    """A count, and the interval of its share in per cent."""
    interval = binomtest(int(some.sum()), len(some)).proportion_ci()
    return f"{int(some.sum())} of {len(some)} ({100 * interval.low:.1f} to {100 * interval.high:.1f} %)"


def add_noise(page: Page, each: int, first: int, jobs: int) -> None:
    """Add the part on noise to a page.

    Parameters
    ----------
    page : Page
        The page.
    each : int
        Number of tables of each kind.
    first : int
        Seed of the first of them.
    jobs : int
        Number of processes.
    """
    cases = [(n, d, p, first + k) for p in SHARES for n in SIZES for d in COLUMNS for k in range(each)]
    found = np.array(Parallel(n_jobs=jobs)(delayed(one_table)(case) for case in cases))
    rows, d, shares, _ = np.array(cases).T
    kinds = [("all", rows > 0)]
    kinds += [(f"classes {100 - 100 * p:.0f} : {100 * p:.0f}", shares == p) for p in SHARES]
    kinds += [(f"{n} rows", rows == n) for n in SIZES] + [(f"{k} columns", d == k) for k in COLUMNS]
    for way, title in enumerate(("mixture (default)", "one machine (--quick)")):
        error, below, clear, named = found[:, way].T
        independent = np.sqrt(shares * (1.0 - shares) / rows)
        lines = [
            [
                kind,
                share_of(below[some]),
                share_of(clear[some]),
                share_of(named[some]),
                f"{100 * (error - shares)[some].mean():+.1f}",
                f"{np.sqrt(np.mean(((error - shares) / independent)[some] ** 2)):.2f}",
            ]
            for kind, some in kinds
        ]
        head = (
            "tables",
            "interval",
            "clear",
            "column",
            "error less that of the larger class, points",
            "spread",
        )
        about = ABOUT.format(tables=len(cases), each=each) if way == 0 else ""
        page.add(f"## Noise: {title}", *([about] if about else []), as_table(head, lines))

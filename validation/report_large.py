"""The report's default on large tables: settings first tried on a part of the rows, beside all settings."""

from __future__ import annotations

import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from bayes_svm.report.model import fit_table
from bayes_svm.report.record import Settings
from bayes_svm.report.tables.table import Table
from validation._common import Page, parse, parser_for, progress, table
from validation._sets import binary_set, several_classes
from validation.report_default import losses

ABOUT = """\
From 4000 rows on, the settings of the mixture are first tried on half of the rows, and on a quarter. Those
that are clearly worse there, do not come nearer with more rows, and are of no use in the mixture of half of
the rows are not tried on all. Of each of these tables {rows} rows are drawn, or all but 1000 if that is less,
{draws} times, and both the mixture of what remains and that of all settings are fitted to them, on one
thread. *Told* is what the report says, *true* is measured on up to {test} other rows. The rule was chosen on
the tables without a mark; those put aside were named before they were looked at. *Made* are tables of
`make_classification`, 8 of whose columns are informative, with a fifth of the labels drawn at random: of 20
columns, of 60, and of three classes. *Waves* is one of eight normal columns whose classes depend on the sine
of one, a product of two and a sum of all, and on noise."""

CHOSEN = ("banana", "waveform", "satimage_4", "covtype", "made", "waves")
ASIDE = ("ringnorm", "twonorm", "letter_Z", "optdigits", "made with 60 columns", "made of three classes")
HEAD = (
    "error told, %", "true", "all settings told", "true",
    "log loss told", "true", "all settings told", "true",
    "seconds", "all settings", "tried on all rows",
)  # fmt: skip
SEVERAL = ("covtype", "optdigits")
N_TEST = 4000


def waves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns, and classes that depend on them smoothly."""
    rng = np.random.default_rng(seed)
    X, direction = rng.normal(size=(n, 8)), rng.normal(size=8)
    value = 1.5 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X @ direction
    return X, (value + rng.uniform(0.3, 2) * rng.normal(size=n) > rng.uniform(0, 2.5)).astype(int)


def drawn(data: str, name: str, n: int, seed: int) -> tuple[Table, pd.DataFrame, np.ndarray]:
    """A table of n rows, the columns of other rows and their classes."""
    if name.startswith("made"):
        more = {"n_features": 60} if "60" in name else {"n_classes": 3} if "three" in name else {}
        X, y = make_classification(n + N_TEST, n_informative=8, flip_y=0.2, random_state=seed, **more)
    elif name == "waves":
        X, y = waves(n + N_TEST, seed)
    elif name in SEVERAL:
        X, y = several_classes(data, name)
    else:
        X, y = binary_set(data, name)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    n = min(n, len(y) - 1000)
    kept, others, y, y_others = train_test_split(frame, y, train_size=n, stratify=y, random_state=seed)
    return Table(name, "class", kept.reset_index(drop=True), y), others[:N_TEST], y_others[:N_TEST]


def both(data: str, name: str, n: int, seed: int) -> np.ndarray:
    """Of either way the losses, told and true, the seconds, and the number of settings tried on all rows."""
    read, others, y = drawn(data, name, n, seed)
    found = []
    for few in (True, False):
        with patch("bayes_svm.report.screening.LARGE", 4000 if few else np.inf):
            fitted = fit_table(read, Settings())
        tried = len(fitted.estimator.cv_results_["params"])
        found.append([*losses(fitted, others, y), fitted.seconds, tried])
    return np.array(found)


def cells(mean: np.ndarray) -> list[str]:
    """Told and true error and log loss of both ways, seconds and settings."""
    errors = [f"{mean[way, k]:.2f}" for way in (0, 1) for k in (0, 2)]
    logs = [f"{mean[way, k]:.4f}" for way in (0, 1) for k in (1, 3)]
    return [*errors, *logs, *(f"{mean[way, 4]:.1f}" for way in (0, 1)), f"{mean[0, 5]:.1f}, {mean[1, 5]:.0f}"]


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--rows", type=int, default=5000, metavar="N", help="of each table; default: 5000")
    parser.add_argument("--draws", type=int, default=2, metavar="N", help="of each table; default: 2")
    parser.add_argument("--tables", metavar="A,B", help="only these; default: all")
    args = parse(parser)
    about = ABOUT.format(rows=args.rows, draws=args.draws, test=N_TEST)
    page = Page("validation.report_large", "The report's default on large tables", about)
    names = args.tables.split(",") if args.tables else [*CHOSEN, *ASIDE]
    means = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name in names:
            means[name] = np.mean([both(args.data, name, args.rows, k) for k in range(args.draws)], axis=0)
            progress(f"{name}: {' '.join(cells(means[name]))}")
    chosen, aside = ([name for name in names if name in part] for part in (CHOSEN, ASIDE))
    lines = [[name, "aside" if name in aside else "", *cells(means[name])] for name in names]
    for of_part, what in ((chosen, "those not put aside"), (aside, "those put aside")):
        if of_part:
            mean = np.mean([means[name] for name in of_part], axis=0)
            lines.append([f"**mean of {what}**", "", *cells(mean)])
    page.add(table(("table", "", *HEAD), lines, left=2))
    page.finish(args.output)


if __name__ == "__main__":
    main()

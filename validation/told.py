"""One error rate: what the estimator, the report, `bayes-svm loo` and the plots tell, and what is true."""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import tempfile
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC, leave_one_out
from bayes_svm.plots import LeaveOneOutDisplay
from bayes_svm.report.cli import main as command
from bayes_svm.report.content import make_report
from bayes_svm.report.model import FittedTable, features_of, fit_table
from bayes_svm.report.record import Settings
from bayes_svm.report.render import to_html, to_json
from bayes_svm.report.tables.features import feature_transformer
from bayes_svm.report.tables.reading import read_table
from bayes_svm.report.terminal import to_text
from validation._common import SETS, Page, parse, parser_for, table
from validation._common import progress as say
from validation._noise import add_noise
from validation._sets import (
    CHOSEN_ON,
    IMBALANCED,
    binary_set,
    drawn,
    halves_of,
    several_classes,
)

ABOUT = """\
The error that is told is that of what `predict` returns, for each row by the machine without the row's
stratum. The first table tells the error of one table of data in every place that tells the report's default:
the mixture's estimator, `BayesSVCSearch` with the report's grid, and the report itself. The second tells that
of one machine, `--quick`, and of what is compared with it (named so in the report): the row left out alone,
the sign's error, and for several classes the average over one class against the rest.

The next set what is told beside what is true: `left_out_.error` of `BayesSVC(C=C)`, C = 1 and 10, and the
error of its `predict` on test data, as means over {few} draws ({full} in full); training parts of 60 and 200
rows, and of a half of the rows up to 2000, columns standardised. Test rows weigh so that the classes are as
frequent as in training. *Off*: told less true, in points.

The last two say how often noise seems to be more than that."""

OF_REPORT = ("report, JSON", "report, page", "report, printed")
OF_MIXTURE = ("estimator", *OF_REPORT, "true")
OF_MACHINE = ("estimator", *OF_REPORT, "loo, printed", "loo, rows", "plot", "true")
ROUNDED = {"report, page": 5e-4, "report, printed": 5e-4, "loo, printed": 5e-5}
BESIDE = ("rows alone", "signs", "one against the rest")
SEVERAL = ("digits", "segmentation", "covtype", "srbct", "vowel")
N_OVERLAPPING, N_TOLD, N_TEST = 150, 300, 20000


def overlapping(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Five classes of unequal size around a circle, whose neighbours overlap."""
    random = np.random.default_rng(seed)
    y = random.choice(5, size=n, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    return 1.6 * np.column_stack([np.cos(1.26 * y), np.sin(1.26 * y)]) + random.normal(size=(n, 2)), y


def parts_of(data: str, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """At most 300 rows of a set to tell the error of, and the other rows."""
    if name == "five classes":
        return (*overlapping(N_OVERLAPPING, 0), *overlapping(N_TEST, 1))
    X, y = several_classes(data, name) if name in SEVERAL else binary_set(data, name)
    order = np.random.default_rng(0).permutation(len(y))
    n = min(N_TOLD, 2 * len(y) // 3)
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def write_table(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{k}" for k in range(X.shape[1])), "class"])
        writer.writerows([*(f"{value:.17g}" for value in x), f"c{k}"] for x, k in zip(X, y, strict=True))


def report_tells(fitted: FittedTable) -> dict[str, float]:
    """The error that the report of a table tells, in both its forms and on the terminal."""
    report = make_report(fitted)
    found, shown, printed = json.loads(to_json(report)), to_html(report, ""), to_text(report)
    return {
        "report, JSON": found["performance"]["error"]["value"],
        "report, page": float(re.findall(r'"figure-number">([0-9.]+)', shown)[0]) / 100,
        "report, printed": float(re.findall(r"left out +([0-9.]+) %", printed)[0]) / 100,
    }


def loo_tells(path: Path) -> dict[str, float]:
    """The error that `bayes-svm loo` tells of a table."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        if command(["loo", str(path), "--target", "class", "--output", "rows.csv"]):
            raise RuntimeError("bayes-svm loo failed")
    with open("rows.csv", newline="") as file:
        wrong = [row["predicted"] != row["label"] for row in csv.DictReader(file)]
    return {
        "loo, printed": float(re.findall(r"error ([0-9.]+[0-9])", printed.getvalue())[0]),
        "loo, rows": float(np.mean(wrong)),
    }


def plot_tells(model: BayesSVC) -> float:
    display = LeaveOneOutDisplay(model.left_out_).plot()
    wrong = len(display.ax_.collections[2].get_offsets())
    matplotlib.pyplot.close("all")
    return wrong / len(model.left_out_.y)


def line_of(name: str, y: np.ndarray, found: dict[str, float], places: tuple[str, ...]) -> list[object]:
    """A line of a table of errors, which says whether all places tell the same."""
    # The page and the terminal show a tenth of a per cent, `bayes-svm loo` a hundredth.
    same = all(
        abs(found[place] - found["estimator"]) <= ROUNDED.get(place, 0.0) + 1e-12
        for place in places[:-1]
        if place in found
    )
    errors = [f"{100 * found[place]:.2f}" if place in found else "–" for place in places]
    return [name, len(y), len(np.unique(y)), *errors, "yes" if same else "NO"]


def told_everywhere(data: str, name: str) -> tuple[list[object], list[object]]:
    """The lines of the mixture and of one machine."""
    X, y, X_test, y_test = parts_of(data, name)
    with tempfile.TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        path = Path("table.csv")
        write_table(path, X, y)
        read = read_table(path, "class")
        _, features = features_of(read, Settings())
        model = BayesSVC(leave_out_size=None).fit(features, read.labels)
        told = report_tells(fit_table(read, Settings(quick=True)))
        found = {"estimator": model.left_out_.error, **told, **loo_tells(path)}
        fitted = fit_table(read, Settings())
        mixture = fitted.estimator
        mixed = {"estimator": mixture.left_out_error_, **report_tells(fitted)}
        columns = feature_transformer(read.frame).fit(read.frame)
        new = pd.DataFrame(X_test, columns=[f"x{k}" for k in range(X.shape[1])])[read.frame.columns]
        truly = np.array([f"c{k}" for k in y_test])
        features_of_new = columns.transform(new)
        found["true"] = float(np.mean(model.predict(features_of_new) != truly))
        mixed["true"] = float(np.mean(mixture.predict(features_of_new) != truly))
        if len(model.classes_) == 2:
            found["plot"] = plot_tells(model)
        alone = clone(model).set_params(leave_out="rows").fit(features, read.labels)
        signs = leave_one_out(SVC().fit(features, read.labels), features, read.labels)
        found["rows alone"] = alone.left_out_.error
        found["signs"] = signs.error
        labels = read.labels
        found["one against the rest"] = float(
            np.mean(
                [
                    leave_one_out(SVC().fit(features, labels == one), features, labels == one).error
                    for one in model.classes_
                ]
            )
        )
    beside = [f"{100 * found[way]:.2f}" for way in BESIDE]
    return line_of(name, y, mixed, OF_MIXTURE), [*line_of(name, y, found, OF_MACHINE), *beside]


def one_case(data: str, name: str, n: int | None, C: float, seed: int) -> tuple[float, float]:
    """The error told, and the true one."""
    X, y, X_test, y_test = drawn(*binary_set(data, name), n, seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = BayesSVC(C=C).fit(X, y)
    share = np.where(y_test == 1, y.mean() / y_test.mean(), (1 - y.mean()) / (1 - y_test.mean()))
    return model.left_out_.error, float(np.average(model.predict(X_test) != y_test, weights=share))


def add_truth(page: Page, args: argparse.Namespace, n: int | None, draws: int) -> None:
    names = [*args.sets, *(IMBALANCED if set(args.sets) == set(SETS) else ())]
    cases = [(name, C, seed) for name in names for C in (1.0, 10.0) for seed in range(draws)]
    found = Parallel(n_jobs=args.jobs)(
        delayed(one_case)(args.data, name, n, C, seed) for name, C, seed in cases
    )
    means = {
        name: 100 * np.mean([one for case, one in zip(cases, found, strict=True) if case[0] == name], axis=0)
        for name in names
    }
    rows = []
    for part, chosen in halves_of(names):
        if chosen:
            told, true = np.array([means[name] for name in chosen]).T
            off = told - true
            worst = int(np.abs(off).argmax())
            rows.append(
                [
                    part,
                    f"{told.mean():.2f}",
                    f"{true.mean():.2f}",
                    f"{off.mean():+.2f}",
                    f"{off[worst]:+.2f}",
                    chosen[worst],
                ]
            )
    lines = [
        [name, "" if name in CHOSEN_ON else "aside", f"{told:.2f}", f"{true:.2f}", f"{told - true:+.2f}"]
        for name, (told, true) in means.items()
    ]
    page.add(
        f"## Told and true: {f'{n} rows' if n else 'full'}",
        table(("sets", "told, %", "true, %", "off", "farthest", ""), rows),
        table(("set", "", "told, %", "true, %", "off"), lines, left=2),
    )
    say(f"{n or 'full'}: done")


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--draws", type=int, default=20, metavar="N", help="of 60 and 200 rows; default: 20")
    parser.add_argument("--full", type=int, default=5, metavar="N", help="draws in full; default: 5")
    parser.add_argument(
        "--noise", type=int, default=9, metavar="N", help="tables of noise of each kind; default: 9"
    )
    parser.add_argument(
        "--first", type=int, default=1000, metavar="SEED", help="seed of the first of them; default: 1000"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; default: 1")
    args = parse(parser)
    matplotlib.use("Agg")
    page = Page("validation.told", "One error rate", ABOUT.format(few=args.draws, full=args.full))
    names = ("five classes", *SEVERAL, *args.sets)
    mixtures, machines = zip(*(told_everywhere(args.data, name) for name in names), strict=True)
    about = ("set", "rows", "classes")
    page.add(
        "## The default, told everywhere", "Errors in %.", table((*about, *OF_MIXTURE, "one rate"), mixtures)
    )
    head = (*about, *OF_MACHINE, "one rate", *BESIDE)
    page.add("## One machine, told everywhere", "Errors in %.", table(head, machines))
    say("told everywhere: done")
    for n, draws in ((60, args.draws), (200, args.draws), (None, args.full)):
        add_truth(page, args, n, draws)
    add_noise(page, args.noise, args.first, args.jobs)
    say("noise: done")
    page.finish(args.output)


if __name__ == "__main__":
    main()

"""How many rows to leave out for the link and the told error: log loss, what is told, and seconds.

python -m validation.leave_out_size --data DIR [--rows N] [--draws N] [--output FILE]
"""

from __future__ import annotations

import time
from itertools import product
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from validation._common import Page, geometric_mean, parse, parser_for, progress, table
from validation._sets import Split, binary_set, drawn, halves_of, log_loss_of, several_classes

ABOUT = """\
`BayesSVC(C=C, leave_out_size=SIZE)`, rbf, for C = 1 and 10, fitted to two thirds of the rows of large sets,
at most as many as `--rows` says, and tested on 3000 others; columns standardised, one thread. Every machine
is the same; what differs is how many of its rows are left out, from which the link learns and the error is
told. At least 500 strata leave, or all, if the rarer class has fewer members.

*Log loss* is the ratio to that of all rows, the geometric mean over draws and both C, and *largest* the
largest of these ratios. *Told, off* is the root of the mean squared difference of the told error from that
which all rows tell, in percentage points, and *told deviation* the mean of the `left_out_.error_deviation`
that is told with it, its standard error. *Seconds*, the best of two fits, are relative to those of all rows.
Of a set of many classes the commonest is one class, and the others are the other.

Nothing was chosen here: 2000 was wanted beforehand. The sets are divided like those of the other pages."""

LARGE = ("banana", "ringnorm", "twonorm", "waveform", "wine_white_le4", "satimage_4", "letter_Z", "covtype")
SIZES = (500, 1000, 2000, 4000, None)
PENALTIES = (1.0, 10.0)


class Found(NamedTuple):
    """Of one fit: the test log loss, the told error with its deviation, and the seconds of the fit."""

    loss: float
    told: float
    deviation: float
    seconds: float


def split_of(data: str, name: str, n: int, seed: int) -> Split:
    """A draw of n rows, fewer if the set has fewer, and of test rows."""
    if name != "covtype":
        return drawn(*binary_set(data, name), n, seed)
    X, y = several_classes(data, name)
    return drawn(X, (y == np.bincount(y).argmax()).astype(int), n, seed)


def found_in(split: Split, C: float) -> list[Found]:
    """What is found with each number of rows left out."""
    X, y, X_test, y_test = split
    found = []
    for size in SIZES:
        model, seconds = BayesSVC(C=C, leave_out_size=size), np.inf
        for _ in range(2):
            started = time.perf_counter()
            model.fit(X, y)
            seconds = min(seconds, time.perf_counter() - started)
        loss = log_loss_of(model.predict_proba(X_test), y_test)
        found.append(Found(loss, model.left_out_.error, model.left_out_.error_deviation, seconds))
    return found


def line(part: list[list[Found]], k: int) -> list[str]:
    """The cells of one number of rows: ratios to those of all rows, over some sets, draws and penalties."""
    off = [fits[k].told - fits[-1].told for fits in part]
    return [
        f"{geometric_mean(fits[k].loss / fits[-1].loss for fits in part):.4f}",
        f"{max(fits[k].loss / fits[-1].loss for fits in part):.4f}",
        f"{100 * np.sqrt(np.mean(np.square(off))):.2f}",
        f"{100 * np.mean([fits[k].deviation for fits in part]):.2f}",
        f"{geometric_mean(fits[k].seconds / fits[-1].seconds for fits in part):.2f}",
    ]


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--rows", type=int, default=6000, help="rows to fit to; default: 6000")
    parser.add_argument("--draws", type=int, default=5, help="default: 5")
    args = parse(parser)
    page = Page("validation.leave_out_size", "How many rows to leave out", ABOUT)
    results: dict[str, list[list[Found]]] = {name: [] for name in LARGE}
    rows = {}
    with threadpool_limits(1):
        for name, seed in product(LARGE, range(args.draws)):
            split = split_of(args.data, name, args.rows, seed)
            rows[name] = len(split[1])
            results[name] += [found_in(split, C) for C in PENALTIES]
            progress(f"{name}, draw {seed}")
    head = ("log loss", "largest", "told, off", "told deviation", "seconds")
    lines = []
    for part, names in halves_of(list(LARGE)):
        fits = [one for name in names for one in results[name]]
        lines += [(part, len(names), size or "all", *line(fits, k)) for k, size in enumerate(SIZES)]
    page.add(table(("sets", "", "rows left out", *head), lines))
    at_default = SIZES.index(2000)
    each = [(name, f"{rows[name]:,}", *line(results[name], at_default)) for name in LARGE]
    page.add("## Each set, 2000 rows left out", table(("set", "rows", *head), each))
    page.finish(args.output)


if __name__ == "__main__":
    main()

"""Class similarity as a first filter of kernels, before exact left-out values choose."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC, BayesSVCSearch
from validation._common import Page, geometric_mean, parse, parser_for, read_ida, table
from validation._common import progress as say

ABOUT = """\
`BayesSVCSearch` over 20 widths (gamma from 1/(100 d) to 100/d) and 5 values of C (0.1 to 1000), by exact
left-out values: of all kernels, and of the quarter and the tenth of them that `class_similarity` leaves
(`prefilter=0.25`, `0.1`). Criterion: the left-out error, and the left-out log loss. 13 IDA sets,
{splits} random splits each (`train_rand`, `test_rand`, at most 3000 test points), standardised by the
training part. One thread; seconds of the search, each once."""

SHARES = (None, 0.25, 0.1)
CRITERIA = ("left_out_error", "left_out_log_loss")
MOST_TEST = 3000


def one_search(
    X: np.ndarray, y: np.ndarray, criterion: str, share: float | None
) -> tuple[BayesSVCSearch, float]:
    """The fitted search, and its seconds."""
    grid = {"C": list(10.0 ** np.arange(-1, 4)), "gamma": list(np.geomspace(0.01, 100.0, 20) / X.shape[1])}
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = BayesSVCSearch(BayesSVC(), grid, criterion=criterion, prefilter=share).fit(X, y)
    return search, time.perf_counter() - started


def one_split(data: str, name: str, split: int) -> dict[tuple[str, float | None], tuple[float, float]]:
    """Test error and seconds of every search."""
    z = read_ida(data, name)
    rows, test = z["train_rand"][split].astype(int), z["test_rand"][split].astype(int)[:MOST_TEST]
    scaler = StandardScaler().fit(z["X"][rows])
    X, X_test = scaler.transform(z["X"][rows]), scaler.transform(z["X"][test])
    y, y_test = z["y"][rows].astype(int), z["y"][test].astype(int)
    found = {}
    for criterion in CRITERIA:
        for share in SHARES:
            search, seconds = one_search(X, y, criterion, share)
            found[criterion, share] = (float(np.mean(search.predict(X_test) != y_test)), seconds)
    say(f"{name}, split {split}: " + ", ".join(f"{seconds:.1f}" for _, seconds in found.values()))
    return found


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--splits", type=int, default=3, metavar="N", help="of each set; default: 3")
    args = parse(parser)
    about = ABOUT.replace("{splits}", str(args.splits))
    page = Page("validation.similarity_filter", "What class similarity saves as a first filter", about)
    with threadpool_limits(1):
        found = {name: [one_split(args.data, name, k) for k in range(args.splits)] for name in args.sets}
    for criterion in CRITERIA:
        rows = []
        seconds: dict[float | None, list[float]] = {share: [] for share in SHARES}
        errors: dict[float | None, list[float]] = {share: [] for share in SHARES}
        for name, splits in found.items():
            for share in SHARES:
                errors[share].append(float(np.mean([case[criterion, share][0] for case in splits])))
                seconds[share].append(float(np.mean([case[criterion, share][1] for case in splits])))
            cells = [f"{100 * errors[share][-1]:.2f} %" for share in SHARES]
            times = [f"{seconds[None][-1] / seconds[share][-1]:.1f}" for share in SHARES[1:]]
            rows.append([name, *cells, f"{seconds[None][-1]:.2f}", *times])
        means = [f"{100 * np.mean(errors[share]):.2f} %" for share in SHARES]
        saved = [
            f"{geometric_mean(np.array(seconds[None]) / np.array(seconds[share])):.1f}"
            for share in SHARES[1:]
        ]
        rows.append(["mean", *means, f"{np.mean(seconds[None]):.2f}", *saved])
        head = (
            "set", "test error, all kernels", "a quarter", "a tenth", "seconds, all kernels",
            "times faster, a quarter", "a tenth",
        )  # fmt: skip
        page.add(f"## By {criterion}", table(head, rows))
    page.finish(args.output)


if __name__ == "__main__":
    main()

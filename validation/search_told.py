"""What `BayesSVCSearch` tells of the setting it chose, and of its mixture, beside the truth."""

from __future__ import annotations

import argparse

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC, BayesSVCSearch
from validation._common import Page, geometric_mean, parse, parser_for, table
from validation._common import progress as say
from validation._sets import halves_of, ida_split
from validation.links import losses
from validation.search import FEW, GRID_C, GRID_GAMMA, timed

ABOUT = """\
Mean log loss, and error, that `BayesSVCSearch` says of itself (`left_out_log_loss_`, `left_out_error_`,
which account for the choice), over that on test data (at most 3000 points); *as it seems* are the left-out
probabilities of the setting chosen, as they are. 13 IDA sets, {splits} stratified draws of 60 and 200 rows
(at most two thirds of a set), standardised by the training part, tested on the others. C = 0.1, 1, 10, 100,
1000 (5 x 4) or without the last (4 x 4), gamma = 1/d times 1/16, 1/4, 1, 4. Geometric means over the sets of
the ratio of the means over the draws, with the standard error that follows from how the draws differ. What
is averaged in the criterion, and the sharpness of the mixture, were chosen on banana, breast-cancer, german,
image, ringnorm, thyroid and titanic; *put aside* are the others."""

GRIDS = {"5 x 4": GRID_C, "4 x 4": GRID_C[:4]}
MORE = 200


def one_case(
    data: str, name: str, split: int, n: int, grid: tuple[float, ...]
) -> dict[str, tuple[float, ...]]:
    """Of the choice and the mixture: log loss told, as it seems and true, error told and true."""
    X, y, X_test, y_test = ida_split(data, name, n, split)
    settings = {"C": list(grid), "gamma": [g / X.shape[1] for g in GRID_GAMMA]}
    found = {}
    with threadpool_limits(1):
        for way, combine in (("chosen", "best"), ("mixture", "stack")):
            model, _ = timed(BayesSVCSearch(BayesSVC(), settings, combine=combine), X, y)
            seems = losses(model.best_estimator_.left_out_proba_[:, 1], y)[0]
            true = losses(model.predict_proba(X_test)[:, 1], y_test)[0]
            wrong = float(np.mean(model.predict(X_test) != y_test))
            found[way] = (model.left_out_log_loss_, seems, true, model.left_out_error_, wrong)
    return found


def error_of_log_ratio(draws: np.ndarray) -> float:
    """Standard error of the logarithm of the mean loss told over the true one, in columns 0 and 2."""
    told, true = draws[:, 0] / draws[:, 0].mean(), draws[:, 2] / draws[:, 2].mean()
    return float(np.std(told - true, ddof=1) / np.sqrt(len(draws))) if len(draws) > 1 else np.nan


def told_table(args: argparse.Namespace, n: int) -> str:
    rows = []
    for title, grid in GRIDS.items():
        cases = [(name, split) for name in args.sets for split in range(args.splits)]
        results = Parallel(n_jobs=args.jobs)(
            delayed(one_case)(args.data, name, split, n, grid) for name, split in cases
        )
        for way in ("chosen", "mixture"):
            found = {
                name: np.array(
                    [one[way] for (case, _), one in zip(cases, results, strict=True) if case == name]
                )
                for name in args.sets
            }
            for part, names in halves_of(args.sets):
                values = np.array([found[name].mean(axis=0) for name in names])
                error = np.sqrt(sum(error_of_log_ratio(found[name]) ** 2 for name in names)) / len(names)
                ratio = values[:, 0] / values[:, 2]
                low, high = int(ratio.argmin()), int(ratio.argmax())
                seems = f"{geometric_mean(values[:, 1] / values[:, 2]):.3f}" if way == "chosen" else "–"
                rows.append(
                    [title, way, part, f"{geometric_mean(ratio):.3f} ± {error:.3f}",
                     f"{ratio[low]:.2f} ({names[low]})", f"{ratio[high]:.2f} ({names[high]})", seems,
                     f"{100 * values[:, 3].mean():.2f} %", f"{100 * values[:, 4].mean():.2f} %"]
                )  # fmt: skip
        say(f"told, n = {n}, grid {title}: done")
    head = (
        "grid", "way", "sets", "log loss told / true", "lowest", "highest", "as it seems / true",
        "error told", "true",
    )  # fmt: skip
    return table(head, rows, left=3)


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--splits", type=int, default=20, metavar="N", help="draws of each set; default: 20")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; default: 1")
    args = parse(parser)
    page = Page("validation.search_told", "What a search tells of itself", ABOUT.format(splits=args.splits))
    for n in (FEW, MORE):
        page.add(f"## {n} training points", told_table(args, n))
    page.finish(args.output)


if __name__ == "__main__":
    main()

"""Probability intervals from left-out values: do they hold the frequency, their width, and venn-abers."""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC, BayesSVCSearch
from bayes_svm.classifiers.predictions import TRANSDUCTIVE
from bayes_svm.conformal.venn_abers import VennAbers, intervals
from bayes_svm.selection.predictions import class_proba
from bayes_svm.utils.grid import grid_of, on_grid
from validation._common import Page, parse, parser_for, short, table
from validation._common import progress as say
from validation._rivals import INSTALLED, Margins, two_columns
from validation._sets import CHOSEN_ON, binary_set, drawn, halves_of
from validation.search import GRID_C, GRID_GAMMA

ABOUT = """\
Probability intervals of `BayesSVC()` and of the mixture, `BayesSVCSearch(BayesSVC(), combine="stack")` over
{grid} settings of C and gamma: the intervals from p_0 to p_1 of a Venn-Abers predictor of the *left-out*
values of the fit. *All in turn* is what `predict_interval` gives up to 200 rows: each of the n + 1 points is
left out, the new one with either label; here for 20 test rows of each class, which weigh as the others do.
13 IDA sets and two with a rare class, {splits} stratified draws each of {sizes} rows (only from
sets of one and a half times as many), columns standardised, at most 3000 test rows, which weigh so that the
classes are as frequent as in training: that is the frequency.

*It holds* where mean p_0 <= frequency <= mean p_1, over all test rows and draws of a set; elsewhere the
frequency is *by* so much outside, and *clearly not* inside if that is more than two standard errors of the
mean end, by how it differs from draw to draw. *Own* is the mean of the one of the two that belongs to the
row's true label, less the frequency: 0 if the values were held out, so that it tells what the approximation
by left-out values costs.

{rivals}

One choice was made, on the sets chosen on, with 60 and 120 rows: the mixture's left-out values are those of
the final mixture, not `left_out_proba_`, which are of three mixtures that differ (*own* -0.033 and -0.041 on
titanic)."""

RIVALS = """\
*Split* and *folds* are the package `venn-abers` with an `SVC()`: two thirds of the rows train it and a third
calibrates (`inductive=True, cal_size=1/3`), or five folds, whose ends are averaged (`n_splits=5`).
*Difference* is the largest one between our ends and those of its class `VennAbers`, from left-out values
rounded as ours are, and *as they are*: values that are equal but for rounding errors are then not equal."""
MISSING = "The package `venn-abers` is not installed, so it is not compared with: pip install venn-abers."
IMBALANCED = ("wine_white_le4", "yeast_me2")
SIZES = (60, 120, 200, 500)
# Test rows of each class for which all points are left out in turn.
FEW = 20
IN_TURN = "all in turn"
SETTINGS = len(GRID_C) * len(GRID_GAMMA)


def split_and_folds(X: np.ndarray, y: np.ndarray, at: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Ends of the intervals of venn-abers, which makes its own left-out values."""
    from venn_abers import VennAbersCV

    dealt = {"shuffle": True, "random_state": seed}
    ways = {
        "split": VennAbersCV(Margins(), True, cal_size=1 / 3, stratify=y, **dealt),
        "folds": VennAbersCV(Margins(), False, n_splits=5, **dealt),
    }
    found = {}
    for way, model in ways.items():
        model.fit(X, y)
        ends = np.asarray(model.predict_proba(at, p0_p1_output=True)[1])
        low, high = np.split(ends, 2, axis=1)
        found[way] = np.column_stack([low.mean(axis=1), high.mean(axis=1)])
    return found


def differences(values: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Largest difference from the ends of venn-abers with the same values: on our grid, and as they are."""
    from venn_abers import VennAbers as Theirs

    ours, grid = VennAbers(values, y == 1, np.ones(len(y))).interval(at), grid_of(values)
    found = []
    for known, new in ((on_grid(values, grid), on_grid(at, grid)), (values, at)):
        theirs = Theirs().fit(p_cal=two_columns(known), y_cal=y).predict_proba(p_test=two_columns(new))[1]
        found.append(np.abs(theirs - ours).max())
    return np.array(found)


def one_case(data: str, name: str, n: int, seed: int) -> dict[str, np.ndarray]:
    """Of every way: mean p_0, mean p_1, mean of the true label's; the frequency; the difference."""
    X, y, X_test, y_test = drawn(*binary_set(data, name), n, seed)
    grid = {"C": list(GRID_C), "gamma": [g / X.shape[1] for g in GRID_GAMMA]}
    found: dict[str, np.ndarray] = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # poor separation is not for this page
        model = BayesSVC().fit(X, y)
        mixture = BayesSVCSearch(BayesSVC(), grid, combine="stack").fit(X, y)
        left_out = intervals(model._venn_abers, model.decision_function(X_test))
        mixed = class_proba(mixture.predict_log_proba(X_test))
        ends = {"left out": left_out, "mixture": intervals(mixture._venn_abers, mixed)}
        if INSTALLED["venn_abers"]:
            warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)  # of venn-abers
            ends |= split_and_folds(X, y, X_test, seed)
            same = model.left_out_decision_values_, y, model.decision_function(X_test)
            found["difference"] = differences(*same)
    share = np.where(y_test == 1, y.mean() / y_test.mean(), (1 - y.mean()) / (1 - y_test.mean()))
    rows = np.arange(len(y_test))
    for way, one in ends.items():
        found[way] = np.average(np.column_stack([one, one[rows, y_test]]), axis=0, weights=share)
    found["frequency"] = np.array([y.mean()])
    if n <= TRANSDUCTIVE:
        few = np.concatenate([np.flatnonzero(y_test == label)[:FEW] for label in (0, 1)])
        truth = y_test[few]
        share = np.where(truth == 1, y.mean() / truth.mean(), (1 - y.mean()) / (1 - truth.mean()))
        with threadpool_limits(1):
            for way, one in ((IN_TURN, model), (f"mixture, {IN_TURN}", mixture)):
                both = one.predict_interval(X_test[few])
                own = both[np.arange(len(few)), truth]
                found[way] = np.average(np.column_stack([both, own]), axis=0, weights=share)
    say(f"{name}, {n} rows, draw {seed}: width {np.diff(found['left out'])[0]:.3f}")
    return found


def short_by(means: dict[str, np.ndarray], way: str) -> tuple[float, bool]:
    """How far the frequency is outside the mean interval, and whether by two standard errors of that end."""
    frequency, ends, errors = means["frequency"][0], means[way][:2], means[f"{way}, error"][:2]
    away = np.maximum((ends - frequency) * (1, -1), 0.0)
    return float(away.max()), bool(np.any(away > 2 * errors))


def summary(means: dict[str, dict[str, np.ndarray]], ways: list[str]) -> str:
    lines = []
    for part, names in halves_of(list(means)):
        for way in ways:
            away, clearly = np.array([short_by(means[name], way) for name in names]).T
            ends = np.array([means[name][way] for name in names])
            off = ends[:, 2] - np.array([means[name]["frequency"][0] for name in names])
            width, worst = ends[:, 1] - ends[:, 0], int(away.argmax())
            farthest = f"{away[worst]:.3f} ({names[worst]})" if away[worst] > 0 else "–"
            numbers = f"{off.mean():+.3f}", f"{np.abs(off).max():.3f}", f"{width.mean():.3f}"
            lines.append(
                [
                    part,
                    way,
                    f"{np.sum(away == 0)} of {len(names)}",
                    f"{clearly.sum():.0f}",
                    farthest,
                    *numbers,
                ]
            )
    head = ("sets", "way", "holds", "clearly not", "farthest", "own", "largest", "mean width")
    return table(head, lines, left=2)


def by_set(means: dict[str, dict[str, np.ndarray]], ways: list[str]) -> str:
    lines = []
    for name, found in means.items():
        frequency = found["frequency"][0]
        cells: list[object] = [name, "" if name in CHOSEN_ON else "aside", f"{frequency:.3f}"]
        for way in ways[:2]:
            low, high, own = found[way]
            away, clearly = short_by(found, way)
            holds = f"{'NO, ' if clearly else ''}by {away:.3f}" if away else "yes"
            cells += [f"{low:.3f}", f"{high:.3f}", holds]
            cells += [f"{own - frequency:+.3f}", f"{high - low:.3f}"]
        for way in ways[2:]:
            cells.append(f"{found[way][1] - found[way][0]:.3f}")
        if "difference" in found:
            cells += [short(one) for one in found["difference"]]
        lines.append(cells)
    head = ["set", "", "frequency"]
    for way in ways[:2]:
        head += [f"{way}: p_0", "p_1", "holds", "own", "width"]
    head += [f"{way}: width" for way in ways[2:]]
    compared = any("difference" in found for found in means.values())
    return table(head + (["difference", "as they are"] if compared else []), lines, left=2)


def means_of(cases: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Means over the draws and their standard errors; of the differences the largest."""
    found = {}
    for key in cases[0]:
        draws = np.array([one[key] for one in cases])
        found[key] = draws.max(axis=0) if key == "difference" else draws.mean(axis=0)
        found[f"{key}, error"] = draws.std(axis=0) / np.sqrt(max(1, len(draws) - 1))
    return found


def of_size(args: argparse.Namespace, n: int) -> dict[str, dict[str, np.ndarray]]:
    names = [*args.sets, *IMBALANCED]
    large = [name for name in names if 2 * len(binary_set(args.data, name)[1]) >= 3 * n]
    cases = [(name, seed) for name in large for seed in range(args.splits)]
    found = Parallel(n_jobs=args.jobs)(delayed(one_case)(args.data, name, n, seed) for name, seed in cases)
    return {
        name: means_of([one for case, one in zip(cases, found, strict=True) if case[0] == name])
        for name in large
    }


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--splits", type=int, default=20, metavar="N", help="draws of a set; default: 20")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; default: 1")
    args = parse(parser)
    rivals = RIVALS if INSTALLED["venn_abers"] else MISSING
    sizes = ", ".join(str(n) for n in SIZES)
    about = ABOUT.format(grid=SETTINGS, splits=args.splits, sizes=sizes, rivals=rivals)
    page = Page("validation.intervals", "Probability intervals", about)
    rivals_ways = ("split", "folds") if INSTALLED["venn_abers"] else ()
    for n in SIZES:
        means = of_size(args, n)
        ways = [
            "left out",
            "mixture",
            *((IN_TURN, f"mixture, {IN_TURN}") if n <= TRANSDUCTIVE else ()),
            *rivals_ways,
        ]
        page.add(f"## {n} rows", summary(means, ways), by_set(means, ways))
    page.finish(args.output)


if __name__ == "__main__":
    main()

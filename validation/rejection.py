"""The reject option: how much of what can be accepted is, and how often the target risk is kept."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import SVC

from bayes_svm import BayesSVC, ConformalSVC, RejectOptionClassifier
from bayes_svm.decision.answers import answers, confidence_of
from bayes_svm.decision.risk import plain_threshold, shown_threshold
from bayes_svm.metrics.risk_coverage import RiskCoverageCurve, risk_coverage_curve
from bayes_svm.utils.metaestimators import left_out_predictions
from validation._common import Page, parse, parser_for, table
from validation._common import progress as say
from validation._sets import TEXTS, binary_set, several_classes, several_documents, standardised
from validation._thresholds import GENERATORS, generated

ABOUT = """\
`RejectOptionClassifier(BayesSVC(), target_risk=r)`: the threshold is chosen on the left-out probabilities of
{rows} rows, and measured on all other rows, of which there are 1000 or more; {draws} draws of each set.
C = 1, rbf with gamma = 1/d, words with a linear kernel. *Best*: the largest share of the test rows that can
be accepted with at most r of them wrong, by hindsight. Sets where it is below {least} on average are listed,
and count in no mean. *Plain* and *tested*: the share accepted by `guarantee=None` and by `guarantee="risk"`
with confidence {confidence}, divided by the best; means over the draws. *Shown*: draws in which the tests let
any row be accepted. *Met*: how often at most r of the accepted rows are wrong, in these draws. *Enough*: 0.9
less two standard errors; *broken*: share of all draws, shown or not, in which more than r are wrong, which
the confidence bounds by 0.1. *In reach*: what one test at the full level would accept on average, divided by
the best, if the truth told at which number of rows to make it; the tests do not know that.

*Held out*: the same tests on {rows} rows of the test part that nothing was fitted on, measured on the rest of
it, of sets with at least {large} test rows.

The tests (their starts, how confidence is shared, the steps) were chosen on the sets of the first half. The
other half was put aside by name.

*Conformal*: `guarantee="conformal"` with `ConformalSVC(SVC())`, pooled and within classes, {few} draws,
{tested} test rows: the share accepted, and the share accepted and wrong, which for these sets (jackknife+)
is promised to be at most twice the target, and is expected to be about the target at most; if compared within
classes, that of the worse class too."""

ROWS, TARGETS, CONFIDENCE, LEAST, LARGE = 1000, (0.05, 0.02), 0.9, 0.3, 3000
ASKED = {0.05: (0.9, 0.75), 0.02: (0.9, 0.5)}  # shares of the best, plain and tested
FEW_DRAWS, FEW_ROWS = 5, 2000
# Sets with at least 1000 rows to test, and generators. Every choice among rules was made on the first half.
HALVES = {
    "choices made on": (
        "moons 50 %", "normal 50 %", "normal 20 %", "banana", "image", "ringnorm", "wine_white_le4",
        "covtype", "WebKB",
    ),
    "put aside": (
        "circles 50 %", "classification 50 %", "quantiles 50 %", "splice", "twonorm", "waveform", "letter_Z",
        "satimage_4", "seismic_bumps", "optdigits", "segmentation", "Reuters",
    ),
}  # fmt: skip
SEVERAL = ("covtype", "optdigits", "segmentation", *TEXTS)


@dataclass(frozen=True)
class Found:
    """One threshold on test rows: shares accepted by it, in hindsight and within reach, and its risk."""

    best: float
    reach: float
    accepted: float
    risk: float  # 0 if nothing is accepted


def drawn(data: str, name: str, seed: int) -> tuple[Any, ...]:
    """Rows to learn from, all others to test, and the machine."""
    if name.split()[0] in {one.split()[0] for one in GENERATORS}:
        X, y, X_test, y_test = generated(name, seed)
        return X, y, X_test, y_test, {"gamma": 1 / X.shape[1]}
    read = several_documents if name in TEXTS else several_classes if name in SEVERAL else binary_set
    X, y = read(data, name)
    split = StratifiedShuffleSplit(1, train_size=ROWS, random_state=seed)
    train, test = next(split.split(y, y))
    if name not in TEXTS:
        return *standardised(X[train], y[train], X[test], y[test]), {"gamma": 1 / X.shape[1]}
    words = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=2)
    return words.fit_transform(X[train]), y[train], words.transform(X[test]), y[test], {"kernel": "linear"}


def curve_of(wrong: np.ndarray, confidence: np.ndarray) -> RiskCoverageCurve:
    return risk_coverage_curve(wrong, np.zeros(len(wrong), dtype=bool), confidence)


def measured(
    wrong: np.ndarray, confidence: np.ndarray, thresholds: list[float | None], r: float
) -> list[Found]:
    """What each threshold does on test rows."""
    curve = curve_of(wrong, confidence)
    best = plain_threshold(curve, r)
    coverage = 0.0 if best is None else curve.at(best)[0]
    reach, found = in_reach(curve, r), []
    for threshold in thresholds:
        accepted, risk = curve.at(np.inf if threshold is None else threshold)
        found.append(Found(coverage, reach, accepted, risk if accepted else 0.0))
    return found


def in_reach(curve: RiskCoverageCurve, r: float) -> float:
    """The share accepted on average by one test, at the number of rows where this is largest."""
    rows = np.arange(1, ROWS + 1)
    place = np.minimum(np.searchsorted(curve.coverage, rows / ROWS), len(curve.risk) - 1)
    allowed = binom.ppf(1 - CONFIDENCE, rows, r)
    allowed -= binom.cdf(allowed, rows, r) > 1 - CONFIDENCE
    return float(np.max(rows / ROWS * binom.cdf(allowed, rows, curve.risk[place])))


def run(args: argparse.Namespace, name: str) -> tuple[dict[tuple[str, float], list[Found]], float, int]:
    """What every rule found in every draw, the error of the machine, and the number of test rows."""
    found: dict[tuple[str, float], list[Found]] = {}
    errors, n_test = [], 0
    for seed in range(args.draws):
        X, y, X_test, y_test, machine = drawn(args.data, name, seed)
        model = BayesSVC(**machine, leave_out_size=None).fit(X, y)
        labels = left_out_predictions(model, np.arange(len(y)))
        wrong, sure = labels != y, confidence_of(labels, model.left_out_proba_, model.classes_)
        predicted, sure_test = answers(model, X_test)
        wrong_test, n_test = predicted != y_test, len(y_test)
        errors.append(wrong_test.mean())
        for r in TARGETS:
            both = [plain_threshold(curve_of(wrong, sure), r), shown_threshold(wrong, sure, r, CONFIDENCE)]
            for rule, one in zip(("plain", "tested"), measured(wrong_test, sure_test, both, r), strict=True):
                found.setdefault((rule, r), []).append(one)
            if n_test < LARGE:
                continue
            order = np.random.default_rng(seed).permutation(n_test)
            held, rest = order[:ROWS], order[ROWS:]
            cut = shown_threshold(wrong_test[held], sure_test[held], r, CONFIDENCE)
            found.setdefault(("held out", r), []).extend(
                measured(wrong_test[rest], sure_test[rest], [cut], r)
            )
    say(f"{name}: {n_test} test rows, error {np.mean(errors):.3f}")
    return found, float(np.mean(errors)), n_test


def share_of_best(found: list[Found], what: str = "accepted") -> float:
    return float(np.mean([getattr(one, what) for one in found]) / np.mean([one.best for one in found]))


def counts(found: list[Found]) -> bool:
    """Whether enough can be accepted for a set to be counted."""
    return bool(np.mean([one.best for one in found]) >= LEAST)


def summary(sets: dict[str, tuple], rule: str, r: float) -> list[object]:
    """One line of the table of means."""
    used = [found[rule, r] for found, _, _ in sets.values() if (rule, r) in found and counts(found[rule, r])]
    every = [one for part in used for one in part]
    shown = [one for one in every if one.accepted > 0]
    ratios = [share_of_best(part) for part in used]
    asked = ASKED[r][rule != "plain"]
    enough = CONFIDENCE - 2 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / len(shown))
    return [
        rule, r, len(used), f"{np.mean(ratios):.3f}", asked,
        f"{sum(one >= asked for one in ratios)} of {len(used)}",
        f"{np.mean([share_of_best(part, 'reach') for part in used]):.3f}", f"{len(shown)} of {len(every)}",
        f"{np.mean([one.risk <= r for one in shown]):.3f}", "" if rule == "plain" else f"{enough:.3f}",
        f"{np.mean([one.risk > r for one in every]):.3f}",
    ]  # fmt: skip


def set_row(name: str, one: tuple[dict, float, int], r: float) -> list[object]:
    """One line of the table of sets."""
    found, error, n_test = one
    plain, tested = found["plain", r], found["tested", r]
    shown = [one for one in tested if one.accepted > 0]
    best = np.mean([one.best for one in plain])
    ratios = [f"{share_of_best(part):.2f}" if best > 0 else "–" for part in (plain, tested)]
    return [
        name, n_test, f"{error:.3f}", f"{best:.2f}", ratios[0],
        f"{np.mean([one.risk <= r for one in plain]):.2f}", ratios[1],
        f"{share_of_best(tested, 'reach'):.2f}" if best > 0 else "–", len(shown),
        f"{np.mean([one.risk <= r for one in shown]):.2f}" if shown else "–",
    ]  # fmt: skip


def conformal_row(args: argparse.Namespace, name: str, r: float) -> list[object]:
    """Shares accepted, and accepted and wrong, by conformal sets."""
    cells: list[object] = [name, r]
    for within in (False, True):
        accepted, wrong, worse = [], [], []
        for seed in range(min(FEW_DRAWS, args.draws)):
            X, y, X_test, y_test, machine = drawn(args.data, name, seed)
            part = np.random.default_rng(seed).permutation(len(y_test))[:FEW_ROWS]
            sets = ConformalSVC(SVC(**machine), class_conditional=within)
            model = RejectOptionClassifier(sets, target_risk=r, guarantee="conformal").fit(X, y)
            matrix = model.confusion_matrix(X_test[part], y_test[part])
            missed = matrix[:, :-1].sum(axis=1) - np.diag(matrix)
            accepted.append(matrix[:, :-1].sum() / matrix.sum())
            wrong.append(missed.sum() / matrix.sum())
            worse.append(missed / matrix.sum(axis=1))
        cells += [f"{np.mean(accepted):.3f}", f"{np.mean(wrong):.4f}", f"{np.mean(worse, axis=0).max():.4f}"]
    return cells


def add_half(page: Page, part: str, args: argparse.Namespace) -> None:
    sets = {name: run(args, name) for name in HALVES[part]}
    page.add(f"## {part[0].upper()}{part[1:]}: {len(sets)} sets")
    head = (
        "rule", "target", "sets", "accepted / best", "asked", "sets that reach it", "in reach", "shown",
        "met", "enough", "broken",
    )  # fmt: skip
    page.add(
        table(head, [summary(sets, rule, r) for rule in ("plain", "tested", "held out") for r in TARGETS])
    )
    head = ("set", "to test", "error", "best", "plain", "met", "tested", "in reach", "shown", "met")
    for r in TARGETS:
        page.add(f"Target {r}:", table(head, [set_row(name, one, r) for name, one in sets.items()]))
    two = [name for name in sets if name not in SEVERAL]
    head = ("set", "target", *("accepted", "accepted and wrong", "of the worse class") * 2)
    page.add("Conformal, pooled and then within classes, two classes:")
    page.add(table(head, [conformal_row(args, name, r) for name in two for r in TARGETS]))


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--draws", type=int, default=40, metavar="N", help="draws of each; default: 40")
    args = parse(parser)
    about = ABOUT.format(
        rows=ROWS,
        draws=args.draws,
        least=LEAST,
        confidence=CONFIDENCE,
        large=LARGE,
        few=FEW_DRAWS,
        tested=FEW_ROWS,
    )
    page = Page("validation.rejection", "What a reject option accepts, and what it promises", about)
    # Where nothing can be shown, conformal sets warn.
    warnings.simplefilter("ignore")
    for part in HALVES:
        add_half(page, part, args)
    page.finish(args.output)


if __name__ == "__main__":
    main()

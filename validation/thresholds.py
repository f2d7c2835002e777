"""Thresholds from exact left-out values: what they promise, what they tell, and the truth."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.svm import SVC

from bayes_svm import BayesSVC, choose_threshold
from validation._common import Page, parse, parser_for, table
from validation._common import progress as say
from validation._thresholds import Draw, draws, sets_of

ABOUT = """\
`choose_threshold` on the left-out decision values of one `BayesSVC`, and what its threshold does on rows that
the machine never saw. Sets with a rare class, Reuters topics ({documents}), and generators;
{draws} draws of each, at least half of the rows to test. *Reached*: draws in which the threshold is shown to
do what is asked; in the others every row is called positive for a recall, and none for a precision, with a
warning. *Mean*: recall or precision on the test rows, mean over the draws reached and then over the sets; a
draw in which no test row is called positive has no precision.
*Met*: how often it was at least the target, in draws that reached it, of sets with 500 test positives or more
(with fewer the measure itself is too rough). *Enough*: 0.9 less two standard errors. *Broken*: share of all
draws, reached or not, in which the target was shown and missed; the confidence of 0.9 bounds this by 0.1.
*Told*: what the threshold says is to be expected, less the truth; *in sample*: what it reaches on the rows it
was chosen on, less the truth. Both are means over the draws reached, and then over the sets; cost is that of
a missed positive at {missed:g} false alarms, as a share of the cost of missing every positive.

Every choice (the growth of the tested numbers of rows, the number of starting points, the smoothing of the
precision, how the told values are corrected) was made on the sets of the first half. The other half was put
aside by name.

* **Rival**: `TunedThresholdClassifierCV` around the same SVC, 5 folds, 100 thresholds and a final fit, on the
  first {rivals} draws. F1, and the cost as above: smaller is better."""

MISSED = 10.0
CONFIDENCE = 0.9
ENOUGH_POSITIVES = 500
ASKED: dict[str, tuple[str, dict[str, float]]] = {
    "recall 0.95": ("recall", {"at_least": 0.95}),
    "recall 0.9": ("recall", {"at_least": 0.9}),
    "recall 0.95, confidence 0.9": ("recall", {"at_least": 0.95, "confidence": CONFIDENCE}),
    "recall 0.9, confidence 0.9": ("recall", {"at_least": 0.9, "confidence": CONFIDENCE}),
    "precision 0.8": ("precision", {"at_least": 0.8}),
    "precision 0.9": ("precision", {"at_least": 0.9}),
    "precision 0.8, confidence 0.9": ("precision", {"at_least": 0.8, "confidence": CONFIDENCE}),
    "precision 0.9, confidence 0.9": ("precision", {"at_least": 0.9, "confidence": CONFIDENCE}),
    "F1": ("f1", {}),
    "cost": ("cost", {"fn": MISSED}),
}


@dataclass(frozen=True)
class Found:
    """One threshold: what it tells, what it reaches where it was chosen, and the truth."""

    reached: bool
    told: float
    in_sample: float
    true: float
    positives: int  # to learn from


def measure(name: str, y: np.ndarray, called: np.ndarray) -> float:
    """Recall, precision, F1, or cost as a share of that of missing all; NaN if none is called positive."""
    tp, fp = float(np.sum(called & (y == 1))), float(np.sum(called & (y == 0)))
    fn = float(np.sum(y == 1)) - tp
    if name == "cost":
        return (fp + MISSED * fn) / (MISSED * (tp + fn))
    if name == "f1":
        return 2 * tp / (2 * tp + fp + fn)
    return tp / (tp + fn) if name == "recall" else tp / (tp + fp) if tp + fp else np.nan


def neg_cost(y: np.ndarray, called: np.ndarray) -> float:
    return -measure("cost", y, called == 1)


def found_by(
    asked: str, y: np.ndarray, values: np.ndarray, y_test: np.ndarray, test_values: np.ndarray
) -> Found:
    name, options = ASKED[asked]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = choose_threshold(y, values, name, **options)
        told = chosen.total_cost / (MISSED * y.sum()) if name == "cost" else getattr(chosen, name)
    called, called_test = values >= chosen.threshold, test_values >= chosen.threshold
    true = measure(name, y_test, called_test)
    return Found(chosen.reached, told, measure(name, y, called), true, int(y.sum()))


def rival(draw: Draw, name: str) -> float:
    """The rival's F1 or cost on the test rows."""
    scorer: Any = "f1" if name == "f1" else make_scorer(neg_cost)
    tuned = TunedThresholdClassifierCV(
        SVC(**draw.machine), scoring=scorer, response_method="decision_function", cv=5
    ).fit(draw.X, draw.y)
    return measure(name, draw.y_test, tuned.predict(draw.X_test) == 1)


def measured(args: argparse.Namespace, name: str) -> tuple[dict[str, list[Found]], np.ndarray, int]:
    """What every rule found in every draw; F1 and cost of ours and the rival's; test positives."""
    found: dict[str, list[Found]] = {asked: [] for asked in ASKED}
    rivals, positives = [], []
    for k, draw in enumerate(draws(args.data, name, args.draws)):
        model = BayesSVC(**draw.machine, leave_out_size=None).fit(draw.X, draw.y)
        values, test_values = model.left_out_decision_values_, model.decision_function(draw.X_test)
        positives.append(int(draw.y_test.sum()))
        for asked in ASKED:
            found[asked].append(found_by(asked, draw.y, values, draw.y_test, test_values))
        if k < args.rivals:
            ours = [found[asked][-1].true for asked in ("F1", "cost")]
            rivals.append([*ours, rival(draw, "f1"), rival(draw, "cost")])
    say(f"{name}: {np.mean(positives):.0f} test positives")
    return found, np.mean(rivals, axis=0), round(np.mean(positives))


def promise_row(asked: str, sets: dict[str, tuple]) -> list[object]:
    """One line of the table of promises."""
    target = ASKED[asked][1].get("at_least")
    reached = [[one for one in found[asked] if one.reached] for found, _, _ in sets.values()]
    draws_of = sum(len(found[asked]) for found, _, _ in sets.values())
    # Where none of the test rows is called positive there is no precision.
    defined = [[one for one in part if not np.isnan(one.true)] for part in reached]
    some = [part for part in defined if part]
    means = [np.mean([one.true for one in part]) for part in some]
    told, in_sample = (
        np.mean([np.mean([getattr(one, name) - one.true for one in part]) for part in some])
        for name in ("told", "in_sample")
    )
    share = f"{sum(map(len, reached))} of {draws_of}"
    if target is None:
        return [asked, share, "", "", "", "", f"{told:+.3f}", f"{in_sample:+.3f}"]
    large = [found[asked] for found, _, positives in sets.values() if positives >= ENOUGH_POSITIVES]
    shown = [one for part in large for one in part if one.reached]
    met = sum(one.true >= target for one in shown)
    enough = CONFIDENCE - 2 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / max(1, len(shown)))
    sure = "confidence" in ASKED[asked][1]
    return [
        asked, share, f"{np.mean(means):.3f}", f"{met / max(1, len(shown)):.3f} of {len(shown)}",
        f"{enough:.3f}" if sure else "", f"{(len(shown) - met) / sum(map(len, large)):.3f}" if sure else "",
        f"{told:+.3f}", f"{in_sample:+.3f}",
    ]  # fmt: skip


def set_row(name: str, one: tuple[dict[str, list[Found]], np.ndarray, int]) -> list[object]:
    """One line of the table of sets."""
    found, rivals, positives = one
    every = found["recall 0.95"]
    sure = found["recall 0.95, confidence 0.9"]
    able = [each for each in sure if each.positives >= 45]
    precise = [each for each in found["precision 0.8, confidence 0.9"] if each.reached]
    return [
        name, f"{np.mean([each.positives for each in every]):.0f}", positives,
        f"{np.mean([each.true for each in every]):.3f}",
        f"{sum(each.reached for each in able)} of {len(able)}" if able else "–",
        f"{np.mean([each.true >= 0.95 for each in able]):.2f}" if able else "–",
        len(precise),
        f"{np.mean([each.true >= 0.8 for each in precise]):.2f}" if precise else "–",
        *(f"{rivals[k]:.3f}" for k in (0, 2, 1, 3)),
    ]  # fmt: skip


def add_half(page: Page, part: str, args: argparse.Namespace) -> None:
    sets = {name: measured(args, name) for _, names in sets_of(part) for name in names}
    page.add(f"## {part[0].upper()}{part[1:]}: {len(sets)} sets")
    head = ("asked", "reached", "mean", "met", "enough", "broken", "told - true", "in sample - true")
    page.add(table(head, [promise_row(asked, sets) for asked in ASKED]))
    both = np.mean([rivals for _, rivals, _ in sets.values()], axis=0)
    gained = np.array([(one[0] > one[2], one[1] < one[3]) for _, one, _ in sets.values()]).sum(axis=0)
    page.add(
        f"Against the rival, means over the sets: F1 {both[0]:.4f} and {both[2]:.4f} (higher on {gained[0]} "
        f"of {len(sets)} sets), cost {both[1]:.4f} and {both[3]:.4f} (lower on {gained[1]})."
    )
    page.add(
        "By set; *recall* without confidence over all draws, *shown* and *met* with confidence 0.9: recall "
        "0.95 in draws with 45 positives or more to learn from, precision 0.8 in draws where it is shown."
    )
    head = (
        "set", "positives", "to test", "recall 0.95", "shown", "met", "precision 0.8 shown", "met",
        "F1", "rival's", "cost", "rival's",
    )  # fmt: skip
    page.add(table(head, [set_row(name, one) for name, one in sets.items()]))


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--draws", type=int, default=40, metavar="N", help="draws of each; default: 40")
    parser.add_argument("--rivals", type=int, default=10, metavar="N", help="draws for the rival: 10")
    args = parse(parser)
    about = ABOUT.format(
        documents="1500 random documents of both parts of the ModApte split, the other 11,402 to test",
        draws=args.draws, rivals=args.rivals, missed=MISSED,
    )  # fmt: skip
    page = Page("validation.thresholds", "Thresholds that keep their word", about)
    for part in ("choices made on", "put aside"):
        add_half(page, part, args)
    page.finish(args.output)


if __name__ == "__main__":
    main()

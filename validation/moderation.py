"""What the moderated link costs among the data, and where its log-odds go away from them."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from bayes_svm.probability.several import class_log_odds, log_probabilities
from validation._common import SETS, Page, parse, parser_for, table
from validation._common import progress as say
from validation._sets import CHOSEN_ON, IMBALANCED, binary_set, cells, drawn, halves_of, log_loss_of

ABOUT = """\
`BayesSVC(link="moderated")`, the default, beside `link="sigmoid"` on the same left-out values: 13 IDA
sets and nine with a rare class, rbf kernel with gamma = 1/d, C = 1 and 10, standardised. Training parts
of 60 and 200 rows, and of a half of the rows up to 2000 (*full*), stratified, with at least six rare
rows; {few} draws, {full} in full. Every loss is the mean over draws and both C; tables show the
geometric mean over sets of the ratio to the sigmoid, and the worst set. *Average precision* is that of
the probability less that of the decision value, of the rarer class, on test data: mean over sets, and
the worst set. *Far*: 100 random directions, five times the length of a standard deviation in every
feature; mean distance of the log-odds from their limit, and the mean probability of the more probable
class.

Every choice was made on the sets named in `validation/_sets.py` (`CHOSEN_ON`); the others were put
aside."""

FAR, DIRECTIONS = 5.0, 100
LIMITS = ("fringe", "1/2", "base rate")


def far_points(d: int, seed: int) -> np.ndarray:
    direction = np.random.default_rng(seed).normal(size=(DIRECTIONS, d))
    return FAR * np.sqrt(d) * direction / np.linalg.norm(direction, axis=1)[:, None]


def one_case(data: str, name: str, n: int | None, C: float, seed: int) -> dict[str, list[float]]:
    """Loss, average precision less that of the decision value, distance from the limit, confidence."""
    X, y, X_test, y_test = drawn(*binary_set(data, name), n, seed)
    at = np.vstack([X_test, far_points(X.shape[1], seed)])
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = BayesSVC(C=C, gamma=1.0 / X.shape[1]).fit(X, y)
    link, values = model.link_, model.decision_function(at)
    information = model._link_posteriors[0].information(at)
    base = float(np.log(y.mean() / (1 - y.mean())))
    limits = {"fringe": link.limit, "1/2": 0.0, "base rate": base}
    links = {"sigmoid": (link.sigmoid, None)}
    links |= {limit: (replace(link, limit=value), information) for limit, value in limits.items()}
    ranked = average_precision_score(y_test, values[: len(y_test)])
    found = {}
    for way, (one, reading) in links.items():
        log_odds = class_log_odds([one], values, reading)
        near, far = log_odds[: len(y_test)], log_odds[len(y_test) :]
        probability = np.exp(log_probabilities(near))
        confidence = np.exp(log_probabilities(far)).max(axis=1)
        found[way] = [
            log_loss_of(probability, y_test),
            average_precision_score(y_test, near) - ranked,
            float(np.mean(np.abs(far - limits.get(way, 0.0)))),
            float(confidence.mean()),
        ]
    return found


def per_set(results: dict, names: list[str], way: str) -> np.ndarray:
    """Means over the cases of every set: shape (n_sets, 4)."""
    return np.array([np.mean([one[way] for one in results[name]], axis=0) for name in names])


def add_tables(page: Page, results: dict[str, list], title: str, names: list[str]) -> None:
    rows = []
    for part, chosen in halves_of(names):
        if not chosen:
            continue
        sigmoid = per_set(results, chosen, "sigmoid")
        for way in ("sigmoid", *LIMITS):
            found = per_set(results, chosen, way)
            lost = found[:, 1]
            rows.append(
                [
                    part,
                    f"limit: {way}" if way in LIMITS else way,
                    *cells(found[:, 0] / sigmoid[:, 0], chosen),
                    f"{lost.mean():+.4f}",
                    f"{lost.min():+.4f}",
                    chosen[int(lost.argmin())],
                    "–" if way == "sigmoid" else f"{found[:, 2].mean():.3f}",
                    f"{found[:, 3].mean():.3f}",
                ]
            )
    head = (
        "sets", "link", "log loss / sigmoid", "worst", "", "average precision", "worst", "",
        "far from the limit", "confidence far",
    )  # fmt: skip
    page.add(f"## {title}", table(head, rows, left=2))
    ratio = per_set(results, names, "fringe")[:, 0] / per_set(results, names, "sigmoid")[:, 0]
    lines = [
        [name, "" if name in CHOSEN_ON else "aside", f"{value:.4f}", f"{change:+.4f}", f"{far:.3f}"]
        for name, value, (_, change, far, _) in zip(
            names, ratio, per_set(results, names, "fringe"), strict=True
        )
    ]
    page.add(
        "The default, set by set:",
        table(("set", "", "log loss / sigmoid", "average precision", "far from the limit"), lines, left=2),
    )


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--draws", type=int, default=10, metavar="N", help="of 60 and 200 rows; default: 10")
    parser.add_argument("--full", type=int, default=5, metavar="N", help="draws in full; default: 5")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; default: 1")
    args = parse(parser)
    page = Page(
        "validation.moderation",
        "The price of knowing where the data end",
        ABOUT.format(few=args.draws, full=args.full),
    )
    names = [*args.sets, *(IMBALANCED if set(args.sets) == set(SETS) else ())]
    for n, draws in ((60, args.draws), (200, args.draws), (None, args.full)):
        add_tables(page, all_cases(args, names, n, draws), f"{n} rows" if n else "Full", names)
        say(f"{n or 'full'}: done")
    page.finish(args.output)


def all_cases(args: argparse.Namespace, names: list[str], n: int | None, draws: int) -> dict[str, list]:
    cases = [(name, C, seed) for name in names for C in (1.0, 10.0) for seed in range(draws)]
    found = Parallel(n_jobs=args.jobs)(
        delayed(one_case)(args.data, name, n, C, seed) for name, C, seed in cases
    )
    return {name: [one for case, one in zip(cases, found, strict=True) if case[0] == name] for name in names}


if __name__ == "__main__":
    main()

"""Quality of the probabilities: multiclass log loss on digits, and the choice of the sigmoid's smoothing."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayes_svm import BayesSVC
from bayes_svm.calibration import fit_sigmoid
from bayes_svm.links import log_probabilities
from validation._common import Page, geometric_mean, parse, parser_for, read_ida, table
from validation._common import progress as say

ABOUT = """\
Two measurements of the mean negative log-likelihood of test labels (log loss, lower is better).
**Digits**: scikit-learn's `load_digits` (1797 images, 10 classes) split in halves, five times
(`train_test_split` with random_state 0 to 4), standardised by the training half, rbf kernel with
gamma="scale". **Smoothing**: the sigmoid of `BayesSVC` is fitted to leave-one-out decision values on
smoothed targets (N₊ + h)/(N₊ + 2h) and h/(N₋ + 2h); which h is best is measured on random splits of the
IDA benchmark sets, standardised by the training part, rbf kernel with gamma = 1/d, relative to the usual
way to get probabilities, a sigmoid fitted to the decision values of 5-fold cross-validation."""

SMOOTHING = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
FEW, LEAST = 60, 5  # points of the small training sets, and members that each class has there at least


def quiet(model: object, X: np.ndarray, y: np.ndarray) -> object:
    """A fitted model; warnings about deprecation and poor separation are not for this page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y)


def digit_models(C: float) -> dict[str, object]:
    """Every way to a probability that this scikit-learn has."""
    models = {
        'BayesSVC(link="sigmoid")': BayesSVC(C=C, link="sigmoid"),
        'BayesSVC(link="kwok")': BayesSVC(C=C, link="kwok"),
        "CalibratedClassifierCV(SVC(), ensemble=False)": CalibratedClassifierCV(SVC(C=C), ensemble=False),
        "CalibratedClassifierCV(SVC(), ensemble=True)": CalibratedClassifierCV(SVC(C=C), ensemble=True),
    }
    if "probability" in SVC().get_params():
        models["SVC(probability=True)"] = SVC(C=C, probability=True, random_state=0)
    return models


def digits_split(seed: int, C: float) -> dict[str, tuple[float, float]]:
    """Log loss and error of every model on one split."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    found = {}
    for name, model in digit_models(C).items():
        probabilities = quiet(model, X, y).predict_proba(X_test)
        error = np.mean(model.classes_[probabilities.argmax(axis=1)] != y_test)
        found[name] = (log_loss(y_test, probabilities), float(error))
    say(f"digits, split {seed}, C = {C:g}: " + ", ".join(f"{loss:.4f}" for loss, _ in found.values()))
    return found


def digits_tables(page: Page, seeds: list[int], jobs: int) -> None:
    page.add("## Multiclass log loss on digits")
    page.add("Error is the share of test images whose most probable class is wrong, mean over the splits.")
    for C in (1.0, 10.0):
        splits = Parallel(n_jobs=jobs)(delayed(digits_split)(seed, C) for seed in seeds)
        rows = [
            [
                name,
                *(f"{split[name][0]:.4f}" for split in splits),
                f"**{np.mean([split[name][0] for split in splits]):.4f}**",
                f"{100 * np.mean([split[name][1] for split in splits]):.2f} %",
            ]
            for name in splits[0]
        ]
        head = ("", *(f"split {seed}" for seed in seeds), "mean", "error")
        page.add(f"C = {C:g}", table(head, rows))


def first_few(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The first 60 rows; a class with fewer than 5 of them gets its next ones in place of the last others."""
    chosen = list(rows[:FEW])
    for label in (-1, 1):
        lacking = LEAST - int(np.sum(y[chosen] == label))
        if lacking > 0:
            others = [row for row in chosen if y[row] != label]
            added = [row for row in rows[FEW:] if y[row] == label][:lacking]
            dropped = set(others[len(others) - len(added) :])
            chosen = [row for row in chosen if row not in dropped] + added
    return np.array(chosen)


def smoothing_case(data: str, name: str, split: int, few: bool, C: float) -> list[float]:
    """Test log loss for each h, and of the 5-fold sigmoid, on one split."""
    z = read_ida(data, name)
    rows, test = z["train_rand"][split].astype(int), z["test_rand"][split].astype(int)
    rows = first_few(rows, z["y"]) if few else rows
    scaler = StandardScaler().fit(z["X"][rows])
    X, X_test = scaler.transform(z["X"][rows]), scaler.transform(z["X"][test])
    y, y_test = z["y"][rows].astype(int), z["y"][test].astype(int)
    gamma = 1.0 / X.shape[1]
    model = quiet(BayesSVC(C=C, gamma=gamma, link="sigmoid"), X, y)
    values, losses = model.decision_function(X_test), []
    for h in SMOOTHING:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            link = fit_sigmoid(model.loo_decision_values_, y > 0, np.ones(len(y)), h)
        probabilities = np.exp(log_probabilities(link.log_odds(values)))
        losses.append(log_loss(y_test, probabilities, labels=[-1, 1]))
        if h == model.smoothing:  # the link fitted here is the one the estimator uses
            np.testing.assert_allclose(probabilities, model.predict_proba(X_test), atol=1e-12)
    usual = quiet(CalibratedClassifierCV(SVC(C=C, gamma=gamma), ensemble=False), X, y)
    return [*losses, log_loss(y_test, usual.predict_proba(X_test), labels=[-1, 1])]


def smoothing_cases(args: argparse.Namespace) -> Iterator[tuple[str, bool, float, int]]:
    for name in args.sets:
        for few in (True, False):
            for C in (1.0, 10.0):
                for split in range(args.splits):
                    yield name, few, C, split


def smoothing_ratios(args: argparse.Namespace) -> tuple[list[tuple], np.ndarray]:
    """The cases, and for each the log loss at every h relative to the 5-fold sigmoid's."""
    cases = list(smoothing_cases(args))
    losses = np.array(
        Parallel(n_jobs=args.jobs)(
            delayed(smoothing_case)(args.data, name, split, few, C) for name, few, C, split in cases
        )
    )
    say(f"smoothing: {len(cases)} cases done")
    return cases, losses[:, :-1] / losses[:, -1:]


def smoothing_table(page: Page, args: argparse.Namespace) -> None:
    cases, ratios = smoothing_ratios(args)
    rows = []
    sizes = {True: f"first {FEW}", False: "as given"}
    groups = [(few, C) for few in (True, False) for C in (1.0, 10.0)] + [(True, None), (False, None)]
    for few, C in [*groups, (None, None)]:
        chosen = [k for k, case in enumerate(cases) if few in (None, case[1]) and C in (None, case[2])]
        means = [geometric_mean(ratios[chosen, j]) for j in range(len(SMOOTHING))]
        cells = [f"**{mean:.4f}**" if mean == min(means) else f"{mean:.4f}" for mean in means]
        rows.append([sizes.get(few, "both"), "both" if C is None else f"{C:g}", len(chosen), *cells])
    page.add(
        "## Smoothing of the sigmoid's targets",
        "Test log loss of `BayesSVC(C, gamma=1/d, smoothing=h)` relative to that of "
        "`CalibratedClassifierCV(SVC(C, gamma=1/d), ensemble=False)`: the geometric mean over "
        f"{len(args.sets)} sets and {args.splits} random splits of each (`train_rand`, `test_rand`; fits "
        f"in the third column). Training sets as given, and the first {FEW} points of each, with at least "
        f"{LEAST} members of each class. Below 1 is better than 5-fold cross-validation; the best of each "
        f"line is bold. Platt's choice is h = 1, the default of `BayesSVC` h = {BayesSVC().smoothing:g}.",
        table(("training points", "C", "fits", *(f"h = {h:g}" for h in SMOOTHING)), rows, left=2),
    )


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument(
        "--splits", type=int, default=6, metavar="N", help="random splits of each IDA set; default: 6"
    )
    parser.add_argument(
        "--digits-splits", type=int, default=5, metavar="N", help="splits of digits; default: 5"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    args = parse(parser)
    page = Page("validation.probabilities", "How good the probabilities are", ABOUT)
    if args.digits_splits > 0:
        digits_tables(page, list(range(args.digits_splits)), args.jobs)
    smoothing_table(page, args)
    page.finish(args.output)


if __name__ == "__main__":
    main()

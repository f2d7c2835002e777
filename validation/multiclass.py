"""Several classes: one against the rest beside coupled pairs, error, log loss and rejection."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayes_svm import BayesSVC, PairwiseCouplingClassifier, RejectOptionClassifier
from bayes_svm.decision import risk_coverage_curve
from validation._common import Page, parse, parser_for, table
from validation._common import progress as say

ABOUT = """\
Ways to combine two-class machines into probabilities of several classes, and the reject option on these.
**One-vs-rest, Kwok**: Kwok's moderated outputs, nothing fitted, the winner's output being its probability;
*divided by their sum* is `multiclass="normalise"`. **One-vs-rest**: `BayesSVC()`, a moderated sigmoid for
each class and the joint link; *divided by their sum* without the joint link. **Pairs**:
`PairwiseCouplingClassifier(BayesSVC())`, a machine for each pair of classes, coupled by the second method of
Wu, Lin and Weng. **SVC calibrated**: `CalibratedClassifierCV(SVC(), ensemble=False)`. All have the rbf
kernel with the same C = {C:g} and the same gamma, 1 / (features × variance) of the training set.

*Error*, *log loss* and *risk-coverage area* (mean over all coverages of the share of errors among the points
accepted first) are of test data. *Coverage* and *risk* are of test data too, with the threshold that
`RejectOptionClassifier(..., target_coverage=0.9)` chose on training data alone: on leave-one-out
probabilities, for the calibrated SVC on those of 5-fold cross-validation. Seconds are of the fit, choice of
the threshold included, one thread.

* segmentation: the original 210 training and 2100 test points, 7 classes, standardised.
* optdigits: the original 3823 training and 1797 test images, 10 classes, divided by 16. The test images are
  by other writers than the training images, so that coverage need not carry over.
* digits: `load_digits`, 1797 images divided by 16, {halves} random halves (means); the same images as the
  test part of optdigits."""

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def segmentation(args: argparse.Namespace) -> Iterator[Split]:
    train, test = (
        pd.read_csv(Path(args.data) / "uci" / f"segmentation_{part}.csv") for part in ("train", "test")
    )
    scaler = StandardScaler().fit(train.drop(columns="class").to_numpy(float))
    X, X_test = (scaler.transform(part.drop(columns="class").to_numpy(float)) for part in (train, test))
    yield X, train["class"].to_numpy(), X_test, test["class"].to_numpy()


def optdigits(args: argparse.Namespace) -> Iterator[Split]:
    with np.load(Path(args.data) / "uci" / "optdigits.npz") as z:
        yield z["X_train"] / 16.0, z["y_train"], z["X_test"] / 16.0, z["y_test"]


def digits(args: argparse.Namespace) -> Iterator[Split]:
    X, y = load_digits(return_X_y=True)
    for seed in range(args.halves):
        X_train, X_test, y_train, y_test = train_test_split(X / 16.0, y, test_size=0.5, random_state=seed)
        yield X_train, y_train, X_test, y_test


def models(C: float, gamma: float) -> dict[str, RejectOptionClassifier]:
    ours, kwoks = BayesSVC(C, gamma=gamma), BayesSVC(C, gamma=gamma, link="kwok")
    shared, shared_kwoks = (clone(one).set_params(multiclass="normalise") for one in (ours, kwoks))
    calibrated = CalibratedClassifierCV(SVC(C=C, gamma=gamma), ensemble=False)
    return {
        "one-vs-rest, Kwok": RejectOptionClassifier(kwoks, target_coverage=0.9),
        "– divided by their sum": RejectOptionClassifier(shared_kwoks, target_coverage=0.9),
        "one-vs-rest": RejectOptionClassifier(ours, target_coverage=0.9),
        "– divided by their sum ": RejectOptionClassifier(shared, target_coverage=0.9),
        "pairs, Kwok": RejectOptionClassifier(PairwiseCouplingClassifier(kwoks), target_coverage=0.9),
        "pairs": RejectOptionClassifier(PairwiseCouplingClassifier(ours), target_coverage=0.9),
        "SVC calibrated": RejectOptionClassifier(calibrated, target_coverage=0.9, cv=5),
    }


def measured(split: Split, C: float) -> dict[str, list[float]]:
    """Way -> error, log loss, area, coverage, risk, seconds."""
    X, y, X_test, y_test = split
    found = {}
    for name, model in models(C, 1.0 / (X.shape[1] * X.var())).items():
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # poor separation is not for this page
            model.fit(X, y)
        seconds = time.perf_counter() - started
        proba = model.predict_proba(X_test)
        predicted, accepted = model.classes_[proba.argmax(axis=1)], ~model.rejected(X_test)
        found[name] = [
            np.mean(predicted != y_test),
            log_loss(y_test, proba),
            risk_coverage_curve(y_test, predicted, proba.max(axis=1)).area,
            accepted.mean(),
            np.mean(predicted[accepted] != y_test[accepted]),
            seconds,
        ]
        say(f"{name}: {seconds:.1f} s")
    return found


def add_set(
    page: Page,
    args: argparse.Namespace,
    name: str,
    splits: Callable[[argparse.Namespace], Iterator[Split]],
) -> None:
    runs = [measured(split, args.C) for split in splits(args)]
    formats = ("{:.2%}", "{:.4f}", "{:.3%}", "{:.1%}", "{:.2%}", "{:.1f}")
    rows = []
    for way in runs[0]:
        means = np.mean([run[way] for run in runs], axis=0)
        rows.append([way, *(form.format(value) for form, value in zip(formats, means, strict=True))])
    head = ("", "error", "log loss", "risk-coverage area", "coverage", "risk", "seconds")
    page.add(f"## {name}", table(head, rows))


def main() -> None:
    parser = parser_for(__doc__ or "")
    parser.add_argument("--C", type=float, default=10.0, help="penalty of every machine; default: 10")
    parser.add_argument(
        "--halves", type=int, default=5, metavar="N", help="random halves of digits; default: 5"
    )
    args = parse(parser)
    about = ABOUT.format(C=args.C, halves=args.halves)
    for link in ("moderated", "kwok"):
        BayesSVC(link=link).fit(*load_iris(return_X_y=True))  # compiled before the clock starts
    page = Page("validation.multiclass", "Several classes: one against the rest, and pairs", about)
    for name, splits in (("segmentation", segmentation), ("digits", digits), ("optdigits", optdigits)):
        add_set(page, args, name, splits)
    page.finish(args.output)


if __name__ == "__main__":
    main()

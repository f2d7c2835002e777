"""Quality of the probabilities: multiclass log loss on digits, and what the sigmoid owes to what."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed
from scipy import special
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayes_svm import BayesSVC
from bayes_svm.probability.calibration import fit_sigmoid
from bayes_svm.probability.several import log_probabilities
from bayes_svm.probability.sigmoid import SigmoidLink
from validation._common import SETS, Page, parse, parser_for, table
from validation._common import progress as say
from validation._sets import IMBALANCED, binary_set, cells, drawn, halves_of, log_loss_of

ABOUT = """\
Two measurements of the mean negative log-likelihood of test labels (log loss, lower is better).
**Digits**: scikit-learn's `load_digits` (1797 images, 10 classes) split in halves, five times
(`train_test_split` with random_state 0 to 4), standardised by the training half, rbf kernel with
gamma="scale". **The sigmoid**: `BayesSVC(link="sigmoid")` fits it to left-out decision values, on smoothed
targets (N₊ + h)/(N₊ + 2h) and h/(N₋ + 2h), with a prior for the slope and one for the offset, and lets it
saturate beyond the values that it was fitted to. What each part brings, on 13 IDA sets and nine with a rare
class (at least six rare rows to learn from), rbf kernel with gamma = 1/d, C = 1 and 10, standardised:
relative to the usual way to get probabilities, a sigmoid fitted to the decision values of 5-fold
cross-validation, `CalibratedClassifierCV(SVC(), ensemble=False)`. Choices were made on the sets named in
`validation/_sets.py` (`CHOSEN_ON`); the others were put aside."""

SMOOTHING = (0.05, 0.1, 0.25, 0.5, 1.0)
WAYS = (
    "h = 1 (Platt)", "h = 0.25", "h = 0.1", *(f"priors, h = {h:g}" for h in SMOOTHING), 'link="sigmoid"',
    "the default",
)  # fmt: skip


def quiet(model: object, X: np.ndarray, y: np.ndarray) -> object:
    """A fitted model; warnings about deprecation and poor separation are not for this page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y)


def digit_models(C: float) -> dict[str, object]:
    """Every way to a probability that this scikit-learn has."""
    models = {
        "BayesSVC()": BayesSVC(C=C),
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


def platt(values: np.ndarray, positive: np.ndarray, h: float) -> SigmoidLink:
    """The sigmoid of most likelihood on smoothed targets, without priors."""
    counts = positive.sum(), (~positive).sum()
    target = np.where(positive, (counts[0] + h) / (counts[0] + 2 * h), h / (counts[1] + 2 * h))
    scale = values.std() or 1.0
    design = np.column_stack([values / scale, np.ones(len(values))])

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        score = design @ parameters
        return float(np.sum(np.logaddexp(0.0, score) - target * score)), design.T @ (
            special.expit(score) - target
        )

    start = np.array([0.0, np.log(counts[0] / counts[1])])
    bounds = [(0.0, None), (None, None)]
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-13})
    return SigmoidLink(float(found.x[0]) / scale, float(found.x[1]))


def sigmoid_case(data: str, name: str, n: int | None, C: float, seed: int) -> list[float]:
    """Test log loss of every way to fit the sigmoid, and of the 5-fold sigmoid, on one draw."""
    X, y, X_test, y_test = drawn(*binary_set(data, name), n, seed)
    gamma, positive = 1.0 / X.shape[1], y == 1
    model = quiet(BayesSVC(C=C, gamma=gamma, link="sigmoid"), X, y)
    left_out, values = model.left_out_decision_values_, model.decision_function(X_test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = [fit_sigmoid(left_out, positive, np.ones(len(y)), h) for h in SMOOTHING]
    links = [platt(left_out, positive, h) for h in (1.0, 0.25, 0.1)]
    links += [replace(link, low=-np.inf, high=np.inf) for link in fitted]
    found = [np.exp(log_probabilities(link.log_odds(values))) for link in (*links, model.link_)]
    found.append(quiet(BayesSVC(C=C, gamma=gamma), X, y).predict_proba(X_test))
    usual = quiet(CalibratedClassifierCV(SVC(C=C, gamma=gamma), ensemble=False), X, y)
    return [log_loss_of(probability, y_test) for probability in (*found, usual.predict_proba(X_test))]


def sigmoid_table(page: Page, args: argparse.Namespace, n: int | None, draws: int) -> None:
    names = [*args.sets, *(IMBALANCED if set(args.sets) == set(SETS) else ())]
    cases = [(name, n, C, seed) for name in names for C in (1.0, 10.0) for seed in range(draws)]
    found = Parallel(n_jobs=args.jobs)(delayed(sigmoid_case)(args.data, *case) for case in cases)
    means = {
        name: np.mean([one for case, one in zip(cases, found, strict=True) if case[0] == name], axis=0)
        for name in names
    }
    rows = []
    for part, chosen in halves_of(names):
        for k, way in enumerate(WAYS):
            ratios = np.array([means[name][k] / means[name][-1] for name in chosen])
            rows.append([part, f"**{way}**" if k == len(WAYS) - 1 else way, *cells(ratios, chosen)])
    head = ("sets", "sigmoid", "log loss / CalibratedClassifierCV", "worst", "")
    page.add(f"### {f'{n} rows' if n else 'Full'}, {draws} draws", table(head, rows, left=2))
    say(f"sigmoid, {n or 'full'}: {len(cases)} cases done")


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--draws", type=int, default=10, metavar="N", help="of 60 and 200 rows; default: 10")
    parser.add_argument("--full", type=int, default=4, metavar="N", help="draws in full; default: 4")
    parser.add_argument(
        "--digits-splits", type=int, default=5, metavar="N", help="splits of digits; default: 5"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    args = parse(parser)
    page = Page("validation.probabilities", "How good the probabilities are", ABOUT)
    if args.digits_splits > 0:
        digits_tables(page, list(range(args.digits_splits)), args.jobs)
    page.add(
        "## What the sigmoid owes to what",
        "Geometric means over the sets, of the mean over the draws and both C; below 1 is better than 5-fold "
        "cross-validation. Those with priors go on straight beyond the left-out values; that of "
        f'`link="sigmoid"` (priors, h = {BayesSVC().smoothing:g}) saturates there, and the default link is '
        "moderated besides.",
    )
    for n, draws in ((60, args.draws), (200, args.draws), (None, args.full)):
        sigmoid_table(page, args, n, draws)
    page.finish(args.output)


if __name__ == "__main__":
    main()

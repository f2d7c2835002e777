"""Which link is the default: probabilities among the data and far from it, against every rival."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct
from sklearn.isotonic import IsotonicRegression, isotonic_regression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from bayes_svm.probability.link import LinkData
from bayes_svm.probability.links import fit_links
from bayes_svm.probability.several import class_log_odds, log_probabilities
from validation._common import Page, geometric_mean, parse, parser_for, table
from validation._common import progress as say
from validation._sets import ida_split

ABOUT = """\
How good are the probabilities of every link of `BayesSVC`, and of everything scikit-learn users have, on the
same SVM? **Among the data**: the 13 IDA sets, standardised by the training part, rbf kernel with gamma =
1/d, C = 1 and C = 10; random splits as given (`train_rand`, `test_rand`), and stratified draws of 60 rows.
Each loss is the mean over the splits and both C; tables show the geometric mean over the sets, relative to
the best single rival. At most 3000 test points. **Far away**: 100 random directions, at r = 3 to 10 times
the length of a standard deviation in every feature, from the mean of the training data; the mean probability
of the more probable class, where nobody can know. **Several classes**: optdigits (500 training points of its
training part), segmentation as split by its authors, and load_digits in halves.

Rivals: `SVC(probability=True)`, `CalibratedClassifierCV(SVC())` with its three methods, `ensemble` False and
True, cross Venn-Abers predictors (5 folds, probabilities merged as p1 / (1 - p0 + p1)), and
`GaussianProcessClassifier` (rbf; DotProduct cubed for the cubic kernel; parameters by its own evidence; only
on the 60-point runs and on sets of at most 500 points, {gp_splits} splits: it is slow; cases in which its
Cholesky factorisation fails are missing). It is not on the same SVM, and is not counted for the best rival.
Probabilities of 0 and 1 count as 1e-15 off."""

FAR = (3, 4, 6, 8, 10)
FEW = 60
LINKS = ("moderated", "sigmoid", "kwok", "hinge", "dumais", "isotonic")
RIVALS = (
    "SVC(probability=True)", "sigmoid, ensemble=False", "sigmoid, ensemble=True", "isotonic, ensemble=False",
    "isotonic, ensemble=True", "temperature, ensemble=False", "temperature, ensemble=True", "Venn-Abers",
)  # fmt: skip
PROCESS = "Gaussian process"
MOST_PROCESS, OPTDIGITS = 500, 500
DEFAULT = "moderated"


def quiet(call: Callable[[], Any]) -> Any:
    """The result; warnings about deprecation, separation and convergence are not for this page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def losses(probability: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Log loss, Brier score, and calibration error, of the probability of the positive class."""
    clipped = np.clip(probability, 1e-15, 1.0 - 1e-15)
    positive = y > 0
    loss = -np.mean(np.log(np.where(positive, clipped, 1.0 - clipped)))
    return (
        float(loss),
        float(np.mean((probability - positive) ** 2)),
        calibration_error(probability, positive),
    )


def calibration_error(probability: np.ndarray, positive: np.ndarray, bins: int = 15) -> float:
    """Squared calibration error over bins of equal size, debiased, and its root (0 where negative)."""
    total = 0.0
    for part in np.array_split(np.argsort(probability, kind="stable"), bins):
        if len(part) > 1:
            share = positive[part].mean()
            bias = share * (1.0 - share) / (len(part) - 1)
            total += len(part) * ((share - probability[part].mean()) ** 2 - bias)
    return float(np.sqrt(max(0.0, total / len(probability))))


class VennAbers:
    """Cross Venn-Abers predictor of an SVC's decision values."""

    def __init__(self, svc: SVC) -> None:
        self.svc = svc

    def fit(self, X: np.ndarray, y: np.ndarray) -> VennAbers:
        self.parts = []
        for train, test in StratifiedKFold(5).split(X, y):
            model = SVC(**self.svc.get_params()).fit(X[train], y[train])
            values = model.decision_function(X[test])
            order = np.argsort(values, kind="stable")
            self.parts.append((model, values[order], (y[test] > 0)[order].astype(float)))
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        logs = []
        for model, values, target in self.parts:
            # All test values between two calibration values have the same two isotonic fits.
            places = np.searchsorted(values, model.decision_function(X))
            pairs = np.empty((len(values) + 1, 2))
            for place in np.unique(places):
                for label in (0, 1):
                    fitted = isotonic_regression(np.insert(target, place, label))
                    pairs[place, label] = fitted[place]
            logs.append(np.log(np.maximum(np.stack([1.0 - pairs[places, 0], pairs[places, 1]]), 1e-15)))
        negative, positive = np.exp(np.mean(logs, axis=0))  # geometric means over the folds
        share = positive / (positive + negative)
        return np.column_stack([1.0 - share, share])


def rivals(parameters: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "probability" in SVC().get_params():
        found["SVC(probability=True)"] = SVC(**parameters, probability=True, random_state=0)
    for method in ("sigmoid", "isotonic", "temperature"):
        for ensemble in (False, True):
            found[f"{method}, ensemble={ensemble}"] = CalibratedClassifierCV(
                SVC(**parameters), method=method, ensemble=ensemble
            )
    found["Venn-Abers"] = VennAbers(SVC(**parameters))
    return found


def process(kernel: str) -> GaussianProcessClassifier:
    base = RBF(3.0, (0.1, 1e3)) if kernel == "rbf" else DotProduct(1.0, (1e-3, 1e3)) ** 3
    return GaussianProcessClassifier(ConstantKernel(1.0, (1e-6, 1e6)) * base, random_state=0)


def far_points(X: np.ndarray, seed: int) -> np.ndarray:
    """Points at growing distance in random directions; the rows of one distance follow each other."""
    random = np.random.default_rng(seed)
    direction = random.normal(size=(100, X.shape[1]))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    return np.concatenate([r * np.sqrt(X.shape[1]) * direction for r in FAR])


def ours(X: np.ndarray, y: np.ndarray, parameters: dict[str, Any], at: np.ndarray) -> dict[str, np.ndarray]:
    """Probabilities of the positive class at points, by every link; leaving out once serves several."""
    moderated = quiet(lambda: BayesSVC(**parameters).fit(X, y))
    found = {DEFAULT: moderated.predict_proba(at)[:, 1]}
    values, weight = moderated.decision_function(at), np.ones(len(y))
    for name in ("sigmoid", "hinge", "dumais", "isotonic"):
        link = IsotonicRegression(out_of_bounds="clip") if name == "isotonic" else name
        links = quiet(
            lambda link=link: fit_links(
                link,
                LinkData(moderated.left_out_decision_values_, (y > 0).astype(int), weight),
                moderated.smoothing,
            )
        )
        found[name] = np.exp(log_probabilities(class_log_odds(links, values, None)))[:, 1]
    found["kwok"] = quiet(lambda: BayesSVC(**parameters, link="kwok").fit(X, y)).predict_proba(at)[:, 1]
    return found


def one_case(data: str, name: str, few: bool, kernel: dict[str, Any], C: float, split: int, gp: bool) -> dict:
    """Losses on the test points, and mean confidence at every distance, of every method."""
    X, y, X_test, y_test = ida_split(data, name, FEW if few else None, split)
    parameters = {"C": C, "gamma": 1.0 / X.shape[1], **kernel}
    at = np.vstack([X_test, far_points(X, split)])
    with threadpool_limits(1):
        found = ours(X, y, parameters, at)
        models = rivals(parameters)
        if gp and len(y) <= MOST_PROCESS:
            models[PROCESS] = process(parameters.get("kernel", "rbf"))
        for method, model in models.items():
            try:
                found[method] = quiet(lambda model=model: model.fit(X, y).predict_proba(at))[:, 1]
            except np.linalg.LinAlgError as error:
                say(f"{name}, split {split}, C = {C:g}: no {method}: {error}")
    result = {}
    for method, probability in found.items():
        far = probability[len(y_test) :].reshape(len(FAR), -1)
        result[method] = (
            *losses(probability[: len(y_test)], y_test),
            np.maximum(far, 1.0 - far).mean(axis=1),
        )
    return result


def all_cases(args: argparse.Namespace, kernel: dict[str, Any], splits: int) -> dict[bool, list]:
    """Results of every case, for 60 points and for all."""
    found = {}
    for few in (True, False):
        cases = [
            (name, C, split)
            for name in args.sets
            for C in (1.0, 10.0)
            for split in range(splits)
        ]  # fmt: skip
        results = Parallel(n_jobs=args.jobs)(
            delayed(one_case)(args.data, name, few, kernel, C, split, split < args.gp_splits)
            for name, C, split in cases
        )
        found[few] = list(zip(cases, results, strict=True))
        say(f"{kernel or 'rbf'}, {'60 points' if few else 'all points'}: {len(cases)} cases")
    return found


def per_set(results: list, method: str, which: int, sets: list[str], only: Any = None) -> np.ndarray:
    """Mean of one measure for every set, over the cases that have the method (and ``only`` has)."""
    means = []
    for name in sets:
        values = [
            result[method][which]
            for (case, _, _), result in results
            if case == name and method in result and (only is None or only in result)
        ]
        means.append(np.mean(values) if values else np.nan)
    return np.array(means)


def methods_of(results: list) -> list[str]:
    present = {method for _, result in results for method in result}
    return [method for method in (*LINKS, *RIVALS, PROCESS) if method in present]


def best_rival(results: list, sets: list[str]) -> str:
    present = [method for method in RIVALS if method in methods_of(results)]
    return min(present, key=lambda method: geometric_mean(per_set(results, method, 0, sets)))


def among_table(results: list, sets: list[str]) -> str:
    best = best_rival(results, sets)
    reference = per_set(results, best, 0, sets)
    rows = []
    for method in methods_of(results):
        mine = per_set(results, method, 0, sets)
        known = np.isfinite(mine)
        against = per_set(results, best, 0, sets, only=method) if method == PROCESS else reference
        ratio = mine[known] / against[known]
        cells = [f"{geometric_mean(ratio):.4f}", f"{ratio.min():.3f}", f"{ratio.max():.3f}"]
        cells += [f"{np.nanmean(per_set(results, method, which, sets)):.4f}" for which in (0, 1, 2)]
        rows.append([f"**{method}**" if method == DEFAULT else method, int(known.sum()), *cells])
    head = (
        "method", "sets", f"log loss / {best}", "best set", "worst set", "log loss", "Brier",
        "calibration error",
    )  # fmt: skip
    return table(head, rows)


def set_table(results: list, sets: list[str]) -> str:
    """The default against the best single rival, and against whichever is best on each set."""
    best = best_rival(results, sets)
    mine, other = per_set(results, DEFAULT, 0, sets), per_set(results, best, 0, sets)
    present = [method for method in RIVALS if method in methods_of(results)]
    each = np.array([per_set(results, method, 0, sets) for method in present])
    rows = [
        [name, f"{mine[k]:.4f}", f"{other[k]:.4f}", f"{mine[k] / other[k]:.3f}", present[each[:, k].argmin()],
         f"{mine[k] / each[:, k].min():.3f}"]
        for k, name in enumerate(sets)
    ]  # fmt: skip
    return table(("set", DEFAULT, best, "ratio", "best of all rivals here", "ratio to it"), rows)


def far_table(results: list) -> str:
    rows = []
    of_process = [result for _, result in results if PROCESS in result]
    ways = [(method, method, [result for _, result in results]) for method in methods_of(results)]
    if of_process:
        ways.append((f"{DEFAULT}, the cases of the {PROCESS}", DEFAULT, of_process))
    for title, method, cases in ways:
        curves = np.array([result[method][3] for result in cases if method in result])
        rows.append([title, len(curves), *(f"{value:.3f}" for value in curves.mean(axis=0))])
    return table(("method", "cases", *(f"{r} deviations" for r in FAR)), rows)


def multiclass_data(data: str) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Name, training and test data."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    yield "load_digits", X, X_test, y, y_test
    with np.load(Path(data) / "uci" / "optdigits.npz") as z:
        chosen = np.random.default_rng(0).permutation(len(z["y_train"]))[:OPTDIGITS]
        yield "optdigits", z["X_train"][chosen], z["X_test"], z["y_train"][chosen], z["y_test"]
    parts = [pd.read_csv(Path(data) / "uci" / f"segmentation_{part}.csv") for part in ("train", "test")]
    X, X_test = (part.drop(columns="class").to_numpy() for part in parts)
    yield "segmentation", X, X_test, parts[0]["class"].to_numpy(), parts[1]["class"].to_numpy()


def multiclass_case(X: np.ndarray, X_test: np.ndarray, y: np.ndarray, y_test: np.ndarray, C: float) -> dict:
    """Test log loss and error of every method."""
    scaler = StandardScaler().fit(X.astype(float))
    X, X_test = scaler.transform(X.astype(float)), scaler.transform(X_test.astype(float))
    models: dict[str, Any] = {f"BayesSVC, {link}": BayesSVC(C=C, link=link) for link in ("moderated", "kwok")}
    models.update({name: model for name, model in rivals({"C": C}).items() if name != "Venn-Abers"})
    found = {}
    with threadpool_limits(1):
        for name, model in models.items():
            fitted = quiet(lambda model=model: model.fit(X, y))
            probability = np.clip(fitted.predict_proba(X_test), 1e-15, 1.0)
            error = np.mean(fitted.classes_[probability.argmax(axis=1)] != y_test)
            probability /= probability.sum(axis=1, keepdims=True)
            found[name] = (log_loss(y_test, probability, labels=fitted.classes_), float(error))
    return found


def multiclass_table(data: str) -> str:
    cases = {
        (name, C): multiclass_case(X, X_test, y, y_test, C)
        for name, X, X_test, y, y_test in multiclass_data(data)
        for C in (1.0, 10.0)
    }
    say("several classes: done")
    reference = "sigmoid, ensemble=False"
    rows = []
    for method in next(iter(cases.values())):
        cells = [f"{case[method][0]:.4f} ({100 * case[method][1]:.2f} %)" for case in cases.values()]
        mean = geometric_mean(case[method][0] / case[reference][0] for case in cases.values())
        rows.append([method, *cells, f"{mean:.3f}"])
    head = ("method", *(f"{name}, C = {C:g}" for name, C in cases), f"log loss / {reference}")
    return table(head, rows)


def report(page: Page, title: str, results: dict[bool, list], sets: list[str]) -> None:
    page.add(f"## {title}")
    for few, name in ((True, "60 training points"), (False, "All training points")):
        page.add(f"### {name}", among_table(results[few], sets), set_table(results[few], sets))
        page.add("Mean probability of the more probable class, far away:", far_table(results[few]))


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--splits", type=int, default=20, metavar="N", help="of each set; default: 20")
    parser.add_argument(
        "--cubic-splits", type=int, default=5, metavar="N", help="with the cubic kernel; default: 5"
    )
    parser.add_argument(
        "--gp-splits", type=int, default=2, metavar="N", help="for the Gaussian process; default: 2"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    args = parse(parser)
    about = ABOUT.replace("{gp_splits}", str(args.gp_splits))
    page = Page("validation.links", "Which link is the default", about)
    report(page, "Radial basis functions", all_cases(args, {}, args.splits), args.sets)
    if args.cubic_splits:
        cubic = {"kernel": "poly", "degree": 3, "coef0": 1.0}
        report(page, "Cubic kernel", all_cases(args, cubic, args.cubic_splits), args.sets)
    page.add("## Several classes", "Test log loss, and error in parentheses.", multiclass_table(args.data))
    page.finish(args.output)


if __name__ == "__main__":
    main()

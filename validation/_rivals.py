"""Every way to a class probability that a user of scikit-learn could install, beside ours."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.svm import SVC

from bayes_svm import BayesSVC, BayesSVCSearch
from validation.search import GRID_C, GRID_GAMMA

Told = tuple[np.ndarray, np.ndarray | None]  # probabilities at points, and what is told of the training rows
Way = Callable[[np.ndarray, np.ndarray, np.ndarray], Told]

DEFAULT, MIXTURE = "BayesSVC()", "mixture"
SIGMOID = "sigmoid, ensemble=False"
TUNED = "tuned, sigmoid"
MODELS = ("Gaussian process", "logistic regression", "random forest")
OWN = (DEFAULT, MIXTURE, "one chosen setting")
MOST_OF_PROCESS = 1000  # rows of the Gaussian process
TREES, LEAVES = 300, (1, 3, 10)
INSTALLED = {
    name: find_spec(name) is not None for name in ("venn_abers", "betacal", "probmetrics", "splinecalib")
}


class Margins(ClassifierMixin, BaseEstimator):
    """An SVC whose probability is the logistic function of its decision value, for calibrators to mend."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        self.svc_ = SVC().fit(X, y)
        self.classes_ = self.svc_.classes_
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return two_columns(expit(self.svc_.decision_function(X)))


def two_columns(positive: np.ndarray) -> np.ndarray:
    return np.column_stack([1.0 - positive, positive])


def ways(seed: int, tuned: bool) -> dict[str, Way]:
    """By name, each a function of training rows, labels 0 and 1, and points."""
    found: dict[str, Way] = {
        DEFAULT: _default, MIXTURE: _searched("stack"), OWN[2]: _searched("best"),
        **{
            f"{method}, ensemble={ensemble}": _calibrated(method, ensemble)
            for method in _methods()
            for ensemble in (False, True)
        },
    }  # fmt: skip
    if "probability" in SVC().get_params():
        found["SVC(probability=True)"] = _platt(seed)
    if INSTALLED["venn_abers"]:
        found["venn-abers, cross"] = _venn_abers(seed)
    if INSTALLED["betacal"]:
        found["betacal"] = _crossed(_beta)
    if INSTALLED["probmetrics"]:
        found["probmetrics, quadratic"] = _crossed(_probmetrics("quadratic"))
        found["probmetrics, ensemble temperature"] = _crossed(_probmetrics("temperature"))
        if INSTALLED["splinecalib"]:
            found["probmetrics, spline"] = _crossed(_probmetrics("spline"))
    if tuned:
        found[TUNED] = _tuned
    return found | dict(zip(MODELS, (_process(seed), _logistic, _forest(seed)), strict=True))


def _methods() -> list[str]:
    methods = ["sigmoid", "isotonic", "temperature"]
    accepted = CalibratedClassifierCV._parameter_constraints["method"][0].options
    return [method for method in methods if method in accepted]


def _default(X: np.ndarray, y: np.ndarray, at: np.ndarray) -> Told:
    model = BayesSVC().fit(X, y)
    return model.predict_proba(at)[:, 1], model.left_out_proba_[:, 1]


def _searched(combine: str) -> Way:
    def way(X: np.ndarray, y: np.ndarray, at: np.ndarray) -> Told:
        grid = {"C": list(GRID_C), "gamma": [g / X.shape[1] for g in GRID_GAMMA]}
        model = BayesSVCSearch(BayesSVC(), grid, combine=combine).fit(X, y)
        return model.predict_proba(at)[:, 1], model.left_out_proba_[:, 1]

    return way


def _calibrated(method: str, ensemble: bool) -> Way:
    def way(X: np.ndarray, y: np.ndarray, at: np.ndarray) -> Told:
        model = CalibratedClassifierCV(SVC(), method=method, ensemble=ensemble).fit(X, y)
        return model.predict_proba(at)[:, 1], None

    return way


def _tuned(X: np.ndarray, y: np.ndarray, at: np.ndarray) -> Told:
    grid = {"estimator__C": GRID_C, "estimator__gamma": [g / X.shape[1] for g in GRID_GAMMA]}
    model = GridSearchCV(CalibratedClassifierCV(SVC(), ensemble=False), grid, scoring="neg_log_loss")
    return model.fit(X, y).predict_proba(at)[:, 1], None


def _platt(seed: int) -> Way:
    def way(X: np.ndarray, y: np.ndarray, at: np.ndarray) -> Told:
        return SVC(probability=True, random_state=seed).fit(X, y).predict_proba(at)[:, 1], None

    return way


def _venn_abers(seed: int) -> Way:
    def way(X: np.ndarray, y: np.ndarray, at: np.ndarray) -> Told:
        from venn_abers import VennAbersCalibrator

        model = VennAbersCalibrator(
            estimator=Margins(), inductive=False, n_splits=5, shuffle=True, random_state=seed
        )
        model.fit(X, y)
        return np.asarray(model.predict_proba(at))[:, 1], None

    return way


def _crossed(calibrate: Callable[[np.ndarray, np.ndarray], Callable[[np.ndarray], np.ndarray]]) -> Way:
    """A calibrator fitted to the logistic function of 5-fold decision values, applied to those of all."""

    def way(X: np.ndarray, y: np.ndarray, at: np.ndarray) -> Told:
        values = expit(cross_val_predict(SVC(), X, y, cv=5, method="decision_function"))
        return calibrate(values, y)(expit(SVC().fit(X, y).decision_function(at))), None

    return way


def _beta(values: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    from betacal import BetaCalibration

    fitted = BetaCalibration("abm").fit(values, y)
    return lambda at: np.asarray(fitted.predict(at))


def _probmetrics(kind: str) -> Callable[[np.ndarray, np.ndarray], Callable[[np.ndarray], np.ndarray]]:
    def calibrate(values: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        from probmetrics import calibrators

        made: dict[str, Callable[[], Any]] = {
            "quadratic": lambda: calibrators.BinaryLogisticCalibrator(type="quadratic"),
            "temperature": lambda: calibrators.ETSCalibrator(loss="ce"),
            "spline": lambda: calibrators.MLISplineCalibrator(),
        }
        fitted = made[kind]().fit(two_columns(values), y)
        return lambda at: np.asarray(fitted.predict_proba(two_columns(at)))[:, 1]

    return calibrate


def _process(seed: int) -> Way:
    def way(X: np.ndarray, y: np.ndarray, at: np.ndarray) -> Told:
        rows = np.random.default_rng(seed).permutation(len(y))[:MOST_OF_PROCESS]
        kernel = ConstantKernel(1.0) * RBF(np.sqrt(X.shape[1]), (0.01, 1e4))
        model = GaussianProcessClassifier(kernel, random_state=seed).fit(X[rows], y[rows])
        return model.predict_proba(at)[:, 1], None

    return way


def _logistic(X: np.ndarray, y: np.ndarray, at: np.ndarray) -> Told:
    grid = {"C": np.logspace(-4, 4, 10)}
    model = GridSearchCV(LogisticRegression(max_iter=1000), grid, scoring="neg_log_loss").fit(X, y)
    return model.predict_proba(at)[:, 1], None


def _forest(seed: int) -> Way:
    """Leaves as small as the out-of-bag log loss has it; no vote of all trees counts as certainty."""

    def way(X: np.ndarray, y: np.ndarray, at: np.ndarray) -> Told:
        found = []
        for leaf in LEAVES:
            model = RandomForestClassifier(TREES, min_samples_leaf=leaf, oob_score=True, random_state=seed)
            told = _of_votes(model.fit(X, y).oob_decision_function_[:, 1])
            found.append((-np.mean(np.log(np.where(y == 1, told, 1.0 - told))), leaf, model, told))
        _, _, best, told = min(found, key=lambda one: one[:2])
        return _of_votes(best.predict_proba(at)[:, 1]), told

    return way


def _of_votes(share: np.ndarray) -> np.ndarray:
    return np.asarray((TREES * share + 1.0) / (TREES + 2.0))

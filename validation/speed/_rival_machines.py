"""Other packages' support vector machines, each used as its own documentation says, beside ours."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

from bayes_svm import BayesSVC, leave_one_out

# Modules of each rival, by the name of its distribution.
MODULES = {
    "torchkm": ("torch", "torchkm.cvksvm", "torchkm.functions", "torchkm.platt", "torchkm.estimators"),
    "scikit-learn-intelex": ("daal4py", "sklearnex.svm"),
    "thundersvm-cpu": ("thundersvm",),
}
# TorchKM's limits on its steps, at which it would stop early, are out of reach.
STEPS = 10**8
ALONE, WITH_LEFT_OUT, WITH_PROBA = "fit", "fit, left-out values, probabilities", "fit, probabilities"


@dataclass(frozen=True)
class Problem:
    """Training rows with labels -1 and 1, fresh rows, and the parameters of SVC."""

    X: np.ndarray
    y: np.ndarray
    fresh: np.ndarray
    fresh_y: np.ndarray
    C: float
    gamma: float

    @property
    def parameters(self) -> dict[str, float]:
        return {"C": self.C, "gamma": self.gamma}


@dataclass(frozen=True)
class Told:
    """What a fitted machine tells; None for what it does not offer."""

    decisions: np.ndarray | None = None  # of the training rows, by the whole machine
    left_out: np.ndarray | None = None  # of the training rows; NaN for one that is not left out
    proba: np.ndarray | None = None  # of label 1, for the fresh rows


@dataclass(frozen=True)
class Way:
    """A way to a machine: what is timed, and what is read from it afterwards."""

    gives: str
    fit: Callable[[Problem], Any]
    told: Callable[[Any, Problem], Told]
    most: int = 10**9  # rows beyond which it is not run
    leave_out: tuple[str, int | None] = ("rows", None)  # parameters of BayesSVC that say what leaves together


def loaded() -> tuple[dict[str, str], dict[str, str]]:
    """The version of each rival that can be imported, and why the others cannot; one thread for all."""
    versions, missing = {}, {}
    for name, modules in MODULES.items():
        try:
            for module in modules:
                import_module(module)
            versions[name] = version(name)
        except (ImportError, OSError, PackageNotFoundError) as error:
            missing[name] = f"{type(error).__name__}: {error}"
    if "torchkm" in versions:
        import_module("torch").set_num_threads(1)
    if "scikit-learn-intelex" in versions:
        import_module("daal4py").daalinit(nthreads=1)
    return versions, missing


def ways(installed: dict[str, str]) -> dict[str, Way]:
    """Every way that can be run here, by name."""
    found = {"`SVC`": Way(ALONE, lambda p: SVC(**p.parameters).fit(p.X, p.y), _machine)}
    if "scikit-learn-intelex" in installed:
        found["`sklearnex.svm.SVC`"] = Way(ALONE, lambda p: _intel(p).fit(p.X, p.y), _machine)
    if "thundersvm-cpu" in installed:
        found["`thundersvm.SVC`"] = Way(ALONE, _thunder(False), _thunder_told)
    if "torchkm" in installed:
        found["`cvksvm`, default tolerances"] = Way(ALONE, _torch(folds=False), _torch_told)
    if "probability" in SVC().get_params():
        found["`SVC(probability=True)`"] = Way(WITH_PROBA, _platt, _machine)
    found["`CalibratedClassifierCV(SVC(), ensemble=False)`"] = Way(
        WITH_PROBA, _calibrated(lambda p: SVC(**p.parameters)), _calibrated_told
    )
    if "scikit-learn-intelex" in installed:
        found["the same with `sklearnex.svm.SVC`"] = Way(WITH_PROBA, _calibrated(_intel), _calibrated_told)
    if "thundersvm-cpu" in installed:
        found["`thundersvm.SVC(probability=True)`"] = Way(WITH_PROBA, _thunder(True), _thunder_told)
    if "torchkm" in installed:
        tight = {"eps": 1e-8, "KKTeps": 1e-6, "KKTeps2": 1e-6}
        found |= {
            "`TorchKMSVC(cv=5, probability=True)`": Way(WITH_PROBA, _torch_estimator, _machine),
            "`cvksvm`, leave-one-out, default tolerances": Way(WITH_LEFT_OUT, _torch(), _torch_told, 2000),
            "`cvksvm`, leave-one-out, tight": Way(WITH_LEFT_OUT, _torch(**tight), _torch_told, 1000),
            "`cvksvm`, leave-one-out, tight, rescaled": Way(
                WITH_LEFT_OUT, _torch(scale=1e-4, **tight), _torch_told, 200
            ),
        }
    found |= {
        "**`leave_one_out(SVC())`**": Way("fit, left-out values", _ours, _ours_told),
        "**`BayesSVC()`**": Way(WITH_LEFT_OUT, _bayes({}), _bayes_told, leave_out=("strata", 2000)),
        "**`BayesSVC(leave_out_size=None)`**": Way(
            WITH_LEFT_OUT, _bayes({"leave_out_size": None}), _bayes_told, leave_out=("strata", None)
        ),
    }
    return found


def positive(proba: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Column of label 1."""
    return proba[:, np.flatnonzero(np.asarray(classes, dtype=float) == 1.0)[0]]


def _machine(model: Any, p: Problem) -> Told:
    """Of an estimator with scikit-learn's methods."""
    calibrated = model.get_params()["probability"] is True
    proba = positive(model.predict_proba(p.fresh), model.classes_) if calibrated else None
    return Told(np.ravel(model.decision_function(p.X)), proba=proba)


def _platt(p: Problem) -> Any:
    with warnings.catch_warnings():
        # scikit-learn 1.9 warns that `probability` is deprecated.
        warnings.simplefilter("ignore", FutureWarning)
        return SVC(**p.parameters, probability=True, random_state=0).fit(p.X, p.y)


def _calibrated(make: Callable[[Problem], Any]) -> Callable[[Problem], Any]:
    return lambda p: CalibratedClassifierCV(make(p), ensemble=False).fit(p.X, p.y)


def _calibrated_told(model: Any, p: Problem) -> Told:
    [whole] = model.calibrated_classifiers_
    decisions = np.ravel(whole.estimator.decision_function(p.X))
    return Told(decisions=decisions, proba=positive(model.predict_proba(p.fresh), model.classes_))


def _intel(p: Problem) -> Any:
    return import_module("sklearnex.svm").SVC(**p.parameters)


def _thunder(probability: bool) -> Callable[[Problem], Any]:
    def fit(p: Problem) -> Any:
        svc = import_module("thundersvm").SVC
        return svc(**p.parameters, probability=probability, n_jobs=1).fit(p.X, p.y)

    return fit


def _thunder_told(model: Any, p: Problem) -> Told:
    """Like LIBSVM, it has the classes in the order in which they come among the rows."""
    classes = np.array([p.y[0], -p.y[0]])
    proba = positive(np.asarray(model.predict_proba(p.fresh)), classes) if model.probability else None
    return Told(p.y[0] * np.ravel(model.decision_function(p.X)), proba=proba)


def _torch_estimator(p: Problem) -> Any:
    estimator = import_module("torchkm.estimators").TorchKMSVC
    return estimator(
        Cs=[p.C], cv=5, rbf_sigma=p.gamma / 2, probability=True, max_iter=STEPS, device="cpu", random_state=0
    ).fit(p.X, p.y)


def _torch(scale: float = 1.0, folds: bool = True, **tolerances: float) -> Callable[[Problem], Any]:
    r"""TorchKM's low-level machine, with as many folds as rows, or with none.

    It minimises ``lambda beta' K beta + mean(hinge)``, so that ``lambda = 1 / (2 n C)``, and its kernel is
    ``exp(-2 sigma distance²)``. With the kernel and lambda multiplied by the same number the machine is the
    same and its coefficients are divided by it; TorchKM's tolerances on their steps thus become tighter.
    """

    def fit(p: Problem) -> tuple[Any, float, Any]:
        torch, n = import_module("torch"), len(p.y)
        X, y = torch.as_tensor(p.X), torch.as_tensor(p.y)
        gram = scale * import_module("torchkm.functions").rbf_kernel(X, p.gamma / 2)
        # Its folds count from 1. With zeros no row is in its only fold.
        numbers = torch.arange(1, n + 1) if folds else torch.zeros(n, dtype=torch.long)
        model = import_module("torchkm.cvksvm").cvksvm(
            Kmat=gram, y=y, nlam=1, ulam=torch.tensor([scale / (2 * n * p.C)], dtype=torch.double),
            foldid=numbers, nfolds=n if folds else 1, maxit=STEPS, gamma=1e-8, device="cpu", **tolerances,
        )  # fmt: skip
        # It also prints that it does not converge.
        with contextlib.redirect_stdout(io.StringIO()):
            model.fit()
        if not folds:
            return model, scale, None
        platt = import_module("torchkm.platt").PlattScalerTorch(device="cpu")
        return model, scale, platt.fit(model.pred[:, 0], y)

    return fit


def _torch_told(fitted: tuple[Any, float, Any], p: Problem) -> Told:
    model, scale, platt = fitted
    intercept, coefficients = float(model.alpmat[0, 0]), model.alpmat[1:, 0].numpy()
    decisions = model.Kmat.numpy() @ coefficients + intercept
    if platt is None:
        return Told(decisions)
    functions, torch = import_module("torchkm.functions"), import_module("torch")
    gram = functions.kernelMult(torch.as_tensor(p.fresh), torch.as_tensor(p.X), p.gamma / 2).numpy()
    proba = platt.predict_proba(torch.as_tensor(scale * gram @ coefficients + intercept))
    return Told(decisions, model.pred[:, 0].numpy(), positive(proba.numpy(), np.array([-1, 1])))


def _ours(p: Problem) -> Any:
    return leave_one_out(SVC(**p.parameters), p.X, p.y)


def _ours_told(found: Any, p: Problem) -> Told:
    return Told(found.train_decision_values, found.decision_values)


def _bayes(settings: dict[str, Any]) -> Callable[[Problem], Any]:
    return lambda p: BayesSVC(**p.parameters, **settings).fit(p.X, p.y)


def _bayes_told(model: BayesSVC, p: Problem) -> Told:
    proba = positive(model.predict_proba(p.fresh), model.classes_)
    return Told(model.decision_function(p.X), model.left_out_decision_values_, proba)

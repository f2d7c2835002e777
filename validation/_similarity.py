"""Sweeps of class similarity beside the leave-one-out error: data, measurement, figures and tables."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.svm import SVC

from bayes_svm import AggregationKernel, GaussianKernel, class_similarity, leave_one_out
from validation._common import progress, table
from validation._similarity_criteria import ALIGNMENT, criteria, features_of
from validation._similarity_protocols import TEN_FOLDS, TWO_FOLDS, gaussian_error, protocols_of, window_error

SIGMA_SETS = {"ionosphere": "class", "sonar": "class", "liver-disorders": "selector"}
WINDOW_SETS = {
    "house-votes-84": (1, 16),
    "kr-vs-kp": (2, 6),
    "splice": (1, 3),
}  # widths, as the paper has them
STEPS = 31


def read_columns(data: str, name: str) -> tuple[list[str], np.ndarray]:
    path = Path(data) / "uci" / f"{name}.csv"
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    return head.split(","), np.array([line.split(",") for line in lines])


def numbers_of(data: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Standardised features and the class."""
    head, cells = read_columns(data, name)
    place = head.index(SIGMA_SETS[name])
    return StandardScaler().fit_transform(np.delete(cells, place, axis=1).astype(float)), cells[:, place]


def symbols_of(data: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the attributes, -1 for "?", and the class."""
    head, cells = read_columns(data, name)
    place = head.index("class")
    symbols = np.delete(cells, place, axis=1)
    if name == "splice":
        symbols = np.array([list(sequence) for sequence in cells[:, head.index("sequence")]])
    codes = OrdinalEncoder().fit_transform(symbols).astype(int)
    return np.where(symbols == "?", -1, codes), cells[:, place]


def loo_error(estimator: object, X: np.ndarray, y: np.ndarray) -> float:
    """Exact leave-one-out error; an SVC takes more than two classes in pairs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return leave_one_out(estimator, X, y, n_jobs=1).error


@dataclass(frozen=True)
class Sweep:
    """One value of everything for each kernel of a sweep."""

    name: str
    position: np.ndarray  # sigma, or the number of the window
    label: list[str]
    width: np.ndarray  # attributes in the window
    similarity: np.ndarray
    plug_in: np.ndarray
    errors: dict[float, np.ndarray]  # by C
    protocols: dict[str, np.ndarray]  # errors by the paper's own protocols, C = 1
    criteria: dict[tuple[str, float], np.ndarray]  # others, by name and C

    @property
    def error(self) -> np.ndarray:
        return self.errors[1.0]

    @property
    def alignment(self) -> np.ndarray:
        return self.criteria[ALIGNMENT, 0.0]


def rank(one: np.ndarray, other: np.ndarray) -> float:
    return float(spearmanr(one, other).statistic)


def regret(criterion: np.ndarray, error: np.ndarray) -> float:
    return 100 * float(error[np.argmin(criterion)] - error.min())


def sigmas(d: int) -> np.ndarray:
    return np.sqrt(d) * np.geomspace(0.05, 10, STEPS)


@dataclass(frozen=True)
class Found:
    """One value of everything for one kernel."""

    similarity: float
    plug_in: float
    errors: dict[float, float]
    protocols: dict[str, float]
    criteria: dict[tuple[str, float], float]


def stacked(found: list[Found], part: str) -> dict:
    """The dictionaries of one part as one dictionary of arrays."""
    several = [getattr(one, part) for one in found]
    return {key: np.array([values[key] for values in several]) for key in several[0]}


def swept(name: str, position: np.ndarray, label: list[str], width: np.ndarray, found: list[Found]) -> Sweep:
    progress(f"{name}: {len(found)} kernels")
    similarity, plug_in = (
        np.array([getattr(one, part) for one in found]) for part in ("similarity", "plug_in")
    )
    parts = (stacked(found, part) for part in ("errors", "protocols", "criteria"))
    return Sweep(name, position, label, width, similarity, plug_in, *parts)


def at_sigma(X: np.ndarray, y: np.ndarray, sigma: float, Cs: tuple[float, ...]) -> Found:
    kernel = GaussianKernel(sigma)
    K = kernel(X, X)
    return Found(
        *(class_similarity(X, y, kernel=kernel, unbiased=u).value for u in (True, False)),
        {C: loo_error(SVC(C=C, gamma=kernel.gamma), X, y) for C in Cs},
        {TEN_FOLDS: gaussian_error(X, y, kernel, 1.0)},
        criteria(K, features_of(K), y, Cs, np.ones(len(y))),
    )


def sigma_sweep(data: str, name: str, jobs: int) -> Sweep:
    X, y = numbers_of(data, name)
    grid, Cs = sigmas(X.shape[1]), (1.0, 10.0, 100.0)
    found = Parallel(n_jobs=jobs)(delayed(at_sigma)(X, y, sigma, Cs) for sigma in grid)
    return swept(name, grid, [f"{sigma:.2f}" for sigma in grid], np.full(len(grid), X.shape[1]), found)


def windows(n_attributes: int, widths: tuple[int, int]) -> list[slice]:
    """To and fro, one attribute wider at each turn."""
    found: list[slice] = []
    for width in range(widths[0], widths[1] + 1):
        row = [slice(start, start + width) for start in range(n_attributes - width + 1)]
        found += row[:: 1 if (width - widths[0]) % 2 == 0 else -1]
    return found


def at_window(name: str, codes: np.ndarray, y: np.ndarray, Cs: tuple[float, ...]) -> Found:
    kernel, number = AggregationKernel(), np.unique(y, return_inverse=True)[1]
    # A window has few different rows.
    rows, count = np.unique(np.column_stack([codes, number]), axis=0, return_counts=True)
    different = rows[:, :-1]
    features = kernel.one_hot(different)[0].toarray()
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-300)  # all unknown: 0
    return Found(
        *(class_similarity(codes, y, kernel=kernel, unbiased=u).value for u in (True, False)),
        {C: loo_error(SVC(C=C, kernel=kernel), codes, y) for C in Cs},
        {
            protocol: window_error(codes, y, splits, 1.0, one_vs_rest=protocol == TWO_FOLDS)
            for protocol, splits in protocols_of(name, y).items()
        },
        criteria(kernel(different, different), features, rows[:, -1], Cs, count.astype(float)),
    )


def window_sweep(data: str, name: str, jobs: int) -> Sweep:
    codes, y = symbols_of(data, name)
    seen, Cs = windows(codes.shape[1], WINDOW_SETS[name]), (1.0, 10.0)
    found = Parallel(n_jobs=jobs)(delayed(at_window)(name, codes[:, w], y, Cs) for w in seen)
    labels = [f"{w.start + 1}" if w.stop == w.start + 1 else f"{w.start + 1} to {w.stop}" for w in seen]
    return swept(name, np.arange(len(seen)), labels, np.array([w.stop - w.start for w in seen]), found)


def draw(sweep: Sweep, number: int, folder: Path) -> str:
    """Error on the left axis, CS on the right, as in the paper."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    drawn, left = plt.subplots(figsize=(8, 4), layout="constrained")
    right = left.twinx()
    left.plot(sweep.position, 100 * sweep.error, c="#D55E00", label="leave-one-out error, %")
    for (protocol, error), style in zip(sweep.protocols.items(), ("--", ":"), strict=False):
        left.plot(sweep.position, 100 * error, style, c="k", lw=1, label=f"error, {protocol}, %")
    right.plot(sweep.position, sweep.similarity, c="#0072B2", label="CS")
    if sweep.name in SIGMA_SETS:
        right.plot(sweep.position, sweep.plug_in, "--", c="#0072B2", lw=1, label="CS, plug-in")
        left.set(xscale="log", xlabel="sigma")
    else:
        left.set_xlabel("window of attributes, to and fro, one wider at each turn")
    left.set(ylabel="error, %", title=f"Figure {number}: {sweep.name}")
    right.set_ylabel("CS")
    drawn.legend(loc="outside lower center", ncols=4)
    path = folder / f"class_similarity_{sweep.name}.png"
    drawn.savefig(path, dpi=100)
    plt.close(drawn)
    return f"![{sweep.name}]({path.name})"


def sweep_table(sweeps: list[Sweep]) -> str:
    rows = []
    for sweep in sweeps:
        for C, error in sweep.errors.items():
            best, chosen, plain = (np.argmin(v) for v in (error, sweep.similarity, sweep.plug_in))
            rows.append(
                [
                    sweep.name, f"{C:g}", len(error), f"{rank(sweep.similarity, error):.2f}",
                    f"{rank(sweep.plug_in, error):.2f}",
                    f"{100 * error[best]:.2f} at {sweep.label[best]}",
                    f"{100 * error[chosen]:.2f} at {sweep.label[chosen]}",
                    f"{regret(sweep.similarity, error):.2f}",
                    f"{100 * error[plain]:.2f} at {sweep.label[plain]}",
                ]
            )  # fmt: skip
    head = (
        "set", "C", "kernels", "Spearman", "plug-in", "least error, %", "error at CS's minimum, %", "regret",
        "error at the plug-in's minimum, %",
    )  # fmt: skip
    return table(head, rows)

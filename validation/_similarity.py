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
    alignment: np.ndarray
    errors: dict[float, np.ndarray]  # by C

    @property
    def error(self) -> np.ndarray:
        return self.errors[1.0]


def rank(one: np.ndarray, other: np.ndarray) -> float:
    return float(spearmanr(one, other).statistic)


def regret(criterion: np.ndarray, error: np.ndarray) -> float:
    return 100 * float(error[np.argmin(criterion)] - error.min())


def sigmas(d: int) -> np.ndarray:
    return np.sqrt(d) * np.geomspace(0.05, 10, STEPS)


def alignment(K: np.ndarray, y: np.ndarray) -> float:
    """Minus the alignment of the centred kernel with the centred kernel of equal labels: lower is better."""
    target = (y[:, None] == y).astype(float)
    for matrix in (K, target):
        matrix -= matrix.mean(axis=0)
        matrix -= matrix.mean(axis=1, keepdims=True)
    return -float(np.sum(K * target) / np.sqrt(np.sum(K * K) * np.sum(target * target)))


def at_sigma(X: np.ndarray, y: np.ndarray, sigma: float, Cs: tuple[float, ...]) -> list[float]:
    kernel = GaussianKernel(sigma)
    similarity, plug_in = (class_similarity(X, y, kernel=kernel, unbiased=u).value for u in (True, False))
    errors = [loo_error(SVC(C=C, gamma=kernel.gamma), X, y) for C in Cs]
    return [similarity, plug_in, alignment(kernel(X, X), y), *errors]


def sigma_sweep(data: str, name: str, jobs: int) -> Sweep:
    X, y = numbers_of(data, name)
    grid, Cs = sigmas(X.shape[1]), (1.0, 10.0, 100.0)
    found = np.array(Parallel(n_jobs=jobs)(delayed(at_sigma)(X, y, sigma, Cs) for sigma in grid)).T
    progress(f"{name}: {len(grid)} values of sigma")
    labels = [f"{sigma:.2f}" for sigma in grid]
    width = np.full(len(grid), X.shape[1])
    return Sweep(name, grid, labels, width, *found[:3], dict(zip(Cs, found[3:], strict=True)))


def windows(n_attributes: int, widths: tuple[int, int]) -> list[slice]:
    """To and fro, one attribute wider at each turn."""
    found: list[slice] = []
    for width in range(widths[0], widths[1] + 1):
        row = [slice(start, start + width) for start in range(n_attributes - width + 1)]
        found += row[:: 1 if (width - widths[0]) % 2 == 0 else -1]
    return found


def at_window(codes: np.ndarray, y: np.ndarray, Cs: tuple[float, ...]) -> list[float]:
    kernel = AggregationKernel()
    similarity, plug_in = (class_similarity(codes, y, kernel=kernel, unbiased=u).value for u in (True, False))
    errors = [loo_error(SVC(C=C, kernel=kernel), codes, y) for C in Cs]
    return [similarity, plug_in, alignment(kernel(codes, codes), y), *errors]


def window_sweep(data: str, name: str, jobs: int) -> Sweep:
    codes, y = symbols_of(data, name)
    seen, Cs = windows(codes.shape[1], WINDOW_SETS[name]), (1.0, 10.0)
    found = np.array(Parallel(n_jobs=jobs)(delayed(at_window)(codes[:, w], y, Cs) for w in seen)).T
    progress(f"{name}: {len(seen)} windows")
    labels = [f"{w.start + 1}" if w.stop == w.start + 1 else f"{w.start + 1} to {w.stop}" for w in seen]
    width = np.array([w.stop - w.start for w in seen])
    return Sweep(name, np.arange(len(seen)), labels, width, *found[:3], dict(zip(Cs, found[3:], strict=True)))


def draw(sweep: Sweep, number: int, folder: Path) -> str:
    """Error on the left axis, CS on the right, as in the paper."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    drawn, left = plt.subplots(figsize=(8, 4), layout="constrained")
    right = left.twinx()
    left.plot(sweep.position, 100 * sweep.error, "C3", label="leave-one-out error, %")
    right.plot(sweep.position, sweep.similarity, "C0", label="CS")
    if sweep.name in SIGMA_SETS:
        right.plot(sweep.position, sweep.plug_in, "C0--", lw=1, label="CS, plug-in")
        left.set(xscale="log", xlabel="sigma")
    else:
        left.set_xlabel("window of attributes, to and fro, one wider at each turn")
    left.set(ylabel="leave-one-out error, %", title=f"Figure {number}: {sweep.name}")
    right.set_ylabel("CS")
    drawn.legend(loc="outside lower center", ncols=3)
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

"""What the validation scripts share: data, kernels, exactness, and the page they print."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

import bayes_svm

ROOT = Path(__file__).resolve().parents[1]
SETS = (
    "banana", "breast-cancer", "diabetis", "flare-solar", "german", "heart", "image", "ringnorm",
    "splice", "thyroid", "titanic", "twonorm", "waveform",
)  # fmt: skip
KERNELS = ("rbf", "linear")
AT_BOUND = 1e-9  # share of its bound, or of the largest coefficient, within which one counts as being there


def parser_for(description: str) -> argparse.ArgumentParser:
    """Options that every script has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--data",
        default=os.environ.get("BAYES_SVM_DATA"),
        metavar="DIR",
        help="folder that holds ida/NAME.npz; default: the environment variable BAYES_SVM_DATA",
    )
    parser.add_argument("--sets", default=",".join(SETS), metavar="A,B", help="IDA sets; default: all 13")
    parser.add_argument("--output", metavar="FILE", help="write the page to this file too")
    return parser


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parsed options, the data folder and the names of the sets checked."""
    args = parser.parse_args()
    if args.data is None:
        parser.error("where are the data? Give --data DIR, or set BAYES_SVM_DATA; DIR holds ida/NAME.npz")
    args.sets = [name.strip() for name in args.sets.split(",") if name.strip()]
    unknown = sorted(set(args.sets) - set(SETS))
    if unknown:
        parser.error(f"no such sets: {', '.join(unknown)}; there are {', '.join(SETS)}")
    missing = [name for name in args.sets if not (Path(args.data) / "ida" / f"{name}.npz").is_file()]
    if missing:
        parser.error(f"{args.data} holds no ida/{missing[0]}.npz: --data names the folder above ida/")
    return args


def read_ida(data: str, name: str) -> dict[str, np.ndarray]:
    """All arrays of one IDA set."""
    with np.load(Path(data) / "ida" / f"{name}.npz") as arrays:
        return dict(arrays)


def first_split(data: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Training part of the first split, standardised: the original split, else the random one."""
    z = read_ida(data, name)
    rows = (z["train"] if z["train"].size else z["train_rand"])[0]
    return StandardScaler().fit_transform(z["X"][rows].astype(float)), z["y"][rows].astype(int)


def gram_of(X: np.ndarray, kernel: str) -> np.ndarray:
    """Kernel matrix in float64, computed apart from the package: rbf with gamma = 1/d, or linear."""
    return X @ X.T if kernel == "linear" else np.exp(-cdist(X, X, "sqeuclidean") / X.shape[1])


@dataclass(frozen=True)
class Exactness:
    """How far coefficients are from the optimum, all in float64."""

    residual: float  # largest violation of the optimality conditions, divided by max(1, max |f|)
    gap: float  # (primal - dual) / dual
    low: float  # interval of intercepts that violate least
    high: float
    free: bool  # whether any coefficient is strictly between its bounds


def exactness(
    gram: np.ndarray,
    y: np.ndarray,
    beta: np.ndarray,
    bound: np.ndarray,
    intercept: float | None = None,
    product: np.ndarray | None = None,
) -> Exactness:
    """Optimality of signed coefficients ``beta = y alpha``, from the kernel matrix alone.

    Without an intercept the middle of ``[low, high]`` is taken; ``product`` is ``gram @ beta``.
    """
    product = gram @ beta if product is None else product
    alpha, slack = y * beta, AT_BOUND * np.minimum(bound, np.abs(beta).max(initial=0.0))
    rises = np.where(y > 0, alpha < bound - slack, alpha > slack)
    falls = np.where(y > 0, alpha > slack, alpha < bound - slack)
    low = float(np.max((y - product)[rises], initial=-np.inf))
    high = float(np.min((y - product)[falls], initial=np.inf))
    b = (low + high) / 2 if intercept is None else intercept
    outside = float(np.max(np.maximum(-alpha, alpha - bound) - slack, initial=0.0))
    residual = max(0.0, low - b, b - high, abs(float(beta.sum())), outside)
    norm = float(beta @ product)
    dual = float(alpha.sum()) - norm / 2
    primal = norm / 2 + float(bound @ np.maximum(0.0, 1.0 - y * (product + b)))
    scale = max(1.0, float(np.abs(product + b).max()))
    return Exactness(residual / scale, (primal - dual) / abs(dual), low, high, bool(np.any(rises & falls)))


def geometric_mean(ratios: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(ratios)))))


def short(number: float | None, digits: int = 2) -> str:
    """A number in few characters; a dash for None."""
    if number is None:
        return "–"
    if number == 0:
        return "0"
    return f"{number:.{digits - 1}e}" if abs(number) < 1e-3 or abs(number) >= 1e5 else f"{number:.{digits}g}"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> str:
    """A Markdown table: the first ``left`` columns to the left, the others to the right."""
    marks = [":--" if k < left else "--:" for k in range(len(head))]
    lines = [head, marks, *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def command_line(module: str) -> str:
    """The command as given, with placeholders instead of paths."""
    kept, arguments = [], iter(sys.argv[1:])
    for argument in arguments:
        if argument in ("--data", "--output"):
            next(arguments)
        elif not argument.startswith(("--data=", "--output=")):
            kept.append(argument)
    return shlex.join(["python", "-m", module, "--data", "DIR", *kept])


def commit() -> str:
    """The commit that is checked out, and whether code differs from it; nothing outside a checkout."""
    calls = (
        ["git", "rev-parse", "--short", "HEAD"],
        ["git", "status", "--porcelain", "bayes_svm", "validation"],
    )
    try:
        done = [subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True) for call in calls]
    except (OSError, subprocess.CalledProcessError):
        return ""
    name, changes = (one.stdout.strip() for one in done)
    return f" at commit {name}{', with uncommitted changes' if changes else ''}"


def full_name(revision: str) -> str:
    """The commit that a revision of this repository names, in 40 digits: a type of argparse."""
    call = ["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    try:
        done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise argparse.ArgumentTypeError(f"{ROOT} has no commit {revision!r}, or is no checkout") from error
    return done.stdout.strip()


def at_commit(name: str) -> str:
    """What pip takes to install a commit of this repository."""
    return f"git+{ROOT.as_uri()}@{name}"


def environment() -> str:
    """Commit, versions, cores and thread counts, as a Markdown list."""
    names = ("numpy", "scipy", "scikit-learn")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    pools = sorted({f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()})
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return "\n".join(
        [
            f"* bayes_svm {bayes_svm.__version__}{commit()}, Python {platform.python_version()}, {versions}",
            f"* {platform.system()} {platform.machine()}, {usable} cores; "
            f"threads unless stated otherwise: {', '.join(pools) or 'not known'}",
        ]
    )


class Page:
    """A Markdown page that is printed, and written to a file where asked for."""

    def __init__(self, module: str, title: str, about: str) -> None:
        self.started = time.perf_counter()
        self.parts = [f"# {title}", about, f"    {command_line(module)}", environment()]

    def add(self, *parts: str) -> None:
        self.parts.extend(parts)

    def finish(self, output: str | None) -> None:
        minutes = (time.perf_counter() - self.started) / 60
        self.add(f"Whole run: {minutes:.1f} minutes.")
        text = "\n\n".join(self.parts) + "\n"
        print(text, end="")
        if output:
            Path(output).parent.mkdir(parents=True, exist_ok=True)
            Path(output).write_text(text, encoding="utf-8")


def progress(text: str) -> None:
    """One line for whoever waits, beside the page."""
    print(text, file=sys.stderr, flush=True)

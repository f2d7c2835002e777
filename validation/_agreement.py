"""One case of the leave-one-out comparison: a set, a kernel and a value of C."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from bayes_svm import LeaveOneOut, leave_one_out
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.problem import DualProblem
from bayes_svm.dual.solution import DualSolution
from bayes_svm.dual.solving import solve
from validation._common import Exactness, exactness, first_split, gram_of
from validation._interior_point import solve_dual

# The attribute bayes_svm.leave_one_out is the function, so that the module has to be asked for by name.
path_module = importlib.import_module("bayes_svm.leave_one_out.path")

STATUSES = ("path", "unchanged", "re-trained", "unstable", "one-class", "inexact")
FAR = 1e-5


@dataclass(frozen=True)
class Task:
    """The data of a case, and the package's two answers."""

    gram: np.ndarray  # of the rows, computed apart from the package
    y: np.ndarray
    C: float
    problem: DualProblem
    solution: DualSolution
    path: LeaveOneOut
    retrained: LeaveOneOut
    ends: dict[int, np.ndarray]  # coefficients at the end of each point's path, by point

    @property
    def support(self) -> np.ndarray:
        return np.flatnonzero(self.solution.row_beta)

    @property
    def unstable(self) -> np.ndarray:
        return (self.path.status == "unstable") | (self.retrained.status == "unstable")

    def reduced_bound(self, point: int) -> np.ndarray:
        """Bounds of the points when one row of ``point`` is left out."""
        bound = self.problem.bound.copy()
        bound[point] = bound[point] - self.C if bound[point] > 1.5 * self.C else 0.0
        return bound

    @property
    def point_gram(self) -> np.ndarray:
        """Kernel matrix of the merged points, taken from that of the rows."""
        first = np.unique(self.problem.group, return_index=True)[1]
        return self.gram[np.ix_(first, first)]


def recorded(ends: dict[int, np.ndarray]) -> Callable[..., Any]:
    """The package's check of the paths' ends, which also leaves the coefficients in ``ends``."""
    verify = path_module.verify

    def verify_and_keep(base: Any, rows: Any, removals: Any, moves: Any, reached: Any) -> Any:
        for path, point in enumerate(removals.points):
            beta = base.exact_beta.copy()
            beta[rows.tableau.rows] += reached.changes[path]
            beta[point] = base.problem.label[point] * removals.rest[path]
            ends[int(point)] = beta
        return verify(base, rows, removals, moves, reached)

    return verify_and_keep


def task(data: str, name: str, kernel: str, C: float) -> Task:
    X, y = first_split(data, name)
    estimator = SVC(C=C, kernel=kernel, gamma=1.0 / X.shape[1])
    _, [solution] = machine_of(estimator, X, y)
    ends: dict[int, np.ndarray] = {}
    with mock.patch.object(path_module, "verify", recorded(ends)):
        path = leave_one_out(estimator, X, y)
    retrained = leave_one_out(estimator, X, y, method="retrain")
    return Task(gram_of(X, kernel), y, C, solution.problem, solution, path, retrained, ends)


def check_ends_anew(case: Task) -> tuple[float, float]:
    """Worst KKT residual of the paths' ends, and largest difference from the values returned."""
    gram, group = case.point_gram, case.problem.group
    rows = np.flatnonzero(case.path.status == "path")
    points, first = np.unique(group[rows], return_index=True)
    if len(points) == 0:
        return 0.0, 0.0
    betas = np.array([case.ends[int(point)] for point in points])
    worst, off = 0.0, 0.0
    for point, beta, product, row in zip(points, betas, betas @ gram, rows[first], strict=True):
        end = exactness(gram, case.problem.label, beta, case.reduced_bound(point), product=product)
        value = product[point] + (end.low + end.high) / 2
        worst = max(worst, end.residual)
        off = max(off, abs(value - case.path.decision_values[row]))
    return worst, off


def libsvm_without(case: Task, row: int, max_iter: int) -> tuple[float, bool, Exactness]:
    """LIBSVM's value at a row it was not trained on, whether it converged, and its exactness."""
    keep = np.delete(np.arange(len(case.y)), row)
    gram, y = case.gram[np.ix_(keep, keep)], case.y[keep]
    # With shrinking, an SVC stopped by max_iter takes its intercept from outdated gradients.
    estimator = SVC(C=case.C, kernel="precomputed", tol=1e-10, max_iter=max_iter, shrinking=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(gram, y)
    beta = np.zeros(len(y))
    beta[estimator.support_] = estimator.dual_coef_[0]
    intercept = float(estimator.intercept_[0])
    measured = exactness(gram, y, beta, np.full(len(y), case.C), intercept)
    return float(case.gram[row, keep] @ beta + intercept), estimator.fit_status_ == 0, measured


def against_libsvm(case: Task, sample: int, max_iter: int) -> dict[str, Any]:
    """LIBSVM's values at some support vectors, and how they differ from the path's."""
    rows = case.support[case.path.status[case.support] != "one-class"]
    if 0 < sample < len(rows):
        rows = np.sort(np.random.default_rng(0).choice(rows, sample, replace=False))
    values, converged, measured = zip(*(libsvm_without(case, row, max_iter) for row in rows), strict=True)
    path = case.path.decision_values[rows]
    stable = ~case.unstable[rows]
    difference = np.where(stable, np.abs(path - values), 0.0)
    worst = int(difference.argmax())
    return {
        "rows": rows,
        "values": np.array(values),
        "difference": difference,
        "n_libsvm": len(rows),
        "n_stopped": int(np.sum(~np.array(converged))),
        "converged_difference": float(np.max(difference[np.array(converged)], initial=0.0)),
        "libsvm_difference": float(difference[worst]),
        "libsvm_signs": int(np.sum(stable & (np.sign(path) != np.sign(values)))),
        "libsvm_kkt_there": measured[worst].residual,
        "libsvm_kkt": max(each.residual for each in measured),
        "n_far": int(np.sum(difference > FAR)),
    }


def against_oracle(case: Task, libsvm: dict[str, Any], n_rows: int) -> list[dict[str, Any]]:
    """The interior-point method on the rows where LIBSVM and the path differ most."""
    order = np.argsort(-libsvm["difference"], kind="stable")[:n_rows]
    return [
        oracle_at(case, int(libsvm["rows"][k]), float(libsvm["values"][k]))
        for k in order
        if libsvm["difference"][k] > FAR
    ]


def oracle_at(case: Task, row: int, libsvm: float) -> dict[str, Any]:
    keep = np.delete(np.arange(len(case.y)), row)
    gram, y = case.gram[np.ix_(keep, keep)], case.y[keep]
    beta, intercept = solve_dual(gram, y, case.C)
    value = float(case.gram[row, keep] @ beta + intercept)
    path = float(case.path.decision_values[row])
    return {
        "row": row,
        "value": path,
        "path_libsvm": abs(path - libsvm),
        "path_oracle": abs(path - value),
        "libsvm_oracle": abs(libsvm - value),
        "gap": exactness(gram, y, beta, np.full(len(y), case.C), intercept).gap,
    }


def unstable_rows(case: Task) -> list[dict[str, Any]]:
    """Each unstable row with the interval of its possible values, from the kernel matrix."""
    gram, listed = case.point_gram, []
    for row in np.flatnonzero(case.unstable):
        point = int(case.problem.group[row])
        bound = case.reduced_bound(point)
        beta = solve(replace(case.problem, bound=bound), tol=1e-6).beta
        end = exactness(gram, case.problem.label, beta, bound)
        own = float(gram[point] @ beta)
        lowest, highest, value = own + end.low, own + end.high, float(case.path.decision_values[row])
        listed.append(
            {
                "row": int(row),
                "path": value,
                "retrained": float(case.retrained.decision_values[row]),
                "lowest": lowest,
                "highest": highest,
                "from_middle": abs(value - (lowest + highest) / 2),
                "inside": lowest - 1e-8 <= value <= highest + 1e-8,
            }
        )
    return listed


def compare(data: str, name: str, kernel: str, C: float, sample: int, max_iter: int, oracle: int) -> dict:
    """Every number of a case."""
    case = task(data, name, kernel, C)
    path, retrained = case.path.decision_values, case.retrained.decision_values
    difference = np.where(case.unstable, 0.0, np.abs(path - retrained))
    kkt, recomputed = check_ends_anew(case)
    libsvm = against_libsvm(case, sample, max_iter)
    return {
        "name": name,
        "kernel": kernel,
        "C": C,
        "n": len(case.y),
        "n_support": len(case.support),
        "counts": {status: int(np.sum(case.path.status == status)) for status in STATUSES},
        "own_difference": float(difference.max()),
        "own_signs": int(np.sum(~case.unstable & (np.sign(path) != np.sign(retrained)))),
        "kkt": kkt,
        "recomputed": recomputed,
        **{key: libsvm[key] for key in libsvm if key not in ("rows", "values", "difference")},
        "oracle": against_oracle(case, libsvm, oracle),
        "unstable": unstable_rows(case),
    }

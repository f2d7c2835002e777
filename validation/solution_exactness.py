"""How exact the dual solution is, recomputed from the kernel matrix, beside LIBSVM's."""

from __future__ import annotations

import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from bayes_svm.dual.from_estimator import machine_of
from validation._common import KERNELS, Page, exactness, first_split, gram_of, parse, parser_for, short, table
from validation._common import progress as say

ABOUT = """\
Every SVM is solved by this package and by LIBSVM (scikit-learn's `SVC`), on the training part of the
first split of each set, standardised, with the rbf kernel at gamma = 1/d and the linear kernel. From the
coefficients and the intercept of each solver, and a kernel matrix computed here in float64 over all rows,
two numbers say how exact it is: the **KKT residual**, the largest violation of the optimality conditions
over all rows divided by the scale max(1, max |f|) of the decision values; and the **relative duality
gap**, (primal - dual) / dual. Neither is taken from the solver. A coefficient counts as at a bound within
1e-9 times the smaller of C and the largest coefficient. *Points* are the rows after equal rows of equal
label are merged; *free* and *bounded* count the points with 0 < alpha < C and alpha = C; *steps* and
*pivots* are the work of the first solver and of the exact polish. LIBSVM runs at its default tol = 1e-3
and at tol = 1e-10, the latter with a limit on its iterations (and without shrinking, which spoils the
intercept of a run that is stopped): "no" in the last column means that it reached the limit.
LIBSVM keeps kernel values in float32, which limits it at any tol."""


def solved(X: np.ndarray, y: np.ndarray, gram: np.ndarray, estimator: SVC) -> dict:
    """This package's solution and its exactness."""
    _, [solution] = machine_of(estimator, X, y)
    bound = np.full(len(y), float(estimator.C))
    measured = exactness(gram, y, solution.row_beta, bound, solution.intercept)
    return {"solution": solution, "measured": measured}


def libsvm(X: np.ndarray, y: np.ndarray, gram: np.ndarray, estimator: SVC) -> tuple:
    """LIBSVM's exactness, and whether it converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, y)
    beta = np.zeros(len(y))
    beta[estimator.support_] = estimator.dual_coef_[0]
    bound = np.full(len(y), float(estimator.C))
    measured = exactness(gram, y, beta, bound, float(estimator.intercept_[0]))
    return measured, estimator.fit_status_ == 0


def measure(data: str, name: str, kernel: str, C: float, max_iter: int) -> dict:
    """One row of the table, and what the summary needs."""
    X, y = first_split(data, name)
    gram, gamma = gram_of(X, kernel), 1.0 / X.shape[1]
    ours = solved(X, y, gram, SVC(C=C, kernel=kernel, gamma=gamma))
    solution, measured = ours["solution"], ours["measured"]
    usual, _ = libsvm(X, y, gram, SVC(C=C, kernel=kernel, gamma=gamma))
    # With shrinking, an SVC stopped by max_iter takes its intercept from outdated gradients.
    tight, converged = libsvm(
        X, y, gram, SVC(C=C, kernel=kernel, gamma=gamma, tol=1e-10, max_iter=max_iter, shrinking=False)
    )
    row = [
        name, f"{C:g}", len(y), len(solution.problem.label), solution.n_free, solution.n_bounded,
        solution.smo_steps, solution.pivots, short(measured.residual), short(measured.gap),
        short(usual.residual), short(usual.gap), short(tight.residual), short(tight.gap),
        "yes" if converged else "no",
    ]  # fmt: skip
    say(f"{name} {kernel} C={C:g}: residual {short(measured.residual)}, gap {short(measured.gap)}")
    return {
        "kernel": kernel,
        "case": f"{name}, {kernel}, C = {C:g}",
        "row": row,
        "ours": measured,
        "usual": usual,
        "tight": tight,
        "converged": converged,
        "reason": solution.reason,
        "stable": solution.stable,
    }


HEAD = (
    "set", "C", "rows", "points", "free", "bounded", "steps", "pivots", "KKT residual", "gap",
    "LIBSVM 1e-3: KKT", "gap", "LIBSVM 1e-10: KKT", "gap", "converged",
)  # fmt: skip


SOLVERS = {"ours": "this package", "usual": "LIBSVM, tol 1e-3", "tight": "LIBSVM, tol 1e-10"}


def summary(cases: list[dict]) -> str:
    """Worst case of each solver, and how often it is exact."""
    converged = [case for case in cases if case["converged"]]
    lines = [summary_line(cases, key, label) for key, label in SOLVERS.items()]
    if 0 < len(converged) < len(cases):
        lines.append(summary_line(converged, "tight", "LIBSVM, tol 1e-10, where it converged"))
    head = ("solver", "cases", "worst KKT residual / scale", "worst relative gap", "cases with both ≤ 1e-9")
    return table(head, lines)


def summary_line(cases: list[dict], key: str, label: str) -> list:
    residual = max(cases, key=lambda case: case[key].residual)
    gap = max(cases, key=lambda case: abs(case[key].gap))
    exact = sum(case[key].residual <= 1e-9 and abs(case[key].gap) <= 1e-9 for case in cases)
    return [
        label,
        len(cases),
        f"{short(residual[key].residual)} ({residual['case']})",
        f"{short(gap[key].gap)} ({gap['case']})",
        exact,
    ]


def flagged(cases: list[dict]) -> str:
    """Cases that the package flags, with the reason, and those it should have flagged."""
    inexact = [case for case in cases if case["reason"] is not None]
    silent = [
        case
        for case in cases
        if case["reason"] is None and (case["ours"].residual > 1e-9 or abs(case["ours"].gap) > 1e-9)
    ]
    unstable = [case["case"] for case in cases if not case["stable"]]
    stopped = sum(not case["converged"] for case in cases)
    lines = [f"* flagged as not exact: {len(inexact)}"]
    lines += [f"    * {case['case']}: {case['reason']}" for case in inexact]
    lines += [f"* above 1e-9 and not flagged: {len(silent)}"]
    lines += [f"    * {case['case']}" for case in silent]
    lines += [
        f"* no free point, so that the intercept is any of an interval (its middle is taken): {len(unstable)}"
        + (f" ({'; '.join(unstable)})" if unstable else ""),
        f"* LIBSVM at tol 1e-10 stopped at the limit: {stopped} of {len(cases)}",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--C", default="0.1,1,10,100", metavar="C,C", help="default: %(default)s")
    parser.add_argument(
        "--libsvm-max-iter",
        type=int,
        default=3_000_000,
        metavar="N",
        help="limit at tol 1e-10; default: %(default)s",
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    args = parse(parser)
    page = Page("validation.solution_exactness", "How exact the solution is", ABOUT)
    cases = Parallel(n_jobs=args.jobs)(
        delayed(measure)(args.data, name, kernel, float(C), args.libsvm_max_iter)
        for name in args.sets
        for kernel in KERNELS
        for C in args.C.split(",")
    )
    page.add(f"LIBSVM's limit at tol 1e-10: {args.libsvm_max_iter:,} iterations.")
    page.add("## Summary", summary(cases), flagged(cases))
    for kernel, title in (("rbf", "rbf kernel, gamma = 1/d"), ("linear", "Linear kernel")):
        page.add(f"## {title}", table(HEAD, [case["row"] for case in cases if case["kernel"] == kernel]))
    page.finish(args.output)


if __name__ == "__main__":
    main()

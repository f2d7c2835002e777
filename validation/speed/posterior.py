"""What the posterior costs: with the number of points near the margin, and at prediction."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.probability.eigensystem import Eigensystem
from bayes_svm.probability.posterior import Posterior, posterior_of
from validation._common import Page, parser_for, table
from validation._common import progress as say
from validation.speed.fit import synthetic

ABOUT = """\
Seconds, all at one thread, best of {repeats} (of one from 5000 points on). **Posterior**: of an SVM (rbf,
gamma = 1/20) on two synthetic problems (`make_classification`, 20 features, 8 informative): *noisy*, flip_y =
0.2, C = 1; *separated*, flip_y = 0, class_sep = 2, C = 100. The swish's curvature is above 0 only near the
margin, the softplus's everywhere. *Factor* is the Cholesky factor of `lambda I + D K D` that variances are
solved with, *eigensystem* the whole eigensystem, *within 1 %* the one whose variances err by at most 1 %
(eigenvalues kept in parentheses; a dash where there are more than {largest} points). **Prediction**: 10000
new points, ratios to `SVC.decision_function`."""

NEW = 10_000


def best(call: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def separated(n: int) -> tuple[np.ndarray, np.ndarray]:
    """As ``synthetic``, without its noise and with the classes apart."""
    X, y = make_classification(n, n_features=20, n_informative=8, flip_y=0.0, class_sep=2.0, random_state=0)
    return StandardScaler().fit_transform(X), 2 * y - 1


PROBLEMS = {"noisy": (synthetic, 1.0), "separated": (separated, 100.0)}


def posterior_row(problem_name: str, n: int, smoothing: str, repeats: int, largest: int) -> list[str]:
    """Active points, and seconds of the factor and of the eigensystems."""
    data, C = PROBLEMS[problem_name]
    X, y = data(n)
    machine, [solution] = machine_of(SVC(gamma=1 / 20, C=C), X, y)
    posterior = posterior_of(machine, solution, 1.0, smoothing=smoothing)
    n_active = len(posterior.points)
    row = [problem_name, f"{n}", smoothing, f"{n_active}"]
    point = X[:1]

    def factor() -> None:
        posterior.__dict__.pop("_factor", None)
        posterior.variance(point)

    row.append(f"{best(factor, repeats):.3f}")
    for tolerance in (0.0, 0.01):
        row.append("–" if n_active > largest else eigensystem_cell(posterior, tolerance, repeats))
    say(f"{problem_name}, n = {n}, {smoothing}: {n_active} active")
    return row


def eigensystem_cell(posterior: Posterior, tolerance: float, repeats: int) -> str:
    """Seconds, and eigenvalues kept."""
    gram = posterior.kernel(posterior.rows, posterior.rows)
    found: list[Eigensystem] = []
    seconds = best(lambda: found.append(Eigensystem.of(gram, posterior.curvature, 1.0, tolerance)), repeats)
    return f"{seconds:.3f} ({len(found[0].values)})"


def prediction_table(repeats: int) -> str:
    """Seconds of predict_proba on new points against SVC.decision_function."""
    rows = []
    for n in (1000, 1200, 2000):
        X, y = synthetic(n + NEW)
        X, X_new, y = X[:n], X[n:], y[:n]
        svc = SVC(gamma=1 / 20).fit(X, y)
        usual = best(lambda svc=svc, X_new=X_new: svc.decision_function(X_new), repeats)
        cells = []
        active = 0
        for link in ("sigmoid", "moderated", "kwok"):
            model = BayesSVC(gamma=1 / 20, link=link).fit(X, y)
            model.predict_proba(X_new[:1])
            seconds = best(lambda model=model, X_new=X_new: model.predict_proba(X_new), repeats)
            cells.append(f"{seconds:.3f} ({seconds / usual:.2f})")
            active = len(model._posteriors[0].points)
        rows.append([f"{n}", f"{len(svc.support_)}", f"{active}", f"{usual:.3f}", *cells])
    head = (
        "training points", "support vectors", "points near the margin", "SVC.decision_function",
        'predict_proba, link="sigmoid" (ratio)', '"moderated"', '"kwok"',
    )  # fmt: skip
    return table(head, rows, left=0)


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--sizes", default="500,1000,2000,5000,10000", metavar="N,N", help="training sizes")
    parser.add_argument(
        "--largest", type=int, default=6000, help="most points of an eigensystem; default: 6000"
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts; default: 3")
    args: argparse.Namespace = parser.parse_args()
    page = Page(
        "validation.speed.posterior",
        "What the posterior costs",
        ABOUT.replace("{repeats}", str(args.repeats)).replace("{largest}", str(args.largest)),
    )
    with threadpool_limits(1):
        rows = [
            posterior_row(name, int(n), smoothing, args.repeats if int(n) < 5000 else 1, args.largest)
            for name, smoothing in (("separated", "swish"), ("noisy", "swish"), ("noisy", "softplus"))
            for n in args.sizes.split(",")
        ]
        head = (
            "problem", "training points", "smoothing", "points with curvature", "factor",
            "eigensystem (kept)", "within 1 % (kept)",
        )  # fmt: skip
        page.add("## Posterior", table(head, rows))
        page.add("## Prediction", prediction_table(args.repeats))
    page.finish(args.output)


if __name__ == "__main__":
    main()

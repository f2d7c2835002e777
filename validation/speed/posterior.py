"""What the posterior costs: with the number of points near the margin, and at prediction."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import BayesSVC
from bayes_svm.machine import machine_of
from bayes_svm.posterior import Eigensystem, posterior_of
from validation._common import Page, parser_for, table
from validation._common import progress as say
from validation.speed.fit import synthetic

ABOUT = """\
Seconds, all at one thread, best of {repeats} (of one from 5000 points on). **Posterior**: of an SVM with C =
1 on a noisy synthetic problem (`make_classification`, 20 features, 8 informative, flip_y = 0.2, rbf, gamma =
1/20). The swish's curvature is above 0 only near the margin, the softplus's everywhere. *Factor* is the
Cholesky factor of `lambda I + D K D` that variances are solved with, *eigensystem* the whole eigensystem,
*within 1 %* the one whose variances err by at most 1 % (eigenvalues kept in parentheses; a dash where there
are more than {largest} points). **Prediction**: 10000 new points, ratios to `SVC.decision_function`."""

NEW = 10_000


def best(call: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def posterior_row(n: int, smoothing: str, repeats: int, largest: int) -> list[str]:
    """Active points, and seconds of the factor and of the eigensystems."""
    X, y = synthetic(n)
    machine, [solution] = machine_of(SVC(gamma=1 / 20), X, y)
    problem = machine.problem(0)
    posterior = posterior_of(machine, problem, solution, 1.0, smoothing=smoothing)
    n_active = len(posterior.points)
    row = [f"{n}", smoothing, f"{n_active}"]
    if n_active > largest:
        return [*row, "–", "–", "–"]
    point = X[:1]

    def factor() -> None:
        posterior.__dict__.pop("_factor", None)
        posterior.variance(point)

    gram = posterior.kernel(posterior.rows, posterior.rows)
    row.append(f"{best(factor, repeats):.3f}")
    for tolerance in (0.0, 0.01):
        seconds = best(lambda t=tolerance: Eigensystem.of(gram, posterior.curvature, 1.0, t), repeats)
        kept = len(Eigensystem.of(gram, posterior.curvature, 1.0, tolerance).values)
        row.append(f"{seconds:.3f} ({kept})")
    say(f"n = {n}, {smoothing}: {n_active} active")
    return row


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
    parser.add_argument("--largest", type=int, default=6000, help="most active points; default: 6000")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts; default: 3")
    args: argparse.Namespace = parser.parse_args()
    page = Page(
        "validation.speed.posterior",
        "What the posterior costs",
        ABOUT.replace("{repeats}", str(args.repeats)).replace("{largest}", str(args.largest)),
    )
    with threadpool_limits(1):
        rows = [
            posterior_row(int(n), smoothing, args.repeats if int(n) < 5000 else 1, args.largest)
            for n in args.sizes.split(",")
            for smoothing in ("swish", "softplus")
        ]
        head = (
            "training points", "smoothing", "points with curvature", "factor", "eigensystem (kept)",
            "within 1 % (kept)",
        )  # fmt: skip
        page.add("## Posterior", table(head, rows, left=0))
        page.add("## Prediction", prediction_table(args.repeats))
    page.finish(args.output)


if __name__ == "__main__":
    main()

"""How long conformal p-values take, beside online-cp, a leave-one-out, and a decision function.

    python -m validation.conformal.speed [--output FILE]

Run it on a machine that does nothing else. online-cp is left out if it is not installed; it needs Numba to be
fast.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bayes_svm import ConformalSVC, leave_one_out
from validation._common import Page, parser_for, table

ABOUT = """\
`make_classification` with 20 features, 8 informative, flip_y = 0.2, standardised; rbf kernel with gamma =
1/20, C = 1 unless stated otherwise, one thread. *Milliseconds per point* are those of p-values for both
labels, in one batch; the best of some rounds. online-cp, with Numba, solves the machine anew for every point
and label, to its default tolerance."""
SEED, GAMMA = 0, 1.0 / 20.0
# Numbers of rows, C, numbers of new points, and of those that the rival gets.
MARGIN = (
    (300, 1.0, 500, 20),
    (500, 1.0, 500, 20),
    (1000, 1.0, 500, 20),
    (3000, 1.0, 500, 0),
    (10_000, 1.0, 500, 0),
    (10_000, 2.8, 500, 0),
    (10_000, 3.0, 500, 0),
)


def problem(n: int, n_new: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = make_classification(n + n_new, 20, n_informative=8, flip_y=0.2, random_state=SEED)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:n], y[:n], X[n:]


def best(call: Callable[[], object], rounds: int) -> float:
    """The least seconds of some rounds."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def conformal(n: int, n_new: int, score: str, rounds: int, C: float = 1.0) -> tuple[float, float, int]:
    """Seconds of the fit and of the p-values, and the number of free points."""
    X, y, new = problem(n, n_new)
    model = ConformalSVC(SVC(C=C, gamma=GAMMA), score, False)
    fit = best(lambda: model.fit(X, y), min(rounds, 2))
    alpha = np.abs(model._solutions[0].beta)
    free = np.count_nonzero((alpha > 0) & (alpha < model._solutions[0].problem.bound))
    return fit, best(lambda: model.p_values(new), rounds), free


def rival(n: int, n_new: int) -> float:
    """Seconds of online-cp's p-values for both labels."""
    from online_cp import ConformalSupportVectorMachine

    X, y, new = problem(n, n_new)
    sigma = float(np.sqrt(0.5 / GAMMA))
    model = ConformalSupportVectorMachine(kernel="rbf", sigma=sigma, label_space=[0, 1], rnd_state=0)
    model.learn_initial_training_set(X, y)
    model.predict(new[0], return_p_values=True)  # Numba compiles
    return best(lambda: [model.predict(x, return_p_values=True) for x in new], 1)


def margin_table() -> str:
    rows = []
    for n, C, n_new, n_rival in MARGIN:
        fit, seconds, free = conformal(n, n_new, "margin", 3, C)
        each = 1e3 * seconds / n_new
        other = 1e3 * rival(n, n_rival) / n_rival if n_rival and find_spec("online_cp") else None
        rows.append([
            n, f"{C:g}", free, n_new, f"{fit:.3f}", f"{each:.3f}", "–" if other is None else f"{other:.1f}",
            "–" if other is None else f"{other / each:.0f}",
        ])  # fmt: skip
    head = ("rows", "C", "free", "points", "fit, s", "ms per point", "online-cp, ms per point", "ratio")
    return table(head, rows)


def left_out_table() -> str:
    rows = []
    for n in (100, 200, 300):
        X, y, _ = problem(n + 1, 0)
        one = best(lambda X=X, y=y: leave_one_out(SVC(gamma=GAMMA), X, y), 20)
        seconds = conformal(n, 20, "left_out", 2)[1]
        rows.append([n, f"{1e3 * one:.2f}", f"{1e3 * seconds / 40:.2f}", f"{seconds / 40 / one:.2f}"])
    return table(("rows", "leave_one_out, ms", "ms per point and label", "ratio"), rows)


def kept_table() -> str:
    rows = []
    for n, n_new in ((300, 500), (1000, 500), (3000, 500)):
        X, y, new = problem(n, n_new)
        model = SVC(gamma=GAMMA).fit(X, y)
        values = best(lambda model=model, new=new: model.decision_function(new), 5)
        for score in ("jackknife+", "cv+"):
            fit, seconds, _ = conformal(n, n_new, score, 5)
            rows.append([
                n, score, f"{fit:.3f}", f"{1e6 * values / n_new:.1f}", f"{1e6 * seconds / n_new:.1f}",
                f"{1e6 * products(n, n_new, score) / n_new:.1f}",
            ])  # fmt: skip
    head = ("rows", "score", "fit, s", "decision_function, µs per point", "p-values, µs per point",
            "kernel matrix and product alone, µs per point")  # fmt: skip
    return table(head, rows)


def products(n: int, n_new: int, score: str) -> float:
    """Seconds of one kernel matrix with all rows, and of its product with the stored changes of beta."""
    X, y, new = problem(n, n_new)
    model = ConformalSVC(SVC(gamma=GAMMA), score, False).fit(X, y)
    parts = [one for left in model._scores._left for section in left.sections for one in section.remainders]

    def both() -> None:
        cross = rbf_kernel(new, X, gamma=GAMMA)
        for part in parts:
            cross[:, part.points] @ part.delta.T

    return best(both, 5)


def main() -> None:
    args = parser_for(__doc__.splitlines()[0]).parse_args()
    page = Page("validation.conformal.speed", "Conformal p-values: speed", ABOUT)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        page.add("## Margin score", margin_table(), "## Left-out score", left_out_table())
        page.add("## jackknife+ and CV+", kept_table())
    page.finish(args.output)


if __name__ == "__main__":
    main()

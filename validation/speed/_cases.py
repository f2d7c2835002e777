"""What :mod:`validation.speed.side_by_side` times. As a script it prints the seconds of each case in JSON.

It imports the public names of the package only, and nothing of this folder, so that any version can run it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from bayes_svm import BayesSVC, leave_one_out

__all__ = ["REPEATS", "SECONDS"]

# Of each case in one process: so many runs at least, and so many seconds.
REPEATS, SECONDS = 3, 0.5


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """By name, what is timed."""

    def drawn(n: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
        X, y = make_classification(n, 20, n_informative=8, n_classes=n_classes, flip_y=0.2, random_state=0)
        return scale(X), y

    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    small, large, several = drawn(150), drawn(1500), drawn(500, 4)
    groups = np.arange(1500) // 10
    model = BayesSVC().fit(*large)
    yield "fit, 569 rows, rbf", lambda: BayesSVC().fit(X, y)
    yield "fit, 569 rows, linear", lambda: BayesSVC(kernel="linear").fit(X, y)
    yield "fit, 569 rows, rows alone", lambda: BayesSVC(leave_out="rows").fit(X, y)
    yield "fit, 150 noisy rows", lambda: BayesSVC().fit(*small)
    yield "fit, 1500 noisy rows", lambda: BayesSVC().fit(*large)
    yield "fit, 1500 noisy rows, C = 100", lambda: BayesSVC(C=100.0).fit(*large)
    yield "fit, four classes", lambda: BayesSVC().fit(*several)
    yield "leave one out, 569 rows", lambda: leave_one_out(SVC(), X, y)
    yield "leave one out, 1500 noisy rows", lambda: leave_one_out(SVC(), *large)
    yield "leave one out, C = 100", lambda: leave_one_out(SVC(C=100.0), *large)
    yield "leave groups out", lambda: leave_one_out(SVC(), *large, groups=groups)
    yield "leave one out, signs", lambda: leave_one_out(SVC(), *large, sign_only=True)
    yield "leave one out, certified", lambda: leave_one_out(SVC(), X, y, method="certified")
    yield "five folds, four classes in pairs", lambda: leave_one_out(SVC(), *several, cv=5)
    yield "predict", lambda: model.predict_proba(large[0])


def measured() -> dict[str, float]:
    """Smallest seconds of each case in this process."""
    found = {}
    for name, run in cases():
        run()
        times: list[float] = []
        while len(times) < REPEATS or sum(times) < SECONDS:
            started = time.perf_counter()
            run()
            times.append(time.perf_counter() - started)
        found[name] = min(times)
    return found


if __name__ == "__main__":
    print(json.dumps(measured()))

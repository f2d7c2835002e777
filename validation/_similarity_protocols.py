"""Errors by Pardi's own protocols: ten folds with LIBSVM, half of the rows for testing, two folds."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, cross_val_predict
from sklearn.svm import SVC

from bayes_svm import AggregationKernel, GaussianKernel

Splits = list[tuple[np.ndarray, np.ndarray]]
TEN_FOLDS, HALF, TWO_FOLDS = "10 folds, LIBSVM", "half for testing", "2 folds"
FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)


def gaussian_error(X: np.ndarray, y: np.ndarray, kernel: GaussianKernel, C: float) -> float:
    """Error of LIBSVM in ten folds."""
    return float(np.mean(cross_val_predict(SVC(C=C, gamma=kernel.gamma), X, y, cv=FOLDS) != y))


def protocols_of(name: str, y: np.ndarray) -> dict[str, Splits]:
    """How the error over windows of attributes is measured, beside leave-one-out."""
    found = {TEN_FOLDS: list(FOLDS.split(y, y))}
    if name == "kr-vs-kp":
        found[HALF] = list(StratifiedShuffleSplit(1, test_size=0.5, random_state=0).split(y, y))
    if name == "splice":
        found[TWO_FOLDS] = list(StratifiedKFold(2, shuffle=True, random_state=0).split(y, y))
    return found


def window_error(codes: np.ndarray, y: np.ndarray, splits: Splits, C: float, one_vs_rest: bool) -> float:
    """Error on the rows left for testing.

    A window of few attributes has few different rows. Each stands once, with its number as its weight: the
    machine is the same.
    """
    wrong = total = 0
    number = np.unique(y, return_inverse=True)[1]
    for train, test in splits:
        rows, count = np.unique(np.column_stack([codes[train], number[train]]), axis=0, return_counts=True)
        points, label, kernel = rows[:, :-1], rows[:, -1], AggregationKernel()
        cross = kernel(codes[test], points)
        if one_vs_rest:
            # Outputs alike to two digits are decided for the most frequent class.
            order = np.argsort(-np.bincount(number[train]), kind="stable")
            machines = [
                SVC(C=C, kernel="precomputed").fit(kernel(points, points), label == k, sample_weight=count)
                for k in order
            ]
            values = [machine.decision_function(cross).round(2) for machine in machines]
            predicted = order[np.argmax(values, axis=0)]
        else:
            machine = SVC(C=C, kernel="precomputed").fit(kernel(points, points), label, sample_weight=count)
            predicted = machine.predict(cross)
        wrong += int(np.sum(predicted != number[test]))
        total += len(test)
    return wrong / total

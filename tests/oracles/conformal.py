"""P-values by training every machine from scratch: slow and obvious."""

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import LinearSVC

from bayes_svm.dual.from_estimator import machine_of

TIE = 1e-8


def values_at(estimator, X, y, points):
    """Decision value for each class, against the rest, of the machine trained on X and y."""
    machine, solutions = machine_of(estimator, X, y)
    values = np.column_stack(
        [machine.cross(one.problem, points) @ one.beta + one.intercept for one in solutions]
    )
    return np.column_stack([-values, values]) if len(machine.classes) == 2 else values


def own_values(estimator, X, y, left_out):
    """Decision value of each row for its own class, of the machine on all rows or on all but the row."""
    rows, own = np.arange(len(y)), np.searchsorted(np.unique(y), y)
    if not left_out:
        return values_at(estimator, X, y, X)[rows, own]
    return np.array([values_at(estimator, X[rows != i], y[rows != i], X[[i]])[0, own[i]] for i in rows])


def votes_at(estimator, X, y, points):
    """Vote of the rows for each class, against the rest."""
    # LinearSVC penalises its intercept as the weight of a constant column.
    if isinstance(estimator, LinearSVC):
        kernel = 1.0 + points @ X.T
    else:
        given = {name: getattr(estimator, name) for name in ("gamma", "degree", "coef0")}
        kernel = pairwise_kernels(points, X, estimator.kernel, filter_params=True, **given)
    signs = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    return kernel @ signs / (1.0 + np.abs(kernel).sum(axis=1, keepdims=True))


def own_votes(estimator, X, y):
    """Vote of all other rows for the class of each row."""
    rows, own = np.arange(len(y)), np.searchsorted(np.unique(y), y)
    return np.array([votes_at(estimator, X[rows != i], y[rows != i], X[[i]])[0, own[i]] for i in rows])


def as_strange(scores, own, votes, own_vote):
    """Whether scores are at least as large; among equal ones, whether the votes are at most as large."""
    return (scores > own + TIE) | ((scores >= own - TIE) & (votes <= own_vote + TIE))


def full_p_values(estimator, X, y, new, left_out, class_conditional):
    """P-values of full conformal prediction."""
    classes = np.unique(y)
    p = np.empty((len(new), len(classes)))
    for j, x in enumerate(new):
        for c, label in enumerate(classes):
            bag, labels = np.vstack([X, x]), np.append(y, label)
            scores, votes = -own_values(estimator, bag, labels, left_out), own_votes(estimator, bag, labels)
            among = y == label if class_conditional else np.ones(len(y), dtype=bool)
            ahead = as_strange(scores[:-1], scores[-1], votes[:-1], votes[-1])
            p[j, c] = (1 + ahead[among].sum()) / (1 + among.sum())
    return p


def kept_p_values(estimator, X, y, new, folds, class_conditional):
    """P-values of the jackknife+ (folds of single rows) and of CV+."""
    classes = np.unique(y)
    p, ahead = np.empty((len(new), len(classes))), np.empty((len(y), len(new), len(classes)))
    for fold in np.unique(folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        points = np.vstack([X[test], new])
        values, votes = (of(estimator, X[train], y[train], points) for of in (values_at, votes_at))
        rows, own = np.arange(len(test)), np.searchsorted(classes, y[test])
        for i, row in enumerate(test):
            # Whether the row is at least as strange as each new point with each label.
            ahead[row] = as_strange(
                -values[rows, own][i], -values[len(test) :], votes[rows, own][i], votes[len(test) :]
            )
    for c, label in enumerate(classes):
        among = y == label if class_conditional else np.ones(len(y), dtype=bool)
        p[:, c] = (1 + ahead[among, :, c].sum(axis=0)) / (1 + among.sum())
    return p

"""P-values by training every machine from scratch: slow and obvious."""

import numpy as np

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


def counted(scores, own, among):
    """P-value of a new point whose score is ``own``, among some of the scores."""
    return (1 + np.sum(scores[among] >= own - TIE)) / (1 + np.sum(among))


def full_p_values(estimator, X, y, new, left_out, class_conditional):
    """P-values of full conformal prediction."""
    classes = np.unique(y)
    p = np.empty((len(new), len(classes)))
    for j, x in enumerate(new):
        for c, label in enumerate(classes):
            bag, labels = np.vstack([X, x]), np.append(y, label)
            scores = -own_values(estimator, bag, labels, left_out)
            among = labels[:-1] == label if class_conditional else np.ones(len(y), dtype=bool)
            p[j, c] = counted(scores[:-1], scores[-1], among)
    return p


def kept_p_values(estimator, X, y, new, folds, class_conditional):
    """P-values of the jackknife+ (folds of single rows) and of CV+."""
    classes = np.unique(y)
    p, ahead = np.empty((len(new), len(classes))), np.empty((len(y), len(new), len(classes)))
    for fold in np.unique(folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        values = values_at(estimator, X[train], y[train], np.vstack([X[test], new]))
        scores = -values[np.arange(len(test)), np.searchsorted(classes, y[test])]
        # Whether each row of the fold is at least as strange as each new point with each label.
        ahead[test] = scores[:, None, None] >= -values[None, len(test) :] - TIE
    for c, label in enumerate(classes):
        among = y == label if class_conditional else np.ones(len(y), dtype=bool)
        p[:, c] = (1 + ahead[among, :, c].sum(axis=0)) / (1 + among.sum())
    return p

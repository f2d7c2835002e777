"""Rows whose label is probably wrong, by left-out probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.selection.search import BayesSVCSearch
from bayes_svm.utils.metaestimators import check_instance, last_of, leaving_all_out, warn_of_steps
from bayes_svm.utils.types import Array, Indices, Mask

__all__ = ["find_label_issues", "label_quality_scores"]


def find_label_issues(
    estimator: Any, X: Any, y: ArrayLike, *, return_indices_ranked_by: str | None = None
) -> Mask | Indices:
    r"""Find rows whose label is probably wrong.

    Each row is judged by its left-out probabilities p, from one fit. By the rule of confident learning, a
    class is plausible for a row if its probability is at least the mean that it has among the rows of this
    label:

    .. math:: p_j(x) \ge t_j, \qquad t_j = \operatorname{mean} \{ p_j(x_i) : y_i = j \}

    A row is an issue if the most probable of its plausible classes is not its label, and neither is the most
    probable of all classes. The conventions are those of ``cleanlab.filter.find_label_issues`` with
    ``filter_by="confident_learning"``.

    Parameters
    ----------
    estimator : BayesSVC, BayesSVCSearch or Pipeline that ends in one
        A clone is fitted, with ``leave_out_size=None``. The other steps of a pipeline are fitted once, on all
        rows. Of a search the left-out probabilities are those of the setting or mixture chosen on all rows.
    X : array or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,)
        Labels, some of which may be wrong.
    return_indices_ranked_by : str, optional
        "self_confidence", "normalized_margin" or "confidence_weighted_entropy": return the row numbers of the
        issues, the worst score first. See :func:`label_quality_scores`.

    Returns
    -------
    array of bool of shape (n_samples,), or array of int of shape (n_issues,)
        Whether each row is an issue, or the row numbers of the issues.

    Raises
    ------
    TypeError
        If the estimator is another classifier.
    ValueError
        If the score is unknown, or the estimator cannot be trained on the data.

    Warns
    -----
    UserWarning
        If other steps of a pipeline see all rows.

    Notes
    -----
    Wrong labels make a rare class look less rare, and hide it from the machine: where most labels of the
    class are wrong, giving its rows a slack costs least. Class weights between none and "balanced" help, such
    as the square roots of the balanced ones. With them a mixture of rbf and linear machines ranks the rows
    best: ``docs/results/label_issues.md``.

    Rows of a group, such as those of one patient, must leave together, or they vouch for each other's wrong
    label: give a machine whose ``leave_out`` is a list of splits that keep groups whole, as those of
    :class:`~sklearn.model_selection.StratifiedGroupKFold` are.

    References
    ----------
    Northcutt, Jiang and Chuang, "Confident learning: estimating uncertainty in dataset labels", JAIR 70,
    2021.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC, find_label_issues
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[:3] = 1 - y[:3]
    >>> find_label_issues(BayesSVC(), scale(X), y, return_indices_ranked_by="self_confidence")
    array([  2,   1, 297,   0])
    """
    if return_indices_ranked_by is not None:
        _check_score(return_indices_ranked_by, "return_indices_ranked_by")
    proba, given = _judged(estimator, X, y)
    issue = _confidently_other(proba, given)
    if return_indices_ranked_by is None:
        return issue
    rows = issue.nonzero()[0]
    return rows[np.argsort(SCORES[return_indices_ranked_by](proba, given)[rows], kind="stable")]


def label_quality_scores(
    estimator: Any, X: Any, y: ArrayLike, *, method: str = "self_confidence"
) -> NDArray[np.float64]:
    r"""How well the label of each row fits its left-out probabilities: 0 is worst, 1 is best.

    Parameters
    ----------
    estimator, X, y
        As in :func:`find_label_issues`.
    method : str, default="self_confidence"
        One of:

        * "self_confidence": the probability :math:`p_y` of the label.
        * "normalized_margin": :math:`(1 + p_y - \max_{j \ne y} p_j) / 2`.
        * "confidence_weighted_entropy": :math:`1 / (1 + H / p_y)`, with the entropy H of the probabilities
          divided by its largest value. The order is that of cleanlab's score, the size is not.

        For two classes all of them rank the rows alike.

    Returns
    -------
    array of shape (n_samples,)
        The scores.

    Raises
    ------
    TypeError, ValueError
        As :func:`find_label_issues`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayes_svm import BayesSVC, label_quality_scores
    >>> X, y = load_iris(return_X_y=True)
    >>> y[0] = 2
    >>> int(label_quality_scores(BayesSVC(), X, y).argmin())
    0
    """
    _check_score(method, "method")
    return SCORES[method](*_judged(estimator, X, y))


def _check_score(name: str, parameter: str) -> None:
    if name not in SCORES:
        raise ValueError(f"{parameter}={name!r} is not one of {tuple(SCORES)}.")


def _judged(estimator: Any, X: Any, y: ArrayLike) -> tuple[Array, Indices]:
    """Left-out probabilities of all rows, and the class number of each row's label."""
    check_instance(estimator)
    if not isinstance(last_of(estimator), BayesSVC | BayesSVCSearch):
        raise TypeError(
            f"{type(estimator).__name__} has no left-out probabilities: give a BayesSVC, a BayesSVCSearch, "
            "or a Pipeline that ends in one."
        )
    model = leaving_all_out(estimator)
    warn_of_steps(model, "their left-out probabilities")
    last = last_of(model.fit(X, y))
    # What a search tells of itself allows for the choice, by models of fewer rows: honest, and less sharp.
    proba = np.exp(last._left_out_logs()) if isinstance(last, BayesSVCSearch) else last.left_out_proba_
    return proba, np.searchsorted(model.classes_, np.asarray(y).ravel())


def _confidently_other(proba: Array, given: Indices) -> Mask:
    """Rows that confident learning counts under another class than their label."""
    members = [proba[given == k, k] for k in range(proba.shape[1])]
    plausible = proba >= np.array([own.mean() for own in members])
    best = np.where(plausible, proba, -np.inf).argmax(axis=1)
    counted = plausible.any(axis=1)
    return np.asarray(counted & (best != given) & (proba.argmax(axis=1) != given))


def _self_confidence(proba: Array, given: Indices) -> Array:
    return proba[np.arange(len(given)), given]


def _normalized_margin(proba: Array, given: Indices) -> Array:
    others = proba.copy()
    others[np.arange(len(given)), given] = -np.inf
    return (1.0 + _self_confidence(proba, given) - others.max(axis=1)) / 2.0


def _confidence_weighted_entropy(proba: Array, given: Indices) -> Array:
    entropy = -xlogy(proba, proba).sum(axis=1) / np.log(proba.shape[1])
    own = _self_confidence(proba, given)
    # Without the division of H by p, which may be 0.
    return np.asarray(own / np.maximum(own + entropy, np.finfo(float).tiny))


SCORES = {
    "self_confidence": _self_confidence,
    "normalized_margin": _normalized_margin,
    "confidence_weighted_entropy": _confidence_weighted_entropy,
}

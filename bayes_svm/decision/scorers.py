"""Scorers of the reject option, for scikit-learn's model selection."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bayes_svm.decision.answers import answers, reject_option_of
from bayes_svm.decision.labels import accepted_and_right
from bayes_svm.metrics.risk_coverage import RiskCoverageCurve, risk_coverage_curve
from bayes_svm.utils.checks import checked_weights

__all__ = [
    "coverage_scorer",
    "neg_area_risk_coverage_scorer",
    "neg_selective_risk_scorer",
    "selective_accuracy_scorer",
]


def coverage_scorer(estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Coverage: the share of points that a :class:`~bayes_svm.RejectOptionClassifier` accepts.

    Parameters
    ----------
    estimator : RejectOptionClassifier
        Fitted.
    X : array of shape (n_samples, n_features)
        Test points.
    y : array of shape (n_samples,)
        Their labels.
    sample_weight : array of shape (n_samples,), optional
        Weights of the points; all equal by default.

    Returns
    -------
    float
        The coverage, from 0 to 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayes_svm import BayesSVC, RejectOptionClassifier
    >>> from bayes_svm.decision import coverage_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RejectOptionClassifier(BayesSVC(), threshold=0.9).fit(X, y)
    >>> round(coverage_scorer(model, X, y), 3)
    0.92
    """
    return _accepted_and_right(estimator, X, y, sample_weight)[0]


def neg_selective_risk_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Minus the selective risk: the share of errors among the accepted points, 0 if there are none.

    Parameters
    ----------
    estimator : RejectOptionClassifier
        Fitted.
    X : array of shape (n_samples, n_features)
        Test points.
    y : array of shape (n_samples,)
        Their labels.
    sample_weight : array of shape (n_samples,), optional
        Weights of the points; all equal by default.

    Returns
    -------
    float
        Minus the selective risk, from -1 to 0: greater is better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayes_svm import BayesSVC, RejectOptionClassifier
    >>> from bayes_svm.decision import neg_selective_risk_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RejectOptionClassifier(BayesSVC(), threshold=0.6).fit(X, y)
    >>> round(neg_selective_risk_scorer(model, X, y), 3)
    -0.027
    """
    accepted, right = _accepted_and_right(estimator, X, y, sample_weight)
    return right / accepted - 1.0 if accepted > 0 else 0.0


def selective_accuracy_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Selective accuracy: the share of right answers among the accepted points, 0 if there are none.

    A model that accepts little scores high: look at :func:`coverage_scorer` too.

    Parameters
    ----------
    estimator : RejectOptionClassifier
        Fitted.
    X : array of shape (n_samples, n_features)
        Test points.
    y : array of shape (n_samples,)
        Their labels.
    sample_weight : array of shape (n_samples,), optional
        Weights of the points; all equal by default.

    Returns
    -------
    float
        The selective accuracy, from 0 to 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from bayes_svm import RejectOptionClassifier
    >>> from bayes_svm.decision import selective_accuracy_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RejectOptionClassifier(LogisticRegression(C=0.1), threshold=0.8)
    >>> scores = cross_val_score(model, X, y, scoring=selective_accuracy_scorer)
    >>> bool((scores > 0.9).all())
    True
    """
    accepted, right = _accepted_and_right(estimator, X, y, sample_weight)
    return right / accepted if accepted > 0 else 0.0


def neg_area_risk_coverage_scorer(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Minus the area under the risk-coverage curve of any classifier with ``predict_proba``.

    Parameters
    ----------
    estimator : classifier
        Fitted, with ``predict_proba``.
    X : array of shape (n_samples, n_features)
        Test points.
    y : array of shape (n_samples,)
        Their labels.
    sample_weight : array of shape (n_samples,), optional
        Weights of the points; all equal by default.

    Returns
    -------
    float
        Minus the area: greater is better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from bayes_svm.decision import neg_area_risk_coverage_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = cross_val_score(LogisticRegression(C=0.1), X, y, scoring=neg_area_risk_coverage_scorer)
    >>> bool((scores > -0.1).all())
    True
    """
    return -_curve(estimator, X, y, sample_weight).area


def _accepted_and_right(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[float, float]:
    """Weighted shares of all points that are accepted, and that are accepted and answered rightly."""
    option, _ = reject_option_of(estimator, X)
    check_is_fitted(option)
    if not hasattr(option, "reject_label_"):
        raise TypeError(f"This scorer is for a RejectOptionClassifier, not for {type(option).__name__}.")
    predicted = estimator.predict(X)
    weight = checked_weights(sample_weight, predicted[:, None])
    return accepted_and_right(predicted, y, option.classes_, option.reject_label_, weight)


def _curve(estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> RiskCoverageCurve:
    predicted, confidence = answers(estimator, X)
    return risk_coverage_curve(y, predicted, confidence, sample_weight=sample_weight)

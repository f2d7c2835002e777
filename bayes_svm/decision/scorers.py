"""Scorers of the reject option, for scikit-learn's model selection."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from bayes_svm.decision.answers import answers
from bayes_svm.metrics.risk_coverage import RiskCoverageCurve, risk_coverage_curve

__all__ = ["coverage_scorer", "neg_area_risk_coverage_scorer", "neg_selective_risk_scorer"]


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
    """
    return _curve(estimator, X, y, sample_weight).at(estimator.threshold_)[0]


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
    """
    coverage, risk = _curve(estimator, X, y, sample_weight).at(estimator.threshold_)
    return -risk if coverage > 0 else 0.0


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
    >>> from bayes_svm.decision.scorers import neg_area_risk_coverage_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = cross_val_score(LogisticRegression(C=0.1), X, y, scoring=neg_area_risk_coverage_scorer)
    >>> bool((scores > -0.1).all())
    True
    """
    return -_curve(estimator, X, y, sample_weight).area


def _curve(estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> RiskCoverageCurve:
    predicted, confidence = answers(estimator, X)
    return risk_coverage_curve(y, predicted, confidence, sample_weight=sample_weight)

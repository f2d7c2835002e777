"""Predictions of a fitted BayesSVCSearch, by its best model or its mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayes_svm.conformal.venn_abers import VennAbers, intervals
from bayes_svm.probability.several import normalised_log_odds
from bayes_svm.selection.mixture import pooled
from bayes_svm.utils.metaestimators import decided
from bayes_svm.utils.types import Array

__all__ = ["SearchPredictions", "class_proba"]


class SearchPredictions:
    """Predictions of :class:`bayes_svm.BayesSVCSearch`, from the attributes that its ``fit`` stores."""

    classes_: NDArray[Any]
    class_weight_: Array
    estimators_: list[Any]
    weights_: Array
    base_: Array
    _venn_abers: list[VennAbers]

    def predict_proba(self, X: Any) -> Array:
        """Probability of every class, by the best model or the mixture.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of :meth:`predict_proba`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The log-probabilities, in the order of ``classes_``.
        """
        self._require_models()
        return self._pooled([model.predict_log_proba(X) for model in self.estimators_])

    def decision_function(self, X: Any) -> Array:
        """Decision values of the best model, or the log-odds of a mixture's probabilities.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            One value per row for two classes, positive for ``classes_[1]``; otherwise one per class.
        """
        self._require_models()
        if len(self.estimators_) == 1:
            return np.asarray(self.estimators_[0].decision_function(X))
        logs = self.predict_log_proba(X)
        if logs.shape[1] == 2:
            return np.asarray(logs[:, 1] - logs[:, 0])
        return normalised_log_odds(logs + np.log(self.class_weight_))

    def predict_interval(self, X: Any) -> Array:
        """Probability intervals, by Venn-Abers predictors of the left-out values.

        They are those of :meth:`BayesSVC.predict_interval`, with the same guarantee. In place of decision
        values stand the probabilities of :meth:`predict_proba`, and those of the same model or mixture at the
        training rows, each left out of the machines but not of the choice of the settings and weights.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        array of shape (n_samples, 2) or (n_samples, n_classes, 2)
            Lower and upper end: for two classes of the probability of ``classes_[1]``, otherwise of each
            class against the rest.
        """
        logs = self.predict_log_proba(X)
        return intervals(self._venn_abers, class_proba(logs))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of the largest class weight times probability.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[decided(proba, self.class_weight_)])

    def _pooled(self, logs: list[Array]) -> Array:
        """Log-probabilities of the mixture, from those of its models."""
        return logs[0] if len(logs) == 1 else pooled(np.stack(logs), self.weights_, self.base_)

    def _require_models(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "estimators_"):
            raise AttributeError("refit=False keeps no model to predict with: fit with refit=True.")


def class_proba(logs: Array) -> Array:
    """Probabilities of the second of two classes, otherwise of all classes, from log-probabilities."""
    proba = np.exp(logs)
    return proba[:, 1] if proba.shape[1] == 2 else proba

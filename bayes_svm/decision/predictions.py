"""Predictions of a fitted RejectOptionClassifier: the points that it answers, and those that it rejects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.metrics import confusion_matrix
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bayes_svm.decision.answers import answers
from bayes_svm.decision.labels import accepted_and_right, labels_with_rejection
from bayes_svm.decision.review import review_frame
from bayes_svm.utils.checks import checked_weights, require_known
from bayes_svm.utils.scikit_learn import safe_indexing
from bayes_svm.utils.types import Array, Mask

__all__ = ["RejectingPredictions"]


def _has_probabilities(self: Any) -> bool:
    return hasattr(getattr(self, "estimator_", self.estimator), "predict_proba")


class RejectingPredictions(ClassifierMixin):
    """Predictions of :class:`bayes_svm.RejectOptionClassifier`, from what its ``fit`` stores."""

    estimator_: Any
    classes_: NDArray[Any]
    reject_label_: Any
    threshold_: float
    _target: float
    _rule: str | None
    _of_sets: bool

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes, or the reject label for rejected points.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict.

        Returns
        -------
        array of shape (n_samples,)
            What the estimator predicts, or the reject label. With ``guarantee="conformal"`` an accepted
            point gets the one label of its set.
        """
        check_is_fitted(self)
        if self._of_sets:
            sets = self._sets(X)
            predicted, rejected = self.classes_[sets.argmax(axis=1)], sets.sum(axis=1) != 1
        else:
            predicted, confidence = answers(self.estimator_, X)
            rejected = ~(confidence >= self.threshold_)
        if self.reject_label_ is None:
            return np.asarray(predicted)
        return labels_with_rejection(predicted, rejected, self.reject_label_)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, for rejected points too.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities by the estimator.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def rejected(self, X: Any) -> Mask:
        """Whether each point is rejected.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict.

        Returns
        -------
        array of bool of shape (n_samples,)
            True where the probability of the predicted class is below the threshold; with
            ``guarantee="conformal"`` where the set is not one label.
        """
        check_is_fitted(self)
        if self._of_sets:
            return np.asarray(self._sets(X).sum(axis=1) != 1)
        return ~np.asarray(answers(self.estimator_, X)[1] >= self.threshold_)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of points that are accepted and answered rightly: a rejection counts as an error.

        The share of right answers among the accepted points is
        :func:`~bayes_svm.decision.selective_accuracy_scorer`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Test points.
        y : array of shape (n_samples,)
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the points; all equal by default.

        Returns
        -------
        float
            The share, from 0 to 1.

        Raises
        ------
        ValueError
            If y does not have one label for each row of X, or its labels are not of the type of the classes.
            They may be none of the classes.
        """
        predicted = self.predict(X)
        weight = checked_weights(sample_weight, predicted[:, None])
        return accepted_and_right(predicted, y, self.classes_, self.reject_label_, weight)[1]

    def confusion_matrix(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
        """Counts of true and predicted classes, with the rejected points in a column of their own.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Test points.
        y : array of shape (n_samples,)
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the points; all equal by default.

        Returns
        -------
        array of shape (n_classes, n_classes + 1)
            A row for each true class and a column for each predicted one, in the order of ``classes_``; the
            last column is that of the rejected points.

        Raises
        ------
        ValueError
            If y holds a label that is none of the classes.
        """
        check_is_fitted(self)
        require_known(column_or_1d(y), self.classes_)
        predicted, labels = self.predict(X), self.classes_.tolist()
        if self.reject_label_ is None:
            table = confusion_matrix(y, predicted, labels=labels, sample_weight=sample_weight)
            return np.asarray(np.pad(table, ((0, 0), (0, 1))))
        labels.append(self.reject_label_)
        return np.asarray(confusion_matrix(y, predicted, labels=labels, sample_weight=sample_weight)[:-1])

    def review_queue(self, X: Any) -> Any:
        """The rejected points, for a person to answer.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n_samples, n_features)
            Points to predict.

        Returns
        -------
        pandas.DataFrame
            One row for each rejected point, in the order of X and with its index if X is a frame:

            * ``row``: position of the point in X, from 0.
            * ``answer``: what the estimator would predict.
            * ``probability``: the probability of this answer; NaN if the estimator has no
              ``predict_proba``.
            * ``low``, ``high``: the estimator's ``predict_interval`` for this answer, which need not contain
              ``probability``; NaN if it has none.
            * ``reason``: why the point is rejected, in words.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        check_is_fitted(self)
        rows = np.flatnonzero(self.rejected(X))
        # Only the rejected points are asked for intervals, which may take long.
        part = safe_indexing(X.tocsr() if issparse(X) else X, rows)
        index = X.index[rows] if hasattr(X, "iloc") else rows
        return review_frame(self.estimator_, part, rows, index, lambda sure: self._reasons(part, sure))

    def _sets(self, X: Any) -> Mask:
        """The set of each point, at the level whose complement is the target risk."""
        level = 1.0 - self._target
        return np.asarray(self.estimator_.predict_set(X, confidence_level=level))

    def _reasons(self, X: Any, confidence: Array) -> list[str]:
        """Why rejected points, whose answers have these probabilities, are so."""
        if self._of_sets:
            level = f"at confidence {1.0 - self._target:.4g}"
            names = [", ".join(map(str, self.classes_[one].tolist())) for one in self._sets(X)]
            return [
                f"several labels are plausible {level}: {one}" if one else f"no label is plausible {level}"
                for one in names
            ]
        if np.isinf(self.threshold_):
            return [f"every point is rejected, because no threshold shows {self._rule}"] * len(confidence)
        limit = f"is below {self.threshold_:.4g}, the threshold for {self._rule}"
        return [f"the probability of the answer, {one:.4g}, {limit}" for one in confidence]

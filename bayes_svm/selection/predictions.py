"""Predictions of a fitted BayesSVCSearch, by its best model or its mixture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from bayes_svm.classifiers.explaining import as_one_row
from bayes_svm.classifiers.explanation import Explanation
from bayes_svm.classifiers.predictions import BLOCKS, blocks_of, left_out_logs
from bayes_svm.conformal.intervals import read_bags, where_exact
from bayes_svm.conformal.venn_abers import VennAbers, intervals
from bayes_svm.probability.several import normalised_log_odds
from bayes_svm.selection.mixture import pooled
from bayes_svm.selection.trials import last_step
from bayes_svm.utils.metaestimators import before_last, decided
from bayes_svm.utils.progress import counted
from bayes_svm.utils.scikit_learn import safe_indexing
from bayes_svm.utils.types import Array, Mask

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

        With more than two classes those of a mixture have the class weights as prior odds.

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

        They are those of :meth:`BayesSVC.predict_interval`, with the probabilities of the model or mixture in
        place of decision values. With up to 200 rows every row and the new point, with each trial label, are
        left out of all machines in turn; otherwise the left-out probabilities of the fit are read. The choice
        of the settings, their weights and their links have seen all rows, so that the guarantee is
        approximate.

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
        of_fit = intervals(self._venn_abers, class_proba(logs))
        if any(last_step(model)._bag is None for model in self.estimators_):
            return of_fit
        given = [before_last(model, X) for model in self.estimators_]
        # The models check the names of columns.
        given = [
            one if hasattr(one, "columns") else check_array(one, accept_sparse="csr", dtype=np.float64)
            for one in given
        ]
        found = [
            self._transductive([safe_indexing(one, block) for one in given])
            for block in counted(blocks_of(of_fit), BLOCKS)
        ]
        ends, inexact = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return where_exact(ends, inexact, of_fit)

    def explain(self, x: Any, *, n_rows: int = 3) -> Explanation:
        """What the probability of one row rests on, by the model of the largest weight.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), sparse row, Series or DataFrame of one row
            The row.
        n_rows : int, default=3
            Largest number of supporting training rows, and of opposing ones.

        Returns
        -------
        Explanation
            As from :meth:`BayesSVC.explain` of that model. For a mixture the note tells its weight, and what
            the mixture says.
        """
        self._require_models()
        heaviest = int(np.argmax(self.weights_))
        model, row = self.estimators_[heaviest], as_one_row(x, hasattr(self, "feature_names_in_"))
        found = last_step(model).explain(before_last(model, row), n_rows=n_rows)
        if len(self.estimators_) == 1:
            return found
        number, weight = len(self.estimators_), self.weights_[heaviest]
        proba = self.predict_proba(row)[0, found.classes.tolist().index(found.predicted)]
        note = (
            f"this is the heaviest of {number} models, with weight {weight:.2f}; the mixture gives "
            f"{found.predicted!s} the probability {proba:.3f}"
        )
        return replace(found, note=note)

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

    def _transductive(self, given: list[Any]) -> tuple[Array, Mask]:
        """Intervals of new points, given as each model takes them, by the left-out values of n + 1 points.

        Also which points' values are not all exact.
        """
        models = [last_step(model) for model in self.estimators_]
        bag = models[0]._bag
        assert bag is not None  # else the left-out values of the fit are read
        y = np.repeat(np.searchsorted(self.classes_, bag.labels), bag.weight.astype(np.intp))
        bags, two = [], len(self.classes_) == 2
        by_model = [left_out_logs(model, X) for model, X in zip(models, given, strict=True)]
        for logs in zip(*(joined.bags for joined in by_model), strict=True):
            mixed = self._pooled([one.reshape(-1, len(self.classes_)) for one in logs])
            bags.append(np.exp(mixed).reshape(logs[0].shape)[:, :, 1 if two else 0 :])
        return read_bags(bags, y), np.logical_or.reduce([joined.inexact for joined in by_model])

    def _pooled(self, logs: list[Array]) -> Array:
        """Log-probabilities of the mixture, from those of its models."""
        return logs[0] if len(logs) == 1 else pooled(np.stack(logs), self.weights_, self.base_)

    def _left_out_logs(self) -> Array:
        """Left-out log-probabilities of the training rows by the models chosen on all of them.

        After the fit those of groups are by links that have not read them.
        """
        self._require_models()
        with np.errstate(divide="ignore"):
            return self._pooled([np.log(last_step(model).left_out_proba_) for model in self.estimators_])

    def _require_models(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "estimators_"):
            raise AttributeError("refit=False keeps no model to predict with: fit with refit=True.")


def class_proba(logs: Array) -> Array:
    """Probabilities of the second of two classes, otherwise of all classes, from log-probabilities."""
    proba = np.exp(logs)
    return proba[:, 1] if proba.shape[1] == 2 else proba

"""What a leave-one-out run found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from bayes_svm.confusion import Confusion, PerClass, decisions_per_class

__all__ = ["LeaveOneOut"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LeaveOneOut:
    """Decision value of every training point under the machine trained without it.

    Arrays have shape (n_samples,) for two classes and (n_samples, n_classes), one
    one-versus-rest machine per column, otherwise.

    Parameters
    ----------
    decision_values : array
        Leave-one-out decision values; positive means ``classes[1]``, or the column's class.
    train_decision_values : array
        Decision values of the machine trained on all points.
    status : array of str
        How each value was obtained.

        ==============  ======================================================================
        ``unchanged``   the point carries no weight in the solution: nothing changes without it
        ``path``        exact, by the path, its end verified on all points
        ``re-trained``  exact, by solving the remaining problem on its own
        ``unstable``    exact up to the intercept, which is not unique without the point: the
                        middle of its interval is taken, as LIBSVM does
        ``one-class``   only the other class is left: its label, -1 or +1
        ``inexact``     the remaining problem was not solved to the last digit: see ``gap``
        ==============  ======================================================================
    events : array of int
        Changes of the set of free points on the way.
    kkt_residual, gap : array
        Largest violation of the optimality conditions of the remaining problem, over all its
        points, and its relative duality gap: how exact each value is.
    classes : array of shape (n_classes,)
    y : array of shape (n_samples,)
        Class numbers.
    weight : array of shape (n_samples,)
    seconds : float
        Wall time.
    """

    decision_values: Array
    train_decision_values: Array
    status: NDArray[np.str_]
    events: NDArray[np.int64]
    kkt_residual: Array
    gap: Array
    classes: NDArray[Any]
    y: NDArray[np.intp]
    weight: Array = field(repr=False)
    seconds: float

    @cached_property
    def _per_class(self) -> PerClass:
        return PerClass(decisions_per_class(self.y, len(self.classes), self.decision_values, self.weight))

    @property
    def confusions(self) -> tuple[Confusion, ...]:
        """One confusion for two classes, otherwise one per class against the rest."""
        return self._per_class.confusions

    @property
    def predictions(self) -> NDArray[Any]:
        """Predicted label of each point when left out."""
        values = self.decision_values
        numbers = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes[numbers])

    @property
    def error(self) -> float:
        """Weighted share of points whose predicted label is wrong when left out."""
        wrong = self.predictions != self.classes[self.y]
        return float(np.average(wrong, weights=self.weight))

    @property
    def recall(self) -> float:
        """Leave-one-out recall; the macro average of one-versus-rest decisions over classes."""
        return self._per_class.recall

    @property
    def precision(self) -> float:
        """Leave-one-out precision; the macro average over classes."""
        return self._per_class.precision

    @property
    def f1(self) -> float:
        """Leave-one-out F1; the macro average over classes."""
        return self._per_class.f1

    def score(self, metric: str | Callable[..., float]) -> float:
        """Any scikit-learn metric on the leave-one-out predictions.

        Parameters
        ----------
        metric : str or callable
            Name of a scorer that needs labels or decision values ("roc_auc",
            "balanced_accuracy", ...), or a scorer ``metric(estimator, X, y)``; where the rows'
            weights differ it is also given ``sample_weight``.

        Returns
        -------
        float
            By scikit-learn's convention greater is better.
        """
        scorer = get_scorer(metric) if isinstance(metric, str) else metric
        stand_in = _LeftOutClassifier(self).fit(None)
        rows = np.arange(len(self.y))[:, None]
        weights = {} if np.all(self.weight == self.weight[0]) else {"sample_weight": self.weight}
        return float(scorer(stand_in, rows, self.classes[self.y], **weights))


class _LeftOutClassifier(ClassifierMixin, BaseEstimator):
    """Answers scorers with the leave-one-out values of the rows whose numbers it is given."""

    def __init__(self, result: LeaveOneOut) -> None:
        self.result = result

    def fit(self, X: Any, y: Any = None) -> _LeftOutClassifier:
        self.classes_ = self.result.classes
        return self

    def decision_function(self, X: NDArray[np.intp]) -> Array:
        return np.asarray(self.result.decision_values[X[:, 0]])

    def predict(self, X: NDArray[np.intp]) -> NDArray[Any]:
        return np.asarray(self.result.predictions[X[:, 0]])

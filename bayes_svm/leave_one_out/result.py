"""What a leave-one-out run found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if

from bayes_svm.metrics.confusion import Confusion, PerClass, decisions_per_class
from bayes_svm.utils.scikit_learn import ovr_decision_function
from bayes_svm.utils.types import Array

__all__ = ["STATUSES", "LeaveOneOut", "combined"]


# From the best to the least that is known of a value.
STATUSES = (
    "unchanged", "path", "settled", "certified", "converged", "re-trained", "unstable", "one-class",
    "inexact",
)  # fmt: skip


@dataclass(frozen=True)
class LeaveOneOut:
    """Decision value of every training point under the machine trained without it, and what left with it.

    Arrays have shape (n_samples,) for two classes. For more they have a last axis: one column
    per class, against the rest; or, of an SVC, which takes classes in pairs, one per pair, except
    for the decision values where the SVC combines them (``decision_function_shape="ovr"``).

    Parameters
    ----------
    decision_values : array
        Left-out decision values; positive means ``classes[1]``, or the column's class.
    train_decision_values : array
        Decision values of the machine trained on all points.
    values_at : array of shape (n_samples, n_at) or (n_samples, n_at, n_machines), or None
        Decision values at the points asked for besides, each row under the machine trained
        without that sample.
    status : array of str
        How each value was obtained.

        ==============  ======================================================================
        ``unchanged``   the point carries no weight in the solution: nothing changes without it
        ``path``        exact, by the path, its end verified on all points
        ``settled``     only the sign was asked for, and is known before the end of the path
        ``certified``   the sign is proven; the value is that of the solver's last iterate
        ``converged``   value and sign of an iterate that violates optimality by at most ``tol``
        ``re-trained``  exact, by solving the remaining problem on its own
        ``unstable``    exact up to the intercept, which is not unique without the point: the
                        middle of its interval is taken, as LIBSVM does
        ``one-class``   only the other class is left: its label, -1 or +1
        ``inexact``     the remaining problem was not solved to the last digit: see ``gap``
        ==============  ======================================================================
    events : array of int
        Changes of the set of free points on the way; steps of "certified" and "warm".
    kernel_columns : array of int
        Columns of the kernel matrix that "certified" and "warm" evaluated.
    kkt_residual, gap : array
        Largest violation of the optimality conditions of the remaining problem, over all its
        points, and its relative duality gap: how exact each value is.
    classes : array of shape (n_classes,)
    y : array of shape (n_samples,)
        Class numbers.
    predicted : array of shape (n_samples,)
        Class numbers decided for when left out.
    weight : array of shape (n_samples,)
    seconds : float
        Wall time.
    jointly : bool
        Whether each point is decided for one class, as of classes taken in pairs or by a link's
        probabilities, and not for or against each class by a machine of its own.
    proba : array of shape (n_samples, n_classes), optional
        Probabilities that a link makes of the values.
    """

    decision_values: Array
    train_decision_values: Array
    values_at: Array | None = field(repr=False)
    status: NDArray[np.str_]
    events: NDArray[np.int64]
    kernel_columns: NDArray[np.int64]
    kkt_residual: Array
    gap: Array
    classes: NDArray[Any]
    y: NDArray[np.intp]
    predicted: NDArray[np.intp]
    weight: Array = field(repr=False)
    seconds: float
    jointly: bool = False
    proba: Array | None = field(default=None, repr=False)

    @property
    def certified_share(self) -> float:
        """Share of values whose sign is proven by the method "certified" or by a sufficiency check."""
        return float(np.mean(self.status == "certified"))

    @cached_property
    def _per_class(self) -> PerClass:
        return PerClass(decisions_per_class(self.y, len(self.classes), self._decisions, self.weight))

    @property
    def _decisions(self) -> Array:
        """Positive where a class is decided for: each one-versus-rest machine decides by itself."""
        if len(self.classes) == 2:
            return np.where(self.predicted == 1, 1.0, -1.0)
        if not self.jointly:
            return self.decision_values
        return np.where(self.predicted[:, None] == np.arange(len(self.classes)), 1.0, -1.0)

    @property
    def confusions(self) -> tuple[Confusion, ...]:
        """One confusion for two classes, otherwise one per class against the rest."""
        return self._per_class.confusions

    @property
    def predictions(self) -> NDArray[Any]:
        """Predicted label of each point when left out."""
        return np.asarray(self.classes[self.predicted])

    @property
    def error(self) -> float:
        """Weighted share of points whose predicted label is wrong when left out."""
        wrong = self.predicted != self.y
        return float(np.average(wrong, weights=self.weight))

    @property
    def recall(self) -> float:
        """Left-out recall; for several classes the macro average."""
        return self._per_class.recall

    @property
    def precision(self) -> float:
        """Left-out precision; for several classes the macro average."""
        return self._per_class.precision

    @property
    def f1(self) -> float:
        """Left-out F1; for several classes the macro average."""
        return self._per_class.f1

    def score(self, metric: str | Callable[..., float]) -> float:
        """Any scikit-learn metric on the left-out predictions.

        Parameters
        ----------
        metric : str or callable
            Name of a scorer ("roc_auc", "balanced_accuracy", ...), or a scorer
            ``metric(estimator, X, y)``; where the rows' weights differ it is also given
            ``sample_weight``. Probabilities ("neg_log_loss", ...) are known of ``left_out_`` of a
            :class:`~bayes_svm.BayesSVC`.

        Returns
        -------
        float
            By scikit-learn's convention greater is better.
        """
        if np.isnan(self.decision_values).any():
            raise ValueError("Only signs were computed (sign_only=True): a score needs decision values.")
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

    @available_if(lambda self: self.result.proba is not None)
    def predict_proba(self, X: NDArray[np.intp]) -> Array:
        assert self.result.proba is not None
        return self.result.proba[X[:, 0]]


def combined(pairs: LeaveOneOut, estimator: SVC) -> LeaveOneOut:
    """Values of the pairs of classes combined as the SVC does."""
    values, train = pairs.decision_values, pairs.train_decision_values
    if len(pairs.classes) == 2:
        return pairs
    per_class = _per_class_values(values, len(pairs.classes))
    votes = per_class if estimator.break_ties else np.rint(per_class)  # of a tie, the first class
    if estimator.decision_function_shape == "ovr":
        values, train = per_class, _per_class_values(train, len(pairs.classes))
    return replace(
        pairs,
        decision_values=values,
        train_decision_values=train,
        predicted=votes.argmax(axis=1),
        jointly=True,
    )


def _per_class_values(values: Array, n_classes: int) -> Array:
    """Votes of the pairs for each class, plus less than a half from their decision values."""
    return np.asarray(ovr_decision_function(values < 0, -values, n_classes))

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

from bayes_svm.dual.machine import Machine
from bayes_svm.leave_one_out.leaving import STAYS, Leaving
from bayes_svm.leave_one_out.outcomes import Outcomes
from bayes_svm.metrics.confusion import Confusion, PerClass, decisions_per_class
from bayes_svm.utils.scikit_learn import ovr_decision_function
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.types import Array, Indices

__all__ = ["STATUSES", "LeaveOneOut", "by_row", "combined", "joined"]


# The statuses, from the most to the least exact.
STATUSES = (
    "unchanged", "path", "settled", "certified", "converged", "re-trained", "unstable", "one-class",
    "inexact", "left in",
)  # fmt: skip


@dataclass(frozen=True)
class LeaveOneOut:
    """Decision value of every training point under the machine trained without it and what left with it.

    Arrays have shape (n_samples,) for two classes. For more classes they have a last axis with one column
    for each class against the rest. An SVC takes classes in pairs, and has one column for each pair; where it
    combines them (``decision_function_shape="ovr"``) the decision values have one column for each class.

    Parameters
    ----------
    decision_values : array
        Left-out decision values. A positive one means ``classes[1]``, or the column's class; where columns
        are pairs of classes (0, 1), (0, 2), ..., (1, 2), ..., the first class of the pair.
    train_decision_values : array
        Decision values of the machine trained on all points.
    values_at : array of shape (n_samples, n_at) or (n_samples, n_at, n_columns), or None
        Decision values at the additional points asked for. A row has those of the machine trained without
        that sample. Columns are those of ``decision_values``.
    status : array of str
        How each value was obtained.

        ==============  ======================================================================
        ``unchanged``   the point has no weight in the solution: nothing changes without it
        ``path``        exact, by a path whose end is verified on all points
        ``settled``     only the sign was asked for, and is known before the end of the path
        ``certified``   the sign is proven; the value is that of the solver's last iterate
        ``converged``   value and sign of an iterate that violates optimality by at most ``tol``
        ``re-trained``  exact, by solving the remaining problem on its own
        ``unstable``    exact up to the intercept, which is not unique without the point: the
                        middle of its interval is taken, as in LIBSVM
        ``one-class``   only the other class is left; the value is its label, -1 or +1
        ``inexact``     the remaining problem was not solved to the last digit: see ``gap``
        ``left in``     not left out, because enough other rows are: see ``rows``
        ==============  ======================================================================
    events : array of int
        Number of changes of the set of free points on the path; for "certified" and "warm", of the solver's
        steps.
    kernel_columns : array of int
        Number of columns of the kernel matrix that "certified" and "warm" evaluated.
    kkt_residual, gap : array
        How exact each value is: the largest violation of the optimality conditions of the remaining
        problem, over all its points, and its relative duality gap.
    classes : array of shape (n_classes,)
        Labels of the classes.
    y : array of shape (n_samples,)
        Class numbers.
    predicted : array of shape (n_samples,)
        Class numbers predicted when left out; -1 for a row that is not left out.
    weight : array of shape (n_samples,)
        How often each row counts: its sample weight, times the share of its copies that is left out.
    seconds : float
        Wall time in seconds.
    jointly : bool
        Whether each point is assigned to exactly one class, as by pairs of classes or by a link's
        probabilities. Otherwise a machine for each class decides for or against it.
    proba : array of shape (n_samples, n_classes), optional
        Probabilities that a link gives for the values.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BayesSVC().fit(scale(X), y)
    >>> left_out = model.left_out_
    >>> round(left_out.error, 3), round(left_out.f1, 3), round(left_out.score("roc_auc"), 3)
    (0.026, 0.979, 0.996)
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

    __repr__ = short_repr

    @property
    def rows(self) -> Indices:
        """The rows that are left out: all, unless a ``leave_out_size`` is smaller than their number.

        The others have NaN for their values and probabilities, and no part in error, recall and the like.
        """
        return (self.status.reshape(len(self.y), -1)[:, 0] != "left in").nonzero()[0]

    @property
    def certified_share(self) -> float:
        """Share of values with the status ``certified``, whose sign is proven."""
        return float(np.mean(self.status == "certified"))

    @cached_property
    def _per_class(self) -> PerClass:
        rows = self.rows
        decisions, weight = self._decisions[rows], self.weight[rows]
        return PerClass(decisions_per_class(self.y[rows], len(self.classes), decisions, weight))

    @property
    def _decisions(self) -> Array:
        """Positive where the decision is for a class; each one-versus-rest machine decides by itself."""
        if len(self.classes) == 2:
            return np.where(self.predicted == 1, 1.0, -1.0)
        if not self.jointly:
            return self.decision_values
        return np.where(self.predicted[:, None] == np.arange(len(self.classes)), 1.0, -1.0)

    @property
    def confusions(self) -> tuple[Confusion, ...]:
        """One confusion for two classes, otherwise one for each class against the rest."""
        return self._per_class.confusions

    @property
    def predictions(self) -> NDArray[Any]:
        """Predicted label of each point when left out.

        Raises
        ------
        ValueError
            If not every point is left out.
        """
        if len(self.rows) < len(self.y):
            raise ValueError(
                f"Only {len(self.rows)} of {len(self.y)} rows are left out: take classes[predicted[rows]], "
                "or set leave_out_size=None."
            )
        return np.asarray(self.classes[self.predicted])

    @property
    def error(self) -> float:
        """Weighted share of points whose predicted label is wrong when left out."""
        rows = self.rows
        return float(np.average(self.predicted[rows] != self.y[rows], weights=self.weight[rows]))

    @property
    def error_deviation(self) -> float:
        r"""Standard error of :attr:`error`, as if the rows were independent.

        .. math:: \frac{\sqrt{\sum_i w_i^2 (e_i - \bar e)^2}}{\sum_i w_i}

        Each row is one draw, whatever its weight: a row of weight 2 counts for less than two equal rows.
        """
        rows = self.rows
        off, weight = (self.predicted[rows] != self.y[rows]) - self.error, self.weight[rows]
        return float(np.sqrt(np.square(weight * off).sum()) / weight.sum())

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
            ``metric(estimator, X, y)``. If the weights of the rows differ it is also given
            ``sample_weight``. Metrics of probabilities ("neg_log_loss", ...) need ``left_out_`` of a
            :class:`~bayes_svm.BayesSVC`.

        Returns
        -------
        float
            The score; by scikit-learn's convention greater is better.

        Raises
        ------
        ValueError
            If only signs were computed.
        AttributeError
            If the metric needs probabilities and ``proba`` is None.
        """
        chosen = self.rows
        if np.isnan(self.decision_values[chosen]).any():
            raise ValueError("Only signs were computed (sign_only=True): a score needs decision values.")
        scorer = get_scorer(metric) if isinstance(metric, str) else metric
        stand_in = _LeftOutClassifier(self).fit(None)
        weight = self.weight[chosen]
        weights = {} if np.all(weight == weight[0]) else {"sample_weight": weight}
        return float(scorer(stand_in, chosen[:, None], self.classes[self.y[chosen]], **weights))


class _LeftOutClassifier(ClassifierMixin, BaseEstimator):
    """A classifier for scorers: X holds row numbers, and the answers are their leave-one-out values."""

    def __init__(self, result: LeaveOneOut) -> None:
        self.result = result

    def fit(self, X: Any, y: Any = None) -> _LeftOutClassifier:
        self.classes_ = self.result.classes
        return self

    def decision_function(self, X: NDArray[np.intp]) -> Array:
        return np.asarray(self.result.decision_values[X[:, 0]])

    def predict(self, X: NDArray[np.intp]) -> NDArray[Any]:
        return np.asarray(self.result.classes[self.result.predicted[X[:, 0]]])

    @available_if(lambda self: self.result.proba is not None)
    def predict_proba(self, X: NDArray[np.intp]) -> Array:
        assert self.result.proba is not None
        return self.result.proba[X[:, 0]]


def by_row(
    machine: Machine, leaving: Leaving, found: list[tuple[Outcomes, Outcomes]], seconds: float
) -> LeaveOneOut:
    """What is known of the rows.

    A row whose copies leave in several cases has the mean of their values and the least exact status.

    Parameters
    ----------
    machine : Machine
        The training data.
    leaving : Leaving
        What left together.
    found : list of (Outcomes, Outcomes)
        For each problem, the outcomes of the rows under the whole machine and those of the parts.
    seconds : float
        Wall time in seconds.

    Returns
    -------
    LeaveOneOut
        The result without values at additional points.
    """
    rows = [_of_rows(leaving, whole, parts) for whole, parts in found]
    values, signs = joined([row.values for row in rows]), joined([row.signs for row in rows])
    return LeaveOneOut(
        decision_values=values,
        train_decision_values=joined([whole.values for whole, _ in found]),
        values_at=None,
        status=joined([row.status for row in rows]),
        events=joined([row.events for row in rows]),
        kernel_columns=joined([row.columns for row in rows]),
        kkt_residual=joined([row.kkt_residual for row in rows]),
        gap=joined([row.gap for row in rows]),
        classes=machine.classes,
        y=machine.y,
        predicted=np.where(leaving.kind == STAYS, -1, _predicted(signs, values)),
        weight=leaving.row_weight(machine.weight),
        seconds=seconds,
    )


def _of_rows(leaving: Leaving, whole: Outcomes, parts: Outcomes) -> Outcomes:
    """Outcomes of the rows from those of the parts; rows without weight have those of the whole machine."""
    if leaving.share is not None:
        whole = whole.unknown(leaving.kind == STAYS)
    if leaving.part_each:
        return parts.map(lambda name, known: leaving.rows_of(known, getattr(whole, name)))
    values = leaving.row_means(parts.values, whole.values)
    signs = leaving.row_means(parts.signs, whole.signs)
    ranked = [_ranks(known.status) for known in (parts, whole)]
    return Outcomes(
        values=values,
        signs=np.where(np.isnan(values), signs, np.sign(values)),
        status=np.array(STATUSES)[leaving.row_largest(*ranked)],
        events=leaving.row_largest(parts.events, whole.events),
        columns=leaving.row_largest(parts.columns, whole.columns),
        kkt_residual=leaving.row_largest(parts.kkt_residual, whole.kkt_residual),
        gap=leaving.row_largest(parts.gap, whole.gap),
    )


def _ranks(status: NDArray[np.str_]) -> Indices:
    """Places of some statuses among all."""
    ranks = np.zeros(len(status), dtype=np.intp)
    for one in set(status.tolist()):
        ranks[status == one] = STATUSES.index(one)
    return ranks


def _predicted(signs: Any, values: Any) -> NDArray[np.intp]:
    """Class numbers, decided by the sign for two classes, and by the largest value for more."""
    return np.asarray(signs > 0 if signs.ndim == 1 else values.argmax(axis=1), dtype=np.intp)


def joined(columns: list[Any]) -> Any:
    """The only column, or all of them along a last axis."""
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=-1)


def combined(pairs: LeaveOneOut, estimator: SVC) -> LeaveOneOut:
    """Combine the values of the pairs of classes as the SVC does.

    Parameters
    ----------
    pairs : LeaveOneOut
        Result with a column for each pair of classes.
    estimator : SVC
        The estimator, whose parameters say how to combine.

    Returns
    -------
    LeaveOneOut
        The result with one prediction for each point.
    """
    values, train, at = pairs.decision_values, pairs.train_decision_values, pairs.values_at
    n_classes = len(pairs.classes)
    if n_classes == 2:
        return pairs
    per_class = _per_class_values(values, n_classes)
    # Unless ties are broken by the values, the first class of a tie wins.
    votes = per_class if estimator.break_ties else np.rint(per_class)
    if estimator.decision_function_shape == "ovr":
        values, train = per_class, _per_class_values(train, n_classes)
        if at is not None:
            at = _per_class_values(at.reshape(-1, at.shape[-1]), n_classes).reshape(*at.shape[:2], n_classes)
    return replace(
        pairs,
        decision_values=values,
        train_decision_values=train,
        values_at=at,
        predicted=votes.argmax(axis=1),
        jointly=True,
    )


def _per_class_values(values: Array, n_classes: int) -> Array:
    """Votes of the pairs for each class, plus less than 1/2 for the size of their decision values."""
    return np.asarray(ovr_decision_function(values < 0, -values, n_classes))

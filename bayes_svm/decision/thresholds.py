"""Where to cut decision values, for a given objective."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length, check_random_state

from bayes_svm.decision.costs import offsets_for
from bayes_svm.decision.objective import Objective
from bayes_svm.metrics.confusion import Confusion, PerClass
from bayes_svm.metrics.threshold_curve import ThresholdCurve
from bayes_svm.utils.checks import checked_labels, checked_weights, encode_classes
from bayes_svm.utils.types import Array
from bayes_svm.utils.warn import warn

__all__ = ["Threshold", "choose_threshold"]


@dataclass(frozen=True)
class Threshold(PerClass):
    """A threshold of the decision values, and what it is expected to achieve.

    Parameters
    ----------
    confusions : tuple of Confusion
        Decisions at the threshold: one for two classes, otherwise one per class against the rest.
    threshold : float or array of shape (n_classes,)
        Decision values at or above it are decided positive. For a cost matrix of more than two
        classes: the offsets t of ``argmax_k values[:, k] - t_k``.
    curves : tuple of ThresholdCurve
        Counts at every threshold, one per entry of ``confusions``.
    classes : array of shape (n_classes,)
    objective : str
    standard_error : float, array of shape (n_classes,) or None
        Of the threshold, by the bootstrap, if asked for.
    total_cost : float or None
        Of the decisions, for the objective "cost".
    """

    threshold: Any
    curves: tuple[ThresholdCurve, ...] = field(repr=False)
    classes: NDArray[Any]
    objective: str
    standard_error: Any = None
    total_cost: float | None = None

    @property
    def curve(self) -> ThresholdCurve:
        """The curve of a problem of two classes."""
        if len(self.curves) > 1:
            raise AttributeError("There is a curve per class: see curves.")
        return self.curves[0]

    @property
    def confusion_matrix(self) -> Array:
        """Weighted counts ``[[tn, fp], [fn, tp]]``, shape (2, 2) or (n_classes, 2, 2)."""
        cells = np.array([[[c.tn, c.fp], [c.fn, c.tp]] for c in self.confusions])
        return cells[0] if len(cells) == 1 else cells

    def decide(self, decision_values: ArrayLike) -> NDArray[Any]:
        """Decisions for other decision values.

        Parameters
        ----------
        decision_values : array of shape (n_samples,) or (n_samples, n_classes)

        Returns
        -------
        array
            Labels, shape (n_samples,); for more than two classes with a threshold each, bool of
            shape (n_samples, n_classes): whether the point is decided to be of the class.
        """
        values = np.asarray(decision_values, dtype=float)
        if values.shape[1:] != np.shape(self.threshold):
            raise ValueError(
                f"decision_values of shape {values.shape} do not fit {len(self.classes)} classes."
            )
        if len(self.classes) == 2:
            return np.asarray(self.classes[(values >= self.threshold).astype(int)])
        if self.objective == "cost":
            return np.asarray(self.classes[(values - self.threshold).argmax(axis=1)])
        return np.asarray(values >= self.threshold)


def choose_threshold(
    y: ArrayLike,
    decision_values: ArrayLike,
    objective: str = "f_beta",
    *,
    beta: float = 1.0,
    at_least: float | None = None,
    confidence: float | None = None,
    fp: float = 1.0,
    fn: float = 1.0,
    cost: ArrayLike | None = None,
    rate: float | None = None,
    sample_weight: ArrayLike | None = None,
    n_bootstrap: int = 0,
    random_state: Any = None,
) -> Threshold:
    r"""Choose where to cut decision values, best ones the model did not see: left-out values.

    .. math:: \hat y_i = +1 \iff f_i \ge t, \qquad t = \arg\max_t \; \mathrm{objective}(t)

    over every distinct decision value; of equally good thresholds the highest. The threshold
    returned lies midway to the next lower decision value.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels; the larger of two is positive.
    decision_values : array of shape (n_samples,) or (n_samples, n_classes)
        ``left_out_decision_values_`` of a :class:`~bayes_svm.BayesSVC`, or any scores, probabilities
        included. More than two classes get a threshold each, one class against the rest.
    objective : {"f_beta", "precision", "recall", "cost", "rate", "break_even"}, default="f_beta"
        * "f_beta": largest ``F_beta``.
        * "precision": largest recall with precision of ``at_least``.
        * "recall": largest precision with recall of ``at_least``.
        * "cost": least cost.
        * "rate": share decided positive closest to ``rate``.
        * "break_even": precision equals recall, or as nearly as ties allow.
    beta : float, default=1.0
        Weight of recall against precision.
    at_least : float in (0, 1], optional
        Precision or recall to reach.
    confidence : float in [0.5, 1), optional
        Ask for ``at_least`` of the one-sided Wilson lower bound instead of the share itself. It
        holds at one threshold, and does not account for the choice between many.
    fp, fn : float, default=1.0
        Costs of a false positive and a false negative, at least 0.
    cost : array of shape (n_classes, n_classes), optional
        Cost matrix in place of ``fp`` and ``fn``, rows true and columns decided, in the order of
        the sorted labels. More than two classes need it for "cost", and get offsets that
        minimise it locally.
    rate : float in [0, 1], optional
    sample_weight : array of shape (n_samples,), optional
        Counts of the rows, at least 0.
    n_bootstrap : int, default=0
        Resamples, drawn within each class, for the standard error of the threshold. Maxima
        converge slowly (at the cube root of n), so for "f_beta" and "cost" it is a
        rough measure of how well the threshold is known.
    random_state : int, RandomState instance or None, default=None
        Of the bootstrap.

    Returns
    -------
    Threshold

    Raises
    ------
    ValueError
        If an option does not suit the objective, all labels are the same, or no threshold
        reaches ``at_least``.

    Warns
    -----
    UserWarning
        If ``at_least`` could not be reached in some bootstrap resamples.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.model_selection import FixedThresholdClassifier
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC, choose_threshold
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BayesSVC().fit(scale(X), y)
    >>> chosen = choose_threshold(y, model.left_out_decision_values_, "precision", at_least=0.99)
    >>> round(chosen.precision, 3), round(chosen.recall, 3)
    (0.991, 0.916)

    The threshold plugs into scikit-learn:

    >>> cut = FixedThresholdClassifier(
    ...     FrozenEstimator(model), threshold=chosen.threshold, response_method="decision_function"
    ... ).fit(scale(X), y)
    >>> bool((cut.predict(scale(X)) == chosen.decide(model.decision_function(scale(X)))).all())
    True
    """
    if n_bootstrap < 0 or n_bootstrap == 1:
        raise ValueError(f"n_bootstrap={n_bootstrap!r} must be 0, or at least 2 for a standard error.")
    y, values = checked_labels(y), _checked_values(decision_values)
    check_consistent_length(y, values)
    weight = checked_weights(sample_weight, values[:, None] if values.ndim == 1 else values)
    classes, numbers = encode_classes(y, weight)
    if values.shape[1:] != (() if len(classes) == 2 else (len(classes),)):
        raise ValueError(f"decision_values of shape {values.shape} do not fit {len(classes)} classes.")
    matrix = _checked_costs(cost, fp, fn, len(classes), objective)
    wanted = Objective(objective, beta, at_least, confidence, matrix[:2, :2], rate)
    if objective == "cost" and len(classes) > 2:
        return _by_offsets(numbers, values, weight, classes, matrix, n_bootstrap, random_state)
    random = check_random_state(random_state)
    columns = [(numbers == 1, values)] if len(classes) == 2 else _against_the_rest(numbers, values)
    found = [_cut(positive, column, weight, wanted) for positive, column in columns]
    errors = [
        _standard_error(positive, column, weight, wanted, n_bootstrap, random) for positive, column in columns
    ]
    thresholds = [threshold for threshold, _, _ in found]
    confusions = tuple(confusion for _, confusion, _ in found)
    return Threshold(
        confusions=confusions,
        threshold=thresholds[0] if len(found) == 1 else np.array(thresholds),
        curves=tuple(curve for _, _, curve in found),
        classes=classes,
        objective=objective,
        standard_error=None if n_bootstrap == 0 else errors[0] if len(errors) == 1 else np.array(errors),
        total_cost=None if objective != "cost" else _cost_of_decisions(confusions[0], matrix),
    )


def _checked_values(decision_values: ArrayLike) -> Array:
    values = check_array(decision_values, ensure_2d=False, dtype=np.float64, input_name="decision_values")
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _checked_costs(cost: ArrayLike | None, fp: float, fn: float, n_classes: int, objective: str) -> Array:
    if objective != "cost":
        if cost is not None or (fp, fn) != (1.0, 1.0):
            raise ValueError(f"fp, fn and cost belong to objective='cost', not to {objective!r}.")
    elif cost is None and n_classes > 2:
        raise ValueError(f"objective='cost' with {n_classes} classes needs cost, an array of all the costs.")
    elif cost is not None and (fp, fn) != (1.0, 1.0):
        raise ValueError("Give the costs either as fp and fn, or as cost.")
    if cost is None:
        cost, n_classes = [[0.0, fp], [fn, 0.0]], 2
    matrix = np.asarray(cost, dtype=float)
    if matrix.shape != (n_classes, n_classes) or not np.isfinite(matrix).all():
        raise ValueError(f"Costs must be finite, and cost of shape {(n_classes, n_classes)}; got {cost!r}.")
    if min(fp, fn) < 0:
        raise ValueError(f"fp={fp!r} and fn={fn!r} must be at least 0.")
    return matrix


def _against_the_rest(numbers: NDArray[np.intp], values: Array) -> list[tuple[NDArray[np.bool_], Array]]:
    return [(numbers == k, values[:, k]) for k in range(values.shape[1])]


def _cut(
    positive: NDArray[np.bool_], values: Array, weight: Array, wanted: Objective
) -> tuple[float, Confusion, ThresholdCurve]:
    curve = ThresholdCurve.from_decision_values(positive, values, weight)
    best = wanted.choose(curve)
    return curve.threshold_at(best), curve.confusion_at(best), curve


def _resampled(strata: NDArray[np.intp], weight: Array, random: np.random.RandomState) -> Array:
    """Weights of a resample of the rows, drawn within each stratum."""
    drawn = np.zeros(len(weight))
    for stratum in np.unique(strata):
        rows = np.flatnonzero((strata == stratum) & (weight > 0))
        drawn[rows] = np.bincount(random.randint(len(rows), size=len(rows)), minlength=len(rows))
    return drawn * weight


def _standard_error(
    positive: NDArray[np.bool_],
    values: Array,
    weight: Array,
    wanted: Objective,
    n_bootstrap: int,
    random: np.random.RandomState,
) -> float:
    if n_bootstrap == 0:
        return float("nan")
    found, strata = [], positive.astype(np.intp)
    for _ in range(n_bootstrap):
        try:
            found.append(_cut(positive, values, _resampled(strata, weight, random), wanted)[0])
        except ValueError:  # at_least is out of reach in this resample; counted below
            continue
    lost = n_bootstrap - len(found)
    if len(found) < 2:
        raise ValueError(
            f"at_least was reached in {len(found)} of {n_bootstrap} resamples: no standard error."
        )
    if lost:
        warn(
            f"at_least was out of reach in {lost} of {n_bootstrap} resamples; the standard error leaves "
            "them out."
        )
    return float(np.std(found, ddof=1))


def _by_offsets(
    numbers: NDArray[np.intp],
    values: Array,
    weight: Array,
    classes: NDArray[Any],
    matrix: Array,
    n_bootstrap: int,
    random_state: Any,
) -> Threshold:
    offsets = offsets_for(numbers, values, matrix, weight)
    random, error = check_random_state(random_state), None
    if n_bootstrap:
        found = [
            offsets_for(numbers, values, matrix, _resampled(numbers, weight, random))
            for _ in range(n_bootstrap)
        ]
        error = np.std(found, axis=0, ddof=1)
    decided = (values - offsets).argmax(axis=1)
    columns = _against_the_rest(numbers, values - offsets)
    return Threshold(
        confusions=tuple(
            Confusion.from_decisions(positive, np.where(decided == k, 1.0, -1.0), weight)
            for k, (positive, _) in enumerate(columns)
        ),
        threshold=offsets,
        curves=tuple(ThresholdCurve.from_decision_values(*column, weight) for column in columns),
        classes=classes,
        objective="cost",
        standard_error=error,
        total_cost=float(weight @ matrix[numbers, decided]),
    )


def _cost_of_decisions(confusion: Confusion, matrix: Array) -> float:
    cells = np.array([[confusion.tn, confusion.fp], [confusion.fn, confusion.tp]])
    return float((cells * matrix).sum())

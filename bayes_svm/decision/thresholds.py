"""Choosing the threshold of decision values for an objective."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length, check_random_state

from bayes_svm.decision.costs import offsets_for
from bayes_svm.decision.objective import Objective
from bayes_svm.metrics.confusion import Confusion, PerClass, decisions_per_class
from bayes_svm.metrics.threshold_curve import ThresholdCurve
from bayes_svm.utils.checks import checked_labels, checked_weights, encode_classes
from bayes_svm.utils.types import Array, Indices, Mask
from bayes_svm.utils.warn import warn

__all__ = ["Threshold", "choose_threshold"]


@dataclass(frozen=True)
class Threshold(PerClass):
    """A threshold of the decision values, and the decisions it makes on the data it was chosen on.

    Parameters
    ----------
    confusions : tuple of Confusion
        Counts of the decisions: one confusion for two classes, otherwise one per class against the
        rest.
    threshold : float or array of shape (n_classes,)
        Decision values at or above it are decided positive; with more than two classes there is one
        threshold per class. For a cost matrix of more than two classes these are the offsets t of
        ``argmax_k values[:, k] - t_k``.
    curves : tuple of ThresholdCurve
        Counts at every threshold, one curve per entry of ``confusions``.
    classes : array of shape (n_classes,)
        The labels, sorted.
    objective : str
        What the threshold was chosen for.
    standard_error : float, array of shape (n_classes,) or None
        Bootstrap standard error of the threshold; None if there were no resamples.
    total_cost : float or None
        Cost of all decisions, for the objective "cost"; None for the others.
    """

    threshold: Any
    curves: tuple[ThresholdCurve, ...] = field(repr=False)
    classes: NDArray[Any]
    objective: str
    standard_error: Any = None
    total_cost: float | None = None

    @property
    def curve(self) -> ThresholdCurve:
        """The curve, if there are two classes."""
        if len(self.curves) > 1:
            raise AttributeError("There is one curve per class: use curves.")
        return self.curves[0]

    @property
    def confusion_matrix(self) -> Array:
        """Weighted counts ``[[tn, fp], [fn, tp]]``, shape (2, 2) or (n_classes, 2, 2)."""
        cells = np.array([[[c.tn, c.fp], [c.fn, c.tp]] for c in self.confusions])
        return cells[0] if len(cells) == 1 else cells

    def decide(self, decision_values: ArrayLike) -> NDArray[Any]:
        """Decide for new decision values.

        Parameters
        ----------
        decision_values : array of shape (n_samples,) or (n_samples, n_classes)
            Decision values of the same machine.

        Returns
        -------
        array
            Labels of shape (n_samples,), for two classes or offsets. With one threshold per class,
            an array of bool of shape (n_samples, n_classes): whether each point is decided to belong
            to each class.

        Raises
        ------
        ValueError
            If the shape of the decision values does not fit the number of classes.
        """
        values = np.asarray(decision_values, dtype=float)
        _check_shape(values, len(self.classes))
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
    r"""Choose the threshold of decision values, preferably left-out ones.

    .. math:: \hat y_i = +1 \iff f_i \ge t, \qquad t = \arg\max_t \; \mathrm{objective}(t)

    The maximum is over every distinct decision value. Of equally good thresholds the highest is
    chosen. The threshold returned lies midway between that decision value and the next lower one.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels. Of two classes the one that sorts last is positive.
    decision_values : array of shape (n_samples,) or (n_samples, n_classes)
        ``left_out_decision_values_`` of a :class:`~bayes_svm.BayesSVC`, or any other scores, such as
        probabilities. With more than two classes each class gets a threshold against the rest.
    objective : {"f_beta", "precision", "recall", "cost", "rate", "break_even"}, default="f_beta"
        What the threshold is to achieve:

        * "f_beta": largest ``F_beta``.
        * "precision": largest recall among the thresholds with a precision of ``at_least``.
        * "recall": largest precision among the thresholds with a recall of ``at_least``.
        * "cost": least cost.
        * "rate": share of points decided positive closest to ``rate``.
        * "break_even": precision and recall as nearly equal as ties allow.
    beta : float, default=1.0
        Weight of recall against precision in F_beta.
    at_least : float in (0, 1], optional
        Precision or recall to reach.
    confidence : float in [0.5, 1), optional
        If given, the one-sided Wilson lower bound must reach ``at_least``, not the share itself. The
        bound is for a single threshold; it does not account for the choice among many.
    fp : float, default=1.0
        Cost of a false positive, at least 0.
    fn : float, default=1.0
        Cost of a false negative, at least 0.
    cost : array of shape (n_classes, n_classes), optional
        Cost matrix, in place of ``fp`` and ``fn``. Rows are true classes and columns decided ones, in
        the order of the sorted labels. With more than two classes "cost" needs it, and the
        thresholds are offsets at a local minimum of the cost.
    rate : float in [0, 1], optional
        Share of points to decide positive, for "rate".
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows, at least 0; a weight of 2 counts as two rows.
    n_bootstrap : int, default=0
        Number of bootstrap resamples for the standard error of the threshold; 0 for none. They are
        drawn within each class. For "f_beta" and "cost" the standard error is only a rough guide,
        because such maxima converge slowly, at the cube root of n.
    random_state : int, RandomState instance or None, default=None
        Seed of the bootstrap.

    Returns
    -------
    Threshold
        The threshold and its decisions on these data.

    Raises
    ------
    ValueError
        If an option does not belong to the objective or is out of range, if there is only one class,
        or if no threshold reaches ``at_least``.

    Warns
    -----
    UserWarning
        If ``at_least`` is out of reach in some bootstrap resamples.

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

    Scikit-learn can use the threshold:

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
    _check_shape(values, len(classes))
    matrix = _checked_costs(cost, fp, fn, len(classes), objective)
    wanted = Objective(objective, beta, at_least, confidence, matrix[:2, :2], rate)
    if objective == "cost" and len(classes) > 2:
        return _by_offsets(numbers, values, weight, classes, matrix, n_bootstrap, random_state)
    random = check_random_state(random_state)
    columns = [(numbers == 1, values)] if len(classes) == 2 else _against_the_rest(numbers, values)
    found = [_cut(positive, column, weight, wanted) for positive, column in columns]
    errors = [
        _standard_error(positive, column, weight, wanted, n_bootstrap, random)
        for positive, column in columns
        if n_bootstrap
    ]
    confusions = tuple(confusion for _, confusion, _ in found)
    return Threshold(
        confusions=confusions,
        threshold=_float_or_array([threshold for threshold, _, _ in found]),
        curves=tuple(curve for _, _, curve in found),
        classes=classes,
        objective=objective,
        standard_error=_float_or_array(errors) if errors else None,
        total_cost=None if objective != "cost" else _cost_of_decisions(confusions[0], matrix),
    )


def _checked_values(decision_values: ArrayLike) -> Array:
    values = check_array(decision_values, ensure_2d=False, dtype=np.float64, input_name="decision_values")
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _check_shape(values: Array, n_classes: int) -> None:
    if values.shape[1:] != (() if n_classes == 2 else (n_classes,)):
        raise ValueError(f"decision_values of shape {values.shape} do not fit {n_classes} classes.")


def _checked_costs(cost: ArrayLike | None, fp: float, fn: float, n_classes: int, objective: str) -> Array:
    """The cost matrix; of shape (2, 2) if no matrix is given."""
    if objective != "cost":
        if cost is not None or (fp, fn) != (1.0, 1.0):
            raise ValueError(f"fp, fn and cost belong to objective='cost', not to {objective!r}.")
    elif cost is None and n_classes > 2:
        raise ValueError(f"objective='cost' with {n_classes} classes needs cost, the matrix of all costs.")
    elif cost is not None and (fp, fn) != (1.0, 1.0):
        raise ValueError("Give the costs either as fp and fn, or as cost.")
    if cost is None:
        cost, n_classes = [[0.0, fp], [fn, 0.0]], 2
    matrix = np.asarray(cost, dtype=float)
    if matrix.shape != (n_classes, n_classes) or not np.isfinite(matrix).all():
        raise ValueError(
            f"Costs must be finite, and cost must have shape {(n_classes, n_classes)}; got {cost!r}."
        )
    if min(fp, fn) < 0:
        raise ValueError(f"fp={fp!r} and fn={fn!r} must be at least 0.")
    return matrix


def _against_the_rest(numbers: Indices, values: Array) -> list[tuple[Mask, Array]]:
    """For each class, the rows that belong to it and its decision values."""
    return [(numbers == k, values[:, k]) for k in range(values.shape[1])]


def _float_or_array(values: list[float]) -> Any:
    """The one value of two classes, or the array of the values of more classes."""
    return values[0] if len(values) == 1 else np.array(values)


def _cut(
    positive: Mask, values: Array, weight: Array, wanted: Objective
) -> tuple[float, Confusion, ThresholdCurve]:
    """The best threshold for the objective, the counts of its decisions, and the whole curve."""
    curve = ThresholdCurve.from_decision_values(positive, values, weight)
    best = wanted.choose(curve)
    return curve.threshold_at(best), curve.confusion_at(best), curve


def _resampled(strata: Indices, weight: Array, random: np.random.RandomState) -> Array:
    """Weights of a resample of the rows, drawn within each stratum."""
    drawn = np.zeros(len(weight))
    for stratum in np.unique(strata):
        rows = np.flatnonzero((strata == stratum) & (weight > 0))
        drawn[rows] = np.bincount(random.randint(len(rows), size=len(rows)), minlength=len(rows))
    return drawn * weight


def _standard_error(
    positive: Mask,
    values: Array,
    weight: Array,
    wanted: Objective,
    n_bootstrap: int,
    random: np.random.RandomState,
) -> float:
    """Bootstrap standard error of the threshold, with resamples drawn within the two classes."""
    found, strata = [], positive.astype(np.intp)
    for _ in range(n_bootstrap):
        try:
            found.append(_cut(positive, values, _resampled(strata, weight, random), wanted)[0])
        except ValueError:
            # This resample cannot reach at_least.
            continue
    lost = n_bootstrap - len(found)
    if len(found) < 2:
        raise ValueError(
            f"There is no standard error: only {len(found)} of {n_bootstrap} resamples reached at_least."
        )
    if lost:
        warn(
            f"at_least was out of reach in {lost} of {n_bootstrap} resamples, which the standard error "
            "leaves out."
        )
    return float(np.std(found, ddof=1))


def _by_offsets(
    numbers: Indices,
    values: Array,
    weight: Array,
    classes: NDArray[Any],
    matrix: Array,
    n_bootstrap: int,
    random_state: Any,
) -> Threshold:
    """Offsets for a cost matrix of more than two classes, as a Threshold."""
    offsets = offsets_for(numbers, values, matrix, weight)
    random, error = check_random_state(random_state), None
    if n_bootstrap:
        found = [
            offsets_for(numbers, values, matrix, _resampled(numbers, weight, random))
            for _ in range(n_bootstrap)
        ]
        error = np.std(found, axis=0, ddof=1)
    decided = (values - offsets).argmax(axis=1)
    signs = np.where(decided[:, None] == np.arange(len(classes)), 1.0, -1.0)
    columns = _against_the_rest(numbers, values - offsets)
    return Threshold(
        confusions=decisions_per_class(numbers, len(classes), signs, weight),
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

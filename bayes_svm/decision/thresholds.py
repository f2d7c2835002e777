"""Choosing the threshold of decision values for an objective."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length, check_random_state

from bayes_svm.decision.costs import offsets_for
from bayes_svm.decision.objective import Objective
from bayes_svm.decision.resampling import confusions_of, contingency, rechosen
from bayes_svm.decision.threshold import Threshold, check_shape, one_column_flat
from bayes_svm.metrics.confusion import Confusion
from bayes_svm.metrics.threshold_curve import ThresholdCurve
from bayes_svm.utils.checks import checked_labels, checked_weights, encode_classes
from bayes_svm.utils.scikit_learn import validate_params
from bayes_svm.utils.types import Array, Indices
from bayes_svm.utils.warn import warn

__all__ = ["choose_threshold"]


@validate_params(
    {
        "objective": [str],
        "beta": [Real],
        "at_least": [Real, None],
        "confidence": [Real, None],
        "fp": [Real],
        "fn": [Real],
        "rate": [Real, None],
        "n_bootstrap": [Integral],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
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
    costs: ArrayLike | None = None,
    rate: float | None = None,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    n_bootstrap: int = 100,
    random_state: Any = None,
) -> Threshold:
    r"""Choose the threshold of decision values, preferably left-out ones.

    .. math:: \hat y_i = +1 \iff f_i \ge t, \qquad t = \arg\max_t \; \mathrm{objective}(t)

    The maximum is over every distinct decision value. Of equally good thresholds the highest is chosen. The
    threshold returned lies midway between that decision value and the next lower one; if every point is
    called positive it is the smallest decision value, and if none is, just above the largest. A required
    recall or precision is one on new points, and not on the data.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels. Of two classes the one that sorts last is positive, unless ``pos_label`` names the other.
    decision_values : array of shape (n_samples,) or (n_samples, n_classes)
        ``left_out_decision_values_`` of a :class:`~bayes_svm.BayesSVC`, or any other scores, such as
        probabilities. With more than two classes each class gets a threshold against the rest: there give
        ``left_out_proba_``, to decide on ``predict_proba``, because ``decision_function`` then returns
        log-odds, and no decision values of single machines.
    objective : {"f1", "f_beta", "precision", "recall", "cost", "rate", "break_even"}, default="f_beta"
        What the threshold is to achieve:

        * "f1": largest F1.
        * "f_beta": largest ``F_beta``.
        * "precision": the lowest threshold that shows a precision of ``at_least`` on new points. With
          ``confidence``, thresholds are tested from strict to lax, each calling about a fifth more points
          positive, and the last before the first failure is taken.
        * "recall": the highest threshold that shows a recall of ``at_least`` on new points.
        * "cost": least cost.
        * "rate": share of points decided positive closest to ``rate``.
        * "break_even": as many positive decisions as there are positives, as nearly as ties allow: precision
          and recall are then equal.
    beta : float, default=1.0
        Weight of recall against precision, for "f_beta".
    at_least : float in (0, 1], optional
        Precision or recall to reach.
    confidence : float in [0.5, 1), optional
        Probability, over the draws of the data, that the recall on new points is ``at_least``; for
        "precision", that the true precision of the threshold is not below ``at_least``. It accounts for the
        choice of the threshold. It is exact for values of independent held-out rows of weight 1, and an
        approximation for left-out ones. Where rows belong to groups, give one row of each. Without it a
        recall is ``at_least`` in the mean over the draws, and a precision is a smoothed estimate.
    fp : float, default=1.0
        Cost of a false positive, at least 0.
    fn : float, default=1.0
        Cost of a false negative, at least 0.
    costs : array of shape (n_classes, n_classes), optional
        Cost matrix, in place of ``fp`` and ``fn``. Rows are true classes and columns decided ones, in
        the order of the sorted labels. With more than two classes "cost" needs it, and the
        thresholds are offsets at a local minimum of the cost.
    rate : float in [0, 1], optional
        Share of points to decide positive, for "rate".
    pos_label : label, optional
        Which of two classes is positive; its decision values are the higher ones. For the first class
        of a :class:`~bayes_svm.BayesSVC` these are minus ``left_out_decision_values_``.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows, at least 0. A weight of 2 counts as two rows in the choice and in the counts; a
        resample draws a row with all its weight, and the measures to expect follow from the resamples.
    n_bootstrap : int, default=100
        Number of bootstrap resamples, drawn within each class, for the measures to expect on new data
        and the standard error of the threshold. With 0 the measures are those of the data. For
        "f_beta" and "cost" the standard error is only a rough guide, because such maxima converge
        slowly, at the cube root of n.
    random_state : int, RandomState instance or None, default=None
        Seed of the resamples. None gives the same ones every time, whatever the order of the rows.

    Returns
    -------
    Threshold
        The threshold, its decisions on these data, and what to expect of it on new data.

    Raises
    ------
    ValueError
        If an option does not belong to the objective or is out of range, or if there is only one class.

    Warns
    -----
    UserWarning
        If no threshold shows ``at_least``. Then every point is called positive for a recall, which keeps
        it, and none for a precision; ``reached`` is False. A recall of 0.95 needs 19 positives, or 45
        with a confidence of 0.9. Also if ``at_least`` is out of reach in half of the resamples.

    References
    ----------
    Angelopoulos et al., "Conformal risk control", ICLR 2024. Angelopoulos et al., "Learn then test:
    calibrating predictive algorithms to achieve risk control", 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.model_selection import FixedThresholdClassifier
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC, choose_threshold
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BayesSVC().fit(scale(X), y)
    >>> chosen = choose_threshold(
    ...     y, model.left_out_decision_values_, "precision", at_least=0.97, confidence=0.9
    ... )
    >>> round(chosen.precision, 3), round(chosen.recall, 3), chosen.bound
    (0.987, 0.896, 0.97)

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
    check_shape(values, len(classes))
    matrix = _checked_costs(costs, fp, fn, len(classes), objective)
    used = weight > 0
    numbers, values, weight = numbers[used], values[used], weight[used]
    if _is_first(pos_label, classes):
        classes, numbers = classes[::-1], 1 - numbers
        matrix = matrix if costs is None else matrix[::-1, ::-1]
    wanted = Objective(objective, beta, at_least, confidence, matrix[:2, :2], rate)
    random = check_random_state(0 if random_state is None else random_state)
    if objective == "cost" and len(classes) > 2:
        return _by_offsets(numbers, values, weight, classes, matrix, n_bootstrap, random)
    names = [""] if len(classes) == 2 else [f"Class {label!r}: " for label in classes.tolist()]
    columns = [(numbers, values)] if len(classes) == 2 else _against_the_rest(numbers, values)
    cuts = [
        _cut(*column, weight, wanted, n_bootstrap, random, name)
        for column, name in zip(columns, names, strict=True)
    ]
    expected = tuple(cut.expected for cut in cuts)
    return Threshold(
        confusions=tuple(cut.confusion for cut in cuts),
        expected=expected,
        threshold=_one_or_array([cut.threshold for cut in cuts]),
        curves=tuple(cut.curve for cut in cuts),
        classes=classes,
        objective=objective,
        reached=_one_or_array([cut.reached for cut in cuts]),
        bound=cuts[0].bound if len(cuts) == 1 else [cut.bound for cut in cuts],
        standard_error=_one_or_array([cut.standard_error for cut in cuts]) if n_bootstrap else None,
        total_cost=None if objective != "cost" else _cost_of_decisions(expected[0], matrix),
    )


def _checked_values(decision_values: ArrayLike) -> Array:
    values = check_array(
        decision_values,
        ensure_2d=False,
        dtype=np.float64,
        ensure_all_finite=False,
        input_name="decision_values",
    )
    if not np.isfinite(values).all():
        raise ValueError(
            "decision_values must be finite. Where a BayesSVC leaves only some rows out, give the labels and "
            "values of left_out_.rows, with left_out_.weight of these rows as sample_weight."
        )
    return one_column_flat(values)


def _checked_costs(costs: ArrayLike | None, fp: float, fn: float, n_classes: int, objective: str) -> Array:
    """The cost matrix; of shape (2, 2) if no matrix is given."""
    if objective != "cost":
        if costs is not None or (fp, fn) != (1.0, 1.0):
            raise ValueError(f"fp, fn and costs belong to objective='cost', not to {objective!r}.")
    elif costs is None and n_classes > 2:
        raise ValueError(f"objective='cost' with {n_classes} classes needs costs, the matrix of all costs.")
    elif costs is not None and (fp, fn) != (1.0, 1.0):
        raise ValueError("Give the costs either as fp and fn, or as costs.")
    if costs is None:
        costs, n_classes = [[0.0, fp], [fn, 0.0]], 2
    try:
        matrix = np.asarray(costs, dtype=float)
    except (TypeError, ValueError):
        matrix = np.array(np.nan)
    if matrix.shape != (n_classes, n_classes) or not np.isfinite(matrix).all():
        raise ValueError(
            f"costs must be finite numbers, one row per true class and one column per decided class, of "
            f"shape {(n_classes, n_classes)}; got {costs!r}."
        )
    if min(fp, fn) < 0:
        raise ValueError(f"fp={fp!r} and fn={fn!r} must be at least 0.")
    return matrix


def _is_first(pos_label: Any, classes: NDArray[Any]) -> bool:
    """Whether the positive label is the first of two classes."""
    if pos_label is None:
        return False
    if len(classes) > 2:
        raise ValueError(f"pos_label={pos_label!r} needs two classes, and y has {len(classes)}.")
    if pos_label not in classes.tolist():
        raise ValueError(f"pos_label={pos_label!r} is not one of the classes {classes.tolist()}.")
    return bool(pos_label == classes.tolist()[0])


def _against_the_rest(numbers: Indices, values: Array) -> list[tuple[Indices, Array]]:
    """For each class, the rows that belong to it, as 0 and 1, and its decision values."""
    return [((numbers == k).astype(np.intp), values[:, k]) for k in range(values.shape[1])]


def _one_or_array(values: list[Any]) -> Any:
    """The one value of two classes, or the array of the values of more classes."""
    return values[0] if len(values) == 1 else np.array(values)


@dataclass(frozen=True)
class _Cut:
    """What is chosen for one class against the rest."""

    confusion: Confusion
    expected: Confusion
    threshold: float
    curve: ThresholdCurve
    reached: bool
    bound: float | None
    standard_error: float


def _cut(
    truth: Indices,
    values: Array,
    weight: Array,
    wanted: Objective,
    n_bootstrap: int,
    random: np.random.RandomState,
    name: str,
) -> _Cut:
    """The best threshold for the objective, and what it decides here and on new rows."""

    def choose(resample: Array) -> float | None:
        curve = ThresholdCurve.from_decision_values(truth == 1, values, resample)
        entry = wanted.choose(curve)
        return None if entry is None else wanted.threshold_at(curve, entry)

    curve = ThresholdCurve.from_decision_values(truth == 1, values, weight)
    entry = wanted.choose(curve)
    threshold = wanted.threshold_at(curve, entry)
    if entry is None:
        warn(f"{name}{wanted.out_of_reach(curve)}")
    table = contingency(truth, _called(values, threshold), weight, 2)
    (confusion,) = confusions_of(table)
    expected, error = confusion, np.inf
    if n_bootstrap and entry is not None:
        again = rechosen(
            truth,
            values,
            weight,
            n_bootstrap,
            random,
            choose=choose,
            decide=lambda cut: _called(values, cut),
            table=table,
        )
        if len(again.found) > n_bootstrap / 2:
            (expected,) = confusions_of(again.table)
            expected = wanted.told(curve, entry, expected)
            error = float(np.std(again.found, ddof=1))
        else:
            warn(
                f"{name}at_least was out of reach in {n_bootstrap - len(again.found)} of {n_bootstrap} "
                "resamples: precision and recall are those of the data, and too good."
            )
    return _Cut(confusion, expected, threshold, curve, entry is not None, wanted.bound(curve, entry), error)


def _called(values: Array, threshold: float) -> Indices:
    return (values >= threshold).astype(np.intp)


def _by_offsets(
    numbers: Indices,
    values: Array,
    weight: Array,
    classes: NDArray[Any],
    matrix: Array,
    n_bootstrap: int,
    random: np.random.RandomState,
) -> Threshold:
    """Offsets for a cost matrix of more than two classes, as a Threshold."""

    def decide(offsets: Array) -> Indices:
        return np.asarray((values - offsets).argmax(axis=1))

    offsets = offsets_for(numbers, values, matrix, weight)
    table = contingency(numbers, decide(offsets), weight, len(classes))
    expected, error = table, None
    if n_bootstrap:
        again = rechosen(
            numbers,
            values,
            weight,
            n_bootstrap,
            random,
            choose=lambda resample: offsets_for(numbers, values, matrix, resample),
            decide=decide,
            table=table,
        )
        expected, error = again.table, np.std(again.found, axis=0, ddof=1)
    columns = _against_the_rest(numbers, values - offsets)
    return Threshold(
        confusions=confusions_of(table),
        expected=confusions_of(expected),
        threshold=offsets,
        curves=tuple(ThresholdCurve.from_decision_values(own == 1, f, weight) for own, f in columns),
        classes=classes,
        objective="cost",
        standard_error=error,
        total_cost=float((expected * matrix).sum()),
    )


def _cost_of_decisions(confusion: Confusion, matrix: Array) -> float:
    cells = np.array([[confusion.tn, confusion.fp], [confusion.fn, confusion.tp]])
    return float((cells * matrix).sum())

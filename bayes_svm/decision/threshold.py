"""A threshold, its decisions, and what to expect of it on new data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayes_svm.metrics.confusion import Confusion, PerClass
from bayes_svm.metrics.threshold_curve import ThresholdCurve
from bayes_svm.utils.short_repr import short_repr
from bayes_svm.utils.types import Array

__all__ = ["Threshold", "check_shape", "one_column_flat"]


@dataclass(frozen=True)
class Threshold(PerClass):
    """A threshold of the decision values, and what its decisions achieve.

    ``error``, ``recall``, ``precision``, ``f1``, ``micro`` and ``total_cost`` are estimates for new data. On
    the data that it was chosen on the threshold does better, because there it is the best of many. The choice
    is made again on bootstrap resamples, and each time measured on the rows that were not drawn. For a recall
    that is required its expected value is known without resamples.

    Parameters
    ----------
    confusions : tuple of Confusion
        Counts of the decisions on the data: one confusion for two classes, otherwise one per class
        against the rest.
    expected : tuple of Confusion
        The counts to expect on as many new rows, likewise; equal to ``confusions`` if there were no
        resamples.
    threshold : float or array of shape (n_classes,)
        Decision values at or above it are decided positive; with more than two classes there is one
        threshold per class. For a cost matrix of more than two classes these are the offsets t of
        ``argmax_k values[:, k] - t_k``. Where ``reached`` is False it is minus infinity for a recall and
        infinity for a precision.
    curves : tuple of ThresholdCurve
        Counts at every threshold, one curve per entry of ``confusions``.
    classes : array of shape (n_classes,)
        The labels, sorted; but of two classes the positive one comes last, even if it sorts first.
    objective : str
        What the threshold was chosen for.
    reached : bool or array of bool of shape (n_classes,)
        Whether a required precision or recall is shown; True for the other objectives.
    bound : float, list of float or None, or None
        The precision or recall that the confidence holds for, of each class if there are more than two;
        None without a confidence, or where ``reached`` is False.
    standard_error : float, array of shape (n_classes,) or None
        Bootstrap standard error of the threshold; None if there were no resamples, infinite where the
        threshold is, or where ``at_least`` is out of reach in half of the resamples.
    total_cost : float or None
        Cost of all decisions to expect on as many new rows, for the objective "cost"; None for the
        others.

    Examples
    --------
    >>> from bayes_svm import choose_threshold
    >>> chosen = choose_threshold([0, 1, 0, 1], [-1.0, -0.5, 0.2, 1.0], "recall", at_least=0.5, n_bootstrap=0)
    >>> chosen.threshold, chosen.recall
    (-0.75, 1.0)
    >>> chosen.decide([0.7, -1.0]).tolist()
    [1, 0]
    """

    expected: tuple[Confusion, ...]
    threshold: Any
    curves: tuple[ThresholdCurve, ...] = field(repr=False)
    classes: NDArray[Any]
    objective: str
    reached: Any = True
    bound: Any = None
    standard_error: Any = None
    total_cost: float | None = None

    __repr__ = short_repr

    def _macro(self, measure: str) -> float:
        return PerClass(self.expected)._macro(measure)

    @property
    def error(self) -> float:
        """Share of wrong decisions; with a threshold for each class, the mean over the classes.

        With offsets a point is decided for one class, and a wrong decision counts once. With a threshold for
        each class a point is decided for any number of them. The mean is over the shares of wrong decisions
        for each class against the rest.
        """
        if self.objective != "cost" or len(self.expected) == 1:
            return super().error
        # Each wrong decision is a false positive of one class.
        one = self.expected[0]
        return sum(each.fp for each in self.expected) / (one.tp + one.fp + one.fn + one.tn)

    @property
    def micro(self) -> Confusion:
        """Sum of the expected counts, whose measures are the micro averages."""
        return PerClass(self.expected).micro

    @property
    def curve(self) -> ThresholdCurve:
        """The curve, if there are two classes."""
        if len(self.curves) > 1:
            raise AttributeError("There is one curve per class: use curves.")
        return self.curves[0]

    @property
    def confusion_matrix(self) -> Array:
        """Weighted counts ``[[tn, fp], [fn, tp]]`` on the data, shape (2, 2) or (n_classes, 2, 2)."""
        cells = np.array([[[c.tn, c.fp], [c.fn, c.tp]] for c in self.confusions])
        return cells[0] if len(cells) == 1 else cells

    def decide(self, decision_values: ArrayLike) -> NDArray[Any]:
        """Decide for new decision values.

        Parameters
        ----------
        decision_values : array of shape (n_samples,) or (n_samples, n_classes)
            Scores of the same kind as those that the threshold was chosen on: ``decision_function`` after
            ``left_out_decision_values_`` of two classes; ``predict_proba`` after ``left_out_proba_``, of two
            classes its column 1.

        Returns
        -------
        array
            Labels of shape (n_samples,), for two classes or offsets. With one threshold per class,
            an array of bool of shape (n_samples, n_classes): whether each point is decided to belong
            to each class.

        Raises
        ------
        ValueError
            If the shape of the decision values does not fit the number of classes, or one is NaN.
        """
        values = one_column_flat(np.asarray(decision_values, dtype=float))
        check_shape(values, len(self.classes))
        if np.isnan(values).any():
            raise ValueError("decision_values contains NaN, of which nothing can be decided.")
        if len(self.classes) == 2:
            return np.asarray(self.classes[(values >= self.threshold).astype(int)])
        if self.objective == "cost":
            return np.asarray(self.classes[(values - self.threshold).argmax(axis=1)])
        return np.asarray(values >= self.threshold)


def one_column_flat(values: Array) -> Array:
    """Values of shape (n, 1) as (n,), others as they are.

    Parameters
    ----------
    values : array
        Decision values.

    Returns
    -------
    array
        The values.
    """
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def check_shape(values: Array, n_classes: int) -> None:
    """Raise ValueError unless there is one column, or one for each of more than two classes.

    Parameters
    ----------
    values : array
        Decision values.
    n_classes : int
        Number of classes.
    """
    if values.shape[1:] != (() if n_classes == 2 else (n_classes,)):
        wanted = (
            f"(n_samples, {n_classes})" if n_classes > 2 else "(n_samples,), such as left_out_proba_[:, 1]"
        )
        raise ValueError(
            f"decision_values of shape {values.shape} do not fit {n_classes} classes: give shape {wanted}."
        )

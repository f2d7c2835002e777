"""The figure of a chosen threshold."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bayes_svm.decision import Threshold, choose_threshold
from bayes_svm.plots.display import Display
from bayes_svm.utils.types import Array

__all__ = ["ThresholdDisplay"]


class ThresholdDisplay(Display):
    """Precision, recall and F1 against the threshold, with the chosen threshold marked.

    Parameters
    ----------
    threshold : Threshold
        A threshold for two classes.

    Attributes
    ----------
    ax_ : matplotlib axes
        The axes that were drawn on.
    figure_ : matplotlib figure
        The figure of the axes.
    lines_ : list of three matplotlib lines
        Precision, recall and F1.
    """

    def __init__(self, threshold: Threshold) -> None:
        self.threshold = threshold

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        objective: str = "f_beta",
        *,
        pos_label: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Choose a threshold of a fitted estimator's decision values, and draw it.

        If X are the rows that a BayesSVC was trained on, its ``left_out_decision_values_`` are taken.

        Parameters
        ----------
        estimator : classifier
            Fitted to two classes, with ``decision_function``.
        X : array or sparse matrix of shape (n_samples, n_features)
            Points: those that a BayesSVC was trained on, or new ones.
        y : array of shape (n_samples,)
            Their labels.
        objective : str, default="f_beta"
            What the threshold is chosen for; see :func:`~bayes_svm.choose_threshold`.
        pos_label : label, optional
            The positive class; by default the last one. For the first class the signs of the decision
            values change, as in scikit-learn.
        ax : matplotlib axes, optional
            Where to draw; by default on the axes of a new figure.
        **options
            Further options of :func:`~bayes_svm.choose_threshold`.

        Returns
        -------
        ThresholdDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If there are more than two classes, or the estimator has no ``decision_function``.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "decision_function"):
            raise ValueError(
                f"{type(estimator).__name__} has no decision_function: give its scores to from_predictions."
            )
        if len(estimator.classes_) != 2:
            raise ValueError("ThresholdDisplay draws two classes: relabel y as one class against the rest.")
        values = _unseen_values(estimator, X)
        if pos_label is not None and pos_label == estimator.classes_[0]:
            values = -values
        return cls.from_predictions(y, values, objective, pos_label=pos_label, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        decision_values: ArrayLike,
        objective: str = "f_beta",
        *,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Choose a threshold for decision values, and draw it.

        Parameters
        ----------
        y : array of shape (n_samples,)
            Labels of two classes.
        decision_values : array of shape (n_samples,)
            Their decision values, or any scores.
        objective : str, default="f_beta"
            What the threshold is chosen for; see :func:`~bayes_svm.choose_threshold`.
        ax : matplotlib axes, optional
            Where to draw; by default on the axes of a new figure.
        **options
            Further options of :func:`~bayes_svm.choose_threshold`.

        Returns
        -------
        ThresholdDisplay
            The display, drawn.
        """
        return cls(choose_threshold(y, decision_values, objective, **options)).plot(ax)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default on the axes of a new figure.
        **kwargs
            Options of the three lines, as matplotlib's ``plot`` takes them.

        Returns
        -------
        ThresholdDisplay
            The display itself.
        """
        ax, curve = self._axes_for(ax), self.threshold.curve
        measures = {"precision": curve.precision, "recall": curve.recall, "F1": curve.f_beta()}
        self.lines_ = [
            ax.plot(curve.thresholds, values[:-1], label=name, **kwargs)[0]
            for name, values in measures.items()
        ]
        chosen, error = self.threshold.threshold, self.threshold.standard_error
        if np.isfinite(chosen):
            ax.axvline(
                chosen,
                color="black",
                linestyle="--",
                label=f"chosen: {chosen:.3g} ({self.threshold.objective})",
            )
        if error is not None and np.isfinite(error):
            ax.axvspan(chosen - error, chosen + error, color="black", alpha=0.1, label="± standard error")
        ax.set(xlabel="threshold of the decision value", ylim=(0, 1.02))
        ax.legend(loc="best")
        return self


def _unseen_values(estimator: Any, X: Any) -> Array:
    """Decision values of the points, left-out ones if they are those that the estimator was trained on."""
    values = np.asarray(estimator.decision_function(X))
    own = getattr(estimator, "left_out_", None)
    if own is not None and np.shape(own.train_decision_values) == values.shape:
        scale = np.abs(values).max()
        if np.allclose(own.train_decision_values, values, rtol=0, atol=1e-6 * scale):
            return np.asarray(estimator.left_out_decision_values_)
    return values

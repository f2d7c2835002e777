"""The figure of a chosen threshold."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bayes_svm.decision import Threshold, choose_threshold
from bayes_svm.plots.display import Display

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
        cls, estimator: Any, y: ArrayLike, objective: str = "f_beta", *, ax: Any = None, **options: Any
    ) -> Self:
        """Choose a threshold by a fitted estimator's ``left_out_decision_values_``, and draw it.

        Parameters
        ----------
        estimator : BayesSVC
            Fitted.
        y : array of shape (n_samples,)
            The labels it was trained on.
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
        check_is_fitted(estimator)
        return cls.from_predictions(y, estimator.left_out_decision_values_, objective, ax=ax, **options)

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
        chosen = self.threshold.threshold
        ax.axvline(
            chosen, color="black", linestyle="--", label=f"chosen: {chosen:.3g} ({self.threshold.objective})"
        )
        if self.threshold.standard_error is not None:
            error = self.threshold.standard_error
            ax.axvspan(chosen - error, chosen + error, color="black", alpha=0.1, label="± standard error")
        ax.set(xlabel="threshold of the decision value", ylim=(0, 1.02))
        ax.legend(loc="best")
        return self

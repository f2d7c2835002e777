"""The figure of a risk-coverage curve."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bayes_svm.decision import RiskCoverageCurve, risk_coverage_curve
from bayes_svm.decision.answers import answers, reject_option_of
from bayes_svm.plots.display import Display

__all__ = ["RiskCoverageDisplay"]


class RiskCoverageDisplay(Display):
    """Share of errors among accepted points against the share accepted.

    Parameters
    ----------
    curve : RiskCoverageCurve
        The curve to draw.
    name : str, optional
        Name of the curve in the legend.
    chosen : float, optional
        Threshold of the confidence, marked by a dot on the curve.

    Attributes
    ----------
    ax_ : matplotlib axes
        The axes that were drawn on.
    figure_ : matplotlib figure
        The figure of the axes.
    line_ : matplotlib line
        The curve.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC
    >>> from bayes_svm.plots import RiskCoverageDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = RiskCoverageDisplay.from_estimator(BayesSVC().fit(scale(X), y), scale(X), y)
    >>> display.ax_.get_xlabel()
    'coverage: share accepted'
    """

    def __init__(
        self, curve: RiskCoverageCurve, *, name: str | None = None, chosen: float | None = None
    ) -> None:
        self.curve = curve
        self.name = name
        self.chosen = chosen

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted classifier with ``predict_proba`` on test data.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``predict_proba``. The threshold of a :class:`~bayes_svm.RejectOptionClassifier` is
            marked; it may be inside a pipeline or a search.
        X : array or sparse matrix of shape (n_samples, n_features)
            Points that the classifier was not trained on.
        y : array of shape (n_samples,)
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the points; all equal by default.
        name : str, optional
            Name of the curve in the legend; by default that of the estimator's class.
        ax : matplotlib axes, optional
            Where to draw; by default on the axes of a new figure.
        **kwargs
            Options of the line, as matplotlib's ``plot`` takes them.

        Returns
        -------
        RiskCoverageDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the classifier has no ``predict_proba``.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{type(estimator).__name__} has no predict_proba: give its answers and their confidence to "
                "from_predictions."
            )
        option, reached = reject_option_of(estimator, X)
        predicted, confidence = answers(option, reached)
        return cls.from_predictions(
            y,
            predicted,
            confidence,
            sample_weight=sample_weight,
            name=type(estimator).__name__ if name is None else name,
            chosen=getattr(option, "threshold_", None),
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        confidence: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        chosen: float | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of predictions and their confidence.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
            True labels.
        y_pred : array of shape (n_samples,)
            Predicted labels.
        confidence : array of shape (n_samples,)
            How sure each prediction is; for instance the probability of the predicted class.
        sample_weight : array of shape (n_samples,), optional
            Weights of the points; all equal by default.
        name : str, optional
            Name of the curve in the legend.
        chosen : float, optional
            Threshold of the confidence, marked by a dot on the curve.
        ax : matplotlib axes, optional
            Where to draw; by default on the axes of a new figure.
        **kwargs
            Options of the line, as matplotlib's ``plot`` takes them.

        Returns
        -------
        RiskCoverageDisplay
            The display, drawn.
        """
        curve = risk_coverage_curve(y_true, y_pred, confidence, sample_weight=sample_weight)
        return cls(curve, name=name, chosen=chosen).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default on the axes of a new figure.
        **kwargs
            Options of the line, as matplotlib's ``plot`` takes them.

        Returns
        -------
        RiskCoverageDisplay
            The display itself.
        """
        ax = self._axes_for(ax)
        label = (
            f"area {self.curve.area:.4f}"
            if self.name is None
            else f"{self.name} (area {self.curve.area:.4f})"
        )
        options = {"drawstyle": "steps-post", "label": label, **kwargs}
        (self.line_,) = ax.plot(self.curve.coverage, self.curve.risk, **options)
        coverage, risk = (0.0, np.nan) if self.chosen is None else self.curve.at(self.chosen)
        if coverage > 0:
            ax.plot(
                [coverage], [risk], "o", color=self.line_.get_color(), label=f"threshold {self.chosen:.3f}"
            )
        ax.set(xlabel="coverage: share accepted", ylabel="risk: errors among the accepted", xlim=(0, 1.02))
        ax.set_ylim(bottom=0)
        ax.legend(loc="best")
        return self

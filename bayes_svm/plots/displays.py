"""Figures of the readings, in scikit-learn's manner; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.decision import RiskCoverageCurve, Threshold, choose_threshold, risk_coverage_curve
from bayes_svm.decision.labels import answers
from bayes_svm.leave_one_out import LeaveOneOut, leave_one_out
from bayes_svm.plots.moderation import ModerationDisplay
from bayes_svm.selection.comparison import EstimateComparison, compare_estimators
from bayes_svm.utils.metaestimators import check_instance

__all__ = [
    "EstimateComparisonDisplay",
    "LeaveOneOutDisplay",
    "ModerationDisplay",
    "RiskCoverageDisplay",
    "ThresholdDisplay",
]


class _Display:
    """What the displays share: axes of their own unless some are given."""

    ax_: Any
    figure_: Any

    def _take(self, ax: Any) -> Any:
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        self.ax_ = plt.subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


class RiskCoverageDisplay(_Display):
    """Share of errors among accepted points against the share accepted.

    Parameters
    ----------
    curve : RiskCoverageCurve
    name : str, optional
        For the legend.
    chosen : float, optional
        Threshold of the confidence to mark.

    Attributes
    ----------
    ax_, figure_, line_
        Of matplotlib, once drawn.
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
            The threshold of a :class:`~bayes_svm.RejectOptionClassifier` is marked.
        X, y
            Data that the classifier was not trained on.
        sample_weight : array of shape (n_samples,), optional
        name : str, optional
        ax : matplotlib axes, optional
        **kwargs
            Of the line.

        Returns
        -------
        RiskCoverageDisplay
        """
        check_is_fitted(estimator)
        predicted, confidence = answers(estimator, X)
        return cls.from_predictions(
            y,
            predicted,
            confidence,
            sample_weight=sample_weight,
            name=type(estimator).__name__ if name is None else name,
            chosen=getattr(estimator, "threshold_", None),
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
        y_true, y_pred, confidence : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        name : str, optional
        chosen : float, optional
        ax : matplotlib axes, optional
        **kwargs
            Of the line.

        Returns
        -------
        RiskCoverageDisplay
        """
        curve = risk_coverage_curve(y_true, y_pred, confidence, sample_weight=sample_weight)
        return cls(curve, name=name, chosen=chosen).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **kwargs
            Of the line.

        Returns
        -------
        RiskCoverageDisplay
        """
        ax = self._take(ax)
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


class ThresholdDisplay(_Display):
    """Precision, recall and F1 against the threshold, and the one chosen.

    Parameters
    ----------
    threshold : Threshold
        Of a problem of two classes.

    Attributes
    ----------
    ax_, figure_, lines_
        Of matplotlib, once drawn.
    """

    def __init__(self, threshold: Threshold) -> None:
        self.threshold = threshold

    @classmethod
    def from_estimator(
        cls, estimator: Any, y: ArrayLike, objective: str = "f_beta", *, ax: Any = None, **options: Any
    ) -> Self:
        """Choose a threshold from a fitted estimator's ``left_out_decision_values_``, and draw it.

        Parameters
        ----------
        estimator : BayesSVC
        y : array of shape (n_samples,)
            The labels it was trained on.
        objective : str
        ax : matplotlib axes, optional
        **options
            Of :func:`~bayes_svm.choose_threshold`.

        Returns
        -------
        ThresholdDisplay
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
        """Choose a threshold, and draw it.

        Parameters
        ----------
        y, decision_values : array of shape (n_samples,)
        objective : str
        ax : matplotlib axes, optional
        **options
            Of :func:`~bayes_svm.choose_threshold`.

        Returns
        -------
        ThresholdDisplay
        """
        return cls(choose_threshold(y, decision_values, objective, **options)).plot(ax)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **kwargs
            Of the lines.

        Returns
        -------
        ThresholdDisplay
        """
        ax, curve = self._take(ax), self.threshold.curve
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


class EstimateComparisonDisplay(_Display):
    """Estimates with their intervals, one below the other.

    Parameters
    ----------
    comparison : EstimateComparison

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once drawn.
    """

    def __init__(self, comparison: EstimateComparison) -> None:
        self.comparison = comparison

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Any = None, **options: Any) -> Self:
        """Compare the estimates of a classifier's performance, and draw them.

        Parameters
        ----------
        estimator, X, y, **options
            As :func:`~bayes_svm.compare_estimators` has them.
        ax : matplotlib axes, optional

        Returns
        -------
        EstimateComparisonDisplay
        """
        return cls(compare_estimators(estimator, X, y, **options)).plot(ax)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **kwargs
            Of the error bars.

        Returns
        -------
        EstimateComparisonDisplay
        """
        own_axes = ax is None
        ax, estimates = self._take(ax), self.comparison.estimates
        options = {"fmt": "o", "capsize": 3, "color": "C0", **kwargs}
        for place, one in enumerate(estimates):
            low, high = (one.value, one.value) if one.interval is None else one.interval
            ends = [[max(0.0, one.value - low)], [max(0.0, high - one.value)]]
            ax.errorbar([one.value], [place], xerr=ends, **options)
        names = [
            f"{one.method}\n{one.fits} fit{'' if one.fits == 1 else 's'}, {one.seconds:.2g} s"
            for one in estimates
        ]
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set_xlabel(f"{self.comparison.measure}, {100 * self.comparison.confidence:g} % interval")
        if own_axes:
            self.figure_.tight_layout()
        return self


class LeaveOneOutDisplay(_Display):
    """Left-out decision values against those of the machine trained on all points.

    Parameters
    ----------
    result : LeaveOneOut
        Of two classes.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once drawn.
    """

    def __init__(self, result: LeaveOneOut) -> None:
        self.result = result

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Any = None, **kwargs: Any) -> Self:
        """Leave the points out of an SVM, and draw the decision values.

        Parameters
        ----------
        estimator : BayesSVC, SVC or LinearSVC
            Of a BayesSVC a clone is fitted: what its ``leave_out`` names leaves, and wrong is what it
            would predict wrongly. Otherwise as :func:`~bayes_svm.leave_one_out`: every point alone, and
            wrong is a wrong sign.
        X, y
            Training data.
        ax : matplotlib axes, optional
        **kwargs
            Of the points.

        Returns
        -------
        LeaveOneOutDisplay
        """
        check_instance(estimator)
        if isinstance(estimator, BayesSVC):
            return cls(clone(estimator).fit(X, y).left_out_).plot(ax, **kwargs)
        return cls(leave_one_out(estimator, X, y)).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **kwargs
            Of the points.

        Returns
        -------
        LeaveOneOutDisplay

        Raises
        ------
        ValueError
            For more than two classes.
        """
        if len(self.result.classes) != 2:
            raise ValueError("LeaveOneOutDisplay draws two classes: take one against the rest.")
        ax, train, left_out = self._take(ax), self.result.train_decision_values, self.result.decision_values
        for number, label in enumerate(self.result.classes):
            own = self.result.y == number
            options = {"s": 14, "alpha": 0.7, "label": str(label), **kwargs}
            ax.scatter(train[own], left_out[own], **options)
        wrong = self.result.predicted != self.result.y
        ax.scatter(
            train[wrong], left_out[wrong], s=50, facecolors="none", edgecolors="black", linewidths=0.8,
            label=f"wrong when left out ({int(wrong.sum())})",
        )  # fmt: skip
        ax.axline((0, 0), slope=1, color="grey", linewidth=0.8)
        ax.axhline(0, color="grey", linewidth=0.8, linestyle=":")
        ax.axvline(0, color="grey", linewidth=0.8, linestyle=":")
        ax.set(xlabel="decision value, trained on all points", ylabel="decision value when left out")
        ax.legend(loc="best")
        return self

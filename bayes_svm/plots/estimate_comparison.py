"""The figure of several estimates of one performance."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from bayes_svm.plots.display import Display
from bayes_svm.selection.comparison import EstimateComparison, compare_estimators

__all__ = ["EstimateComparisonDisplay"]


class EstimateComparisonDisplay(Display):
    """Estimates of one performance with their intervals, one below the other.

    Parameters
    ----------
    comparison : EstimateComparison
        What :func:`~bayes_svm.compare_estimators` returned.

    Attributes
    ----------
    ax_ : matplotlib axes
        The axes that were drawn on.
    figure_ : matplotlib figure
        The figure of the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC
    >>> from bayes_svm.plots import EstimateComparisonDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> methods = ["training", "hold_out", "leave_one_out"]
    >>> display = EstimateComparisonDisplay.from_estimator(BayesSVC(), scale(X), y, methods=methods)
    >>> display.ax_.get_xlabel()
    'error, 95 % interval'
    """

    def __init__(self, comparison: EstimateComparison) -> None:
        self.comparison = comparison

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Any = None, **options: Any) -> Self:
        """Estimate a classifier's performance in several ways, and draw the estimates.

        Parameters
        ----------
        estimator : classifier
            Need not be fitted.
        X : array or sparse matrix of shape (n_samples, n_features)
            All data.
        y : array of shape (n_samples,)
            Labels.
        ax : matplotlib axes, optional
            Where to draw; by default on the axes of a new figure.
        **options
            Further options of :func:`~bayes_svm.compare_estimators`.

        Returns
        -------
        EstimateComparisonDisplay
            The display, drawn.
        """
        return cls(compare_estimators(estimator, X, y, **options)).plot(ax)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default on the axes of a new figure.
        **kwargs
            Options of the points and their intervals, as matplotlib's ``errorbar`` takes them.

        Returns
        -------
        EstimateComparisonDisplay
            The display itself.
        """
        own_axes = ax is None
        ax, estimates = self._axes_for(ax), self.comparison.estimates
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
        if own_axes and self.figure_.get_layout_engine() is None:
            self.figure_.tight_layout()
        return self

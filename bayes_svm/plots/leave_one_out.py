"""The figure of left-out decision values."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from bayes_svm.classifiers.bayes_svc import BayesSVC
from bayes_svm.leave_one_out import LeaveOneOut, leave_one_out
from bayes_svm.plots.display import Display
from bayes_svm.utils.metaestimators import check_instance, last_of

__all__ = ["LeaveOneOutDisplay"]


class LeaveOneOutDisplay(Display):
    """Left-out decision values against those of the machine trained on all points.

    Parameters
    ----------
    result : LeaveOneOut
        The left-out values of a problem with two classes.

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
    >>> from bayes_svm.plots import LeaveOneOutDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = LeaveOneOutDisplay.from_estimator(BayesSVC(), scale(X), y)
    >>> display.ax_.get_xlabel()
    'decision value, trained on all points'
    """

    def __init__(self, result: LeaveOneOut) -> None:
        self.result = result

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Any = None, **kwargs: Any) -> Self:
        """Leave the points out of an SVM, and draw their decision values.

        A clone of a BayesSVC is fitted. It leaves out what its ``leave_out`` says, and a point counts as
        wrong if its predicted class is wrong. For an SVC or LinearSVC each point is left out alone, as
        in :func:`~bayes_svm.leave_one_out`, and counts as wrong if the sign of its decision value is.

        Parameters
        ----------
        estimator : BayesSVC, SVC or LinearSVC, or Pipeline that ends in one
            The machine, fitted or not.
        X : array or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array of shape (n_samples,)
            Labels of two classes.
        ax : matplotlib axes, optional
            Where to draw; by default on the axes of a new figure.
        **kwargs
            Options of the points, as matplotlib's ``scatter`` takes them.

        Returns
        -------
        LeaveOneOutDisplay
            The display, drawn.
        """
        check_instance(estimator)
        if isinstance(last_of(estimator), BayesSVC):
            return cls(last_of(clone(estimator).fit(X, y)).left_out_).plot(ax, **kwargs)
        return cls(leave_one_out(estimator, X, y)).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the figure, of the rows that are left out.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default on the axes of a new figure.
        **kwargs
            Options of the points, as matplotlib's ``scatter`` takes them.

        Returns
        -------
        LeaveOneOutDisplay
            The display itself.

        Raises
        ------
        ValueError
            If there are more than two classes.
        """
        if len(self.result.classes) != 2:
            raise ValueError("LeaveOneOutDisplay draws two classes: relabel y as one class against the rest.")
        ax = self._axes_for(ax)
        train, left_out = self.result.train_decision_values, self.result.decision_values
        for number, label in enumerate(self.result.classes):
            own = self.result.y == number
            options = {"s": 14, "alpha": 0.7, "label": str(label), **kwargs}
            ax.scatter(train[own], left_out[own], **options)
        wrong = np.zeros(len(left_out), dtype=bool)
        rows = self.result.rows
        wrong[rows] = self.result.predicted[rows] != self.result.y[rows]
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

"""The figure of a moderated machine over a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from bayes_svm.utils.checks import require_known
from bayes_svm.utils.scikit_learn import check_matplotlib_support, get_adapter_from_container
from bayes_svm.utils.types import Array

__all__ = ["ModerationDisplay"]


class ModerationDisplay:
    """Three surfaces over a plane: decision value, its posterior standard deviation, probability.

    Parameters
    ----------
    xx0 : array of shape (grid_resolution, grid_resolution)
        First feature of the points of the grid.
    xx1 : array of shape (grid_resolution, grid_resolution)
        Second feature of the points of the grid.
    decision_value : array of shape (grid_resolution, grid_resolution)
        Decision value at each point of the grid.
    standard_deviation : array of shape (grid_resolution, grid_resolution)
        Posterior standard deviation of the decision value.
    probability : array of shape (grid_resolution, grid_resolution)
        Probability of ``classes[1]``.
    classes : array of shape (2,)
        The two labels.
    X : array of shape (n_samples, 2)
        Points to draw on top.
    y : array of shape (n_samples,), optional
        Their labels; without them all points have one colour.
    feature_names : sequence of two str, optional
        Labels of the two axes.

    Attributes
    ----------
    axes_ : array of three matplotlib axes
        The axes that were drawn on.
    figure_ : matplotlib figure
        The figure of the axes.
    surfaces_ : list of three matplotlib contour sets
        The surfaces, in the order named above.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayes_svm import BayesSVC
    >>> from bayes_svm.plots import ModerationDisplay
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> display = ModerationDisplay.from_estimator(BayesSVC().fit(X, y), X, y)
    >>> len(display.axes_)
    3
    """

    def __init__(
        self,
        xx0: Array,
        xx1: Array,
        *,
        decision_value: Array,
        standard_deviation: Array,
        probability: Array,
        classes: NDArray[Any],
        X: Array,
        y: NDArray[Any] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.xx0 = xx0
        self.xx1 = xx1
        self.decision_value = decision_value
        self.standard_deviation = standard_deviation
        self.probability = probability
        self.classes = classes
        self.X = X
        self.y = y
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        grid_resolution: int = 100,
        eps: float = 1.0,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the surfaces of a fitted machine of two classes and two features.

        Parameters
        ----------
        estimator : BayesSVC
            Fitted to two classes and two features.
        X : array or DataFrame of shape (n_samples, 2)
            Points to draw on top, usually the training points. The grid covers their range.
        y : array of shape (n_samples,), optional
            Their labels; without them all points have one colour.
        grid_resolution : int, default=100
            Number of points of the grid in each direction, at least 2.
        eps : float, default=1.0
            Margin of the grid around the range of X.
        ax : sequence of three matplotlib axes, optional
            Where to draw; by default on a new figure with three panels.
        **kwargs
            Options of the surfaces, as matplotlib's ``contourf`` takes them.

        Returns
        -------
        ModerationDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the estimator has no posterior variance, if there are not two classes and two features, if y
            holds a label that is none of the classes, or if ``grid_resolution`` is below 2.
        AttributeError
            If the estimator is compact.
        """
        check_is_fitted(estimator)
        points = check_array(X, input_name="X")
        _check_draws_as_plane(estimator, points)
        if grid_resolution < 2:
            raise ValueError(f"grid_resolution={grid_resolution} must be at least 2: a point is no surface.")
        ends = [(column.min() - eps, column.max() + eps) for column in points.T]
        xx0, xx1 = np.meshgrid(*(np.linspace(*end, grid_resolution) for end in ends))
        plane: Any = np.column_stack([xx0.ravel(), xx1.ravel()])
        if hasattr(X, "columns"):
            plane = get_adapter_from_container(X).create_container(plane, plane, columns=X.columns)
        labels = None if y is None else np.asarray(column_or_1d(y))
        if labels is not None:
            check_consistent_length(points, labels)
            require_known(labels, estimator.classes_)
        return cls(
            xx0,
            xx1,
            decision_value=estimator.decision_function(plane).reshape(xx0.shape),
            standard_deviation=np.sqrt(estimator.posterior_variance(plane)).reshape(xx0.shape),
            probability=estimator.predict_proba(plane)[:, 1].reshape(xx0.shape),
            classes=estimator.classes_,
            X=points,
            y=labels,
            feature_names=getattr(estimator, "feature_names_in_", None),
        ).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : sequence of three matplotlib axes, optional
            Where to draw; by default on a new figure with three panels.
        **kwargs
            Options of the surfaces, as matplotlib's ``contourf`` takes them.

        Returns
        -------
        ModerationDisplay
            The display itself.

        Raises
        ------
        ValueError
            If there are not three axes.
        """
        axes = self._take_three(ax)
        from matplotlib.ticker import MaxNLocator

        largest = max(1.0, float(np.abs(self.decision_value).max()))
        panels: list[tuple[str, Array, dict[str, Any], list[float]]] = [
            ("decision value", self.decision_value, _pale(-largest, largest), [-1.0, 0.0, 1.0]),
            ("posterior standard deviation", self.standard_deviation, {"cmap": "viridis", "levels": 20}, []),
            (f"probability of {self.classes[1]}", self.probability, _pale(0.0, 1.0), [0.5]),
        ]
        self.surfaces_ = []
        for panel, (title, surface, options, lines) in zip(axes, panels, strict=True):
            drawn = panel.contourf(self.xx0, self.xx1, surface, **{**options, **kwargs})
            if lines:
                styles = ["solid" if len(lines) == 1 or line == 0 else "dashed" for line in lines]
                panel.contour(self.xx0, self.xx1, surface, lines, colors="black", linestyles=styles)
            self._draw_points(panel)
            panel.set_title(title)
            self.figure_.colorbar(drawn, ax=panel, ticks=MaxNLocator(6))
            self.surfaces_.append(drawn)
        if self.y is not None:
            axes[0].legend(loc="best")
        return self

    def _take_three(self, ax: Any) -> Any:
        check_matplotlib_support("ModerationDisplay.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots(1, 3, figsize=(14, 4), sharex=True, sharey=True, layout="constrained")[1]
        self.axes_ = np.ravel(np.asarray(ax, dtype=object))
        if len(self.axes_) != 3:
            raise ValueError(f"ModerationDisplay draws three panels, but ax holds {len(self.axes_)} axes.")
        self.figure_ = self.axes_[0].figure
        return self.axes_

    def _draw_points(self, panel: Any) -> None:
        options = {"s": 22, "edgecolors": "white", "linewidths": 0.7}
        if self.y is None:
            panel.scatter(*self.X.T, color="black", **options)
        else:
            for label, color in zip(self.classes, ("navy", "darkred"), strict=True):
                panel.scatter(*self.X[self.y == label].T, color=color, label=str(label), **options)
        if self.feature_names is not None:
            panel.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])


def _pale(low: float, high: float) -> dict[str, Any]:
    """Options of a surface in pale colours, so that points in strong colours stand out."""
    margin = 0.2 * (high - low)
    levels = np.linspace(low, high, 21)
    return {"cmap": "coolwarm", "levels": levels, "vmin": low - margin, "vmax": high + margin}


def _check_draws_as_plane(estimator: Any, X: Array) -> None:
    if not hasattr(estimator, "posterior_variance"):
        raise ValueError(
            f"{type(estimator).__name__} has no posterior_variance: ModerationDisplay draws a BayesSVC. Of "
            "a pipeline, pass the last step and the transformed data; of a fitted search, its "
            "best_estimator_."
        )
    if len(estimator.classes_) != 2:
        raise ValueError(
            f"ModerationDisplay draws two classes, got {len(estimator.classes_)}: fit one class against the "
            "rest."
        )
    if X.shape[1] != 2:
        raise ValueError(f"ModerationDisplay draws two features, got {X.shape[1]}: fit the machine on two.")

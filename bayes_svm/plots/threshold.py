"""The figure of a chosen threshold."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from bayes_svm.decision import Threshold, choose_threshold
from bayes_svm.plots.display import Display
from bayes_svm.selection.search import BayesSVCSearch
from bayes_svm.utils.checks import require_known
from bayes_svm.utils.metaestimators import before_last, last_of, unfrozen
from bayes_svm.utils.types import Array, Indices
from bayes_svm.utils.warn import warn

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

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from bayes_svm import BayesSVC
    >>> from bayes_svm.plots import ThresholdDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = ThresholdDisplay.from_estimator(BayesSVC().fit(scale(X), y), scale(X), y)
    >>> display.ax_.get_xlabel()
    'threshold of the decision value'
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

        If X are the rows that a BayesSVC was trained on, in their order, its ``left_out_decision_values_``
        are taken, with the weights of the fit unless ``sample_weight`` is given. It may be the last step of a
        pipeline, or what a search found; of a mixture, the log-odds of its ``left_out_proba_`` are taken.

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
            Further options of :func:`~bayes_svm.choose_threshold`. By default the weights of the fit are
            scaled to mean 1, so that their size adds no evidence; ``sample_weight`` counts as given.

        Returns
        -------
        ThresholdDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If there are more than two classes, the estimator has no ``decision_function``, y or the sample
            weights do not have one entry for each row of X, or y holds a label that is none of the classes.

        Warns
        -----
        UserWarning
            If X are training rows in another order, or some of them. Their values are not left out.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "decision_function"):
            raise ValueError(
                f"{type(estimator).__name__} has no decision_function: give its scores to from_predictions."
            )
        if len(estimator.classes_) != 2:
            raise ValueError("ThresholdDisplay draws two classes: relabel y as one class against the rest.")
        values, last = _unseen_values(estimator, X)
        if pos_label is not None and pos_label == estimator.classes_[0]:
            values = -values
        labels = column_or_1d(y)
        check_consistent_length(values, labels, options.get("sample_weight"))
        # Rows that are not left out have no values that the threshold may be chosen from.
        known = np.flatnonzero(~np.isnan(values))
        weight = options.get("sample_weight")
        if weight is not None:
            weight = np.asarray(weight)[known]
        if last is not None:
            weight = _counted(last, known, weight)
        options["sample_weight"] = weight
        # As in a fit, the labels of rows of weight 0 may be any.
        require_known(labels[known if weight is None else known[weight > 0]], estimator.classes_)
        return cls.from_predictions(
            labels[known], values[known], objective, pos_label=pos_label, ax=ax, **options
        )

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
            ax.plot(curve.thresholds, values[:-1], **{"label": name, **kwargs})[0]
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


def _counted(model: Any, rows: Indices, weight: Array | None) -> Array:
    """How often rows that left count: with other weights, or with those of the fit, whose mean is made 1.

    Of equal rows of which only some left, each counts for a part.
    """
    left = model.left_out_
    # The sample weights, from the bounds of the coefficients. The parameter C may have been set anew since.
    bound = model.solution_.problem.row_bound[rows] * model._posteriors[0].lam
    own = bound / model.class_weight_[left.y[rows]]
    share = np.where(own > 0.0, left.weight[rows] / np.where(own > 0.0, own, 1.0), 1.0)
    return share * (own / own[own > 0.0].mean() if weight is None else weight)


def _unseen_values(estimator: Any, X: Any) -> tuple[Array, Any]:
    """Decision values of the points, and None; or left-out values, and the BayesSVC that knows their weights.

    They are left-out ones if the points are those that the estimator was trained on.
    """
    estimator = unfrozen(estimator)
    values = np.asarray(estimator.decision_function(X))
    chosen = last_of(estimator)
    # A stack of one model may be without the best one.
    of_ours = isinstance(chosen, BayesSVCSearch)
    whole = chosen.estimators_[0] if of_ours else getattr(chosen, "best_estimator_", chosen)
    last = last_of(whole)
    if not hasattr(last, "left_out_"):
        return values, None
    # The values of a mixture are log-odds of its probabilities; those of a member tell which rows these are.
    mixed = of_ours and len(chosen.estimators_) > 1
    at = np.asarray(whole.decision_function(before_last(estimator, X))) if mixed else values
    own, near = last.left_out_.train_decision_values, 1e-6 * np.abs(at).max(initial=0.0)
    if np.shape(own) == at.shape and np.allclose(own, at, rtol=0, atol=near):
        if not mixed:
            return np.asarray(last.left_out_decision_values_), last
        first, second = np.log(np.maximum(chosen.left_out_proba_, np.finfo(float).tiny)).T
        return second - first, last
    known = np.sort(own)
    same = np.searchsorted(known, at - near) < np.searchsorted(known, at + near, side="right")
    # Where rows have few distinct values, new ones have those of the training rows too.
    if np.mean(same) > 0.5 and np.mean(np.diff(known) > near) > 0.3:
        warn(
            "X seems to hold rows that the estimator was trained on. Their decision values are not left out, "
            "and what the threshold promises is too good: give all training rows in their order, or new rows."
        )
    return values, None

"""Predictions of a fitted BayesSVC at new points."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from bayes_svm.classifiers.compact import Compactable
from bayes_svm.classifiers.explaining import as_one_row, explained
from bayes_svm.classifiers.explanation import Explanation
from bayes_svm.classifiers.parameters import SVCParameters
from bayes_svm.conformal.intervals import Joined, TransductiveVennAbers, where_exact
from bayes_svm.conformal.venn_abers import intervals
from bayes_svm.dual.from_estimator import machine_of
from bayes_svm.dual.machine import Machine
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.probability.several import normalised_log_odds
from bayes_svm.utils.metaestimators import decided
from bayes_svm.utils.progress import counted
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array

__all__ = ["BLOCKS", "SVCPredictions", "blocks_of", "left_out_logs", "may_be_joined"]

# With at most so many rows, probability intervals treat a new point like all others.
TRANSDUCTIVE = 200
# So many new points are handled together; what progress calls them.
AT_A_TIME, BLOCKS = 256, "blocks of intervals"
# In decision values of several classes this stands for the logarithm of a probability of 0, if no other is
# less. It leaves room for what estimators of estimators make of it, in single precision too.
IMPOSSIBLE = -1e6


class Bag(NamedTuple):
    """What new points join for their intervals: the training data, if there are few.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The training rows.
    labels : array of shape (n_samples,)
        Their labels.
    weight : array of shape (n_samples,)
        How many equal rows each stands for.
    parameters : dict
        The parameters of the fit, which may be set to others later.
    """

    X: Any
    labels: NDArray[Any]
    weight: Array
    parameters: dict[str, Any]


def may_be_joined(machine: Machine) -> bool:
    """Whether new points can join the training rows: there must be few of them.

    Weights must be numbers of equal rows. A precomputed kernel does not hold k(x, x) of new points.
    """
    weight = machine.weight
    if len(weight) > TRANSDUCTIVE or weight.sum() > TRANSDUCTIVE or np.any(weight != np.floor(weight)):
        return False
    return machine.convex and not machine.kernel.precomputed


def blocks_of(X: Any) -> list[slice]:
    """Slices of some hundred new points, for which left-out values of all rows are kept at a time."""
    return list(gen_batches(X.shape[0], AT_A_TIME)) or [slice(0, 0)]


def left_out_logs(model: Any, X: Any) -> Joined:
    """Log-probabilities of a BayesSVC at all rows and each new point, left out of its machines in turn.

    The links remain those of the fit; they do not moderate.

    Parameters
    ----------
    model : BayesSVC
        Fitted to few rows, so that it keeps them.
    X : array or sparse matrix of shape (n_new, n_features)
        New points.

    Returns
    -------
    Joined
        The log-probabilities, with one column for each class.
    """
    with one_blas_thread():
        bags, inexact = model._transductive().joined(model._checked(X))
    flat = (bag.reshape(-1, bag.shape[2]) for bag in bags)
    logs = (model._probabilities.unmoderated(one[:, 0] if one.shape[1] == 1 else one) for one in flat)
    return Joined([one.reshape(*bag.shape[:2], -1) for one, bag in zip(logs, bags, strict=True)], inexact)


class SVCPredictions(Compactable, SVCParameters):
    """Predictions of :class:`bayes_svm.BayesSVC`, from the attributes that its ``fit`` stores."""

    _weights: Array | None = None  # weights of the features of a linear machine, to predict from

    def decision_function(self, X: Any) -> Array:
        """Decision values ``f(x) = sum_i y_i alpha_i k(x_i, x) + b``.

        With more than two classes the machines' decision values are not on one scale, and the largest need
        not belong to the most probable class. The values returned are therefore log-odds of the classes, with
        the class weights as prior odds. The class with the largest is the one that ``predict`` returns.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict; for a precomputed kernel, their kernel values with the training points.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            For two classes ``f(x)``, positive for ``classes_[1]``; otherwise the log-odds of each class
            against the rest.
        """
        X = self._checked(X)
        if len(self.classes_) == 2:
            return self._margins(X)
        logs = self._log_proba(X)
        # Of a class that is impossible they would be infinite.
        impossible = np.isneginf(logs)
        least = logs.min(axis=1, keepdims=True, initial=IMPOSSIBLE, where=~impossible)
        values = normalised_log_odds(np.where(impossible, least, logs) + np.log(self.class_weight_))
        # Of classes whose probabilities are equal but for rounding, `predict` takes the first.
        predicted = decided(np.exp(logs), self.class_weight_)
        other = (values.argmax(axis=1) != predicted).nonzero()[0]
        values[other, predicted[other]] = np.nextafter(values[other].max(axis=1), np.inf)
        return values

    def posterior_variance(self, X: Any, *, tolerance: float = 0.0) -> Array:
        """Posterior variance of the decision values in Kwok's evidence framework.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict; for a precomputed kernel, their kernel values with the training points.
        tolerance : float, default=0.0
            Upper bound of the relative error. If it is above 0, the variance is computed from those
            eigenvalues of Kwok's Hessian (equations 12 to 15) that exceed ``tolerance / C``, and is never too
            small. This is faster for many points if many training points are near the margin and few
            eigenvalues are that large, as with a linear kernel or few features.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The variances; for more than two classes, one column per machine.

        Raises
        ------
        ValueError
            For a precomputed kernel, because ``k(x, x)`` of new points is not known, and for a kernel that is
            not positive semi-definite, which has no posterior variance; if the tolerance is below 0.
        MemoryError
            If the matrix of the training points near the margin does not fit.
        """
        if not tolerance >= 0.0:
            raise ValueError(f"tolerance={tolerance!r} must be at least 0.")
        X = self._checked(X)
        diagonal = self.kernel_.diagonal(X)
        columns = [
            posterior.truncated_variance(X, tolerance, diagonal)
            if tolerance
            else posterior.variance(X, diagonal)
            for posterior in self._posteriors
        ]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of :meth:`predict_proba`, without underflow.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict; for a precomputed kernel, their kernel values with the training points.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._log_proba(self._checked(X))

    def predict_proba(self, X: Any) -> Array:
        """Probability of every class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict; for a precomputed kernel, their kernel values with the training points.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_interval(self, X: Any) -> Array:
        r"""Probability intervals, by Venn-Abers predictors of the left-out decision values.

        .. math:: [\min(p_0, p_1), \; \max(p_0, p_1)]

        Isotonic regression is fitted to the left-out decision values and the point's own, once as if the
        point belonged to the class and once as if it did not, and read at the point: :math:`p_1` and
        :math:`p_0`. A wide interval tells that few rows have such decision values.

        With up to 200 rows the new point joins the n training rows with each trial label, and each of these n
        + 1 points is left out in turn. That takes two leave-one-outs for each point. With more rows, with
        groups, with sample weights that are not whole numbers, with a precomputed kernel or one that is not
        positive semi-definite, or if the solution is not exact or its free points are linearly dependent, the
        left-out values of the fit are read. They are also read for points with which some value of the n + 1
        cannot be found exactly.

        If the values were held out, the one of :math:`p_0` and :math:`p_1` that belongs to the true label
        would be perfectly calibrated, whatever the distribution of the data. Over all points the mean of the
        lower ends would then be at most the frequency of the class, and that of the upper ends at least. This
        is said of all points together: not of single points, nor of those with one interval. For left-out
        values it is an approximation, since each is the value of another machine. It is a probability
        interval, not a confidence interval: nothing is said of how often it contains the point's true
        probability, and :meth:`predict_proba` can be outside it. Far from the training data it often is: the
        interval knows the decision value there, but not the distance.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict; for a precomputed kernel, their kernel values with the training points.

        Returns
        -------
        array of shape (n_samples, 2) or (n_samples, n_classes, 2)
            Lower and upper end. For two classes they are of the probability of ``classes_[1]``; otherwise
            of each class against the rest, by its own machine.

        Warns
        -----
        ConvergenceWarning
            If some left-out values of the n + 1 points are not exact. Such points read the left-out values of
            the fit.

        References
        ----------
        Vovk and Petej, "Venn-Abers predictors", UAI 2014.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from bayes_svm import BayesSVC
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = BayesSVC().fit(scale(X), y)
        >>> model.predict_interval(scale(X)[[0, 81]]).round(2).tolist()
        [[0.0, 0.02], [0.73, 0.82]]
        """
        return self._intervals(self._checked(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class; with class weights, the class with the largest weight times probability.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Points to predict; for a precomputed kernel, their kernel values with the training points.

        Returns
        -------
        array of shape (n_samples,)
            Predicted labels.
        """
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[decided(proba, self.class_weight_)])

    def explain(self, x: Any, *, n_rows: int = 3) -> Explanation:
        """What the probability of one row rests on.

        It lists the training rows that contribute most for the prediction and against it. For each of them it
        gives the exact decision value at x of the machine that is trained without the row, and the
        probability there by the same link. A row leaves with all its weight, and alone: equal rows and others
        of its group stay. Gamma and the class weights remain those of the fit.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), sparse row, Series or DataFrame of one row
            The row; for a precomputed kernel, its kernel values with the training points.
        n_rows : int, default=3
            Largest number of supporting training rows, and of opposing ones.

        Returns
        -------
        Explanation
            Probabilities, interval, distance from the training data, and the training rows.

        Raises
        ------
        ValueError
            If x is not one row, or ``n_rows`` is not a whole number of at least 0.
        MemoryError
            If the kernel matrix, which is computed again, does not fit.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from bayes_svm import BayesSVC
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = BayesSVC().fit(scale(X), y)
        >>> model.explain(scale(X)[81], n_rows=1)
        Explanation: 1 with probability 0.550 (interval 0.727 to 0.818)
          probabilities: 0: 0.450, 1: 0.550
          known data: the row is near the training data
          decision value: 0.1285, of which -0.2354 is the intercept
          training rows that speak most for 1:
            row  label  contribution  value without it  probability without it
             81      1             1           0.02034                   0.443
          training rows that speak most against it:
            row  label  contribution  value without it  probability without it
            215      0       -0.9375             0.249                   0.664
        """
        check_is_fitted(self)
        row = as_one_row(x, hasattr(self, "feature_names_in_"))
        return explained(self, self._checked(row), n_rows)

    @property
    def coef_(self) -> Array:
        """Weights of the features; only for a linear kernel."""
        # Of the fitted kernel: the parameter may be another by now.
        if not getattr(self, "kernel_", Kernel(self.kernel)).is_linear:
            raise AttributeError("coef_ is only available when using a linear kernel.")
        check_is_fitted(self)
        return self._feature_weights()

    def _feature_weights(self) -> Array:
        """Weights of the features of a linear machine, of shape (n_machines, n_features)."""
        if self._weights is None:
            return np.asarray(self.dual_coef_ @ self.support_vectors_)
        return self._weights.copy()

    @property
    def _bag(self) -> Bag | None:
        """What new points join; None if they are not to."""
        if self._joined is None:
            return None
        training = self._training
        rows = training.joined(self.support_, self.support_vectors_)
        return Bag(rows, self.classes_[training.y], training.weight, self._joined)

    def _intervals(self, X: Any) -> Array:
        """Probability intervals at rows that have been checked."""
        of_fit = intervals(self._venn_abers, self._margins(X))
        if self._joined is None:
            return of_fit
        with one_blas_thread():
            predictor = self._transductive()
            found = [predictor.intervals(X[block]) for block in counted(blocks_of(X), BLOCKS)]
        ends, inexact = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return where_exact(ends, inexact, of_fit)

    def _transductive(self) -> TransductiveVennAbers:
        fitted, bag = copy(self), self._bag
        assert bag is not None  # else the left-out values of the fit are read
        fitted.__dict__.update(bag.parameters)
        machine, solutions = machine_of(fitted, bag.X, bag.labels, bag.weight)
        return TransductiveVennAbers(machine, list(solutions))

    def _margins(self, X: Any) -> Array:
        """Decision values f of all machines, of shape (n_samples,) or (n_samples, n_classes)."""
        if self._weights is not None:
            values = np.asarray(X @ self._weights.T) + self.intercept_
            return values[:, 0] if len(self.intercept_) == 1 else values
        values = np.tile(self.intercept_, (X.shape[0], 1))
        if len(self.support_):
            chosen, coefficients = self._expansion
            vectors = self.support_vectors_
            if vectors.shape[0]:  # not kept for a precomputed kernel
                vectors = vectors[chosen]
            for block, cross in self.kernel_.blocks(X, vectors, self.support_[chosen]):
                values[block] += cross @ coefficients.T
        return values[:, 0] if len(self.intercept_) == 1 else values

    def _log_proba(self, X: Any) -> Array:
        """Log-probabilities of all classes at rows that have been checked."""
        return self._probabilities.logs(self._margins(X), self._reading(X))

    def _reading(self, X: Any) -> Array | None:
        """What the links read of the posterior, shape (n_samples,) or (n_samples, n_classes), or None."""
        if not self._link_posteriors or self._read_at is None:
            return None
        diagonal = self.kernel_.diagonal(X)
        columns = [self._read_at(posterior, X, diagonal) for posterior in self._link_posteriors]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

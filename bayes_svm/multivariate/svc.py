"""MultivariateSVC: a classifier trained for a performance measure of all predictions together."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from bayes_svm.kernels.functions import KERNEL_NAMES
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.multivariate.cutting_plane import CuttingPlaneResult
from bayes_svm.multivariate.dask_arrays import is_dask_array
from bayes_svm.multivariate.inputs import checked_points, checked_training
from bayes_svm.multivariate.losses import LOSS_NAMES
from bayes_svm.multivariate.tasks import task_of
from bayes_svm.multivariate.training import Machines, Memory, left_out_values, train
from bayes_svm.probability.calibration import fit_sigmoid
from bayes_svm.probability.link import Link
from bayes_svm.probability.several import class_log_odds, log_probabilities
from bayes_svm.utils.checks import checked_weights
from bayes_svm.utils.progress import shown
from bayes_svm.utils.scikit_learn import Interval, LinkedToItsPage, StrOptions, fit_context
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array

__all__ = ["MultivariateSVC"]

# Platt's smoothing of the labels that a sigmoid is fitted to.
SMOOTHING = 1.0


class MultivariateSVC(LinkedToItsPage, ClassifierMixin, BaseEstimator):
    r"""Support vector machine trained for F1, precision at k, break-even point or ROC area.

    .. math:: \min_{w, \xi \ge 0} \; \tfrac12 |w|^2 + C \xi, \qquad
              w' \sum_i (y_i - y'_i) x_i \ge \Delta(\bar y', \bar y) - \xi \quad \text{for all } \bar y'

    This is Optimization Problem 2 of Joachims 2005, solved to a certified gap. A constant feature,
    whose weight is penalised like the others, gives the intercept. With more than two classes, one
    machine is trained for each class against the rest; with several labels, one for each label.

    Parameters
    ----------
    loss : str or callable, default="f1"
        The loss to train for: "error", "f1", "f_beta", "precision_at_k", "recall_at_k", "break_even" or
        "roc_area". Losses by name are between 0 and 100, as in the paper. Only "error"
        is ``2 (b + c)``, twice the number of errors, which gives the ordinary SVM with twice this
        C. For "roc_area", loss and constraint are both divided by ``positives * negatives / 100``,
        so that C is that number times the paper's. A callable ``loss(a, b, c, d)`` gets arrays of
        true positives, false positives, false negatives and true negatives, and is 0 where b and c
        are. It takes time and memory proportional to the square of the sum of the weights.
    C : float, default=1.0
        Penalty of the slack.
    k : int, default=None
        Number of rows predicted positive. "precision_at_k" and "recall_at_k" need it. If k is not the number
        of positives, the paper's constraints can be met by giving all rows the same score; others are used
        instead: see ``bayes_svm.multivariate.contingency``.
    beta : float, default=1.0
        Weight of recall in "f_beta".
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="linear"
        The kernel, as in :class:`sklearn.svm.SVC`. It must be positive semi-definite on the training
        rows, which "sigmoid" seldom is: otherwise the objective is unbounded below.
    degree : float, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "poly", "rbf" and "sigmoid", as in :class:`sklearn.svm.SVC`.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    intercept_scaling : float, default=1.0
        Value of the constant feature, at most 1e150; 0 for none.
    tol : float, default=1e-3
        Training stops at this relative gap between the value reached and a lower bound of the optimum.
    max_iter : int, default=2000
        Largest number of cutting planes for each problem. A round of the second method (see Notes) counts as
        one.
    cv : int, splitter, iterable of splits or None, default=None
        Folds for calibrating ``predict_proba``, on the decision values of rows left out. An int means folds
        of the rows of weight above 0, stratified unless y is a matrix of labels. For a splitter that needs
        groups, give the list of its splits. After a fit with None there is no ``predict_proba``.
    warm_start : bool, default=False
        Whether to begin with the planes of the last fit. They are used if data, labels and loss
        are the same; C may differ.
    verbose : int, default=0
        1 shows the progress of a fit of more than two seconds on stderr.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels, or the column numbers of several labels.
    coef_ : array of shape (n_problems, n_features)
        Weights of the features. For a linear kernel only.
    dual_coef_ : array of shape (n_problems, n_samples)
        Coefficients of the training rows. For other kernels only.
    intercept_ : array of shape (n_problems,)
        Intercepts. A loss that depends on the ranking only does not determine the intercept. It is
        then chosen so that k training rows, or as many as are positive, get a positive value.
    gap_ : float or array of shape (n_problems,)
        Relative gap reached.
    n_planes_ : int or array of shape (n_problems,)
        Number of cutting planes computed.
    history_ : array of shape (`n_planes_`, 3) or list of arrays
        Value reached, lower bound and number of planes kept, after each plane.
    n_iter_ : array of shape (n_problems,)
        Number of cutting planes computed, always as an array.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (`n_features_in_`,)
        Names of the features. Only if X has feature names that are all strings.

    Notes
    -----
    Weights of rows are counts: a weight of 2 is the row given twice, at no cost. Only "error" and
    "roc_area" accept fractions.

    For a linear kernel and data in memory, "f1", "f_beta" with beta of at least 1 and "break_even", and the
    losses at k where k is the number of positives, have a second method: if a gap remains after 100 planes
    (500 if there are at most 1000 weights, that of the constant included), it goes on in rounds.

    ``predict`` returns the sign of the decision value, which is what was trained. The class that is
    most probable by ``predict_proba`` may be another.
    For a linear kernel X may be a dask array. Workers then send back only scores, and one sum of
    rows per plane and block.

    References
    ----------
    Joachims, "A support vector method for multivariate performance measures", ICML 2005. Lemarechal,
    Nemirovskii and Nesterov, "New variants of bundle methods", Mathematical Programming 69, 1995.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from bayes_svm import MultivariateSVC
    >>> X, y = make_classification(300, weights=[0.9], random_state=0)
    >>> model = MultivariateSVC(loss="f1", C=0.1).fit(X, y)
    >>> bool(model.gap_ <= 1e-3)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSS_NAMES)), callable],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "k": [Interval(Integral, 1, None, closed="left"), None],
        "beta": [Interval(Real, 0.0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "degree": [Interval(Real, 0.0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        # Its square is added to the kernel values.
        "intercept_scaling": [Interval(Real, 0.0, 1e150, closed="both")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss: str | Callable[..., Any] = "f1",
        C: float = 1.0,
        k: int | None = None,
        beta: float = 1.0,
        kernel: str | Callable[..., Any] = "linear",
        *,
        degree: float = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        intercept_scaling: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 2000,
        cv: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.C = C
        self.k = k
        self.beta = beta
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = Kernel(self.kernel).precomputed
        tags.input_tags.sparse = not precomputed
        tags.input_tags.pairwise = precomputed
        tags.classifier_tags.multi_label = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train one machine for each problem.

        Parameters
        ----------
        X : array, sparse matrix or dask array of shape (n_samples, n_features)
            Training data; the kernel matrix for a precomputed kernel.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or several labels as columns of 0 and 1, which may be a sparse matrix.
        sample_weight : array of shape (n_samples,), optional
            Counts of the rows; 1 by default.

        Returns
        -------
        MultivariateSVC
            The fitted classifier itself.

        Raises
        ------
        ValueError
            If the data or the parameters are not valid for the loss, or the kernel matrix of the training
            rows is not symmetric or not positive semi-definite.
        MemoryError
            If the kernel matrix, or the table of a callable loss, does not fit.

        Warns
        -----
        ConvergenceWarning
            If ``max_iter`` planes do not reach the gap, or rounding keeps it open.
        """
        # Not every fit sets these, and one of the last fit would not fit the others.
        for name in ("coef_", "dual_coef_", "feature_names_in_", "_links"):
            self.__dict__.pop(name, None)
        X, y = checked_training(self, X, y)
        weight = checked_weights(sample_weight, np.empty((X.shape[0], 0)))
        task = task_of(y, weight)
        if self.warm_start and not hasattr(self, "_memory"):
            self._memory = Memory()
        with shown(self.verbose > 0), one_blas_thread():
            machines, results = train(
                self, X, task, weight, self.k, self._memory if self.warm_start else None
            )
            self._store(machines, results)
            if self.cv is not None:
                values = left_out_values(self, X, y, task, weight)
                # The machine is trained for another measure than the error, so its decision value need
                # not be 0 where both classes are equally probable.
                self._links: list[Link] = [
                    fit_sigmoid(values[:, j], task.positive[:, j], weight, SMOOTHING, boundary=None)
                    for j in range(values.shape[1])
                ]
        self._multilabel = task.multilabel
        self._share = weight @ task.positive / weight.sum()
        self.classes_ = task.classes
        return self

    def _store(self, machines: Machines, results: list[CuttingPlaneResult]) -> None:
        self._kernel, self._rows, self.intercept_ = machines.kernel, machines.rows, machines.intercept
        if machines.kernel.is_linear:
            self.coef_ = machines.weights
        else:
            self.dual_coef_ = machines.weights
        many = len(results) > 1
        self.gap_ = np.array([r.gap for r in results]) if many else results[0].gap
        self.n_iter_ = np.array([r.n_planes for r in results], dtype=np.intp)
        self.n_planes_ = self.n_iter_ if many else results[0].n_planes
        self.history_ = [r.history for r in results] if many else results[0].history

    def _values(self, X: Any) -> Array:
        """Decision values, one column for each problem."""
        weights = self.coef_ if self._kernel.is_linear else self.dual_coef_
        values = Machines(self._kernel, self._rows, weights, self.intercept_).values(X)
        if is_dask_array(X) and not np.isfinite(values).all():
            raise ValueError("X holds NaN, infinity, or numbers too large for double precision.")
        return values

    def decision_function(self, X: Any) -> Array:
        """Decision values ``w'x + b``.

        Parameters
        ----------
        X : array, sparse matrix or dask array of shape (n_samples, n_features)
            Points; their kernel values with the training rows for a precomputed kernel.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_problems)
            One decision value for two classes, otherwise one for each class or label.
        """
        values = self._values(checked_points(self, X))
        return values[:, 0] if self._binary else values

    @property
    def _binary(self) -> bool:
        return len(self.intercept_) == 1 and not self._multilabel

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels, or several labels.

        A row is positive if its decision value is above 0. With more than two classes, the class with
        the largest decision value is predicted.

        Parameters
        ----------
        X : array, sparse matrix or dask array of shape (n_samples, n_features)
            Points; their kernel values with the training rows for a precomputed kernel.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or 0 and 1 for each of several labels.
        """
        values = self._values(checked_points(self, X))
        if self._multilabel:
            return (values > 0).astype(int)
        numbers = (values[:, 0] > 0).astype(int) if self._binary else values.argmax(axis=1)
        return np.asarray(self.classes_[numbers])

    def predict_ranked(self, X: Any, k: int | None = None) -> NDArray[Any]:
        """Predict the k rows of X with the highest decision values as positive.

        This is the prediction for the sample as a whole, equation 5 of Joachims 2005.

        Parameters
        ----------
        X : array, sparse matrix or dask array of shape (n_samples, n_features)
            Points; their kernel values with the training rows for a precomputed kernel.
        k : int, optional
            Number of rows to predict positive. By default the parameter k. If that is None too, the
            share of positives is that of the training rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or 0 and 1 for each of several labels.

        Raises
        ------
        TypeError
            If k is not a whole number.
        ValueError
            If there are more than two classes, or k is not from 1 to the number of rows of X.
        """
        values = self._values(checked_points(self, X))
        if not (self._multilabel or self._binary):
            raise ValueError("predict_ranked needs two classes or several labels, not more than two classes.")
        given = self.k if k is None else k
        if not (given is None or isinstance(given, Integral)):
            raise TypeError(f"k={given!r} must be a whole number of rows.")
        if given is not None and not 1 <= given <= len(values):
            raise ValueError(f"k={given} must be from 1 to the number of rows, {len(values)}.")
        sizes = np.rint(self._share * len(values)).astype(int) if given is None else [given] * values.shape[1]
        chosen = np.zeros(values.shape, dtype=int)
        for column, size in enumerate(sizes):
            chosen[np.argsort(-values[:, column], kind="stable")[:size], column] = 1
        return chosen if self._multilabel else np.asarray(self.classes_[chosen[:, 0]])

    def _has_probabilities(self) -> bool:
        """Whether the fit made probabilities; before a fit, whether it will."""
        if not hasattr(self, "intercept_"):
            return self.cv is not None
        if not hasattr(self, "_links"):
            raise AttributeError(
                "MultivariateSVC was fitted with cv=None, which makes no probabilities: fit it with cv."
            )
        return True

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities: sigmoids of the decision values, fitted to the values of rows left out.

        Parameters
        ----------
        X : array, sparse matrix or dask array of shape (n_samples, n_features)
            Points; their kernel values with the training rows for a precomputed kernel.

        Returns
        -------
        array of shape (n_samples, n_classes) or (n_samples, n_labels)
            Probability of each class, or of each of several labels.
        """
        values = self._values(checked_points(self, X))
        if self._multilabel:
            return np.asarray(expit(class_log_odds(self._links, values, None)))
        values = values[:, 0] if self._binary else values
        return np.exp(log_probabilities(class_log_odds(self._links, values, None)))

"""MultivariateSVC: a classifier trained for a performance measure of the whole sample."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from bayes_svm.kernels.arrays import largest_entry
from bayes_svm.kernels.functions import KERNEL_NAMES
from bayes_svm.kernels.kernel import Kernel
from bayes_svm.multivariate.cutting_plane import CuttingPlaneResult, minimise
from bayes_svm.multivariate.losses import LOSS_NAMES, RANKING_LOSSES, loss_of
from bayes_svm.multivariate.planes import Planes
from bayes_svm.multivariate.products import (
    DaskProducts,
    KernelProducts,
    LinearProducts,
    Products,
    is_dask_array,
)
from bayes_svm.multivariate.tasks import Task, check_dask, named, task_of, threshold
from bayes_svm.probability.calibration import fit_sigmoid
from bayes_svm.probability.links import Link, class_log_odds, log_probabilities
from bayes_svm.utils.checks import checked_square, checked_weights, with_narrow_indices
from bayes_svm.utils.memory import require_bytes
from bayes_svm.utils.threads import one_blas_thread
from bayes_svm.utils.types import Array
from bayes_svm.utils.warn import warn

__all__ = ["MultivariateSVC"]

LARGEST_FEATURE = 1e100  # whose fourth power, with room for sums, is a number
SMOOTHING = 1.0  # Platt's: the values come from folds


class MultivariateSVC(ClassifierMixin, BaseEstimator):
    r"""Support vector machine trained for F1, precision at k, break-even point or ROC area.

    .. math:: \min_{w, \xi \ge 0} \; \tfrac12 |w|^2 + C \xi, \qquad
              w' \sum_i (y_i - y'_i) x_i \ge \Delta(\bar y', \bar y) - \xi \quad \text{for all } \bar y'

    (Optimization Problem 2 of Joachims 2005), to a certified gap. One constant feature, whose
    weight is penalised as the others are, gives the intercept. More than two classes, and several
    labels, are taken one against the rest.

    Parameters
    ----------
    loss : {"error", "f1", "f_beta", "precision_at_k", "recall_at_k", "break_even", "roc_area"} \
            or callable, default="f1"
        On the scale 0 to 100, as in the paper; "error" is ``2 (b + c)``, which gives the ordinary
        SVM with twice this C. For "roc_area" loss and constraint are both divided by
        ``positives * negatives / 100``, so that C is that number times the paper's. A callable
        ``loss(a, b, c, d)`` gets arrays of true positives, false positives, false negatives and
        true negatives; its search takes time and memory of the square of the number of rows.
    C : float, default=1.0
        Penalty of the slack.
    k : int, default=None
        Rows predicted positive, for "precision_at_k" and "recall_at_k", which need it. Unless k is
        the number of positives, the paper's constraints for them can be met by a constant for all
        rows, and are repaired here: see :mod:`bayes_svm.multivariate.losses`.
    beta : float, default=1.0
        Weight of recall in "f_beta".
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="linear"
    degree : float, default=3
    gamma : {"scale", "auto"} or float, default="scale"
    coef0 : float, default=0.0
        As in :class:`sklearn.svm.SVC`.
    intercept_scaling : float, default=1.0
        Value of the constant feature; 0 for none.
    tol : float, default=1e-3
        Relative gap between the value reached and a lower bound of the optimum.
    max_iter : int, default=2000
        Cutting planes at most, per problem.
    cv : int, splitter, iterable of splits or None, default=None
        Folds whose held-out decision values calibrate ``predict_proba``; None for none.
    warm_start : bool, default=False
        Start from the planes of the last fit, where data, labels and loss are the same: only C
        may differ.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        For several labels their column numbers.
    coef_ : array of shape (1, n_features) or (n_problems, n_features)
        For a linear kernel only.
    dual_coef_ : array of shape (n_problems, n_samples)
        For other kernels only: coefficients of the training rows.
    intercept_ : array of shape (n_problems,)
        For the losses of a ranking, which it has no part in, such that as many training rows get a
        positive value as the loss predicts positive (k, or the number of positives).
    gap_ : float or array of shape (n_problems,)
        Relative gap reached.
    n_planes_ : int or array of shape (n_problems,)
    history_ : array of shape (n_planes_, 3) or list of arrays
        Value reached, lower bound and planes kept, after each plane.
    n_iter_ : array of shape (n_problems,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Notes
    -----
    Weights of rows are counts: a weight of 2 is the row given twice. Only "error" and "roc_area" have
    a meaning for fractions; the others refuse them.

    ``predict`` is the sign of the decision value, which is what was trained; the most probable
    class can be another. X may be a dask array for a linear kernel: scores, and one sum of rows per
    plane and block, are all that leaves the workers.

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
        "intercept_scaling": [Interval(Real, 0.0, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "warm_start": ["boolean"],
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.classifier_tags.multi_label = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train one machine per problem.

        Parameters
        ----------
        X : array, sparse matrix or dask array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_labels)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        MultivariateSVC

        Raises
        ------
        ValueError
            For data or parameters that the loss cannot be trained on.

        Warns
        -----
        ConvergenceWarning
            If ``max_iter`` planes do not reach the gap.
        """
        if self.loss == "f1" and self.beta != 1.0:
            raise ValueError(f"beta={self.beta} has no meaning for loss='f1': use loss='f_beta'.")
        X, y = self._checked_fit(X, y)
        weight = checked_weights(sample_weight, np.empty((X.shape[0], 0)))
        task = task_of(y, weight)
        with one_blas_thread():
            self._train(X, task, weight, self.k)
            if self.cv is not None:
                self._calibrate(X, y, task, weight)
        self.classes_ = task.classes
        return self

    def _checked_fit(self, X: Any, y: ArrayLike) -> tuple[Any, Any]:
        if is_dask_array(X):
            self._refuse_dask_kernel()
            check_dask(X)
            self.n_features_in_ = int(X.shape[1])
            return X, np.asarray(y)
        X, y = validate_data(
            self, X, y, dtype=np.float64, accept_sparse=self._accepted_sparse(), multi_output=True,
            accept_large_sparse=True,
        )  # fmt: skip
        if self.kernel == "precomputed":
            checked_square(X, X.shape[1])
        largest = largest_entry(X)
        if largest > LARGEST_FEATURE:
            raise ValueError(
                f"X holds features of up to {largest:.3g}, whose products leave double precision: scale "
                "them, with sklearn.preprocessing.StandardScaler say."
            )
        return X, y

    def _refuse_dask_kernel(self) -> None:
        if self.kernel != "linear":
            raise ValueError("A dask array needs kernel='linear': other kernels need all pairs of rows.")

    def _accepted_sparse(self) -> Any:
        return False if self.kernel == "precomputed" else ["csr", "csc"]

    def _train(self, X: Any, task: Task, weight: Array, k: int | None) -> None:
        products = self._products(X, weight)
        whole = None if np.all(weight == 1) else weight
        results = []
        self._multilabel = task.numbers is None
        memory = self._remembered(products, task, weight, k)
        for column, name in enumerate(task.names):
            with named(name):
                loss = loss_of(self.loss, task.positive[:, column], whole, beta=self.beta, k=k)
            planes = memory[column] if self.warm_start else None
            result = minimise(products, loss, self.C, tol=self.tol, max_iter=self.max_iter, planes=planes)
            if not result.converged:
                warn(
                    f"{result.n_planes} cutting planes left a relative gap of {result.gap:.2g}{name}, more "
                    f"than tol={self.tol:g}: raise max_iter or tol, lower C, or scale the features.",
                    ConvergenceWarning,
                )
            results.append(result)
        self._store(results, task, weight, k)

    def _products(self, X: Any, weight: Array) -> Products:
        if is_dask_array(X):
            return DaskProducts(X, self.intercept_scaling)
        if self.kernel == "linear":
            return LinearProducts(X, self.intercept_scaling)
        X = X if self.kernel == "precomputed" else with_narrow_indices(X)
        require_bytes(
            2 * 8 * X.shape[0] ** 2, f"The kernel matrix of {X.shape[0]:,} rows", "Use kernel='linear'."
        )
        self._kernel = Kernel.of(self, X, weight)
        self._rows = None if self.kernel == "precomputed" else X
        gram = X + 0.0 if self.kernel == "precomputed" else self._kernel.gram(X)
        gram += self.intercept_scaling**2
        return KernelProducts(gram)

    def _remembered(self, products: Products, task: Task, weight: Array, k: int | None) -> list[Planes]:
        """Planes of the last fit if data, labels and loss are the same, otherwise none."""
        if not self.warm_start:
            return []
        probe = products.dual(products.combined(np.cos(np.arange(products.n_rows))))
        key = (
            self.loss, self.beta, k, probe.tobytes(), weight.tobytes(), task.positive.tobytes(),
        )  # fmt: skip
        if getattr(self, "_planes_key", None) != key:
            self._planes = [Planes.none(products) for _ in task.names]
            self._planes_key = key
        return self._planes

    def _store(self, results: list[CuttingPlaneResult], task: Task, weight: Array, k: int | None) -> None:
        weights: Array = np.vstack([result.w for result in results])
        constant = self.intercept_scaling
        if self.kernel == "linear":
            self.coef_ = weights[:, : self.n_features_in_]
            intercept = constant * weights[:, -1] if constant else np.zeros(len(results))
        else:
            self.dual_coef_ = weights
            intercept = constant**2 * weights.sum(axis=1)
        if self.loss in RANKING_LOSSES:
            fixed = np.array(
                [
                    threshold(result.scores, weight, k or int(weight @ task.positive[:, column]))
                    for column, result in enumerate(results)
                ]
            )
            intercept = intercept - fixed
        self.intercept_ = intercept
        self._share = weight @ task.positive / weight.sum()
        many = len(results) > 1
        self.gap_ = np.array([r.gap for r in results]) if many else results[0].gap
        self.n_iter_ = np.array([r.n_planes for r in results], dtype=np.intp)
        self.n_planes_ = self.n_iter_ if many else results[0].n_planes
        self.history_ = [r.history for r in results] if many else results[0].history

    def _calibrate(self, X: Any, y: Any, task: Task, weight: Array) -> None:
        """Sigmoids fitted on the decision values of folds left out."""
        values: Array = np.full(task.positive.shape, np.nan)
        rows = np.arange(X.shape[0])
        for train, test in check_cv(self.cv, y, classifier=True).split(rows, y):
            part = self.__class__(**{**self.get_params(), "cv": None, "warm_start": False})
            part.n_features_in_ = self.n_features_in_
            columns = train if self.kernel == "precomputed" else slice(None)
            share = None if self.k is None else max(1, round(self.k * len(train) / len(rows)))
            part._train(X[train][:, columns], task.rows(train), weight[train], share)
            values[test] = part._values(X[test][:, columns])
        if np.isnan(values).any():
            raise ValueError("cv leaves rows out of every fold: it must hold each row out once.")
        # Trained for another measure, a machine is not undecided where it says 0.
        self._links: list[Link] = [
            fit_sigmoid(values[:, j], task.positive[:, j], weight, SMOOTHING, boundary=None)
            for j in range(values.shape[1])
        ]

    def _values(self, X: Any) -> Array:
        """Decision values, one column per problem."""
        if is_dask_array(X):
            products = DaskProducts(X, 0.0)
            return np.column_stack([products.scores(w) for w in self.coef_]) + self.intercept_
        if self.kernel == "linear":
            return np.asarray(X @ self.coef_.T) + self.intercept_
        values = np.empty((X.shape[0], len(self.dual_coef_)))
        numbers = np.arange(self.dual_coef_.shape[1])
        X = with_narrow_indices(X)
        for block, cross in self._kernel.blocks(X, self._rows, numbers):
            values[block] = cross @ self.dual_coef_.T
        return values + self.intercept_

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_dask_array(X):
            self._refuse_dask_kernel()
            if X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but MultivariateSVC is expecting "
                    f"{self.n_features_in_} features as input."
                )
            return X
        return validate_data(
            self, X, dtype=np.float64, accept_sparse=self._accepted_sparse(), accept_large_sparse=True,
            reset=False,
        )  # fmt: skip

    def decision_function(self, X: Any) -> Array:
        """Decision values ``w'x + b``.

        Parameters
        ----------
        X : array, sparse matrix or dask array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_problems)
        """
        values = self._values(self._checked(X))
        return values[:, 0] if self._binary else values

    @property
    def _binary(self) -> bool:
        return len(self.intercept_) == 1 and not self._multilabel

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of the decision value's sign; of more than two classes that of the largest value.

        Parameters
        ----------
        X : array, sparse matrix or dask array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_labels)
        """
        values = self._values(self._checked(X))
        if self._multilabel:
            return (values > 0).astype(int)
        numbers = (values[:, 0] > 0).astype(int) if self._binary else values.argmax(axis=1)
        return np.asarray(self.classes_[numbers])

    def predict_ranked(self, X: Any, k: int | None = None) -> NDArray[Any]:
        """Label the k highest rows of X positive, together: the prediction of equation 5 of the paper.

        Parameters
        ----------
        X : array, sparse matrix or dask array of shape (n_samples, n_features)
        k : int, optional
            By default the parameter k, or, where that is None, the number of positives that X would
            have with the share of the training rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_labels)

        Raises
        ------
        ValueError
            For more than two classes, and for k beyond the rows of X.
        """
        values = self._values(self._checked(X))
        if not (self._multilabel or self._binary):
            raise ValueError("predict_ranked ranks for one class: with more than two there is no k of each.")
        given = self.k if k is None else k
        sizes = np.rint(self._share * len(values)).astype(int) if given is None else [given] * values.shape[1]
        chosen = np.zeros(values.shape, dtype=int)
        for column, size in enumerate(sizes):
            if not 1 <= max(1, size) <= len(values) or (given is not None and size < 1):
                raise ValueError(f"k={size} must be from 1 to the number of rows, {len(values)}.")
            chosen[np.argsort(-values[:, column], kind="stable")[:size], column] = 1
        return chosen if self._multilabel else np.asarray(self.classes_[chosen[:, 0]])

    @available_if(lambda self: self.cv is not None)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities: sigmoids of the decision values, fitted on folds left out.

        Parameters
        ----------
        X : array, sparse matrix or dask array of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes) or (n_samples, n_labels)
            Of several labels the probability of each.
        """
        values = self._values(self._checked(X))
        if self._multilabel:
            return np.asarray(expit(class_log_odds(self._links, values, None)))
        values = values[:, 0] if self._binary else values
        return np.exp(log_probabilities(class_log_odds(self._links, values, None)))
